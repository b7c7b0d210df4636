"""What can be asked of a completion."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from tagloom.checks import check_choice, check_number, check_whole
from tagloom.errors import InvalidInputError

UNTAGGED = ("auto", "seen", "unseen")


@dataclass(frozen=True)
class Options:
    """How to complete a collection.

    Parameters
    ----------
    unlisted : "unknown", "absent" or float in (0, 1]
        What a tag means that is not on a picture's list; a number is the weight with which it is
        absent. "unknown" never takes it for an absence, though where no absence is known at all the
        learner has to presume one; probabilities then allow for forgotten tags.
    untagged : {"auto", "seen", "unseen"}
        Whether somebody has looked at pictures that have no tag at all. "auto" believes it as long
        as there are not many more of them than forgetting single tags would leave.
    precision : float in (0, 1), optional
        Share of the suggestions that shall be right; without it thresholds are chosen for F1.
    completeness : float in (0, 1], optional
        Share of the tags that should be there that are there; estimated where it is not given.
    minutes : float
        After so long the search for parameters begins no further candidate.
    least_pictures : int
        A label on fewer pictures is not learned.
    folds : int
        Into how many parts what is known is split to measure the result.
    questions : int
        How many entries to propose for a person to look at next.
    seed : int
    """

    unlisted: str | float = "unknown"
    untagged: str = "auto"
    precision: float | None = None
    completeness: float | None = None
    minutes: float = 15.0
    least_pictures: int = 3
    folds: int = 4
    questions: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "unlisted", read_unlisted(self.unlisted))
        check_choice("untagged", self.untagged, UNTAGGED)
        if self.precision is not None:
            check_number("precision", self.precision, low=0, high=1, inclusive=False)
            if self.precision == 1:
                raise InvalidInputError("precision must be below 1: nothing is ever certain.")
        if self.completeness is not None:
            check_number("completeness", self.completeness, low=0, high=1, inclusive=False)
        check_number("minutes", self.minutes, low=0)
        check_whole("least_pictures", self.least_pictures, at_least=2)
        check_whole("folds", self.folds, at_least=2)
        check_whole("questions", self.questions, at_least=0)
        check_whole("seed", self.seed, at_least=0)

    def facts(self) -> dict[str, Any]:
        """Return the options as JSON can hold them."""
        return asdict(self)

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Options":
        """Return the options of which `facts` told."""
        return cls(**{one.name: facts[one.name] for one in fields(cls)})


def read_unlisted(value: str | float) -> str | float:
    """Return what `--unlisted` says: a word, or a weight.

    >>> read_unlisted("0.2"), read_unlisted("absent")
    (0.2, 'absent')
    """
    if value in ("unknown", "absent"):
        return value
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = -1.0
    if not 0 < weight <= 1:
        raise InvalidInputError(
            f"unlisted must be 'unknown', 'absent' or a weight in (0, 1]; got {value!r}."
        )
    return weight
