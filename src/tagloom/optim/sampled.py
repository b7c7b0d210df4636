"""X'(V o XM) where V has few stored entries: only these are computed, both products in one pass.

The loops are compiled by numba (the extra `fast`) on first use, see `sampled_numba`; `available`
says whether they can be. Such sampled products are also known as SDDMM, fused with the product
that follows.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache, partial
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.linalg import Matrix

# Half of a usual second-level cache, which the rows of a tile share with M' and G'.
_TILE_BYTES = 1 << 19
# A part of the third-level cache that other threads and programs leave alone.
_LARGEST_TILE_BYTES = 1 << 23
# With this many entries of a label in a tile, fetching its rows of M' and G' again pays off.
_ENTRIES_IN_TILE = 8
# With fewer additions and multiplications, waking another thread takes longer than it saves.
_WORTH_A_THREAD = 1 << 22
_CACHE_LINE = 64

_compiling = Lock()


class LabelEntries(NamedTuple):
    """The stored entries of V (rows x labels), label by label."""

    indptr: npt.NDArray[np.int64]
    """Label j has the entries indptr[j] <= p < indptr[j + 1]."""
    rows: npt.NDArray[np.int32]
    """The row of each entry, ascending within a label; not checked, for speed."""
    weights: Matrix | None
    """The weight of each entry, in the type of X; None where all are equal."""
    weight: float
    """The weight of every entry where there are no `weights`."""


def available() -> bool:
    """Say whether `add_products` can be called: numba is installed and may compile."""
    try:
        from numba import config
    except ImportError:
        return False
    return not config.DISABLE_JIT


def add_products(
    X: Matrix, Mt: Matrix, entries: LabelEntries, Gt: Matrix, totals: Matrix, n_threads: int
) -> None:
    """Add X'(V o XM), transposed, to G' and its column sums without X' to the totals, in place.

    With r_ij = v_ij (x_i . m_j) for the stored entries,

        g_j += sum_i r_ij x_i,    totals_j += sum_i r_ij.

    X, Mt (labels x d) and Gt (labels x d) are C-contiguous and of one type, float32 or float64;
    totals are float64. Each label is summed in a fixed order, so the result has the same bits for
    any number of threads. It is fastest for matrices from `aligned_zeros` and for many rows at
    once: where a label has only a few entries in X, fetching its rows of M' and G' dominates.
    """
    _check(X, Mt, entries, Gt, totals)
    n_entries = int(entries.indptr[-1])
    if n_entries == 0 or X.shape[1] == 0:
        return
    weights, stride = entries.weights, 1
    if weights is None:
        weights, stride = np.array([entries.weight], dtype=X.dtype), 0
    tile = _rows_per_tile(X, n_entries / len(Mt))
    indptr, rows = entries.indptr, entries.rows
    sum_labels = partial(_compiled(X.dtype), X, Mt, indptr, rows, weights, stride, Gt, totals, tile)
    n_parts = max(1, min(n_threads, 4 * n_entries * X.shape[1] // _WORTH_A_THREAD))
    _run_in_threads(sum_labels, _label_ranges(indptr, n_parts))


def aligned_zeros(rows: int, d: int, dtype: npt.DTypeLike) -> Matrix:
    """Return zeros (rows x at least d) whose rows are aligned to cache lines.

    The columns of zeros that pad X and M only add columns of zeros to G, and aligned rows are read
    about a quarter faster.
    """
    dtype = np.dtype(dtype)
    line = _CACHE_LINE // dtype.itemsize
    width = -(-d // line) * line
    memory = np.zeros((rows * width + line) * dtype.itemsize, dtype=np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    found = memory[start : start + rows * width * dtype.itemsize]
    return found.view(dtype).reshape(rows, width)


def _check(X: Matrix, Mt: Matrix, entries: LabelEntries, Gt: Matrix, totals: Matrix) -> None:
    """Refuse arrays that compiled code would read or write out of bounds."""
    n_entries = entries.indptr[-1]
    weights_fit = entries.weights is None or len(entries.weights) >= n_entries
    if not (
        X.ndim == 2
        and Mt.shape == Gt.shape == (len(totals), X.shape[1])
        and len(entries.indptr) == len(totals) + 1
        and len(entries.rows) >= n_entries
        and weights_fit
    ):
        raise ValueError(
            f"X {X.shape}, Mt {Mt.shape}, Gt {Gt.shape}, totals {totals.shape} and entries of "
            f"{len(entries.indptr) - 1} labels do not fit each other."
        )


def _rows_per_tile(X: Matrix, entries_per_label: float) -> int:
    """Return how many rows of X stay in a cache while every label uses them."""
    n, row_bytes = len(X), int(X.shape[1]) * X.itemsize
    rows_within = [size // row_bytes for size in (_TILE_BYTES, _LARGEST_TILE_BYTES)]
    wanted = max(rows_within[0], int(_ENTRIES_IN_TILE * n / entries_per_label))
    return max(1, min(wanted, rows_within[1], n))


def _label_ranges(indptr: npt.NDArray[np.int64], n_parts: int) -> Sequence[tuple[int, int]]:
    """Cut the labels into at most `n_parts` ranges with about equal numbers of entries."""
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], n_parts + 1)[1:-1])
    bounds = [0, *cuts.tolist(), len(indptr) - 1]
    return [(a, b) for a, b in pairwise(bounds) if a < b]


def _run_in_threads(
    sum_labels: Callable[[tuple[int, int]], None], parts: Sequence[tuple[int, int]]
) -> None:
    """Sum the first part in this thread and each of the others in a thread of its own."""
    here, *elsewhere = parts
    pool = _pool(os.getpid(), len(elsewhere)) if elsewhere else None
    pending = [pool.submit(sum_labels, part) for part in elsewhere] if pool else []
    sum_labels(here)
    for part in pending:
        part.result()


def _compiled(dtype: np.dtype[Any]) -> Any:
    with _compiling:
        return _compiled_once(dtype)


@cache
def _compiled_once(dtype: np.dtype[Any]) -> Any:
    from tagloom.optim.sampled_numba import compiled

    return compiled(dtype)


@lru_cache(maxsize=2)
def _pool(process: int, n_workers: int) -> ThreadPoolExecutor:
    """Return the threads of this process; those of its parent do not survive a fork."""
    return ThreadPoolExecutor(n_workers, thread_name_prefix=f"sampled-{process}")
