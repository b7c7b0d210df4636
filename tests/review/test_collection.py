"""The states of entries, and the collection in memory with its running counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.completion.feedback import ABSENT, PRESENT
from tagloom.review.collection import (
    DECIDED,
    HAS_TAG,
    LACKS_TAG,
    N_STATES,
    UNDECIDED,
    Collection,
    EntryState,
    after_verdict,
    from_journal,
)

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
    uncertainty = np.nansum(np.where(open_to, P * (1 - P), 0), axis=1)
    np.testing.assert_allclose(collection.uncertainty(), uncertainty, rtol=1e-4)
    suggested = np.where((states == EntryState.SUGGESTED) & ~np.isnan(P), P, -1)
    np.testing.assert_array_equal(collection.highest(), suggested.max(axis=1))


def test_only_changes_are_returned(untouched):
    collection = Collection(untouched.review.collection.loaded)
    entries = [
        (1, 2, EntryState.ACCEPTED),
        (1, 2, EntryState.ACCEPTED),
        (3, 4, EntryState.REJECTED),
    ]
    assert collection.put(entries) == [(1, 2), (3, 4)]
    assert collection.put(entries) == []


BASES = [state for state in EntryState if state not in DECIDED]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("typed", [True, False])
def test_accepting_says_that_the_picture_has_the_tag_and_rejecting_that_it_does_not(base, typed):
    accepted = after_verdict(base, "accept", typed=typed)
    rejected = after_verdict(base, "reject", typed=typed)
    assert accepted in HAS_TAG
    assert accepted.journal_word in PRESENT
    assert rejected in LACKS_TAG
    assert rejected.journal_word in ABSENT
    assert after_verdict(base, "clear", typed=typed) == base


def test_readers_and_writers_of_the_journal_mean_the_same_states_by_decided():
    assert {state.journal_word for state in DECIDED} == PRESENT | ABSENT


@pytest.mark.parametrize("base", BASES)
def test_only_decisions_are_read_from_the_journal_as_suggestions_may_have_changed(base):
    for state in EntryState:
        assert from_journal(state.journal_word, base) == (state if state in DECIDED else base)
    assert from_journal("a word of a later version", base) == base


def test_only_typed_tags_that_were_not_suggested_are_added():
    assert after_verdict(EntryState.UNKNOWN, "accept", typed=True) == EntryState.ADDED
    assert after_verdict(EntryState.UNKNOWN, "accept", typed=False) == EntryState.ACCEPTED
    assert after_verdict(EntryState.SUGGESTED, "accept", typed=True) == EntryState.ACCEPTED
