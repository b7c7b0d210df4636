"""Checks on constructor parameters, made in `fit` as scikit-learn wants it."""

import numbers
from typing import Any

import numpy as np

from tagloom.errors import InvalidInputError


def check_number(
    estimator: object, name: str, *, above: float = 0.0, inclusive: bool = True
) -> None:
    """Refuse a parameter that is not a finite number >= `above` (> where not `inclusive`)."""
    given = getattr(estimator, name)
    is_number = isinstance(given, numbers.Real) and not isinstance(given, bool | np.bool_)
    if is_number and np.isfinite(given) and (given >= above if inclusive else given > above):
        return
    bracket = "[" if inclusive else "("
    _refuse(estimator, name, f"a float in the range {bracket}{above}, inf)", given)


def check_count(estimator: object, name: str) -> None:
    """Refuse a parameter that is not an integer >= 1."""
    given = getattr(estimator, name)
    is_integer = isinstance(given, numbers.Integral) and not isinstance(given, bool | np.bool_)
    if is_integer and given >= 1:
        return
    _refuse(estimator, name, "an int in the range [1, inf)", given)


def check_flag(estimator: object, name: str) -> None:
    """Refuse a parameter that is not True or False."""
    given = getattr(estimator, name)
    if not isinstance(given, bool | np.bool_):
        _refuse(estimator, name, "an instance of 'bool'", given)


def check_choice(estimator: object, name: str, choices: tuple[str, ...]) -> None:
    """Refuse a parameter that is none of the choices."""
    given = getattr(estimator, name)
    if given not in choices:
        _refuse(estimator, name, f"a str among {set(choices)}", given)


def _refuse(estimator: object, name: str, expected: str, given: Any) -> None:
    raise InvalidInputError(
        f"The '{name}' parameter of {type(estimator).__name__} must be {expected}. "
        f"Got {given!r} instead."
    )
