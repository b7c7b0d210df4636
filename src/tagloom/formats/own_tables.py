"""Tables of ours that come back: suggestions and questions to which a person has answered.

There a probability stands in nearly every row, also in those that a person has decided: the state
alone says who speaks.
"""

from collections.abc import Sequence

from tagloom.errors import InvalidInputError
from tagloom.formats.columns import plain
from tagloom.formats.states import UNKNOWN, State, probability_of, state_of

KNOWN = "known"
SUGGESTED = "suggested"
DOUBTFUL_KNOWN = "doubtful-known"
DOUBTFUL_ABSENT = "doubtful-absent"
_WORDS: dict[str, State] = {KNOWN: True, DOUBTFUL_KNOWN: True, DOUBTFUL_ABSENT: False}
_COLUMNS = {"image", "tag", "probability", "state"}
_ONLY_OURS = {"rank", "worth"}


def is_ours(header: Sequence[str]) -> bool:
    """Say whether a header is that of our suggestions or questions.

    >>> is_ours(["image", "tag", "probability", "rank", "state"]), is_ours(["image", "tag", "rank"])
    (True, False)
    """
    names = set(map(plain, header))
    return names >= _COLUMNS and bool(names & _ONLY_OURS)


def own_places(header: Sequence[str]) -> set[int]:
    """Return the places of columns that only our tables have, and that say nothing of tags."""
    if not is_ours(header):
        return set()
    return {place for place, name in enumerate(header) if plain(name) in _ONLY_OURS}


def answered(state: str, probability: str, where: str) -> tuple[State, float | None]:
    """Return what a row says, and our confidence where no person says it.

    A suggestion that nobody has decided, and a question without an answer, are ours.

    >>> answered("known", "0.8799", "line 2"), answered("suggested", "0.8799", "line 3")
    ((True, None), (True, 0.8799))
    """
    word = state.strip().lower()
    said = _WORDS.get(word, state_of(word))
    if word == SUGGESTED or said == UNKNOWN:
        confidence = probability_of(probability)
        return (UNKNOWN, None) if confidence is None else (True, confidence)
    if said is None:
        raise InvalidInputError(
            f"{where}: expected known (or present, yes, 1) where the tag is right, absent (or no, "
            f"0) where it is wrong, {SUGGESTED} or nothing where it is open; found {state!r}. "
            "Change the cell."
        )
    return said, None
