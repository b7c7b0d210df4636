"""How tables name their columns, and how their cells spell states and probabilities."""

from collections.abc import Iterable, Sequence
from typing import Literal

from tagloom.errors import InvalidInputError
from tagloom.labels import State

PICTURE = (
    "image",
    "file_name",
    "filename",
    "file",
    "path",
    "item",
    "imageid",
    "image_id",
    "image_name",
    "image_path",
    "file_path",
    "filepath",
    "picture",
    "photo",
)
TAG = ("tag", "label", "labelname", "label_name", "keyword")
TAGS = ("tags", "labels", "keywords")
STATE = ("present", "state", "value", "confidence")
PROBABILITY = ("probability", "confidence")
SPLIT = ("split",)
KNOWN = frozenset((*PICTURE, *TAG, *TAGS, *STATE, *PROBABILITY, *SPLIT))


def plain(name: str) -> str:
    """Return the name of a column for comparison: `File Name` is `file_name`."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def find_column(
    header: Sequence[str], names: Iterable[str], excluded: Iterable[int] = ()
) -> int | None:
    """Return the column with the first of these names that occurs; None if none does.

    >>> find_column(["ImageID", "LabelName", "Confidence"], TAG)
    1
    """
    left_out = set(excluded)
    places: dict[str, int] = {}
    for place, name in enumerate(header):
        if place not in left_out:
            places.setdefault(plain(name), place)
    return next((places[name] for name in names if name in places), None)


def find_picture_column(header: Sequence[str], excluded: Iterable[int] = ()) -> int:
    """Return the first column that is named like pictures, else the first column."""
    left_out = set(excluded)
    free = [place for place in range(len(header)) if place not in left_out]
    named = [place for place in free if plain(header[place]) in PICTURE]
    return (named or free or [0])[0]


UNCERTAIN: Literal["uncertain"] = "uncertain"
CellState = State | Literal["uncertain"]
"""A state; UNCERTAIN is unknown because an annotator could not tell."""

STATES: dict[str, CellState] = {
    **dict.fromkeys(("1", "1.0", "present", "yes", "true"), State.PRESENT),
    **dict.fromkeys(("0", "0.0", "absent", "no", "false"), State.ABSENT),
    **dict.fromkeys(("", "unknown", "nan", "na", "n/a", "null", "none", "?"), State.UNKNOWN),
    **dict.fromkeys(("-1", "-1.0", "uncertain"), UNCERTAIN),
}


def state_of(cell: str) -> CellState | None:
    """Return the state that a cell spells; None if it is none.

    >>> state_of("1") is State.PRESENT, state_of("No ") is State.ABSENT, state_of("-1")
    (True, True, 'uncertain')
    >>> state_of("") is State.UNKNOWN, state_of("2")
    (True, None)
    """
    known = STATES.get(cell)
    return STATES.get(cell.strip().lower()) if known is None else known


def probability_of(cell: str) -> float | None:
    """Return the number in [0, 1] that a cell spells, with a decimal point or comma; else None.

    >>> probability_of("0.25"), probability_of("0,25"), probability_of("2")
    (0.25, 0.25, None)
    """
    try:
        number = float(cell.replace(",", "."))
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None


def bad_state(where: str, found: str, also: str = "") -> InvalidInputError:
    """Return the error for a cell that is not a state."""
    return InvalidInputError(
        f"{where}: expected 1 (present), 0 (absent) or, for unknown, nothing{also}; found "
        f"{found!r}. Change the cell, or remove the column if it is not about tags."
    )


NO_PICTURE = "a row names no picture: left out"
NO_TAG = "a tag is blank: left out"
UNCERTAIN_CELL = "a cell is -1 (uncertain): read as unknown"
