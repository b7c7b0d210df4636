"""Rows and labels as people choose them, turned into positions or refused."""

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from tagloom.errors import InvalidInputError
from tagloom.labels._names import checked_names, listed
from tagloom.labels._types import Positions
from tagloom.labels._values import as_array


def chosen_rows(rows: ArrayLike | slice, n_items: int) -> Positions:
    """Return the positions that an integer array, a slice or a mask of rows chooses."""
    if isinstance(rows, slice):
        return np.arange(n_items)[rows]
    given = as_array(rows, "The rows")
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iub"):
        raise InvalidInputError(
            "Rows are chosen by a list of positions, a slice or a mask; found type "
            f"{given.dtype} and shape {given.shape}."
        )
    if given.dtype.kind == "b":
        if len(given) != n_items:
            raise InvalidInputError(
                f"A mask of rows needs {n_items:,} values, one for each item; found {len(given):,}."
            )
        return np.flatnonzero(given)
    outside = given[(given < -n_items) | (given >= n_items)]
    if outside.size:
        raise InvalidInputError(f"There is no row {outside[0]} among {n_items:,} items.")
    positions = given.astype(np.int64)
    return np.where(positions < 0, positions + n_items, positions)


def chosen_labels(wanted: Iterable[Hashable], labels: tuple[Hashable, ...]) -> Positions:
    """Return the positions of the named labels, in the order in which they are named."""
    names = checked_names(wanted, "label", None)
    column = {label: position for position, label in enumerate(labels)}
    strangers = [name for name in names if name not in column]
    if strangers:
        raise InvalidInputError(
            f"There is no label {listed(strangers)}. Available labels are: {listed(labels, 10)}."
        )
    return np.array([column[name] for name in names], dtype=np.int64)
