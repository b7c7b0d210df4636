"""The exact search: matrix products propose, differences in double precision decide."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import cpu_count
from scipy import sparse
from threadpoolctl import threadpool_limits

# §§ result
# What a search answers.


Matrix = npt.NDArray[np.floating[Any]]
Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest rows of each query, nearest first, ties in the order of their positions.

    Attributes
    ----------
    indices : array of int64, shape (n_queries, n_neighbors)
    distances : array of float64, shape (n_queries, n_neighbors)
        In the metric that was asked for.
    recall : float
        Share of the true neighbours that were found: 1 for an exact search, else measured against
        the exact search on a random sample of the queries.
    algorithm : str
        "exact" or "approximate".
    """

    indices: Positions
    distances: Floats
    recall: float
    algorithm: str


# §§ contest
# Candidates for neighbours, and how near one has to be to become one.


class Contest:
    """The rows that may be among the k nearest of each query, by bounds on their distances.

    A row can be among the k nearest only if its lower bound does not exceed the k-th smallest of
    the upper bounds that were seen, the query's limit. Limits only ever fall.

    Attributes
    ----------
    limits : array of shape (n_queries,)
    size : int
        How many pairs (query, row) are held.
    """

    def __init__(self, n_queries: int, k: int, dtype: npt.DTypeLike) -> None:
        self.limits: Matrix = np.full(n_queries, np.inf, dtype=dtype)
        self.size = 0
        self._k = k
        self._best: Matrix = np.full((n_queries, k), np.inf, dtype=dtype)
        self._held: list[tuple[Positions, Positions, Matrix]] = []

    def enter(self, i: Positions, j: Positions, lower: Matrix, slack: Matrix) -> None:
        """Let rows j, which are new to the queries i, take part."""
        if not len(i):
            return
        self._held.append((i, j, lower))
        self.size += len(i)
        order = np.argsort(i, kind="stable")
        i, upper = i[order], (lower + slack)[order]
        starts = np.flatnonzero(np.concatenate([[True], i[1:] != i[:-1]]))
        counts = np.diff(starts, append=len(i))
        queries, line = i[starts], np.repeat(np.arange(len(starts)), counts)
        bounds = np.full((len(starts), self._k + counts.max()), np.inf, dtype=upper.dtype)
        bounds[:, : self._k] = self._best[queries]
        bounds[line, self._k + np.arange(len(i)) - starts[line]] = upper
        bounds.partition(self._k - 1, axis=1)
        self._best[queries] = bounds[:, : self._k]
        self.limits[queries] = bounds[:, self._k - 1]

    def pairs(self) -> tuple[Positions, Positions]:
        """Return the pairs (i, j) that are within the limits, sorted by i, and hold no others."""
        i, j, lower = (np.concatenate(parts) for parts in zip(*self._held, strict=True))
        within = np.flatnonzero(lower <= self.limits[i])
        within = within[np.argsort(i[within], kind="stable")]
        self._hold(i[within], j[within], lower[within])
        return i[within], j[within]

    def settle(self, i: Positions, j: Positions) -> None:
        """Hold these pairs in the place of all others."""
        self._hold(i, j, np.full(len(i), -np.inf, dtype=self.limits.dtype))

    def _hold(self, i: Positions, j: Positions, lower: Matrix) -> None:
        self._held, self.size = [(i, j, lower)], len(i)


# §§ deciding
# Distances in double precision, which decide.


# Differences are formed for this many numbers at a time.
_DIFFERENCE_ENTRIES = 1 << 17


def decide(
    base: Matrix, queries: Matrix, i: Positions, j: Positions, k: int
) -> tuple[Positions, Floats]:
    """Keep the k nearest of the candidate pairs (query i, row j), nearest first, ties by position.

    Each query has at least k candidates.
    """
    squares = squared_distances(queries, base, i, j)
    order = np.lexsort((j, squares, i))
    first = np.searchsorted(i[order], np.arange(len(queries)))
    chosen = order[first[:, None] + np.arange(k)]
    return j[chosen], squares[chosen]


def squared_distances(A: Matrix, B: Matrix, i: Positions, j: Positions) -> Floats:
    """Return |a_i - b_j|^2 for pairs (i, j), the same bits for the same pair wherever it stands."""
    squares = np.empty(len(i))
    step = max(1, _DIFFERENCE_ENTRIES // max(1, A.shape[1]))
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        difference = np.subtract(A[i[part]], B[j[part]], dtype=np.float64)
        difference *= difference
        squares[part] = difference.sum(axis=1)
    return squares


# §§ screen
# Bounds on distances from matrix products, by which all rows but a few are ruled out.


# Rows share one minimum in groups of at most this many: fewer numbers to select from. Many
# neighbours need small groups, for k of the minima are to be a good bound on the k-th neighbour.
_GROUP = 32
_GROUPS_PER_NEIGHBOUR = 4
# Differences of so many pairs of rows stay in cache.
_PAIRS_AT_ONCE = 256


class Scaled:
    """Rows around their mean and divided by their largest coordinate, made when they are asked for.

    In single precision: good enough to propose neighbours, and nothing overflows.
    """

    def __init__(self, rows: Matrix, like: "Scaled | None" = None) -> None:
        self._rows = rows
        self._centre: Matrix = mean_row(rows) if like is None else like._centre
        self._scale: float = largest_coordinate(rows, self._centre) if like is None else like._scale

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, positions: Positions) -> npt.NDArray[np.float32]:
        """Return the rows at these positions."""
        rows = self._rows[positions]
        rows -= self._centre
        rows /= rows.dtype.type(self._scale)
        return rows.astype(np.float32, copy=False)

    def squares(self, i: Positions, j: Positions) -> npt.NDArray[np.float32]:
        """Return the squared distances of the pairs (i, j)."""
        squares = np.empty(len(i), dtype=np.float32)
        for start in range(0, len(i), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            difference = self._rows.take(i[part], axis=0)
            difference -= self._rows.take(j[part], axis=0)
            difference /= difference.dtype.type(self._scale)
            squares[part] = np.einsum("ij,ij->i", difference, difference)
        return squares


class Screen:
    """Rows prepared so that one matrix product bounds squared distances from below.

    d^2(x, y) = |x|^2 + |y|^2 - 2 x'y is cheap but rounded, and rounded differently by other numbers
    of threads. Its error is at most 2 gamma (|x|^2 + |y|^2) with gamma ~ (d + 16) eps, so that
    (-2 x, 1, (1 - 2 gamma) |x|^2) (y, (1 - 2 gamma) |y|^2, 1)' is a lower bound, and an upper one
    when 4 gamma (|x|^2 + |y|^2), its `slack`, is added.

    Rows and queries are centred and scaled: distances keep their order, rounding is relative to
    smaller norms, and nothing overflows.
    """

    def __init__(self, base: Matrix) -> None:
        dtype = base.dtype
        # Any centre would do, so that its rounding is harmless; the mean makes norms small.
        self._centre = mean_row(base)
        self._scale = dtype.type(largest_coordinate(base, self._centre))
        self._gamma = dtype.type((base.shape[1] + 16) * np.finfo(dtype).eps)
        self.rows, self.slack = self.prepared(base)

    def prepared(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Return (y, (1 - 2 gamma) |y|^2, 1) for each row y, and its part of the slack."""
        n_rows, d = rows.shape
        ready = np.empty((n_rows, d + 2), dtype=self._gamma.dtype)
        np.subtract(rows, self._centre, out=ready[:, :d], casting="same_kind")
        ready[:, :d] /= self._scale
        norms = np.einsum("ij,ij->i", ready[:, :d], ready[:, :d])
        ready[:, d] = norms * (1 - 2 * self._gamma)
        ready[:, d + 1] = 1
        return ready, 4 * self._gamma * norms


def turned(ready: Matrix) -> Matrix:
    """Return (-2 x, 1, (1 - 2 gamma) |x|^2) for prepared rows: the other side of the product."""
    d = ready.shape[1] - 2
    sides = np.empty_like(ready)
    np.multiply(ready[:, :d], -2, out=sides[:, :d])
    sides[:, d] = 1
    sides[:, d + 1] = ready[:, d]
    return sides


def first_limits(lower: Matrix, of: Matrix, among: Matrix, k: int) -> Matrix:
    """Return for each row a number that at least k of its distances do not exceed.

    `lower` holds bounds from below, `of` and `among` the slack of its rows and columns.
    """
    upper = group_minima(lower, k)
    # A minimum and the largest slack of its group bound the distance that has the minimum.
    upper += -group_minima(-among[None, :], k)
    limits: Matrix = np.partition(upper, k - 1, axis=1)[:, k - 1] + of
    return limits


def group_minima(values: Matrix, k: int) -> Matrix:
    """Return minima over disjoint groups of columns: each is the value of another row."""
    size = min(_GROUP, values.shape[1] // (_GROUPS_PER_NEIGHBOUR * k))
    if size < 2:
        return values.copy()
    n_groups = values.shape[1] // size
    whole = values[:, : n_groups * size].reshape(len(values), size, n_groups)
    return np.hstack([whole.min(axis=1), values[:, n_groups * size :]])


def mean_row(base: Matrix) -> Matrix:
    """Return the mean of the rows."""
    mean: Matrix = base.mean(axis=0, dtype=np.float64).astype(base.dtype)
    return mean


def largest_coordinate(base: Matrix, centre: Matrix) -> float:
    """Return the largest coordinate around the centre, by which all are divided."""
    low, high = base.min(axis=0) - centre, base.max(axis=0) - centre
    largest = float(max(np.abs(low).max(initial=0.0), np.abs(high).max(initial=0.0)))
    return largest if largest > 0 else 1.0


# §§ threads
# Blocks of work side by side.


def in_threads(work: Callable[[int], None], starts: Iterable[int]) -> None:
    """Do the blocks side by side, each with a product of one thread: nobody waits for the others.

    All that is long here leaves the interpreter's lock.
    """
    from concurrent.futures import ThreadPoolExecutor

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(cpu_count()) as pool:
        for _ in pool.map(work, starts):
            pass


# §§ main exact


# A tile of this shape (8 MiB in single precision) stays in cache through the passes made over it.
TILE_QUERIES = 512
TILE_ROWS = 4096


def exact_neighbors(base: Matrix, queries: Matrix, k: int) -> tuple[Positions, Floats]:
    """Return the k nearest rows of `base` and their squared distances, ties by position.

    Every row is kept whose lower bound does not exceed the k-th smallest upper bound (see
    `Screen`), and among these sum (x - y)^2 in double precision decides: the answer depends on the
    data alone.
    """
    screen = Screen(base)
    indices = np.empty((len(queries), k), dtype=np.int64)
    squares = np.empty((len(queries), k))

    def answer(start: int) -> None:
        part = slice(start, min(start + TILE_QUERIES, len(queries)))
        i, j = _candidates(screen, queries[part], k)
        indices[part], squares[part] = decide(base, queries[part], i, j, k)

    in_threads(answer, range(0, len(queries), TILE_QUERIES))
    return indices, squares


def _candidates(screen: Screen, queries: Matrix, k: int) -> tuple[Positions, Positions]:
    """Return pairs (i, j) sorted by i; the k nearest rows of every query are among them."""
    ready, slack = screen.prepared(queries)
    sides = turned(ready)
    contest = Contest(len(queries), k, ready.dtype)
    buffer = np.empty(len(sides) * min(TILE_ROWS, len(screen.rows)), dtype=ready.dtype)
    for start in range(0, len(screen.rows), TILE_ROWS):
        tile = screen.rows[start : start + TILE_ROWS]
        among = screen.slack[start : start + TILE_ROWS]
        lower = buffer[: len(sides) * len(tile)].reshape(len(sides), len(tile))
        np.matmul(sides, tile.T, out=lower)
        limits = contest.limits
        if start == 0 and len(tile) >= k:
            limits = first_limits(lower, slack, among, k)
        i, j = places_within(lower, limits[:, None])
        contest.enter(i, j + start, lower[i, j], slack[i] + among[j])
    return contest.pairs()


def places_within(lower: Matrix, limits: Matrix) -> tuple[Positions, Positions]:
    """Return rows and columns at which the bounds do not exceed the limits."""
    i, j = np.divmod(np.flatnonzero(lower <= limits), lower.shape[1])
    return i, j


# §§ blocks
# Rows taken some at a time.


def blocks(n_rows: int, step: int) -> Iterator[slice]:
    """Yield slices that together cover so many rows."""
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


# §§ sparse
# Numbers about neighbours as a sparse table.


def neighbor_table(values: npt.NDArray[Any], indices: Positions, n_rows: int) -> sparse.csr_array:
    """Return the values of each query's neighbours at their places in a row over all `n_rows`.

    >>> neighbor_table(np.array([[0.5, 2.0]]), np.array([[3, 1]]), 4).toarray()
    array([[0. , 2. , 0. , 0.5]])
    """
    n_queries, k = indices.shape
    indptr = np.arange(0, n_queries * k + 1, k)
    # Copies, for sorting works in place: the order of somebody's neighbours is no business of ours.
    parts = (values.flatten(), indices.flatten(), indptr)
    table = sparse.csr_array(parts, shape=(n_queries, n_rows))
    table.eliminate_zeros()
    table.sort_indices()
    return table


# §§ among
# The exact search of rows among themselves: what is far from x is far from y as well.


# Pairs held before those are dropped that can no longer win: so many for each row and neighbour.
_PAIRS_PER_PLACE = 3
_FEWEST_PAIRS = 1 << 22


def exact_among_themselves(base: Matrix, k: int) -> tuple[Positions, Floats]:
    """Return what `exact_neighbors(base, base, k)` does, with half the products.

    The rows are parted into blocks. A product of two blocks bounds the distances of the rows of
    both, so that each pair of blocks is multiplied once.
    """
    if len(base) < 2 * TILE_ROWS or 4 * k > TILE_ROWS:
        return exact_neighbors(base, base, k)
    search = _Search(base, k)
    in_threads(search.within_own_block, search.starts)
    # The last rows meet most blocks: begun first, they leave no thread alone in the end.
    in_threads(search.with_earlier_blocks, search.starts[::-1])
    return search.answer()


class _Search:
    def __init__(self, base: Matrix, k: int) -> None:
        self._base, self._k = base, k
        self._screen = Screen(base)
        self._contest = Contest(len(base), k, base.dtype)
        self._lock = Lock()
        self._most = max(_FEWEST_PAIRS, _PAIRS_PER_PLACE * k * len(base))
        edges = np.linspace(0, len(base), len(base) // TILE_ROWS + 1).astype(np.int64).tolist()
        self._blocks = [slice(a, b) for a, b in pairwise(edges)]
        lines = [(s, block) for block in self._blocks for s in _starts(block)]
        self._block_of = dict(lines)
        self.starts = [start for start, _ in lines]

    def within_own_block(self, start: int) -> None:
        """Compare some rows with those of their own block, and find first limits by it."""
        block = self._block_of[start]
        part, slack = self._rows_from(start), self._screen.slack
        lower = turned(self._screen.rows[part]) @ self._screen.rows[block].T
        limits = first_limits(lower, slack[part], slack[block], self._k)
        i, j = places_within(lower, limits[:, None])
        self._enter(i + part.start, j + block.start, lower[i, j])

    def with_earlier_blocks(self, start: int) -> None:
        """Compare some rows with those of all earlier blocks, and those with them."""
        part, limits = self._rows_from(start), self._contest.limits
        sides = turned(self._screen.rows[part])
        for block in self._blocks[: self._blocks.index(self._block_of[start])]:
            lower = sides @ self._screen.rows[block].T
            i, j = places_within(lower, limits[part, None])
            self._enter(i + part.start, j + block.start, lower[i, j])
            i, j = places_within(lower, limits[block])
            self._enter(j + block.start, i + part.start, lower[i, j])

    def answer(self) -> tuple[Positions, Floats]:
        """Decide among the pairs that are left."""
        indices = np.empty((len(self._base), self._k), dtype=np.int64)
        squares = np.empty((len(self._base), self._k))
        i, j = self._contest.pairs()
        ends = np.searchsorted(i, np.arange(len(self._base) + 1))

        def decided(start: int) -> None:
            rows = slice(start, min(start + TILE_QUERIES, len(self._base)))
            pairs = slice(ends[rows.start], ends[rows.stop])
            indices[rows], squares[rows] = decide(
                self._base, self._base[rows], i[pairs] - start, j[pairs], self._k
            )

        in_threads(decided, range(0, len(self._base), TILE_QUERIES))
        return indices, squares

    def _rows_from(self, start: int) -> slice:
        return slice(start, min(start + TILE_QUERIES, self._block_of[start].stop))

    def _enter(self, i: Positions, j: Positions, lower: Matrix) -> None:
        slack = self._screen.slack[i] + self._screen.slack[j]
        with self._lock:
            self._contest.enter(i, j, lower, slack)
            if self._contest.size > self._most:
                self._drop()

    def _drop(self) -> None:
        """Hold fewer pairs: those within the limits, or the nearest where ties leave too many."""
        i, j = self._contest.pairs()
        if self._contest.size <= self._most // 2:
            return
        seen, line = np.unique(i, return_inverse=True)
        nearest, _ = decide(self._base, self._base[seen], line, j, self._k)
        self._contest.settle(np.repeat(seen, self._k), nearest.ravel())


def _starts(block: slice) -> range:
    return range(block.start, block.stop, TILE_QUERIES)
