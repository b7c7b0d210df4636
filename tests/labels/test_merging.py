import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, add_known

NAMES, LABELS = list("abcde"), ["sea", "sky", "dog", "car"]


@st.composite
def some_labels(draw, weight):
    items = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
    labels = draw(st.lists(st.sampled_from(LABELS), unique=True, min_size=1))
    shape = (len(items), len(labels))
    cells = draw(st.lists(st.sampled_from([1, 0, -1, -2]), min_size=20, max_size=20))
    table = np.array(cells[: shape[0] * shape[1]]).reshape(shape)
    rows, columns = np.nonzero(table >= 0)
    known = PartialLabels.from_entries(
        rows,
        columns,
        table[rows, columns] == 1,
        shape=shape,
        weights=draw(st.sampled_from([1.0, 2.0])),
        labels=labels,
        items=items,
        unlisted_weight=draw(st.sampled_from([0.0, weight])),
    )
    return known.with_hidden(*np.nonzero(table == -2))


def said_of(known, item, label):
    """Return state and weight of a cell, and whether somebody listed it."""
    if item not in known.items or label not in known.labels:
        return -1, 0.0, False
    row, column = known.items.index(item), known.labels.index(label)
    entries = known.entries()
    listed = bool(((entries.rows == row) & (entries.columns == column)).any())
    return known.states()[row, column], known.weights()[row, column], listed


@settings(deadline=None)
@given(st.data(), st.sampled_from([0.3, 1.0]))
def test_every_cell_says_what_was_said_of_it_last(data, weight):
    before, more = data.draw(some_labels(weight)), data.draw(some_labels(weight))
    both = add_known(before, more)
    assert both.items[: before.n_items] == before.items
    assert both.labels[: before.n_labels] == before.labels
    assert set(both.items) == {*before.items, *more.items}
    for item in both.items:
        for label in both.labels:
            old, new = said_of(before, item, label), said_of(more, item, label)
            expected = next(
                (one for one in (new, old) if one[2]), max(old, new, key=lambda one: one[1])
            )
            assert said_of(both, item, label)[:2] == expected[:2]


def test_nothing_more_changes_nothing():
    known = PartialLabels.from_array([[1, np.nan], [0, 1]], items=["a", "b"])
    assert add_known(known, known.with_hidden([0, 1, 1], [0, 0, 1])) == known


def test_items_without_names_are_matched_by_position_alone():
    known = PartialLabels.from_array([[1, np.nan], [0, np.nan]])
    more = PartialLabels.from_array([[np.nan, 1], [1, np.nan]])
    np.testing.assert_array_equal(add_known(known, more).to_array(), [[1, 1], [1, np.nan]])
    with pytest.raises(InvalidInputError, match="they have 2 and 1"):
        add_known(known, more.take([0]))


def test_two_meanings_of_an_unlisted_tag_are_refused():
    one, other = (
        PartialLabels.from_tags({"a": ["sea"]}, unlisted=weight) for weight in (0.1, "absent")
    )
    with pytest.raises(InvalidInputError, match=r"weight 0.1 in what was known and 1 in"):
        add_known(one, other)
