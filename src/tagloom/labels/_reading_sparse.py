"""Sparse matrices of presences with a mask of what is known."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels._cells import Cells, cell_keys
from tagloom.labels._names import Names
from tagloom.labels._reading import Parts
from tagloom.labels._reading_entries import checked_shape
from tagloom.labels._store import store_cells
from tagloom.labels._types import Flags, Floats, Positions
from tagloom.labels._values import as_array, entry_weights, two_dimensional


def read_sparse(
    Y: Any,
    mask: Any,
    labels: Iterable[Hashable] | None,
    items: Iterable[Hashable] | None,
    weights: Any,
) -> Parts:
    """Read presences from a sparse matrix and what is known from its mask."""
    if not _is_sparse(Y):
        raise InvalidInputError(
            f"from_sparse expects a scipy sparse matrix, found {type(Y).__name__}. "
            "Use from_array for arrays, with NaN where unknown."
        )
    shape = checked_shape(two_dimensional(Y.shape, "The labels"))
    names = Names.checked(shape, labels, items)
    known = _true_keys(mask, shape, "The mask", names)
    present = _true_keys(Y, shape, "The labels", names)
    codes = _member(known, present).astype(np.int8)
    _refuse_outside(present[~_member(present, known)], names)
    rows, columns = _places(known, shape)
    given = _looked_up(weights, known, shape)
    cells = Cells(rows, columns, codes, entry_weights(given, rows, columns, names))
    return Parts(store_cells(cells, shape, 0.0), names)


def _is_sparse(value: object) -> bool:
    return bool(sparse.issparse(value))


def _true_keys(matrix: Any, shape: tuple[int, int], what: str, names: Names) -> Positions:
    table = _coordinates(matrix, shape, what)
    rows, columns = table.row.astype(np.int64), table.col.astype(np.int64)
    bad = np.flatnonzero(~(np.isfinite(table.data) & (table.data >= 0)))
    if len(bad):
        raise InvalidInputError(
            f"{what} must hold True or False (1 or 0); found {table.data[bad[0]].item()!r} at "
            f"{names.cell(int(rows[bad[0]]), int(columns[bad[0]]))}, and {len(bad):,} such values "
            "in all. What is unknown is left out of the mask."
        )
    true = table.data != 0
    return np.unique(cell_keys(rows[true], columns[true], shape[1]))


def _member(keys: Positions, among: Positions) -> Flags:
    return np.isin(keys, among, assume_unique=True)


def _places(keys: Positions, shape: tuple[int, int]) -> tuple[Positions, Positions]:
    rows, columns = np.divmod(keys, max(shape[1], 1))
    return rows, columns


def _refuse_outside(keys: Positions, names: Names) -> None:
    if len(keys):
        row, column = divmod(int(keys[0]), len(names.labels))
        raise InvalidInputError(
            f"The matrix has a nonzero outside the mask at {names.cell(row, column)}, and "
            f"{len(keys):,} such entries in all: an entry cannot be present and unknown. "
            "Add it to the mask or remove it."
        )


def _looked_up(weights: Any, known: Positions, shape: tuple[int, int]) -> Floats | None:
    if weights is None:
        return None
    # Through compressed rows, so that what is stored twice is added up and sorted.
    table = _coordinates(weights, shape, "The weights").tocsr()
    table.sum_duplicates()
    stored = table.tocoo()
    keys = cell_keys(stored.row.astype(np.int64), stored.col.astype(np.int64), shape[1])
    found = np.zeros(len(known))
    found[_member(known, keys)] = stored.data[_member(keys, known)]
    return found


def _coordinates(matrix: Any, shape: tuple[int, int], what: str) -> Any:
    given: Any = matrix if _is_sparse(matrix) else as_array(matrix, what)
    if given.shape != shape or given.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{what} must be numbers or booleans in the shape of the labels, {shape}; "
            f"found type {given.dtype} and shape {given.shape}."
        )
    return given.tocoo() if _is_sparse(given) else sparse.coo_array(given)
