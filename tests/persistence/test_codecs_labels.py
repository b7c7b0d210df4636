import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.persistence.codecs import deserialize_labels, serialize_labels

cells = st.sampled_from([1.0, 0.0, np.nan])


@st.composite
def some_labels(draw):
    n_items, n_labels = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    table = np.array(
        draw(st.lists(cells, min_size=n_items * n_labels, max_size=n_items * n_labels))
    ).reshape(n_items, n_labels)
    weights = draw(st.sampled_from([None, 0.25]))
    unlisted = draw(st.sampled_from([0.0, 0.1, 1.0]))
    items = draw(st.sampled_from([None, [f"{i}.jpg" for i in range(n_items)]]))
    labels = draw(st.sampled_from([None, [f"ü {j}" for j in range(n_labels)]]))
    rows, columns = np.nonzero(~np.isnan(table))
    known = PartialLabels.from_entries(
        rows,
        columns,
        table[rows, columns] == 1,
        shape=table.shape,
        weights=weights,
        items=items,
        labels=labels,
        unlisted_weight=unlisted,
    )
    return known.with_hidden([0], [0]) if draw(st.booleans()) else known


@settings(deadline=None)
@given(some_labels())
def test_round_trip(known):
    back = deserialize_labels(serialize_labels(known))
    assert back == known
    assert (back.labels, back.items) == (known.labels, known.items)
    assert back.is_sparse == known.is_sparse
    assert back.unlisted_weight == known.unlisted_weight
    np.testing.assert_array_equal(back.weights(), known.weights())


def test_names_that_json_would_change_are_refused():
    known = PartialLabels.from_array([[1, 0]], labels=[("a", 1), ("b", 2)])
    with pytest.raises(InvalidInputError, match="of type tuple"):
        serialize_labels(known)


@pytest.mark.parametrize("unlisted", [0.0, 0.5])
def test_impossible_states_and_places_are_refused(unlisted):
    known = PartialLabels.from_entries(
        [0, 19], [1, 0], [True, False], shape=(20, 20), unlisted_weight=unlisted
    )
    serialized = serialize_labels(known)
    assert serialized.metadata["is_sparse"]
    for name, wrong in (("codes", serialized.arrays["codes"] + 5), ("indices", np.array([1, 700]))):
        with pytest.raises(ValueError, match=r"neither present|indices|index"):
            deserialize_labels(serialized._replace(arrays=serialized.arrays | {name: wrong}))
