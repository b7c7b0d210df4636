import pytest

from tagloom.completion.answers import ABSENT, PRESENT
from tagloom.review.states import (
    BY_WORD,
    CARRIED,
    DECIDED,
    DENIED,
    EntryState,
    after_verdict,
    recalled,
)

BASES = [state for state in EntryState if state not in DECIDED]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("typed", [True, False])
def test_accept_says_that_the_picture_has_the_tag_and_reject_that_it_has_it_not(base, typed):
    accepted = after_verdict(base, "accept", typed=typed)
    rejected = after_verdict(base, "reject", typed=typed)
    assert accepted in CARRIED
    assert accepted.word in PRESENT
    assert rejected in DENIED
    assert rejected.word in ABSENT
    assert after_verdict(base, "clear", typed=typed) == base


def test_readers_and_writers_of_the_journal_mean_the_same_states_by_decided():
    assert {state.word for state in DECIDED} == PRESENT | ABSENT


@pytest.mark.parametrize("base", BASES)
def test_only_decisions_are_recalled_for_what_was_suggested_may_not_be_any_more(base):
    for word, state in BY_WORD.items():
        assert recalled(word, base) == (state if state in DECIDED else base)
    assert recalled("a word of a later version", base) == base


def test_only_what_was_typed_and_not_suggested_is_added():
    assert after_verdict(EntryState.OPEN, "accept", typed=True) == EntryState.ADDED
    assert after_verdict(EntryState.OPEN, "accept", typed=False) == EntryState.ACCEPTED
    assert after_verdict(EntryState.SUGGESTED, "accept", typed=True) == EntryState.ACCEPTED
