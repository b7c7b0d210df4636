"""Random partitions of the rows into cells of some hundreds that lie close together."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tagloom.neighbours._result import Matrix, Positions
from tagloom.neighbours._screen import Scaled

# Cells are sought of about so many rows, and parted again where they have more than the most.
CELL = 256
_MOST = 4 * CELL
_CELLS_AT_ONCE = 64
_ROWS_AT_ONCE = 4096


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
    for start in range(0, len(positions), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
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
