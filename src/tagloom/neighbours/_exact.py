"""The exact search: matrix products propose, differences in double precision decide."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from joblib import cpu_count
from threadpoolctl import threadpool_limits

from tagloom.neighbours._result import Floats, Matrix, Positions

# A tile of this shape (8 MiB in single precision) stays in cache through the passes made over it.
_TILE_QUERIES = 512
_TILE_ROWS = 4096
# Rows share one minimum in groups of at most this many: fewer numbers to select from. Many
# neighbours need small groups, for k of the minima are to be a good bound on the k-th neighbour.
_GROUP = 32
_GROUPS_PER_NEIGHBOUR = 4
# Differences are formed for this many numbers at a time.
_DIFFERENCE_ENTRIES = 1 << 17


def exact_neighbours(base: Matrix, queries: Matrix, k: int) -> tuple[Positions, Floats]:
    """Return the k nearest rows of `base` and their squared distances, ties by position.

    d^2(x, y) = |x|^2 + |y|^2 - 2 x'y is cheap but rounded, and rounded differently by other numbers
    of threads. Its error is at most gamma (2 |x|^2 + 2 |y|^2) with gamma ~ (d + 16) eps. So every
    row is kept whose lower bound does not exceed the k-th smallest upper bound, and among these
    sum (x - y)^2 in double precision decides: the answer depends on the data alone.
    """
    screen = _Screen(base)
    indices = np.empty((len(queries), k), dtype=np.int64)
    squares = np.empty((len(queries), k))

    def answer(start: int) -> None:
        part = slice(start, min(start + _TILE_QUERIES, len(queries)))
        i, j = screen.candidates(queries[part], k)
        indices[part], squares[part] = decide(base, queries[part], i, j, k)

    _in_threads(answer, range(0, len(queries), _TILE_QUERIES))
    return indices, squares


def _in_threads(work: Callable[[int], None], starts: range) -> None:
    """Do the blocks side by side, each with a product of one thread: nobody waits for the others.

    All that is long here leaves the interpreter's lock.
    """
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(cpu_count()) as pool:
        for _ in pool.map(work, starts):
            pass


def decide(
    base: Matrix, queries: Matrix, i: Positions, j: Positions, k: int
) -> tuple[Positions, Floats]:
    """Keep the k nearest of the candidate pairs (query i, row j); each i has at least k of them."""
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


class _Screen:
    """Bounds on distances, by which all rows but a few are ruled out.

    Rows and queries are centred and scaled: distances keep their order, rounding is relative to
    smaller norms, and nothing overflows.
    """

    def __init__(self, base: Matrix) -> None:
        dtype = base.dtype
        # Any centre would do, so that its rounding is harmless; the mean makes norms small.
        self._centre = base.mean(axis=0, dtype=np.float64).astype(dtype)
        self._scale = dtype.type(_largest(base, self._centre))
        self._gamma = dtype.type((base.shape[1] + 16) * np.finfo(dtype).eps)
        rows = self._prepared(base)
        norms = np.einsum("ij,ij->i", rows, rows)
        # With this column the product with (-2 x, 1) is the lower bound of |y|^2 - 2 x'y.
        self._rows = np.hstack([rows, (norms * (1 - 2 * self._gamma))[:, None]])
        self._slack = 4 * self._gamma * norms

    def candidates(self, queries: Matrix, k: int) -> tuple[Positions, Positions]:
        """Return pairs (i, j) sorted by i; the k nearest rows of every query are among them."""
        x = self._prepared(queries)
        sides = np.hstack([-2 * x, np.ones((len(x), 1), dtype=x.dtype)])
        # What a query itself adds to its bounds is the same for all rows: it moves the threshold.
        own = 4 * self._gamma * np.einsum("ij,ij->i", x, x)
        best = np.full((len(x), k), np.inf, dtype=x.dtype)
        found: list[tuple[Positions, Positions, Matrix]] = []
        for start, lower, upper in self._tiles(sides):
            best = _smallest(np.hstack([best, _group_minima(upper, k)]), k)
            flat = np.flatnonzero(lower <= (best.max(axis=1) + own)[:, None])
            i, j = np.divmod(flat, lower.shape[1])
            found.append((i, j + start, lower[i, j]))
        i, j, bound = (np.concatenate(parts) for parts in zip(*found, strict=True))
        kept = np.flatnonzero(bound <= (best.max(axis=1) + own)[i])
        kept = kept[np.argsort(i[kept], kind="stable")]
        return i[kept], j[kept]

    def _tiles(self, sides: Matrix) -> Iterator[tuple[int, Matrix, Matrix]]:
        """Yield bounds from below and above for some rows at a time, overwritten by the next."""
        buffers = np.empty((2, len(sides) * min(_TILE_ROWS, len(self._rows))), dtype=sides.dtype)
        for start in range(0, len(self._rows), _TILE_ROWS):
            tile = self._rows[start : start + _TILE_ROWS]
            size = len(sides) * len(tile)
            lower, upper = buffers[:, :size].reshape(2, len(sides), len(tile))
            np.matmul(sides, tile.T, out=lower)
            np.add(lower, self._slack[start : start + len(tile)], out=upper)
            yield start, lower, upper

    def _prepared(self, rows: Matrix) -> Matrix:
        centred: Matrix = rows.astype(self._gamma.dtype) - self._centre
        centred /= self._scale
        return centred


def _largest(base: Matrix, centre: Matrix) -> float:
    """Return the largest coordinate around the centre, by which all are divided."""
    low, high = base.min(axis=0) - centre, base.max(axis=0) - centre
    largest = float(max(np.abs(low).max(initial=0.0), np.abs(high).max(initial=0.0)))
    return largest if largest > 0 else 1.0


def _group_minima(values: Matrix, k: int) -> Matrix:
    """Return minima over disjoint groups of columns: each is the value of another row."""
    size = min(_GROUP, values.shape[1] // (_GROUPS_PER_NEIGHBOUR * k))
    if size < 2:
        return values
    n_groups = values.shape[1] // size
    whole = values[:, : n_groups * size].reshape(len(values), size, n_groups)
    return np.hstack([whole.min(axis=1), values[:, n_groups * size :]])


def _smallest(values: Matrix, k: int) -> Matrix:
    if values.shape[1] <= k:
        return values
    return np.partition(values, k - 1, axis=1)[:, :k]
