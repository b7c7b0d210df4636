import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.review.collection import Collection
from tagloom.review.states import N_STATES, UNDECIDED, EntryState

changes = st.lists(
    st.tuples(st.integers(0, 47), st.integers(0, 34), st.sampled_from(list(EntryState))),
    max_size=30,
)


@settings(max_examples=30)
@given(changes)
def test_running_counts_and_keys_are_those_of_the_whole_table(untouched, changes):
    collection = Collection(untouched.review.collection.loaded)
    while len(collection.tags) < 35:
        collection.add_tag(f"new {len(collection.tags)}")
    collection.put(changes)
    states = collection.states
    for code in range(N_STATES):
        assert (collection.per_image[:, code] == (states == code).sum(axis=1)).all()
        assert (collection.per_tag[:35, code] == (states == code).sum(axis=0)).all()
    P = np.stack([collection.probabilities(t) for t in range(35)], axis=1)
    open_to = np.isin(states, UNDECIDED)
    unclear = np.nansum(np.where(open_to, P * (1 - P), 0), axis=1)
    np.testing.assert_allclose(collection.unclear, unclear, rtol=1e-4)
    suggested = np.where((states == EntryState.SUGGESTED) & ~np.isnan(P), P, -1)
    np.testing.assert_array_equal(collection.surest, suggested.max(axis=1))


def test_only_changes_are_told(untouched):
    collection = Collection(untouched.review.collection.loaded)
    asked = [(1, 2, EntryState.ACCEPTED), (1, 2, EntryState.ACCEPTED), (3, 4, EntryState.REJECTED)]
    assert collection.put(asked) == [(1, 2), (3, 4)]
    assert collection.put(asked) == []
