import csv
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.completion.suggestions import (
    COLUMNS,
    TagState,
    TagTable,
    read_suggestions,
    tag_table,
    write_suggestions,
    write_suggestions_parquet,
)
from tagloom.formats import read_tags
from tagloom.labels import PartialLabels, State

ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
FORMULA = "=+-@\t\r\n"
names = st.text(ANY | st.sampled_from(FORMULA + "' "), max_size=6)


@st.composite
def tables(draw):
    n_items, n_labels = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    items = draw(st.lists(names, min_size=n_items, max_size=n_items, unique=True))
    labels = draw(st.lists(names, min_size=n_labels, max_size=n_labels, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    codes = rng.choice([0.0, 1.0, np.nan], size=(n_items, n_labels))
    said = PartialLabels.from_array(codes, items=items, labels=labels)
    P = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], size=codes.shape).astype(np.float32)
    thresholds = rng.choice([0.25, 0.6, np.inf, np.nan], size=n_labels)
    doubtful = ~np.isnan(codes) & (rng.random(codes.shape) < 0.3)
    return said, P, thresholds, doubtful


@given(tables())
def test_each_row_says_what_is_known_suggested_or_doubtful(given_):
    said, P, thresholds, doubtful = given_
    states = said.states()
    table = tag_table(said, P, states == int(State.UNKNOWN), thresholds, doubtful)
    expected = {}
    for row, column in np.ndindex(*P.shape):
        at = (said.items[row], said.labels[column])
        if states[row, column] == int(State.PRESENT):
            doubt = doubtful[row, column]
            expected[at] = TagState.DOUBTFUL_KNOWN if doubt else TagState.KNOWN
        elif states[row, column] == int(State.ABSENT):
            if doubtful[row, column]:
                expected[at] = TagState.DOUBTFUL_ABSENT
        elif P[row, column] >= thresholds[column]:
            expected[at] = TagState.SUGGESTED
    assert {(row.image, row.tag): row.state for row in table} == expected
    assert len(table) == len(expected)
    assert sum(map(table.count, TagState)) == len(table)


@given(tables())
def test_ranks_follow_falling_probability_within_each_picture(given_):
    said, P, thresholds, doubtful = given_
    table = tag_table(said, P, said.states() == int(State.UNKNOWN), thresholds, doubtful)
    by_image = {}
    for row in table:
        by_image.setdefault(row.image, []).append(row)
    assert list(by_image) == [item for item in said.items if item in by_image]
    for rows in by_image.values():
        assert [row.rank for row in rows] == list(range(1, len(rows) + 1))
        falling = [row.probability for row in rows]
        assert falling == sorted(falling, reverse=True)


@given(tables())
def test_a_csv_file_gives_back_the_table(tmp_path_factory, given_):
    said, P, thresholds, doubtful = given_
    table = tag_table(said, P, said.states() == int(State.UNKNOWN), thresholds, doubtful)
    path = tmp_path_factory.mktemp("csv") / "suggestions.csv"
    write_suggestions(table, path)
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == list(COLUMNS)
    assert [tuple(row[2:]) for row in rows[1:]] == [
        (f"{row.probability:.4f}", str(row.rank), row.state.text) for row in table
    ]
    assert not any(cell.startswith(tuple(FORMULA)) for row in rows for cell in row)
    written = [(row.image, row.tag) for row in table]
    assert [(row.image, row.tag) for row in read_suggestions(path)] == written
    # The same as a spreadsheet saves it, which begins with a byte order mark.
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert [(row.image, row.tag) for row in read_suggestions(path)] == written


def small_table():
    said = PartialLabels.from_array([[1, np.nan], [np.nan, np.nan]], labels=["sea", "dog"])
    rare = PartialLabels.from_entries([0, 1], [0, 1], [True, False], shape=(2, 2), labels=[8, 9])
    P = np.array([[0.1, 0.9], [0.2, 0.3]], dtype=np.float32)
    open_to = said.states() == int(State.UNKNOWN)
    return tag_table(said, P, open_to, np.full(2, 0.25), np.zeros(P.shape, bool), rare)


def test_rare_tags_come_last_and_have_no_probability():
    table = small_table()
    rows = [(row.image, row.tag, row.rank, row.state.text) for row in table]
    assert rows == [
        ("0", "dog", 1, "suggested"),
        ("0", "sea", 2, "known"),
        ("0", "8", 3, "known"),
        ("1", "dog", 1, "suggested"),
    ]
    assert math.isnan(list(table)[2].probability)


def test_parquet_says_the_same(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = small_table()
    write_suggestions_parquet(table, tmp_path / "suggestions.parquet")
    read = parquet.read_table(tmp_path / "suggestions.parquet").to_pydict()
    assert tuple(read) == COLUMNS
    for row, *stored in zip(table, *read.values(), strict=True):
        assert stored[:2] == [row.image, row.tag]
        assert np.array_equal(stored[2], row.probability, equal_nan=True)
        assert stored[3:] == [row.rank, row.state.text]


def test_a_missing_probability_is_an_empty_cell(tmp_path):
    write_suggestions(small_table(), tmp_path / "suggestions.csv")
    lines = (tmp_path / "suggestions.csv").read_text(encoding="utf-8").split("\n")
    assert lines[3] == "0,8,,3,known"


def test_a_table_without_rows_is_a_header(tmp_path):
    nothing = np.zeros(0, dtype=np.int64)
    table = TagTable([], [], nothing, nothing, nothing.astype(np.float32), nothing,
                     nothing.astype(np.int8))  # fmt: skip
    write_suggestions(table, tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text() == ",".join(COLUMNS) + "\n"


def test_the_table_reads_back_with_who_said_what(tmp_path):
    codes = np.array([[1, 1, 0], [np.nan, 1, np.nan]])
    said = PartialLabels.from_array(codes, items=["a.jpg", "b.jpg"], labels=["x", "y", "z"])
    P = np.array([[0.9, 0.1, 0.8], [0.7, 0.6, 0.2]])
    doubtful = np.array([[False, True, True], [False, False, False]])
    table = tag_table(said, P, np.isnan(codes), np.full(3, 0.5), doubtful)
    write_suggestions(table, tmp_path / "suggestions.csv")
    back = read_tags(tmp_path / "suggestions.csv").annotations
    assert {state.text for state in TagState} == {row.state.text for row in table}
    by_people = {(one.image, one.tag): one.present for one in back.without_suggestions()}
    assert list(by_people.values()) == [True, True, False, True]
    assert [one.confidence for one in back if one.confidence is not None] == [0.7]
