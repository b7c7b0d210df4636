"""The approximate search: neighbours share a cell of some random partition, or a neighbour."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.neighbours._cells import Cell, Partition
from tagloom.neighbours._deciding import decide
from tagloom.neighbours._exact import exact_neighbours, places_within
from tagloom.neighbours._nearest import Nearest
from tagloom.neighbours._refining import refine
from tagloom.neighbours._result import Floats, Matrix, Positions
from tagloom.neighbours._screen import Scaled, first_limits
from tagloom.neighbours._threads import in_threads

# The search goes on until this share of the true neighbours is found on a sample.
_RECALL = 0.96
_SAMPLE = 512
_MOST_PARTITIONS = 48
# Neighbours' neighbours are worth a look when this share of the neighbours is right, and worth
# another as long as they add so much.
_REFINABLE = 0.75
_WORTHWHILE = 0.02
_QUERIES_AT_ONCE = 2048
# Where so few rows are to choose from, all are compared.
_ROWS_PER_NEIGHBOUR = 64


def approximate_neighbours(
    base: Matrix, queries: Matrix, k: int
) -> tuple[Positions, Floats, float]:
    """Return neighbours, their squared distances and the recall measured on a sample.

    In a random partition of the rows into small cells each query is compared with the rows of its
    cell, a matrix product for each cell. Partitions are added, and among rows themselves the
    neighbours' neighbours compared, until 96 in 100 true neighbours are found for the queries of a
    sample. The recall is that of another sample, on which nothing was decided.
    """
    if len(base) < _ROWS_PER_NEIGHBOUR * k:
        return *exact_neighbours(base, queries, k), 1.0
    generator = np.random.default_rng(0)
    drawn = generator.choice(len(queries), min(len(queries), 2 * _SAMPLE), replace=False)
    truth = exact_neighbours(base, queries[drawn], k)[0]
    if queries is base and k > 1:
        # Every row finds itself, which is no merit.
        truth = without(truth, drawn)
    judges, judged = slice(0, None, 2), slice(1, None, 2)
    search = _Search(base, queries, k)
    search.go_on_until(drawn[judges], truth[judges])
    indices, squares = search.answer()
    if len(drawn) < 2 * _SAMPLE:
        judged = slice(None)
    return indices, squares, share_found(truth[judged], indices[drawn[judged]])


class _Search:
    def __init__(self, base: Matrix, queries: Matrix, k: int) -> None:
        self._base, self._queries, self._k = base, queries, k
        self._among_themselves = queries is base
        self._rows = Scaled(base)
        self._asked = self._rows if self._among_themselves else Scaled(queries, self._rows)
        self._nearest = Nearest(len(queries), k)
        self._order: Positions = np.arange(0)

    def go_on_until(self, drawn: Positions, truth: Positions) -> None:
        """Search until enough of the truth is found for the queries that were drawn."""
        recall = 0.0
        for seed in range(_MOST_PARTITIONS):
            self._look_into_cells(seed)
            recall = share_found(truth, self._nearest.rows[drawn])
            while self._among_themselves and _REFINABLE <= recall < _RECALL:
                before = recall
                refine(self._nearest, self._rows, self._order)
                recall = share_found(truth, self._nearest.rows[drawn])
                if recall - before < _WORTHWHILE:
                    break
            if recall >= _RECALL:
                break

    def answer(self) -> tuple[Positions, Floats]:
        """Order what was found by distances in double precision."""
        indices = np.empty((len(self._queries), self._k), dtype=np.int64)
        squares = np.empty((len(self._queries), self._k))

        def ordered(start: int) -> None:
            part = slice(start, start + _QUERIES_AT_ONCE)
            found = self._nearest.rows[part].astype(np.int64)
            i = np.repeat(np.arange(len(found)), self._k)
            asked = self._queries[part]
            indices[part], squares[part] = decide(self._base, asked, i, found.ravel(), self._k)

        in_threads(ordered, range(0, len(self._queries), _QUERIES_AT_ONCE))
        return indices, squares

    def _look_into_cells(self, seed: int) -> None:
        partition = Partition(self._rows, self._asked, self._k, seed)
        everyone = np.arange(len(self._rows))
        asked = everyone if self._among_themselves else np.arange(len(self._asked))
        large = partition.parted(Cell(everyone, asked))
        seen: list[list[Positions]] = [[] for _ in large]

        def look(number: int) -> None:
            for cell in partition.small_cells(large[number]):
                self._compare(cell)
                seen[number].append(cell.queries)

        in_threads(look, range(len(large)))
        self._order = np.concatenate([some for cells in seen for some in cells])

    def _compare(self, cell: Cell) -> None:
        """Compare the queries of a cell with its rows."""
        rows = self._rows.take(cell.rows)
        middle = rows.mean(axis=0)
        rows -= middle
        norms = np.einsum("ij,ij->i", rows, rows)
        for start in range(0, len(cell.queries), _QUERIES_AT_ONCE):
            part = slice(start, start + _QUERIES_AT_ONCE)
            queries = cell.queries[part]
            x = rows[part] if self._among_themselves else self._asked.take(queries) - middle
            own = np.einsum("ij,ij->i", x, x)
            squares = x @ (-2 * rows.T)
            squares += norms
            limits = self._nearest.squares[queries, -1] - own
            if not np.isfinite(limits).all():
                nothing = np.zeros(len(rows), dtype=np.float32)
                limits = first_limits(squares, np.zeros_like(own), nothing, self._k)
            i, j = places_within(squares, limits[:, None])
            self._nearest.enter(queries, i, cell.rows[j], squares[i, j] + own[i])


def without(indices: Positions, own: Positions) -> Positions:
    """Drop each row's own position, or the last where that is not among them."""
    dropped = indices == own[:, None]
    dropped[~dropped.any(axis=1), -1] = True
    kept: Positions = indices[~dropped].reshape(len(indices), -1)
    return kept


def share_found(truth: npt.NDArray[Any], found: npt.NDArray[Any]) -> float:
    """Return which share of the true neighbours was found."""
    hits = sum(len(np.intersect1d(t, f)) for t, f in zip(truth, found, strict=True))
    return hits / truth.size
