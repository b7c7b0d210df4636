"""How cells say present, absent, unknown, and how sure a machine is."""

from tagloom.errors import InvalidInputError

_PRESENT = ("1", "1.0", "present", "yes", "true")
_ABSENT = ("0", "0.0", "absent", "no", "false")
_UNKNOWN = ("", "unknown", "nan", "na", "n/a", "null", "none", "?")
_UNCERTAIN = ("-1", "-1.0", "uncertain")
UNCERTAIN = "uncertain"
UNKNOWN = "unknown"
State = bool | str
"""True (present), False (absent), UNKNOWN, or UNCERTAIN: unknown because somebody could not tell"""

STATES: dict[str, State] = {
    **dict.fromkeys(_PRESENT, True),
    **dict.fromkeys(_ABSENT, False),
    **dict.fromkeys(_UNKNOWN, UNKNOWN),
    **dict.fromkeys(_UNCERTAIN, UNCERTAIN),
}
_EXPECTED = "expected 1 (present), 0 (absent) or, for unknown, nothing"


def state_of(cell: str) -> State | None:
    """Return what a cell says; None if it is no state.

    >>> state_of("1"), state_of("No "), state_of(""), state_of("-1"), state_of("2")
    (True, False, 'unknown', 'uncertain', None)
    """
    known = STATES.get(cell)
    return STATES.get(cell.strip().lower()) if known is None else known


def probability_of(cell: str) -> float | None:
    """Return the number in [0, 1] that a cell says; None if it says none.

    Spreadsheets write a comma where the language of the system does.

    >>> probability_of("0.25"), probability_of("0,25"), probability_of("2")
    (0.25, 0.25, None)
    """
    try:
        number = float(cell.replace(",", "."))
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None


def bad_state(where: str, found: str, also: str = "") -> InvalidInputError:
    """Return the error for a cell that is no state."""
    return InvalidInputError(
        f"{where}: {_EXPECTED}{also}; found {found!r}. Change the cell, or take the column out if "
        "it says nothing of tags."
    )


def bad_probability(where: str, found: str) -> InvalidInputError:
    """Return the error for a cell that is no probability."""
    return InvalidInputError(
        f"{where}: expected a machine's probability from 0 to 1, or nothing where a person says "
        f"it; found {found!r}. Change the cell or leave it blank."
    )
