"""The approximate search: neighbours share a cell of some random partition, or a neighbour."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.neighbors.exact import (
    Floats,
    Matrix,
    Positions,
    Scaled,
    decide,
    exact_neighbors,
    first_limits,
    in_threads,
    places_within,
)

# §§ cells
# Random partitions of the rows into cells of some hundreds that lie close together.


# Cells are sought of about so many rows, and parted again where they have more than the most.
CELL = 256
_MOST = 4 * CELL
_CELLS_AT_ONCE = 64
_CELL_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Cell:
    """Positions of rows that lie close together, and of the queries that lie among them."""

    rows: Positions
    queries: Positions


class Partition:
    """A way to part rows and queries by the nearest of some rows drawn at random.

    Parameters
    ----------
    base, queries : Scaled
        The same object where rows are sought among themselves.
    fewest : int
        No cell has fewer rows than this, if the base has as many.
    seed : int
        Another seed is another partition.
    """

    def __init__(self, base: Scaled, queries: Scaled, fewest: int, seed: int) -> None:
        self._base, self._queries = base, queries
        self._fewest, self._seed = fewest, seed
        self._most = max(_MOST, 4 * fewest)

    def parted(self, cell: Cell) -> list[Cell]:
        """Part a cell once, or not at all if it is small or cannot be parted."""
        if len(cell.rows) <= self._most:
            return [cell]
        # Seeded by what the cell is, so that it does not matter which thread parts it first.
        generator = np.random.default_rng([self._seed, len(cell.rows), int(cell.rows[0])])
        n_centres = min(_CELLS_AT_ONCE, len(cell.rows) // max(CELL, self._fewest))
        drawn = np.sort(generator.choice(len(cell.rows), n_centres, replace=False))
        centres = self._base.take(cell.rows[drawn])
        nearest = _nearest(self._base, cell.rows, centres)
        large = np.bincount(nearest, minlength=n_centres) >= self._fewest
        if large.sum() < 2:
            return _cut(cell, -(-len(cell.rows) // self._most))
        if not large.all():
            centres = centres[large]
            nearest = _nearest(self._base, cell.rows, centres)
        groups = _groups(cell.rows, nearest, len(centres))
        if self._queries is self._base:
            return [Cell(rows, rows) for rows in groups]
        nearest = _nearest(self._queries, cell.queries, centres)
        asked = _groups(cell.queries, nearest, len(centres))
        return [Cell(rows, of) for rows, of in zip(groups, asked, strict=True)]

    def small_cells(self, cell: Cell) -> Iterator[Cell]:
        """Part a cell again and again, and yield what is small and has a query."""
        waiting = [cell]
        while waiting:
            cell = waiting.pop()
            if not len(cell.queries):
                continue
            if len(cell.rows) <= self._most:
                yield cell
            else:
                waiting += self.parted(cell)


def _nearest(rows: Scaled, positions: Positions, centres: Matrix) -> Positions:
    """Return which centre is nearest to each row at these positions."""
    middle = centres.mean(axis=0)
    around = centres - middle
    half_norms = np.einsum("ij,ij->i", around, around) / 2
    nearest = np.empty(len(positions), dtype=np.int64)
    for start in range(0, len(positions), _CELL_ROWS_AT_ONCE):
        part = slice(start, start + _CELL_ROWS_AT_ONCE)
        products = (rows.take(positions[part]) - middle) @ around.T
        nearest[part] = np.argmin(half_norms - products, axis=1)
    return nearest


def _groups(positions: Positions, group: Positions, n_groups: int) -> list[Positions]:
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=n_groups))[:-1]
    return np.split(positions[order], ends)


def _cut(cell: Cell, n_pieces: int) -> list[Cell]:
    """Part rows that no centre parts, for they are all but equal, by their positions."""
    rows = np.array_split(cell.rows, n_pieces)
    asked = rows if cell.queries is cell.rows else np.array_split(cell.queries, n_pieces)
    return [Cell(some, of) for some, of in zip(rows, asked, strict=True)]


# §§ nearest
# The nearest rows that were found so far.


class Nearest:
    """The k nearest rows of each query among those it has met, in no order.

    Attributes
    ----------
    rows : array of shape (n_queries, k)
        Their positions, -1 where fewer were met.
    squares : array of shape (n_queries, k)
        Their squared distances, the largest last.
    """

    def __init__(self, n_queries: int, k: int) -> None:
        self._k = k
        self.rows = np.full((n_queries, k), -1, dtype=np.int32)
        self.squares = np.full((n_queries, k), np.inf, dtype=np.float32)

    def enter(self, queries: Positions, i: Positions, j: Positions, squares: Matrix) -> None:
        """Let the rows j meet the queries at positions `queries[i]`; i is sorted.

        No pair (i, j) occurs twice, but rows that are among the nearest already may come again.
        """
        new = np.flatnonzero(~(self.rows[queries[i]] == j[:, None]).any(axis=1))
        if not len(new):
            return
        i, j, squares = i[new], j[new], squares[new]
        starts = np.flatnonzero(np.concatenate([[True], i[1:] != i[:-1]]))
        counts = np.diff(starts, append=len(i))
        touched, line = queries[i[starts]], np.repeat(np.arange(len(starts)), counts)
        column = self._k + np.arange(len(i)) - starts[line]
        width = self._k + int(counts.max())
        rows = np.full((len(starts), width), -1, dtype=np.int32)
        bounds = np.full((len(starts), width), np.inf, dtype=np.float32)
        rows[:, : self._k], bounds[:, : self._k] = self.rows[touched], self.squares[touched]
        rows[line, column], bounds[line, column] = j, squares
        order = np.argpartition(bounds, self._k - 1, axis=1)[:, : self._k]
        self.rows[touched] = np.take_along_axis(rows, order, axis=1)
        self.squares[touched] = np.take_along_axis(bounds, order, axis=1)


# §§ refining
# Neighbours' neighbours are often neighbours.


_ROWS_AT_ONCE = 512
_CLOSEST = 12


def refine(nearest: Nearest, rows: Scaled, order: Positions) -> None:
    """Let each row meet the rows that its neighbours are near to, or that are near to them.

    Rows are taken in an order in which those that follow each other are close: they meet the same
    ones, which then are in cache.
    """
    near = _closest(nearest)
    known = np.hstack([near, _reverse(near)])

    def meet(start: int) -> None:
        some = order[start : start + _ROWS_AT_ONCE]
        i, j = _strangers(known, near[some])
        squares = rows.squares(some[i], j)
        nearer = np.flatnonzero(squares < nearest.squares[some[i], -1])
        nearest.enter(some, i[nearer], j[nearer], squares[nearer])

    in_threads(meet, range(0, len(near), _ROWS_AT_ONCE))


def _closest(nearest: Nearest) -> npt.NDArray[np.int32]:
    """Return the closest of the neighbours, for the neighbours of distant ones are too many."""
    if nearest.rows.shape[1] <= _CLOSEST:
        return nearest.rows.copy()
    order = np.argpartition(nearest.squares, _CLOSEST - 1, axis=1)[:, :_CLOSEST]
    return np.take_along_axis(nearest.rows, order, axis=1)


def _reverse(near: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return for each row the first few rows that it is near to, itself where there are fewer."""
    n_rows, k = near.shape
    order = np.argsort(near.ravel(), kind="stable")
    towards = near.ravel()[order]
    counts = np.bincount(towards, minlength=n_rows)
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = place < k
    back = np.repeat(np.arange(n_rows, dtype=np.int32)[:, None], k, axis=1)
    back[towards[kept], place[kept]] = order[kept] // k
    return back


def _strangers(
    known: npt.NDArray[np.int32], near: npt.NDArray[np.int32]
) -> tuple[Positions, Positions]:
    """Return pairs (i, j), sorted by i, of rows and their neighbours' neighbours, each once."""
    met = known[near].reshape(len(near), -1)
    met.sort(axis=1)
    wanted = np.ones(met.shape, dtype=bool)
    wanted[:, 1:] = met[:, 1:] != met[:, :-1]
    i, column = np.nonzero(wanted)
    return i, met[i, column].astype(np.int64)


# §§ main approximate


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


def approximate_neighbors(base: Matrix, queries: Matrix, k: int) -> tuple[Positions, Floats, float]:
    """Return neighbours, their squared distances and the recall measured on a sample.

    In a random partition of the rows into small cells each query is compared with the rows of its
    cell, a matrix product for each cell. Partitions are added, and among rows themselves the
    neighbours' neighbours compared, until 96 in 100 true neighbours are found for the queries of a
    sample. The recall is that of another sample, on which nothing was decided.
    """
    if len(base) < _ROWS_PER_NEIGHBOUR * k:
        return *exact_neighbors(base, queries, k), 1.0
    generator = np.random.default_rng(0)
    drawn = generator.choice(len(queries), min(len(queries), 2 * _SAMPLE), replace=False)
    truth = exact_neighbors(base, queries[drawn], k)[0]
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
