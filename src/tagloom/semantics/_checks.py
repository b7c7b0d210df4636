"""Checks on rows and labels."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.checks import check_same_items
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, as_partial_labels


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
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise InvalidInputError(
            f"Concepts must be finite; found {table[row, column]} in row {row}, column {column}."
        )
