import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from result_tables import labels_table, results_table

from tagloom.benchmark.figures import write_figures
from tagloom.benchmark.report import verdicts, write_report
from tagloom.datasets.base import Dataset
from tagloom.labels import PartialLabels

EVIL = "<script>alert('x')</script>&\""
_VOID = {"meta", "img", "line", "circle", "br"}


class Page(HTMLParser):
    """Reads a page strictly: tags must close in order, attributes and text are kept."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.links = [], set(), [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text.append(data)


@pytest.fixture
def dataset():
    truth = PartialLabels.from_array(
        [[1, 0], [0, 1], [1, np.nan]], labels=["sea", EVIL], items=["a", "b", "c"]
    )
    return Dataset(EVIL, truth, training=[0], test=[1, 2], notes=[f"Note {EVIL}"])


LABELS = {
    "maxide": {"sea": 0.9, "sky": 0.2, EVIL: 0.5, "none": None},
    "semantic-diffusion": {"sea": 0.7, "sky": 0.6, EVIL: 0.5, "none": None},
}


def read(path):
    return Page(path.read_text(encoding="utf-8"))


def test_the_page_is_complete_and_loads_nothing(dataset, tmp_path):
    results = results_table()
    figures = write_figures(tmp_path / "figures", results)
    path = tmp_path / "report.html"
    write_report(path, results, labels_table(LABELS), dataset, {"rates": [0.1, 0.2]}, figures)
    page = read(path)
    text = " ".join(page.text)
    assert "script" not in page.tags
    assert all(link.startswith("data:image/svg+xml;base64,") for link in page.links)
    assert len(page.links) == 2
    style = re.search(r"<style>(.*?)</style>", path.read_text(encoding="utf-8"), re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    for expected in (
        "33.1 ± 1.8",
        "+3.1",
        "[+2.6, +3.6]",
        "0.1, 0.2",
        "321",
        "0.500",
        "lam 0.5",
    ):
        assert expected in text


def test_all_input_is_escaped(dataset, tmp_path):
    results = results_table(dataset=EVIL)
    results["method"] = results["method"].replace("fasttag", EVIL)
    results["parameters"] = EVIL
    labels = labels_table(LABELS, dataset=EVIL)
    path = tmp_path / "report.html"
    write_report(path, results, labels, dataset, {EVIL: EVIL}, [])
    page = read(path)
    assert "script" not in page.tags
    assert page.text.count(EVIL) > 5


def test_labels_are_compared_with_the_best_baseline_at_the_lowest_rate(tmp_path):
    path = tmp_path / "report.html"
    write_report(path, results_table(), labels_table(LABELS), None, {})
    text = " ".join(read(path).text)
    assert "higher AP on 1 labels, lower on 1, the same on 1" in text
    assert "1 labels have no test presence" in text
    assert "+40.0" in text
    assert "−20.0" in text


def test_few_labels_are_listed_once(tmp_path):
    path = tmp_path / "report.html"
    many = {
        method: {f"label {n}": p + n / 100 for n in range(30)}
        for method, p in (("maxide", 0.2), ("semantic-diffusion", 0.3))
    }
    for labels, n_tables in ((LABELS, 1), (many, 4)):
        write_report(path, results_table(), labels_table(labels), None, {})
        text = path.read_text(encoding="utf-8")
        assert text.count("in test</th>") == n_tables


def test_a_bare_table_makes_a_page(tmp_path):
    path = tmp_path / "report.html"
    cells = results_table(methods=["maxide"], rates=[0.1], n_seeds=1)
    needed = ["dataset", "protocol", "method", "rate", "seed", "map"]
    write_report(path, cells[needed], None, None, {})
    assert "30.0" in " ".join(read(path).text)


def test_pictures_are_embedded_at_a_moderate_size(tmp_path):
    from PIL import Image

    noise = np.random.default_rng(0).integers(0, 255, (900, 2400, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "examples-maxide.png")
    path = tmp_path / "report.html"
    write_report(path, results_table(), None, None, {}, [tmp_path / "examples-maxide.png"])
    page = read(path)
    assert page.links[0].startswith("data:image/jpeg;base64,")
    assert len(page.links[0]) < (tmp_path / "examples-maxide.png").stat().st_size / 4
    assert "by Maxide" in " ".join(page.text)


def test_verdicts_count_every_rate_once():
    nan = float("nan")
    differences = pd.DataFrame(
        {
            "method": "semantic-diffusion",
            "mean": [0.1, -0.1, 0.0, 0.1],
            "low": [0.05, -0.2, -0.1, nan],
            "high": [0.2, -0.05, 0.1, nan],
        }
    )
    (line,) = verdicts(differences)
    assert line == (
        "Semantic diffusion against the best baseline, 4 rates: above it at 1, below it at 1, "
        "not distinguishable from it at 1, with too few seeds to compare with it at 1."
    )
