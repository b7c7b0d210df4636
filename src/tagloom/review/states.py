"""The states of an entry, and what a verdict makes of them."""

from enum import IntEnum

import numpy as np


class EntryState(IntEnum):
    """What is the case for one picture and one tag.

    The first six are what it was before the review, the others what a person has decided.
    """

    OPEN = 0
    SUGGESTED = 1
    KNOWN = 2
    DOUBTFUL = 3
    """Somebody gave it, and it looks wrong."""
    ABSENT = 4
    DOUBTFUL_ABSENT = 5
    """Somebody denied it, and it looks right."""
    ACCEPTED = 6
    ADDED = 7
    """Typed by a person, and not suggested."""
    REJECTED = 8
    REMOVED = 9
    """Somebody had given it, and it was wrong."""
    CONFIRMED = 10
    """Somebody had given it, and it was right."""

    @property
    def word(self) -> str:
        """As it stands in the journal of decisions."""
        return self.name.lower().replace("_", "-")

    @property
    def told(self) -> str:
        """As the page is told."""
        return _TOLD.get(self, self.word)


N_STATES = len(EntryState)
_TOLD = {EntryState.CONFIRMED: "known"}
BY_WORD = {state.word: state for state in EntryState}
VERDICTS = ("accept", "reject", "clear")
UNDECIDED = (EntryState.OPEN, EntryState.SUGGESTED)
"""Of which nobody has said anything."""
DOUBTS = (EntryState.DOUBTFUL, EntryState.DOUBTFUL_ABSENT)
DECIDED = tuple(state for state in EntryState if state >= EntryState.ACCEPTED)
CARRIED = (
    EntryState.KNOWN,
    EntryState.DOUBTFUL,
    EntryState.ACCEPTED,
    EntryState.ADDED,
    EntryState.CONFIRMED,
)
"""A person says that the picture has the tag."""
DENIED = (
    EntryState.ABSENT,
    EntryState.DOUBTFUL_ABSENT,
    EntryState.REJECTED,
    EntryState.REMOVED,
)
"""A person says that it has it not."""
SHOWN = tuple(state for state in EntryState if state not in (EntryState.OPEN, EntryState.ABSENT))
"""Listed with the picture."""


def among(*states: EntryState) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Return a table that says of every state whether it is one of these."""
    table = np.zeros(N_STATES, dtype=bool)
    table[list(states)] = True
    return table


def after_verdict(base: EntryState, verdict: str, *, typed: bool) -> EntryState:
    """Return the state that a verdict leads to from the state before the review.

    A verdict speaks of the tag: accepted, the picture has it, whatever was said of it before.
    """
    if verdict == "clear":
        return base
    given = base in (EntryState.KNOWN, EntryState.DOUBTFUL)
    if verdict == "reject":
        return EntryState.REMOVED if given else EntryState.REJECTED
    if given:
        return EntryState.CONFIRMED
    return EntryState.ADDED if typed and base == EntryState.OPEN else EntryState.ACCEPTED


def recalled(word: str, base: EntryState) -> EntryState:
    """Return the state that a word of the journal means; all but decisions mean the base.

    What a run suggests may have changed since the word was written; what people said has not.
    """
    state = BY_WORD.get(word, base)
    return state if state in DECIDED else base
