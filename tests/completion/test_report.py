import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy import sparse

from tagloom.calibration import ExpectedPrecision
from tagloom.completion.report import write_report
from tagloom.completion.result import Bin, CompletionResult, Issue, LabelQuality
from tagloom.completion.suggestions import Query, SuspectedError, TagState, tag_table
from tagloom.labels import PartialLabels
from tagloom.words import link_tags

nan = float("nan")
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '"onerror="alert(1)',
    "it's & <b>bold</b>",
    "${title} $title \\u003c %s {0}",
    "שלום עולם",
    "🏖️ beach\u2028\u2029",
    "\udcff lone",
    "{{ title }} {% raw %} {# no #}",
]


class Page(HTMLParser):
    """A page as a browser takes it apart: elements with attributes, text of each element."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self._open = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in ("meta", "input", "img", "br"):
            self._open.append(element)

    def handle_endtag(self, tag):
        while self._open and self._open.pop()["tag"] != tag:
            pass

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag):
        return [element for element in self.elements if element["tag"] == tag]

    @property
    def data(self):
        (element,) = (one for one in self.all("script") if one.get("id") == "data")
        return json.loads(element["text"])

    @property
    def script(self):
        (element,) = (one for one in self.all("script") if "type" not in one)
        return element["text"]


def completed(photos, items, labels, **changes):
    """Four pictures and three labels at least; the first picture is like all others."""
    n, m = len(items), len(labels)
    Y = np.full((n, m), nan)
    Y[0, 0], Y[1, 1], Y[1, 2], Y[2, 1], Y[3, 2], Y[2, 0] = 1, 1, 1, 1, 1, 0
    said = PartialLabels.from_array(Y, labels=labels, items=items)
    P = np.full((n, m), 0.1)
    P[0, 1], P[0, 2], P[1, 2], P[2, 0], P[3, 1] = 0.9, 0.6, 0.02, 0.97, 0.4567
    doubtful = np.zeros((n, m), dtype=bool)
    doubtful[1, 2] = doubtful[2, 0] = True
    likeness = np.zeros((n, n))
    likeness[0, 1:4] = 0.2, 0.9, 0.5
    likeness[3, 0] = 0.4
    result = CompletionResult(
        photos=photos,
        known=said,
        P=P,
        is_open=np.isnan(Y),
        thresholds=np.full(m, 0.4),
        table=tag_table(said, P, np.isnan(Y), np.full(m, 0.4), doubtful),
        suspected_errors=[
            SuspectedError(2, 0, False, 0.97, 0.9),
            SuspectedError(1, 2, True, 0.02, 0.8),
        ],
        to_annotate=[Query(3, 1, 0.3)],
        label_quality=[
            LabelQuality(label, 2, 1, 0.4, 0.5, nan if j else 0.75, 0.5)
            for j, label in enumerate(labels)
        ],
        bins=[Bin(0.0, 0.1, 900, 0.05, 0.04), Bin(0.6, 0.7, 100, 0.65, 0.6)],
        label_frequencies=np.full(m, 0.5),
        precision=ExpectedPrecision(0.65, 0.4, 0.85, 0),
        frequencies_estimated=True,
        implied=np.zeros((n, m), dtype=bool),
        implications=(),
        affinities=sparse.csr_array(likeness),
        skipped=[Issue("broken.jpg", "it is a JPEG that is cut short")],
        warnings=[Issue("tags.csv, row 3", "the tag is given twice")],
        too_rare={"zebra": 1},
        summary={"pictures": n, "labels": m},
    )
    return replace(result, **changes)


def report(result, out, title="An archive"):
    return Page(write_report(result, out, title=title).read_text(encoding="utf-8"))


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    (folder / "sub").mkdir(parents=True)
    for number, name in enumerate(["a.png", "b.png", "sub/c.png"]):
        Image.new("RGB", (40, 30), (80 * number, 100, 100)).save(folder / name)
    return folder


ITEMS = ["a.png", "b.png", "sub/c.png", "lost.png"]
LABELS = ["sea", "sand", "ship"]


def rows_in(data):
    """Take the page's columns apart, independently of the script."""
    places = iter(zip(data["tags"]["label"], data["tags"]["p"], data["tags"]["state"], strict=True))
    return [
        (item, data["labels"][label], p, TagState(int(state)))
        for item, count in zip(data["items"], data["tags"]["count"], strict=True)
        for label, p, state in (next(places) for _ in range(count))
    ]


def test_every_picture_and_tag_is_in_the_data(photos, tmp_path):
    result = completed(photos, ITEMS, LABELS)
    data = report(result, tmp_path / "out").data
    assert data["items"] == ITEMS
    assert rows_in(data) == [
        (row.image, row.tag, round(1000 * row.probability), row.state) for row in result.table
    ]
    assert len(rows_in(data)) == 9
    assert data["quality"]["roc_auc"] == [750, None, None]


def test_a_tag_tells_how_many_like_pictures_carry_it_and_the_likest(photos, tmp_path):
    data = report(completed(photos, ITEMS, LABELS), tmp_path / "out").data
    told = [row[:2] for row in rows_in(data) if row[3] != TagState.KNOWN]
    counts, shown = data["reasons"]["count"], iter(data["reasons"]["pictures"])
    reasons = {
        place: [next(shown) for _ in range(min(count, data["reasons"]["most"]))]
        for place, count in zip(told, counts, strict=True)
    }
    assert reasons["a.png", "sand"] == [2, 1]
    assert reasons["a.png", "ship"] == [3, 1]
    assert reasons["lost.png", "sand"] == []
    assert data["near"] == [3, 0, 0, 1]


def test_what_looks_wrong_and_what_to_ask_are_in_the_data(photos, tmp_path):
    data = report(completed(photos, ITEMS, LABELS), tmp_path / "out").data
    assert data["suspected_errors"]["picture"] == [2, 1]
    assert data["suspected_errors"]["present"] == [0, 1]
    assert data["suspected_errors"]["error_p"] == [900, 800]
    assert (data["to_annotate"]["picture"], data["to_annotate"]["p"]) == ([3], [457])


def test_what_was_left_out_is_told_with_its_reason(photos, tmp_path):
    page = report(completed(photos, ITEMS, LABELS), tmp_path / "out")
    (left,) = (one["text"] for one in page.all("section") if one["id"] == "excluded")
    for expected in ("cut short", "given twice", "zebra"):
        assert expected in left


def test_what_tags_mean_and_which_may_be_one_is_told(photos, tmp_path):
    labels = ["boat", "ship", "Ships"]
    links = link_tags(labels, ["canoe", "liner"])
    page = report(completed(photos, ITEMS, labels, links=links), tmp_path / "out")
    (words,) = (one["text"] for one in page.all("section") if one["id"] == "words")
    assert "Tags that may be one (1)" in words
    assert "ship, Ships" in words
    assert "boat (n02858304): the concept canoe" in words


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(
        st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=20)),
        min_size=4,
        max_size=6,
        unique=True,
    ),
    place=st.integers(0, 8),
)
def test_no_name_becomes_markup(names, place, photos, tmp_path):
    hostile = HOSTILE[place]
    result = completed(
        photos,
        names,
        names[:3],
        skipped=[Issue(name, hostile) for name in names],
        warnings=[Issue(hostile, name) for name in names],
        too_rare=dict.fromkeys(names, 1),
        summary={hostile: hostile},
    )
    page = report(result, tmp_path / "out", title=hostile)
    plain = report(completed(photos, ITEMS, LABELS), tmp_path / "plain")
    assert page.script == plain.script
    assert {one["tag"] for one in page.elements} == {one["tag"] for one in plain.elements}
    assert {name for one in page.elements for name in one} == {
        name for one in plain.elements for name in one
    }
    said = [name.encode("utf-8", "replace").decode() for name in names]
    assert page.data["items"] == said
    assert page.data["labels"] == said[:3]


def test_the_policy_lets_nothing_run_but_the_pages_own_script_and_style(photos, tmp_path):
    page = report(completed(photos, ITEMS, LABELS), tmp_path / "out")
    (policy,) = (one["content"] for one in page.all("meta") if "http-equiv" in one)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    (style,) = page.all("style")
    for rule, text in (("script-src", page.script), ("style-src", style["text"])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert not any(name.startswith("on") or name == "style" for e in page.elements for name in e)


@pytest.mark.parametrize("c", [0.5, 1.0])
def test_of_lists_the_page_says_what_hiding_tags_cannot_measure(photos, tmp_path, c):
    result = completed(photos, ITEMS, LABELS, label_frequencies=np.full(3, c))
    text = write_report(result, tmp_path / "out", title="x").read_text(encoding="utf-8")
    assert ("only answers tell" in text) == (c < 1)
    assert "About 65% of the suggestions should be right (40% to 85%" in text


def test_the_page_names_no_address_outside(photos, tmp_path):
    text = write_report(completed(photos, ITEMS, LABELS), tmp_path / "out", title="x").read_text()
    assert not re.search(r"https?:|url\(|@import|//[a-z0-9-]+\.", text)
    assert str(tmp_path) not in text


def test_pictures_are_loaded_when_they_are_looked_at(photos, tmp_path):
    page = report(completed(photos, ITEMS, LABELS), tmp_path / "out")
    assert not page.all("img")
    assert 'loading: "lazy"' in page.script
    digests = page.data["thumbnails"]
    assert [bool(digest) for digest in digests] == [True, True, True, False]
    for digest in digests[:3]:
        assert (tmp_path / "out" / "thumbnails" / digest[:2] / f"{digest}.jpg").is_file()


def test_the_way_to_the_pictures_is_relative(photos, tmp_path):
    data = report(completed(photos, ITEMS, LABELS), tmp_path / "deep" / "out").data
    assert data["photos"] == "./../../photos"


def test_a_completion_that_found_nothing_makes_a_page(photos, tmp_path):
    result = completed(
        photos,
        ITEMS,
        LABELS,
        suspected_errors=[],
        to_annotate=[],
        bins=[],
        summary={},
        skipped=[],
        warnings=[],
        too_rare={},
        label_frequencies=np.ones(3),
    )
    page = report(result, tmp_path / "out")
    (left,) = (one["text"] for one in page.all("section") if one["id"] == "excluded")
    assert "Nothing was left out" in left


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser to open the page with")
@pytest.mark.parametrize(("view", "expected"), [("pictures", 4), ("errors", 2), ("annotate", 1)])
def test_a_browser_shows_hostile_names_as_text(view, expected, photos, tmp_path):
    labels = [HOSTILE[0], HOSTILE[2], HOSTILE[4]]
    result = completed(photos, ["a.png", "b.png", *HOSTILE[:2]], labels)
    path = write_report(result, tmp_path / "out", title=HOSTILE[0])
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--dump-dom",
        f"--user-data-dir={tmp_path / 'browser'}",
        "--virtual-time-budget=2000",
        f"{path.as_uri()}#{view}",
    ]
    seen = subprocess.run(command, capture_output=True, timeout=120, check=True)
    page = Page(seen.stdout.decode())
    cards = page.all("article")
    assert len(cards) == expected
    assert len(page.all("script")) == 2
    assert not any("onerror" in one for one in page.elements)
    assert any(label in card["text"] for card in cards for label in labels)


def test_a_long_list_of_what_was_left_out_is_folded_and_whole(photos, tmp_path):
    skipped = [Issue(f"file {number}.jpg", "it is empty") for number in range(57)]
    page = report(completed(photos, ITEMS, LABELS, skipped=skipped), tmp_path / "out")
    (left,) = (one["text"] for one in page.all("section") if one["id"] == "excluded")
    assert all(one.name in left for one in skipped)
    assert "17 more" in [one["text"] for one in page.all("summary")]
