"""Approximate search: random partitions of the rows, refined by neighbours of neighbours.

Rows that share a small cell of some random partition are compared with each other; in a self-search
the neighbours of neighbours are compared as well (Dong, Moses and Li 2011). Both go on until the
recall on a sample is high enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.neighbors.exact import (
    Floats,
    Matrix,
    Positions,
    blocks,
    exact_neighbors,
    in_threads,
    initial_limits,
    largest_coordinate,
    mean_row,
    other_than_self,
    refine,
    runs,
    within_limits,
)

Single = npt.NDArray[np.float32]

# The search goes on until this share of the true neighbours is found on a sample.
_RECALL = 0.96
_SAMPLE = 512
_MOST_PARTITIONS = 48
# Neighbours of neighbours are compared once the recall is this high, and again for as long as the
# recall grows by this much.
_DESCENT_FROM = 0.75
_DESCENT_GAIN = 0.02
_QUERIES_AT_ONCE = 2048
# With fewer rows than this per neighbour, all rows are compared.
_ROWS_PER_NEIGHBOR = 64
# Cells of about this many rows are aimed at; those with more than the maximum are split again.
_CELL_SIZE = 256
_LARGEST_CELL = 4 * _CELL_SIZE
_CELLS_AT_ONCE = 64
_CELL_ROWS_AT_ONCE = 4096
# The neighbours of this many of a row's neighbours are compared, for this many rows at a time.
_CLOSEST = 12
_ROWS_AT_ONCE = 512
# Differences of this many pairs of rows stay in cache.
_PAIRS_AT_ONCE = 256


def approximate_neighbors(base: Matrix, queries: Matrix, k: int) -> tuple[Positions, Floats, float]:
    """Return neighbours, their squared distances and the recall measured on a sample.

    In a random partition of the rows into small cells each query is compared with the rows of its
    cell, by one matrix product per cell. Partitions are added until 96% of the true neighbours are
    found for a sample of the queries; in a self-search the neighbours of neighbours are compared
    too. The recall returned is measured on a second sample, on which nothing was decided.
    """
    if len(base) < _ROWS_PER_NEIGHBOR * k:
        return *exact_neighbors(base, queries, k), 1.0
    generator = np.random.default_rng(0)
    drawn = generator.choice(len(queries), min(len(queries), 2 * _SAMPLE), replace=False)
    truth = exact_neighbors(base, queries[drawn], k)[0]
    if queries is base and k > 1:
        # That every row finds itself must not count towards the recall.
        truth = truth[other_than_self(truth, drawn)].reshape(len(truth), k - 1)
    tuned, evaluated = slice(0, None, 2), slice(1, None, 2)
    search = _Search(base, queries, k)
    search.run(drawn[tuned], truth[tuned])
    indices, squares = search.result()
    if len(drawn) < 2 * _SAMPLE:
        evaluated = slice(None)
    return indices, squares, _recall(truth[evaluated], indices[drawn[evaluated]])


def _recall(truth: npt.NDArray[Any], found: npt.NDArray[Any]) -> float:
    """Return the share of the true neighbours that was found."""
    hits = sum(len(np.intersect1d(t, f)) for t, f in zip(truth, found, strict=True))
    return hits / truth.size


class _Search:
    def __init__(self, base: Matrix, queries: Matrix, k: int) -> None:
        self._base, self._queries, self._k = base, queries, k
        self._is_self_search = queries is base
        self._rows = ScaledRows(base)
        self._scaled_queries = (
            self._rows if self._is_self_search else ScaledRows(queries, self._rows)
        )
        self._nearest = NearestSoFar(len(queries), k)
        self._order: Positions = np.arange(0)

    def run(self, drawn: Positions, truth: Positions) -> None:
        """Search until the recall for the drawn queries is high enough."""
        recall = 0.0
        for seed in range(_MOST_PARTITIONS):
            self._search_partition(seed)
            recall = _recall(truth, self._nearest.rows[drawn])
            while self._is_self_search and _DESCENT_FROM <= recall < _RECALL:
                previous = recall
                compare_neighbors_of_neighbors(self._nearest, self._rows, self._order)
                recall = _recall(truth, self._nearest.rows[drawn])
                if recall - previous < _DESCENT_GAIN:
                    break
            if recall >= _RECALL:
                break

    def result(self) -> tuple[Positions, Floats]:
        """Return what was found, ordered by distances in double precision."""
        indices = np.empty((len(self._queries), self._k), dtype=np.int64)
        squares = np.empty((len(self._queries), self._k))

        def refined(start: int) -> None:
            part = slice(start, start + _QUERIES_AT_ONCE)
            found = self._nearest.rows[part].astype(np.int64)
            i = np.repeat(np.arange(len(found)), self._k)
            queries = self._queries[part]
            indices[part], squares[part] = refine(self._base, queries, i, found.ravel(), self._k)

        in_threads(refined, range(0, len(self._queries), _QUERIES_AT_ONCE))
        return indices, squares

    def _search_partition(self, seed: int) -> None:
        partition = Partition(self._rows, self._scaled_queries, self._k, seed)
        rows = np.arange(len(self._rows))
        queries = rows if self._is_self_search else np.arange(len(self._scaled_queries))
        large = partition.split(Cell(rows, queries))
        seen: list[list[Positions]] = [[] for _ in large]

        def search(number: int) -> None:
            for cell in partition.small_cells(large[number]):
                compare_cell(self._nearest, self._rows, self._scaled_queries, cell)
                seen[number].append(cell.queries)

        in_threads(search, range(len(large)))
        self._order = np.concatenate([some for cells in seen for some in cells])


class ScaledRows:
    """Rows around their mean, divided by their largest coordinate, computed on demand.

    In single precision, which is enough to propose neighbours and cannot overflow.
    """

    def __init__(self, rows: Matrix, like: "ScaledRows | None" = None) -> None:
        self._rows = rows
        self._centre: Matrix = mean_row(rows) if like is None else like._centre
        self._scale: float = largest_coordinate(rows, self._centre) if like is None else like._scale

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, positions: Positions) -> Single:
        """Return the rows at these positions."""
        rows = self._rows[positions]
        rows -= self._centre
        rows /= rows.dtype.type(self._scale)
        return rows.astype(np.float32, copy=False)

    def squares(self, i: Positions, j: Positions) -> Single:
        """Return the squared distances of the pairs (i, j)."""
        squares = np.empty(len(i), dtype=np.float32)
        for part in blocks(len(i), _PAIRS_AT_ONCE):
            difference = self._rows.take(i[part], axis=0)
            difference -= self._rows.take(j[part], axis=0)
            difference /= difference.dtype.type(self._scale)
            squares[part] = np.einsum("ij,ij->i", difference, difference)
        return squares


@dataclass(frozen=True, eq=False)
class Cell:
    """Positions of rows that are close together, and of the queries among them."""

    rows: Positions
    queries: Positions


class Partition:
    """A random partition of rows and queries into cells of some hundreds.

    A cell is split by the nearest of some of its rows, drawn at random.

    Parameters
    ----------
    base, queries : ScaledRows
        The same object in a self-search.
    smallest : int
        No cell has fewer rows than this, if the base has as many.
    seed : int
        Another seed gives another partition.
    """

    def __init__(self, base: ScaledRows, queries: ScaledRows, smallest: int, seed: int) -> None:
        self._base, self._queries = base, queries
        self._smallest, self._seed = smallest, seed
        self._largest = max(_LARGEST_CELL, 4 * smallest)

    def split(self, cell: Cell) -> list[Cell]:
        """Split a cell once; a small cell stays as it is."""
        if len(cell.rows) <= self._largest:
            return [cell]
        centres = self._draw_centres(cell)
        nearest = _nearest_centre(self._base, cell.rows, centres)
        large = np.bincount(nearest, minlength=len(centres)) >= self._smallest
        if large.sum() < 2:
            return _split_by_position(cell, -(-len(cell.rows) // self._largest))
        if not large.all():
            centres = centres[large]
            nearest = _nearest_centre(self._base, cell.rows, centres)
        rows = _grouped(cell.rows, nearest, len(centres))
        if self._queries is self._base:
            return [Cell(some, some) for some in rows]
        nearest = _nearest_centre(self._queries, cell.queries, centres)
        queries = _grouped(cell.queries, nearest, len(centres))
        return [Cell(some, of) for some, of in zip(rows, queries, strict=True)]

    def small_cells(self, cell: Cell) -> Iterator[Cell]:
        """Split a cell until its parts are small, and yield those that have a query."""
        waiting = [cell]
        while waiting:
            cell = waiting.pop()
            if not len(cell.queries):
                continue
            if len(cell.rows) <= self._largest:
                yield cell
            else:
                waiting += self.split(cell)

    def _draw_centres(self, cell: Cell) -> Single:
        # Seeded by the content of the cell, so that the order of threads does not matter.
        generator = np.random.default_rng([self._seed, len(cell.rows), int(cell.rows[0])])
        n_centres = min(_CELLS_AT_ONCE, len(cell.rows) // max(_CELL_SIZE, self._smallest))
        drawn = np.sort(generator.choice(len(cell.rows), n_centres, replace=False))
        return self._base.take(cell.rows[drawn])


def _nearest_centre(rows: ScaledRows, positions: Positions, centres: Matrix) -> Positions:
    """Return the number of the nearest centre for each row at these positions."""
    mean = centres.mean(axis=0)
    around = centres - mean
    half_norms = np.einsum("ij,ij->i", around, around) / 2
    nearest = np.empty(len(positions), dtype=np.int64)
    for part in blocks(len(positions), _CELL_ROWS_AT_ONCE):
        products = (rows.take(positions[part]) - mean) @ around.T
        nearest[part] = np.argmin(half_norms - products, axis=1)
    return nearest


def _grouped(positions: Positions, group: Positions, n_groups: int) -> list[Positions]:
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=n_groups))[:-1]
    return np.split(positions[order], ends)


def _split_by_position(cell: Cell, n_parts: int) -> list[Cell]:
    """Split rows that are too similar to be split by centres."""
    rows = np.array_split(cell.rows, n_parts)
    queries = rows if cell.queries is cell.rows else np.array_split(cell.queries, n_parts)
    return [Cell(some, of) for some, of in zip(rows, queries, strict=True)]


class NearestSoFar:
    """The k nearest rows of each query among those compared so far, unordered.

    Attributes
    ----------
    rows : array of shape (n_queries, k)
        Their positions, -1 where fewer were compared.
    squares : array of shape (n_queries, k)
        Their squared distances, the largest last.
    """

    def __init__(self, n_queries: int, k: int) -> None:
        self.k = k
        self.rows = np.full((n_queries, k), -1, dtype=np.int32)
        self.squares = np.full((n_queries, k), np.inf, dtype=np.float32)

    def add(self, queries: Positions, i: Positions, j: Positions, squares: Matrix) -> None:
        """Compare the rows j with the nearest of the queries at `queries[i]`; i is sorted.

        No pair (i, j) occurs twice, but rows may be among the nearest already.
        """
        new = np.flatnonzero(~(self.rows[queries[i]] == j[:, None]).any(axis=1))
        if not len(new):
            return
        i, j, squares = i[new], j[new], squares[new]
        starts, line, column = runs(i)
        changed = queries[i[starts]]
        shape = (len(starts), self.k + int(column.max()) + 1)
        rows = np.full(shape, -1, dtype=np.int32)
        distances = np.full(shape, np.inf, dtype=np.float32)
        rows[:, : self.k], distances[:, : self.k] = self.rows[changed], self.squares[changed]
        rows[line, self.k + column], distances[line, self.k + column] = j, squares
        order = np.argpartition(distances, self.k - 1, axis=1)[:, : self.k]
        self.rows[changed] = np.take_along_axis(rows, order, axis=1)
        self.squares[changed] = np.take_along_axis(distances, order, axis=1)


def compare_cell(nearest: NearestSoFar, base: ScaledRows, queries: ScaledRows, cell: Cell) -> None:
    """Compare the queries of a cell with its rows, of which there are at least k.

    In a self-search, where base and queries are one object, they are the same.
    """
    rows = base.take(cell.rows)
    centre = rows.mean(axis=0)
    rows -= centre
    norms = np.einsum("ij,ij->i", rows, rows)
    for start in range(0, len(cell.queries), _QUERIES_AT_ONCE):
        part = slice(start, start + _QUERIES_AT_ONCE)
        asking = cell.queries[part]
        x = rows[part] if queries is base else queries.take(asking) - centre
        own = np.einsum("ij,ij->i", x, x)
        squares = x @ (-2 * rows.T)
        squares += norms
        limits = nearest.squares[asking, -1] - own
        if not np.isfinite(limits).all():
            no_slack = np.zeros(len(rows), dtype=np.float32)
            limits = initial_limits(squares, np.zeros_like(own), no_slack, nearest.k)
        i, j = within_limits(squares, limits[:, None])
        nearest.add(asking, i, cell.rows[j], squares[i, j] + own[i])


def compare_neighbors_of_neighbors(
    nearest: NearestSoFar, rows: ScaledRows, order: Positions
) -> None:
    """Compare each row with its neighbours' neighbours, along edges of either direction.

    Rows are taken in an order in which consecutive ones are close: they are compared with the same
    rows, which are then in cache.
    """
    near = _closest(nearest)
    adjacent = np.hstack([near, _reverse(near)])

    def compare(start: int) -> None:
        some = order[start : start + _ROWS_AT_ONCE]
        i, j = _distinct_pairs(adjacent[near[some]].reshape(len(some), -1))
        squares = rows.squares(some[i], j)
        nearer = np.flatnonzero(squares < nearest.squares[some[i], -1])
        nearest.add(some, i[nearer], j[nearer], squares[nearer])

    in_threads(compare, range(0, len(near), _ROWS_AT_ONCE))


def _closest(nearest: NearestSoFar) -> npt.NDArray[np.int32]:
    """Return a few of the neighbours of each row, the closest, to bound the comparisons."""
    if nearest.rows.shape[1] <= _CLOSEST:
        return nearest.rows.copy()
    order = np.argpartition(nearest.squares, _CLOSEST - 1, axis=1)[:, :_CLOSEST]
    return np.take_along_axis(nearest.rows, order, axis=1)


def _reverse(near: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return for each row the first k rows that it is near to, itself where there are fewer."""
    n_rows, k = near.shape
    order = np.argsort(near.ravel(), kind="stable")
    towards = near.ravel()[order]
    counts = np.bincount(towards, minlength=n_rows)
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = place < k
    back = np.repeat(np.arange(n_rows, dtype=np.int32)[:, None], k, axis=1)
    back[towards[kept], place[kept]] = order[kept] // k
    return back


def _distinct_pairs(table: npt.NDArray[np.int32]) -> tuple[Positions, Positions]:
    """Return the pairs (row of the table, value), sorted, each once; the table is overwritten."""
    table.sort(axis=1)
    first = np.ones(table.shape, dtype=bool)
    first[:, 1:] = table[:, 1:] != table[:, :-1]
    i, column = np.nonzero(first)
    return i, table[i, column].astype(np.int64)
