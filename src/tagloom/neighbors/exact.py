"""Exact search: candidates by bounds from matrix products, decided in double precision.

`exact_neighbors` compares queries with rows, `exact_self_search` rows with each other. Both rule
out most pairs by `DistanceBounds`, collect the remaining ones in `Candidates`, and sort these by
distances in double precision (`refine`). The result depends on the data alone, not on rounding in
the matrix products or on the number of threads.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import cpu_count

from tagloom.linalg import limited_blas

Matrix = npt.NDArray[np.floating[Any]]
Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]

# A tile of this shape (8 MiB in single precision) stays in cache through the passes made over it.
TILE_QUERIES = 512
TILE_ROWS = 4096
# The minimum is taken over groups of at most this many rows, so that there are fewer numbers to
# select from. More neighbours need smaller groups, because k of the minima must bound the k-th
# neighbour well.
_GROUP = 32
_GROUPS_PER_NEIGHBOR = 4
# Differences are computed for this many numbers at a time.
_DIFFERENCE_ENTRIES = 1 << 17
# A self-search has about this many blocks of rows, each of at least this many rows and of about a
# tile at most.
_N_BLOCKS = 8
_FEWEST_BLOCK_ROWS = 1024
# A self-search prunes its candidates when there are more than this many per row and neighbour.
_PAIRS_PER_NEIGHBOR = 3
_FEWEST_PAIRS = 1 << 22


def exact_neighbors(base: Matrix, queries: Matrix, k: int) -> tuple[Positions, Floats]:
    """Return the k nearest rows of `base` and their squared distances, ties by position.

    Rows whose lower bound does not exceed the k-th smallest upper bound (see `DistanceBounds`) are
    candidates, and among these sum (x - y)^2 in double precision decides.
    """
    bounds = DistanceBounds(base)
    indices = np.empty((len(queries), k), dtype=np.int64)
    squares = np.empty((len(queries), k))

    def search(start: int) -> None:
        part = slice(start, min(start + TILE_QUERIES, len(queries)))
        i, j = _candidates(bounds, queries[part], k)
        indices[part], squares[part] = refine(base, queries[part], i, j, k)

    in_threads(search, range(0, len(queries), TILE_QUERIES))
    return indices, squares


def _candidates(bounds: "DistanceBounds", queries: Matrix, k: int) -> tuple[Positions, Positions]:
    """Return pairs (i, j) sorted by i; the k nearest rows of every query are among them."""
    right, slack = bounds.prepare(queries)
    left = left_factors(right)
    candidates = Candidates(len(queries), k, right.dtype)
    buffer = np.empty(len(left) * min(TILE_ROWS, len(bounds.rows)), dtype=right.dtype)
    for start in range(0, len(bounds.rows), TILE_ROWS):
        tile = bounds.rows[start : start + TILE_ROWS]
        tile_slack = bounds.slack[start : start + TILE_ROWS]
        lower = buffer[: len(left) * len(tile)].reshape(len(left), len(tile))
        np.matmul(left, tile.T, out=lower)
        limits = candidates.limits
        if start == 0 and len(tile) >= k:
            limits = initial_limits(lower, slack, tile_slack, k)
        i, j = within_limits(lower, limits[:, None])
        candidates.add(i, j + start, lower[i, j], slack[i] + tile_slack[j])
    return candidates.pairs()


def exact_self_search(base: Matrix, k: int) -> tuple[Positions, Floats]:
    """Return what `exact_neighbors(base, base, k)` does, with half the products.

    The rows are divided into blocks. The product of two blocks bounds the distances for the rows
    of both, so that each pair of blocks is multiplied once.
    """
    block_rows = min(TILE_ROWS, max(_FEWEST_BLOCK_ROWS, 4 * k, len(base) // _N_BLOCKS))
    if len(base) < 2 * block_rows or 4 * k > block_rows:
        return exact_neighbors(base, base, k)
    search = _SelfSearch(base, k, block_rows)
    in_threads(search.within_own_block, search.starts)
    # The last rows meet most blocks: started first, they keep all threads busy until the end.
    in_threads(search.with_earlier_blocks, search.starts[::-1])
    return search.result()


class _SelfSearch:
    def __init__(self, base: Matrix, k: int, block_rows: int) -> None:
        self._base, self._k = base, k
        self._bounds = DistanceBounds(base)
        self._candidates = Candidates(len(base), k, base.dtype)
        self._lock = Lock()
        self._max_pairs = max(_FEWEST_PAIRS, _PAIRS_PER_NEIGHBOR * k * len(base))
        edges = np.linspace(0, len(base), len(base) // block_rows + 1).astype(np.int64).tolist()
        self._blocks = [slice(a, b) for a, b in pairwise(edges)]
        self._block_of = {
            start: block
            for block in self._blocks
            for start in range(block.start, block.stop, TILE_QUERIES)
        }
        self.starts = list(self._block_of)

    def within_own_block(self, start: int) -> None:
        """Compare some rows with their own block, and find initial limits by it."""
        block = self._block_of[start]
        part, slack = self._rows_from(start), self._bounds.slack
        lower = left_factors(self._bounds.rows[part]) @ self._bounds.rows[block].T
        limits = initial_limits(lower, slack[part], slack[block], self._k)
        i, j = within_limits(lower, limits[:, None])
        self._add(i + part.start, j + block.start, lower[i, j])

    def with_earlier_blocks(self, start: int) -> None:
        """Compare some rows with all earlier blocks, in both directions."""
        part, limits = self._rows_from(start), self._candidates.limits
        left = left_factors(self._bounds.rows[part])
        for block in self._blocks[: self._blocks.index(self._block_of[start])]:
            lower = left @ self._bounds.rows[block].T
            i, j = within_limits(lower, limits[part, None])
            self._add(i + part.start, j + block.start, lower[i, j])
            i, j = within_limits(lower, limits[block])
            self._add(j + block.start, i + part.start, lower[i, j])

    def result(self) -> tuple[Positions, Floats]:
        """Return the nearest of the remaining candidates."""
        indices = np.empty((len(self._base), self._k), dtype=np.int64)
        squares = np.empty((len(self._base), self._k))
        i, j = self._candidates.pairs()
        ends = np.searchsorted(i, np.arange(len(self._base) + 1))

        def refined(start: int) -> None:
            rows = slice(start, min(start + TILE_QUERIES, len(self._base)))
            pairs = slice(ends[rows.start], ends[rows.stop])
            indices[rows], squares[rows] = refine(
                self._base, self._base[rows], i[pairs] - start, j[pairs], self._k
            )

        in_threads(refined, range(0, len(self._base), TILE_QUERIES))
        return indices, squares

    def _rows_from(self, start: int) -> slice:
        return slice(start, min(start + TILE_QUERIES, self._block_of[start].stop))

    def _add(self, i: Positions, j: Positions, lower: Matrix) -> None:
        slack = self._bounds.slack[i] + self._bounds.slack[j]
        with self._lock:
            self._candidates.add(i, j, lower, slack)
            if self._candidates.size > self._max_pairs:
                self._prune()

    def _prune(self) -> None:
        """Keep the pairs within the limits, or only the nearest where ties leave too many."""
        i, j = self._candidates.pairs()
        if self._candidates.size <= self._max_pairs // 2:
            return
        seen, line = np.unique(i, return_inverse=True)
        nearest, _ = refine(self._base, self._base[seen], line, j, self._k)
        self._candidates.replace(np.repeat(seen, self._k), nearest.ravel())


class DistanceBounds:
    """Rows prepared so that one matrix product bounds squared distances from below.

    d^2(x, y) = |x|^2 + |y|^2 - 2 x'y is cheap but rounded, and rounded differently with other
    numbers of threads. Its error is at most 2 gamma (|x|^2 + |y|^2) with gamma ~ (d + 16) eps, so
    that (-2 x, 1, (1 - 2 gamma) |x|^2) (y, (1 - 2 gamma) |y|^2, 1)' is a lower bound, and an upper
    one when 4 gamma (|x|^2 + |y|^2), its `slack`, is added.

    Rows and queries are centred and scaled: distances keep their order, rounding is relative to
    smaller norms, and nothing overflows.
    """

    def __init__(self, base: Matrix) -> None:
        dtype = base.dtype
        # Any centre is valid, so its rounding is harmless; the mean makes norms small.
        self._centre = mean_row(base)
        self._scale = dtype.type(largest_coordinate(base, self._centre))
        self._gamma = dtype.type((base.shape[1] + 16) * np.finfo(dtype).eps)
        self.rows, self.slack = self.prepare(base)

    def prepare(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Return (y, (1 - 2 gamma) |y|^2, 1) for each row y, and its part of the slack."""
        n_rows, d = rows.shape
        right = np.empty((n_rows, d + 2), dtype=self._gamma.dtype)
        np.subtract(rows, self._centre, out=right[:, :d], casting="same_kind")
        right[:, :d] /= self._scale
        norms = np.einsum("ij,ij->i", right[:, :d], right[:, :d])
        right[:, d] = norms * (1 - 2 * self._gamma)
        right[:, d + 1] = 1
        return right, 4 * self._gamma * norms


def left_factors(right: Matrix) -> Matrix:
    """Return (-2 x, 1, (1 - 2 gamma) |x|^2) for prepared rows: the left factor of the product."""
    d = right.shape[1] - 2
    left = np.empty_like(right)
    np.multiply(right[:, :d], -2, out=left[:, :d])
    left[:, d] = 1
    left[:, d + 1] = right[:, d]
    return left


def mean_row(base: Matrix) -> Matrix:
    """Return the mean of the rows."""
    mean: Matrix = base.mean(axis=0, dtype=np.float64).astype(base.dtype)
    return mean


def largest_coordinate(base: Matrix, centre: Matrix) -> float:
    """Return the largest absolute coordinate around the centre, or 1 if all are 0."""
    low, high = base.min(axis=0) - centre, base.max(axis=0) - centre
    largest = float(max(np.abs(low).max(initial=0.0), np.abs(high).max(initial=0.0)))
    return largest if largest > 0 else 1.0


def initial_limits(lower: Matrix, row_slack: Matrix, column_slack: Matrix, k: int) -> Matrix:
    """Return for each row a number that at least k of its distances do not exceed.

    `lower` holds lower bounds, the others are the slack of its rows and of its columns.
    """
    upper = group_minima(lower, k)
    # A minimum plus the largest slack of its group bounds the distance that has the minimum.
    upper += -group_minima(-column_slack[None, :], k)
    limits: Matrix = np.partition(upper, k - 1, axis=1)[:, k - 1] + row_slack
    return limits


def group_minima(values: Matrix, k: int) -> Matrix:
    """Return minima over disjoint groups of columns, each attained at a different column."""
    size = min(_GROUP, values.shape[1] // (_GROUPS_PER_NEIGHBOR * k))
    if size < 2:
        return values.copy()
    n_groups = values.shape[1] // size
    whole = values[:, : n_groups * size].reshape(len(values), size, n_groups)
    return np.hstack([whole.min(axis=1), values[:, n_groups * size :]])


def within_limits(lower: Matrix, limits: Matrix) -> tuple[Positions, Positions]:
    """Return rows and columns at which the bounds do not exceed the limits."""
    i, j = np.divmod(np.flatnonzero(lower <= limits), lower.shape[1])
    return i, j


class Candidates:
    """The rows that may be among the k nearest of each query, by bounds on their distances.

    A row can be among the k nearest only if its lower bound does not exceed the k-th smallest of
    the upper bounds seen so far, the query's limit. Limits only ever decrease.

    Attributes
    ----------
    limits : array of shape (n_queries,)
    size : int
        Number of pairs (query, row) held.
    """

    def __init__(self, n_queries: int, k: int, dtype: npt.DTypeLike) -> None:
        self.limits: Matrix = np.full(n_queries, np.inf, dtype=dtype)
        self.size = 0
        self._k = k
        self._smallest: Matrix = np.full((n_queries, k), np.inf, dtype=dtype)
        self._held: list[tuple[Positions, Positions, Matrix]] = []

    def add(self, i: Positions, j: Positions, lower: Matrix, slack: Matrix) -> None:
        """Add rows j, which are new to the queries i, and lower the limits of these."""
        if not len(i):
            return
        self._held.append((i, j, lower))
        self.size += len(i)
        order = np.argsort(i, kind="stable")
        i, upper = i[order], (lower + slack)[order]
        starts, line, column = runs(i)
        queries = i[starts]
        bounds = np.full((len(starts), self._k + column.max() + 1), np.inf, dtype=upper.dtype)
        bounds[:, : self._k] = self._smallest[queries]
        bounds[line, self._k + column] = upper
        bounds.partition(self._k - 1, axis=1)
        self._smallest[queries] = bounds[:, : self._k]
        self.limits[queries] = bounds[:, self._k - 1]

    def pairs(self) -> tuple[Positions, Positions]:
        """Drop the pairs beyond the limits, and return the others (i, j), sorted by i."""
        i, j, lower = (np.concatenate(parts) for parts in zip(*self._held, strict=True))
        within = np.flatnonzero(lower <= self.limits[i])
        within = within[np.argsort(i[within], kind="stable")]
        self._hold(i[within], j[within], lower[within])
        return i[within], j[within]

    def replace(self, i: Positions, j: Positions) -> None:
        """Hold these pairs in the place of all others, whatever the limits."""
        self._hold(i, j, np.full(len(i), -np.inf, dtype=self.limits.dtype))

    def _hold(self, i: Positions, j: Positions, lower: Matrix) -> None:
        self._held, self.size = [(i, j, lower)], len(i)


def runs(i: Positions) -> tuple[Positions, Positions, Positions]:
    """Return the start of each run of equal numbers, and for each entry its run and place in it."""
    starts = np.flatnonzero(np.concatenate([[True], i[1:] != i[:-1]]))
    line = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(i)))
    return starts, line, np.arange(len(i)) - starts[line]


def refine(
    base: Matrix, queries: Matrix, i: Positions, j: Positions, k: int
) -> tuple[Positions, Floats]:
    """Return the k nearest of the candidate pairs (query i, row j) by double precision.

    The nearest come first, ties by position. Each query has at least k candidates.
    """
    squares = _squared_distances(queries, base, i, j)
    order = np.lexsort((j, squares, i))
    first = np.searchsorted(i[order], np.arange(len(queries)))
    chosen = order[first[:, None] + np.arange(k)]
    return j[chosen], squares[chosen]


def _squared_distances(A: Matrix, B: Matrix, i: Positions, j: Positions) -> Floats:
    """Return |a_i - b_j|^2 for pairs (i, j), the same bits for the same pair wherever it stands."""
    squares = np.empty(len(i))
    step = max(1, _DIFFERENCE_ENTRIES // max(1, A.shape[1]))
    for part in blocks(len(i), step):
        difference = np.subtract(A[i[part]], B[j[part]], dtype=np.float64)
        difference *= difference
        squares[part] = difference.sum(axis=1)
    return squares


def other_than_self(indices: Positions, own: Positions) -> npt.NDArray[np.bool_]:
    """Mark all but one neighbour of each row: its own position, or the last if that is missing."""
    kept: npt.NDArray[np.bool_] = indices != own[:, None]
    kept[kept.all(axis=1), -1] = False
    return kept


def blocks(n_rows: int, step: int) -> Iterator[slice]:
    """Yield slices of `step` rows that together cover `n_rows` rows."""
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def in_threads(work: Callable[[int], None], starts: Iterable[int]) -> None:
    """Call `work` for each start in threads, with single-threaded matrix products.

    Numpy releases the interpreter's lock in everything that takes long here.
    """
    from concurrent.futures import ThreadPoolExecutor

    with limited_blas(1), ThreadPoolExecutor(cpu_count()) as pool:
        for _ in pool.map(work, starts):
            pass
