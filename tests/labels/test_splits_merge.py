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


def entry_of(known, item, label):
    """Return state and weight of a cell, and whether it is listed."""
    if item not in known.items or label not in known.labels:
        return -1, 0.0, False
    row, column = known.items.index(item), known.labels.index(label)
    entries = known.entries()
    listed = bool(((entries.rows == row) & (entries.columns == column)).any())
    return known.states()[row, column], known.weights()[row, column], listed


@settings(deadline=None)
@given(st.data(), st.sampled_from([0.3, 1.0]))
def test_the_later_of_two_listed_entries_counts(data, weight):
    earlier, later = data.draw(some_labels(weight)), data.draw(some_labels(weight))
    both = add_known(earlier, later)
    assert both.items[: earlier.n_items] == earlier.items
    assert both.labels[: earlier.n_labels] == earlier.labels
    assert set(both.items) == {*earlier.items, *later.items}
    for item in both.items:
        for label in both.labels:
            old, new = entry_of(earlier, item, label), entry_of(later, item, label)
            expected = next(
                (one for one in (new, old) if one[2]), max(old, new, key=lambda one: one[1])
            )
            assert entry_of(both, item, label)[:2] == expected[:2]


def test_labels_without_known_entries_change_nothing():
    known = PartialLabels.from_array([[1, np.nan], [0, 1]], items=["a", "b"])
    assert add_known(known, known.with_hidden([0, 1, 1], [0, 0, 1])) == known


def test_items_without_names_are_matched_by_position_alone():
    known = PartialLabels.from_array([[1, np.nan], [0, np.nan]])
    later = PartialLabels.from_array([[np.nan, 1], [1, np.nan]])
    np.testing.assert_array_equal(add_known(known, later).to_array(), [[1, 1], [1, np.nan]])
    with pytest.raises(InvalidInputError, match="they have 2 and 1"):
        add_known(known, later.take([0]))


def test_two_meanings_of_an_unlisted_tag_are_refused():
    one, other = (
        PartialLabels.from_tags({"a": ["sea"]}, unlisted=weight) for weight in (0.1, "absent")
    )
    with pytest.raises(InvalidInputError, match=r"weight 0.1 in the earlier labels and 1 in"):
        add_known(one, other)
