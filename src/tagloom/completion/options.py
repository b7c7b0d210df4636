"""The options of a completion."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from tagloom.errors import InvalidInputError
from tagloom.validation import check_choice, check_integer, check_number

UNTAGGED = ("auto", "seen", "unseen")


@dataclass(frozen=True)
class Options:
    """How to complete a collection.

    Parameters
    ----------
    unlisted : "unknown", "absent" or float in (0, 1]
        What it means that a tag is not on a picture's list; a number is the weight with which it is
        absent. "unknown" never takes it for an absence; where no absence is known at all, the
        learner has to assume them, and probabilities allow for forgotten tags (PU learning).
    untagged : {"auto", "seen", "unseen"}
        Whether somebody has looked at the pictures without any tag. "auto" assumes so unless there
        are many more of them than forgetting single tags would explain.
    precision : float in (0, 1), optional
        Share of the suggestions that shall be right; otherwise thresholds maximise the F1.
    label_frequency : float in (0, 1], optional
        Share of the presences that are listed, c in PU learning; estimated where it is not given.
    max_minutes : float
        The parameter search starts no new candidate after this time.
    min_pictures : int
        Labels on fewer pictures are not learned.
    cv : int
        Number of folds by which the result is measured.
    annotate_next : int
        How many entries to propose for annotation.
    random_state : int
    """

    unlisted: str | float = "unknown"
    untagged: str = "auto"
    precision: float | None = None
    label_frequency: float | None = None
    max_minutes: float = 15.0
    min_pictures: int = 3
    cv: int = 4
    annotate_next: int = 50
    random_state: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "unlisted", parse_unlisted(self.unlisted))
        check_choice("untagged", self.untagged, UNTAGGED)
        if self.precision is not None:
            check_number("precision", self.precision, low=0, high=1, inclusive=False)
            if self.precision == 1:
                raise InvalidInputError("precision must be below 1: nothing is ever certain.")
        if self.label_frequency is not None:
            check_number("label_frequency", self.label_frequency, low=0, high=1, inclusive=False)
        check_number("max_minutes", self.max_minutes, low=0)
        check_integer("min_pictures", self.min_pictures, at_least=2)
        check_integer("cv", self.cv, at_least=2)
        check_integer("annotate_next", self.annotate_next, at_least=0)
        check_integer("random_state", self.random_state, at_least=0)

    def metadata(self) -> dict[str, Any]:
        """Return the options as JSON values."""
        return asdict(self)

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> "Options":
        """Return the options that `metadata` was made from."""
        return cls(**{one.name: metadata[one.name] for one in fields(cls)})


def parse_unlisted(value: str | float) -> str | float:
    """Return the meaning of unlisted tags: a word, or a weight.

    >>> parse_unlisted("0.2"), parse_unlisted("absent")
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
