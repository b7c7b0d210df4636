import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from result_tables import results_table

from tagloom.benchmark.join import CELL, join_results, read_results
from tagloom.cli import main
from tagloom.errors import InvalidInputError, UnwritableFileError


@pytest.fixture
def ours(tmp_path):
    """A table as a benchmark writes it."""
    path = tmp_path / "ours.csv"
    results_table(methods=("maxide", "semantic-diffusion")).to_csv(path, index=False)
    return path


def table(**changes):
    row = {"dataset": "toy", "protocol": "per-class", "method": "theirs", "rate": 0.1, "seed": 0}
    return pd.DataFrame([row | {"map": 0.5} | changes])


def test_methods_of_others_join_ours(ours, tmp_path):
    theirs = tmp_path / "theirs.csv"
    table().to_csv(theirs, index=False)
    joined = read_results([theirs, ours])
    assert len(joined) == 2 * 2 * 3 + 1
    assert set(joined["method"]) == {"maxide", "semantic-diffusion", "theirs"}
    pd.testing.assert_frame_equal(joined, read_results([ours, theirs]))


def test_a_folder_of_tables_and_unfinished_runs(ours, tmp_path):
    (tmp_path / "run" / "cells").mkdir(parents=True)
    cell = table(method="fasttag").iloc[0].to_dict()
    (tmp_path / "run" / "cells" / "one.json").write_text(json.dumps({"row": cell}, default=float))
    (tmp_path / "labels.csv").write_text("label,ap\nsky,0.5\n")
    joined = read_results([tmp_path, tmp_path / "run"])
    assert set(joined["method"]) == {"fasttag", "maxide", "semantic-diffusion"}


def test_the_same_cell_counts_once(ours):
    pd.testing.assert_frame_equal(read_results([ours, ours]), read_results([ours]))


def test_results_of_one_cell_that_differ_are_refused(tmp_path):
    for i, value in enumerate([0.5, 0.6]):
        table(map=value).to_csv(tmp_path / f"{i}.csv", index=False)
    with pytest.raises(
        InvalidInputError, match=r"toy, per-class, theirs, 0.1, 0 has a map of 0.5, 0.6"
    ):
        read_results([tmp_path])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"map": 34.8}, r"row 1: expected a share in \[0, 1\] under map, found .*34.8"),
        ({"map": "high"}, r"expected a share in \[0, 1\] under map, found 'high'"),
        ({"rate": 0}, r"expected a share in \(0, 1\] under rate, found"),
        ({"seed": 0.5}, "expected an integer under seed, found .*0.5"),
        ({"method": None}, "expected a name under method, found nan"),
    ],
)
def test_values_that_no_benchmark_has_are_refused(tmp_path, changes, message):
    table(**changes).to_csv(tmp_path / "theirs.csv", index=False)
    with pytest.raises(InvalidInputError, match=message):
        read_results([tmp_path / "theirs.csv"])


def test_other_files_are_refused(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInputError, match="missing: dataset, protocol, method, rate, seed"):
        read_results([tmp_path / "other.csv"])
    with pytest.raises(InvalidInputError, match="There are no results to join"):
        read_results([tmp_path])
    with pytest.raises(InvalidInputError, match="cannot be read as CSV"):
        read_results([tmp_path / "missing.csv"])


@given(st.text(max_size=200))
def test_any_text_gives_a_table_or_a_message(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("tables") / "any.csv"
    path.write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(InvalidInputError):
        read_results([path])


def test_nothing_of_a_table_is_lost(ours):
    before = results_table(methods=("maxide", "semantic-diffusion"))
    after = read_results([ours])
    both = before.merge(after, on=CELL, suffixes=("_before", "_after"))
    assert len(both) == len(before)
    np.testing.assert_allclose(both["map_before"], both["map_after"])


def test_report_and_table_are_written(ours, tmp_path):
    files = join_results([ours], tmp_path / "joined", figures=False)
    assert {path.name for path in files} == {"results.csv", "results.parquet", "report.html"}
    assert "Semantic diffusion" in (tmp_path / "joined" / "report.html").read_text("utf-8")


def test_nothing_is_written_among_files_of_others(ours, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary")
    with pytest.raises((InvalidInputError, UnwritableFileError), match="Choose another folder"):
        join_results([ours], tmp_path / "mine", figures=False)
    (tmp_path / "run" / "cells").mkdir(parents=True)
    with pytest.raises(InvalidInputError, match="holds a benchmark"):
        join_results([ours], tmp_path / "run", figures=False)


def test_command(ours, tmp_path, monkeypatch, capsys):
    out = tmp_path / "joined"
    arguments = ["benchmark", "--join", str(ours), "--out", str(out), "--no-figures", "--json"]
    monkeypatch.setattr("sys.argv", ["tagloom", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    assert str(out / "report.html") in json.loads(capsys.readouterr().out)["files"]
