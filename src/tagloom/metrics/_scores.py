"""Scores that can be judged: numbers, finite, one for each (item, label)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, as_partial_labels

Scores = npt.NDArray[np.floating[Any]]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]


def truth_and_scores(truth: Any, scores: npt.ArrayLike) -> tuple[PartialLabels, Scores]:
    """Return both in their own types, or refuse scores that do not fit the truth."""
    known = as_partial_labels(truth)
    table = as_numbers(scores)
    if table.shape != known.shape:
        raise InvalidInputError(
            f"Scores must have one row for each item and one column for each label, "
            f"{known.shape}; got {table.shape}."
        )
    return known, table


def as_numbers(scores: npt.ArrayLike) -> Scores:
    """Return scores as finite floats, or say which is none."""
    table = np.asarray(scores)
    if table.dtype.kind != "f":
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"Scores must be numbers; found an array of {table.dtype}."
            ) from None
    finite = np.isfinite(table)
    if not finite.all():
        place = tuple(np.argwhere(~finite)[0].tolist())
        listed = ", ".join(map(str, place))
        raise InvalidInputError(f"Scores must be finite; scores[{listed}] = {table[place]}.")
    return table
