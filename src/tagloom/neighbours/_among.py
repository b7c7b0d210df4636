"""The exact search of rows among themselves: what is far from x is far from y as well."""

from itertools import pairwise
from threading import Lock

import numpy as np

from tagloom.neighbours._contest import Contest
from tagloom.neighbours._deciding import decide
from tagloom.neighbours._exact import TILE_QUERIES, TILE_ROWS, exact_neighbours, places_within
from tagloom.neighbours._result import Floats, Matrix, Positions
from tagloom.neighbours._screen import Screen, first_limits, turned
from tagloom.neighbours._threads import in_threads

# Pairs held before those are dropped that can no longer win: so many for each row and neighbour.
_PAIRS_PER_PLACE = 3
_FEWEST_PAIRS = 1 << 22


def exact_among_themselves(base: Matrix, k: int) -> tuple[Positions, Floats]:
    """Return what `exact_neighbours(base, base, k)` does, with half the products.

    The rows are parted into blocks. A product of two blocks bounds the distances of the rows of
    both, so that each pair of blocks is multiplied once.
    """
    if len(base) < 2 * TILE_ROWS or 4 * k > TILE_ROWS:
        return exact_neighbours(base, base, k)
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
