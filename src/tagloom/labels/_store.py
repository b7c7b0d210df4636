"""The choice between the two stores, and whether two of them say the same."""

import numpy as np

from tagloom.labels._cells import Cells, weigh_one
from tagloom.labels._dense import Dense
from tagloom.labels._sparse import Sparse
from tagloom.labels._types import UNKNOWN, Codes, Floats

Store = Dense | Sparse

# Rows compared at a time are chosen so that a block stays around this many cells.
_BLOCK_CELLS = 4_000_000


def store_cells(cells: Cells, shape: tuple[int, int], background: float) -> Store:
    """Keep sorted cells in the smaller store; over an absent background always sparse."""
    cells = cells.without_background(background)
    if background or _sparse_is_smaller(len(cells.rows), shape, cells.weights is not None):
        return Sparse.from_cells(cells, shape, background)
    return Dense.from_cells(cells, shape)


def store_table(codes: Codes, weights: Floats | None) -> Store:
    """Keep a whole table, which now belongs to the store, in the smaller store."""
    if weights is not None and weigh_one(codes, weights):
        weights = None
    dense = Dense(codes, weights)
    n_known = int(np.count_nonzero(codes != UNKNOWN))
    if _sparse_is_smaller(n_known, dense.shape, weights is not None):
        return Sparse.from_cells(dense.cells(), dense.shape, 0.0)
    return dense


def _sparse_is_smaller(n_stored: int, shape: tuple[int, int], weighted: bool) -> bool:
    n_items, n_labels = shape
    weight = 8 if weighted else 0
    return 8 * (n_items + 1) + n_stored * (5 + weight) < n_items * n_labels * (1 + weight)


def same_content(one: Store, other: Store) -> bool:
    """Say whether both give every cell the same state and weight."""
    if one.shape != other.shape or not all(map(np.array_equal, one.counts(), other.counts())):
        return False
    if isinstance(one, Sparse) and isinstance(other, Sparse) and one.background == other.background:
        return _same_stored(one, other)
    n_items, n_labels = one.shape
    step = max(1, _BLOCK_CELLS // max(1, n_labels))
    return all(
        _same_block(one, other, start, min(start + step, n_items))
        for start in range(0, n_items, step)
    )


def _same_stored(one: Sparse, other: Sparse) -> bool:
    return (
        np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.codes, other.codes)
        and np.array_equal(one.cells().full_weights(), other.cells().full_weights())
    )


def _same_block(one: Store, other: Store, start: int, stop: int) -> bool:
    codes, weights = one.block(start, stop)
    other_codes, other_weights = other.block(start, stop)
    if not np.array_equal(codes, other_codes):
        return False
    if weights is None or other_weights is None:
        return weights is other_weights
    return np.array_equal(weights, other_weights)
