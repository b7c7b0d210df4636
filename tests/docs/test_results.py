"""The tables of docs/results.md are those of the results that lie beside it."""

import importlib
from pathlib import Path

import pandas as pd
import pytest

from tagloom.benchmark.join import read_results

ROOT = Path(__file__).parents[2]


@pytest.fixture
def results_page(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("results_page")


def test_page_and_results_agree(results_page):
    page = (ROOT / "docs" / "results.md").read_text("utf-8")
    assert results_page.with_tables(page, read_results([ROOT / "docs" / "results"])) == page


def test_a_new_set_gets_a_section_and_a_new_result_replaces_an_old_one(results_page, tmp_path):
    row = {"dataset": "toy", "protocol": "uniform", "method": "maxide", "rate": 0.1, "seed": 0}
    for value in (0.25, 0.5):
        results_page.add(pd.DataFrame([row | {"map": value}]), tmp_path)
    page = results_page.with_tables("# Results\n\nWords.\n", read_results([tmp_path]))
    assert page.startswith("# Results\n\nWords.\n\n## toy, uniform\n\n")
    assert "| Maxide | **50.0" in page
    assert "25.0" not in page
