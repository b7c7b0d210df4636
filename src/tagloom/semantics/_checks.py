"""Checks on rows and labels."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.checks import check_same_items
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, as_partial_labels

_ROWS_AT_ONCE = 8192


def read_labels(Y: Any, n_items: int) -> PartialLabels:
    """Return what is known of so many items."""
    if Y is None:
        raise InvalidInputError(
            "This estimator requires y to be passed, but the target y is None. "
            "Pass PartialLabels or an array of 1, 0 and NaN (unknown), one column for each label."
        )
    known = as_partial_labels(Y)
    check_same_items(n_items, known.n_items)
    return known


def check_rows(table: npt.NDArray[Any], known: PartialLabels) -> None:
    """Refuse a table that is none, or has other rows than the labels."""
    if table.ndim != 2:
        raise InvalidInputError(
            f"Concepts must be a table, items x concepts; found {table.ndim} dimension(s)."
        )
    read_labels(known, len(table))
    for start in range(0, len(table), _ROWS_AT_ONCE):
        wrong = ~np.isfinite(table[start : start + _ROWS_AT_ONCE])
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise InvalidInputError(
                f"Concepts must be finite; found {table[start + row, column]} in row "
                f"{start + row}, column {column}."
            )
