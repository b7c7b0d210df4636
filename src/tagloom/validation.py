"""Refusals of arguments that cannot be meant: what was expected, what was found."""

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from tagloom.errors import InvalidInputError


def is_integer(given: Any) -> bool:
    """Say whether this is a whole number; True is none."""
    return isinstance(given, numbers.Integral) and not isinstance(given, bool | np.bool_)


def check_integer(name: str, given: Any, *, at_least: int) -> None:
    """Refuse what is not a whole number of that size."""
    if not is_integer(given) or given < at_least:
        raise InvalidInputError(
            f"{name} must be a whole number of at least {at_least}; got {given!r}."
        )


def check_number(
    name: str, given: Any, *, low: float, high: float = np.inf, inclusive: bool = True
) -> None:
    """Refuse what is not a number from `low` (itself allowed where `inclusive`) to `high`."""
    is_number = isinstance(given, numbers.Real) and not isinstance(given, bool | np.bool_)
    in_range = is_number and given <= high and (given >= low if inclusive else given > low)
    if not in_range or not np.isfinite(given):
        bracket = "[" if inclusive else "("
        raise InvalidInputError(
            f"{name} must be a finite number in {bracket}{low:g}, {high:g}]; got {given!r}."
        )


def check_flag(name: str, given: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(given, bool | np.bool_):
        raise InvalidInputError(f"{name} must be True or False; got {given!r}.")


def check_choice(name: str, given: Any, choices: tuple[Any, ...]) -> None:
    """Refuse what is none of the choices."""
    if not isinstance(given, str | None) or given not in choices:
        listed = ", ".join(map(repr, choices))
        raise InvalidInputError(f"{name} must be one of {listed}; got {given!r}.")


def check_same_items(n_rows: int, n_items: int) -> None:
    """Refuse labels of more or fewer items than there are rows."""
    if n_rows != n_items:
        raise InvalidInputError(
            f"X and Y must have one row for each item: X has {n_rows} rows, Y has {n_items}."
        )


def some_of(names: Iterable[object], limit: int = 5) -> str:
    """Return the first few names for a message, and how many more there are."""
    listed = list(names)
    shown = ", ".join(map(repr, listed[:limit]))
    more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
    return shown + more if listed else "none"
