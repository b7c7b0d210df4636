"""The exact search: matrix products propose, differences in double precision decide."""

import numpy as np

from tagloom.neighbours._contest import Contest
from tagloom.neighbours._deciding import decide
from tagloom.neighbours._result import Floats, Matrix, Positions
from tagloom.neighbours._screen import Screen, first_limits, turned
from tagloom.neighbours._threads import in_threads

# A tile of this shape (8 MiB in single precision) stays in cache through the passes made over it.
TILE_QUERIES = 512
TILE_ROWS = 4096


def exact_neighbours(base: Matrix, queries: Matrix, k: int) -> tuple[Positions, Floats]:
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
