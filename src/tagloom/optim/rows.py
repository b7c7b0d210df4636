"""The rows of X, block by block, in the precision and around the centre that the loss wants."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tagloom.optim.penalties import Matrix

# §§ sampled
# X'(V o (XM)) where V holds few entries: only those are computed, both products in one pass.
#
# The work is numba's (the extra `fast`), which compiles on first use; see `available`.


# Half of a usual second-level cache, which the rows of a tile share with M' and G'.
_TILE_BYTES = 1 << 19
# A share of the third-level cache which neither threads nor neighbours should dispute.
_LARGEST_TILE_BYTES = 1 << 23
# So many entries of a label in a tile make up for fetching its rows of M' and G' anew.
_ENTRIES_IN_TILE = 8
# Additions and products below which another thread takes longer to wake than to help.
_WORTH_A_THREAD = 1 << 22
_CACHE_LINE = 64

_compiling = Lock()


class LabelEntries(NamedTuple):
    """The stored entries of V (rows x labels), label by label."""

    indptr: npt.NDArray[np.int64]
    """Label j has the entries indptr[j] <= p < indptr[j + 1]."""
    rows: npt.NDArray[np.int32]
    """The row of each entry, ascending within a label; never checked, for the sake of speed."""
    weights: Matrix | None
    """The weight of each entry, in the type of X; None where all weigh the same."""
    weight: float
    """The weight of every entry where there are no `weights`."""


def available() -> bool:
    """Say whether `add_products` can be called: whether numba is there and allowed to compile."""
    try:
        from numba import config
    except ImportError:
        return False
    return not config.DISABLE_JIT


def add_products(
    X: Matrix, Mt: Matrix, entries: LabelEntries, Gt: Matrix, totals: Matrix, n_threads: int
) -> None:
    """Add to G' and to the totals, in place, what the entries of V make of X and M.

    With r_ij = v_ij (x_i . m_j) for the stored entries,

        g_j += sum_i r_ij x_i,    totals_j += sum_i r_ij.

    X, Mt (labels x d) and Gt (labels x d) are C-contiguous and of one type, float32 or float64;
    totals are float64. Each label is summed in one order: the result has the same bits for any
    number of threads. It is fastest for matrices from `aligned_zeros`, and for many rows at once:
    where a label has but a few entries in X, fetching its rows of M' and G' is most of the work.
    """
    _check(X, Mt, entries, Gt, totals)
    n_entries = int(entries.indptr[-1])
    if n_entries == 0 or X.shape[1] == 0:
        return
    weights, stride = entries.weights, 1
    if weights is None:
        weights, stride = np.array([entries.weight], dtype=X.dtype), 0
    tile = _rows_of_tile(X, n_entries / len(Mt))
    indptr, rows = entries.indptr, entries.rows
    sum_labels = partial(_compiled(X.dtype), X, Mt, indptr, rows, weights, stride, Gt, totals, tile)
    n_parts = max(1, min(n_threads, 4 * n_entries * X.shape[1] // _WORTH_A_THREAD))
    _shared_out(sum_labels, _parts(indptr, n_parts))


def aligned_zeros(rows: int, d: int, dtype: npt.DTypeLike) -> Matrix:
    """Return zeros (rows x at least d) whose rows each begin and end with a line of the cache.

    Columns of zeros in X and M change no product but those that they themselves make in G, and
    rows that lie on whole lines are read faster by about a quarter.
    """
    dtype = np.dtype(dtype)
    line = _CACHE_LINE // dtype.itemsize
    width = -(-d // line) * line
    memory = np.zeros((rows * width + line) * dtype.itemsize, dtype=np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    found = memory[start : start + rows * width * dtype.itemsize]
    return found.view(dtype).reshape(rows, width)


def _check(X: Matrix, Mt: Matrix, entries: LabelEntries, Gt: Matrix, totals: Matrix) -> None:
    """Refuse what would have compiled code reach beyond its arrays."""
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


def _rows_of_tile(X: Matrix, entries_of_label: float) -> int:
    """Return how many rows of X stay in a cache while every label passes over them."""
    n, bytes_of_row = len(X), int(X.shape[1]) * X.itemsize
    rows_within = [size // bytes_of_row for size in (_TILE_BYTES, _LARGEST_TILE_BYTES)]
    wanted = max(rows_within[0], int(_ENTRIES_IN_TILE * n / entries_of_label))
    return max(1, min(wanted, rows_within[1], n))


def _parts(indptr: npt.NDArray[np.int64], n_parts: int) -> Sequence[tuple[int, int]]:
    """Cut the labels into so many ranges, or fewer, that have about as many entries each."""
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], n_parts + 1)[1:-1])
    bounds = [0, *cuts.tolist(), len(indptr) - 1]
    return [(a, b) for a, b in pairwise(bounds) if a < b]


def _shared_out(
    sum_labels: Callable[[tuple[int, int]], None], parts: Sequence[tuple[int, int]]
) -> None:
    """Sum the first part here and the others in threads of their own."""
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
    from tagloom.optim.kernel import compiled

    return compiled(dtype)


@lru_cache(maxsize=2)
def _pool(process: int, n_workers: int) -> ThreadPoolExecutor:
    """Return the threads of this process: those of its parent do not outlive a fork."""
    return ThreadPoolExecutor(n_workers, thread_name_prefix=f"sampled-{process}")


# §§ main rows


# A mean with less than this share of the energy of its column costs no digits.
_NEGLIGIBLE_OFFSET = 1e-3
# Rows that are converted at a time.
_ROWS_AT_ONCE = 4096


class Rows:
    """X - 1 centre', without a copy where there is nothing to change.

    Rows in single precision are changed once and kept, for most iterations are made with them;
    rows in double precision are changed on the way, for a copy would be as large as X.
    """

    def __init__(self, X: Matrix, centre: npt.NDArray[np.float64] | None = None) -> None:
        self.X = X
        self.centre = centre
        self.dtype: np.dtype[Any] = X.dtype
        self._ready = X if centre is None else None
        if centre is not None and X.dtype == np.float32:
            self._ready = _moved(X, centre)

    def in_single_precision(self) -> "Rows":
        """Return the same rows in float32."""
        if self.dtype == np.float32:
            return self
        single = Rows(self.X)
        single.centre, single.dtype = self.centre, np.dtype(np.float32)
        single._ready = _moved(self.X, self.centre)
        return single

    def block(self, start: int, stop: int) -> Matrix:
        """Return some rows; a view where it can be."""
        return self.wide_block(start, stop)[:, : self.X.shape[1]]

    @property
    def width(self) -> int:
        """Columns of a wide block."""
        return int((self.X if self._ready is None else self._ready).shape[1])

    def wide_block(self, start: int, stop: int) -> Matrix:
        """Return some rows, C-contiguous, perhaps followed by columns of 0."""
        if self._ready is not None:
            return np.ascontiguousarray(self._ready[start:stop])
        shift = 0.0 if self.centre is None else self.centre
        moved: Matrix = np.subtract(self.X[start:stop], shift)
        return np.ascontiguousarray(moved)

    def largest(self) -> float:
        """Return the largest feature by size, as it was given."""
        return max(abs(float(self.X.max(initial=0))), abs(float(self.X.min(initial=0))))


def centre_of(
    n_items: int, total: npt.NDArray[np.float64], squares: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64] | None:
    """Return the mean of n rows from their sum; None where no column needs to be centred.

    `squares` are the sums of the squares of each column.
    """
    mean = total / n_items
    return mean if (mean**2 > _NEGLIGIBLE_OFFSET * squares / n_items).any() else None


def _moved(X: Matrix, centre: npt.NDArray[np.float64] | None) -> Matrix:
    """Return X - 1 centre' in float32, each row on whole lines of the cache."""
    n, d = X.shape
    moved = aligned_zeros(n, d, np.float32)
    shift = 0 if centre is None else centre.astype(X.dtype)
    for start in range(0, n, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        np.subtract(X[rows], shift, out=moved[rows, :d], casting="same_kind")
    return moved


# §§ sums
# Sums over rows: all that the loss needs of the data, and what parts of the rows add up to.


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LossSums:
    """What is asked of the rows once; rows are moved to the centre where there is one."""

    n_items: int
    weight: Floats
    """Sum_i w_ij of each label."""
    present: Floats
    """Sum_i w_ij y_ij of each label."""
    weighted_features: Matrix
    """X'W, of shape (d, c)."""
    present_features: Matrix
    """X'(W o Y), of shape (d, c)."""
    second_moments: Floats
    """X'X, of shape (d, d)."""
    total: Floats
    """The sum of the rows."""
    largest: float
    """The largest feature by size, as it was given."""
    least_weight: float
    """A lower bound of all w_ij."""

    def __add__(self, other: "LossSums") -> "LossSums":
        return LossSums(
            self.n_items + other.n_items,
            self.weight + other.weight,
            self.present + other.present,
            self.weighted_features + other.weighted_features,
            self.present_features + other.present_features,
            self.second_moments + other.second_moments,
            self.total + other.total,
            max(self.largest, other.largest),
            min(self.least_weight, other.least_weight),
        )


@dataclass(frozen=True)
class ProductSums:
    """What is asked of the rows in every iteration: X'(W o XM) and its column sums without X'."""

    features: Matrix
    """X'(W o XM), of shape (d, c)."""
    total: Floats
    """1'(W o XM), of shape (c,)."""

    def __add__(self, other: "ProductSums") -> "ProductSums":
        return ProductSums(self.features + other.features, self.total + other.total)


class Summing(Protocol):
    """Rows, wherever they are, that can be summed."""

    centre: Floats | None
    """What is subtracted from every row; None for nothing."""
    dtype: np.dtype[np.floating]

    def sums(self) -> LossSums:
        """Return the sums that do not depend on M."""
        ...

    def products(self, M: Matrix) -> ProductSums:
        """Return the sums for M."""
        ...

    def in_single_precision(self) -> "Summing":
        """Return the same rows, summed in float32."""
        ...
