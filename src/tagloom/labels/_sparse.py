"""The sparse store: only the cells that differ from a background, row by row."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tagloom.labels._cells import Cells, cell_keys, weigh_one
from tagloom.labels._types import (
    ABSENT,
    PRESENT,
    UNKNOWN,
    Codes,
    Counts,
    Floats,
    Positions,
    frozen,
)


@dataclass(frozen=True, eq=False)
class Sparse:
    """Compressed rows of cells over a background.

    With ``background == 0`` a cell that is not stored is unknown; with ``background == w > 0``
    it is absent with weight w, and an unknown cell is stored as such.
    """

    n_labels: int
    background: float
    indptr: Positions
    indices: np.ndarray[tuple[int], np.dtype[np.int32]]
    codes: Codes
    weights: Floats | None

    is_sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for array in (self.indptr, self.indices, self.codes, self.weights):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_cells(cls, cells: Cells, shape: tuple[int, int], background: float) -> "Sparse":
        """Store sorted cells, leaving out those that the background says already."""
        cells = cells.without_background(background)
        weights = None if cells.weights is None else cells.weights.astype(np.float64)
        return cls(
            shape[1],
            background,
            _pointers(np.bincount(cells.rows, minlength=shape[0])),
            cells.columns.astype(np.int32),
            cells.codes.astype(np.int8),
            weights,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of items and labels."""
        return len(self.indptr) - 1, self.n_labels

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        arrays = (self.indptr, self.indices, self.codes, self.weights)
        return sum(array.nbytes for array in arrays if array is not None)

    def cells(self) -> Cells:
        """Return the stored cells."""
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        return Cells(rows, self.indices.astype(np.int64), self.codes, self.weights)

    def block(self, start: int, stop: int) -> tuple[Codes, Floats | None]:
        """Return some rows with the background filled in."""
        stored = slice(self.indptr[start], self.indptr[stop])
        rows = np.repeat(np.arange(stop - start), np.diff(self.indptr[start : stop + 1]))
        columns = self.indices[stored]
        shape = (stop - start, self.n_labels)
        codes = np.full(shape, ABSENT if self.background else UNKNOWN, dtype=np.int8)
        codes[rows, columns] = self.codes[stored]
        if self.weights is None and self.background in (0.0, 1.0):
            return frozen(codes), None
        weights = np.full(shape, self.background)
        if self.weights is None:
            weights[rows, columns] = self.codes[stored] != UNKNOWN
        else:
            weights[rows, columns] = self.weights[stored]
        return frozen(codes), None if weigh_one(codes, weights) else frozen(weights)

    def take(self, rows: Positions) -> "Sparse":
        """Return the store of these rows."""
        lengths = np.diff(self.indptr)[rows]
        indptr = _pointers(lengths)
        stored = np.repeat(self.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
        weights = None if self.weights is None else self.weights[stored]
        return Sparse(
            self.n_labels,
            self.background,
            indptr,
            self.indices[stored],
            self.codes[stored],
            weights,
        )

    def select(self, columns: Positions) -> "Sparse":
        """Return the store of these columns."""
        new_column = np.full(self.n_labels, -1, dtype=np.int64)
        new_column[columns] = np.arange(len(columns))
        cells = self.cells()
        kept = cells.pick(new_column[cells.columns] >= 0)
        moved = Cells(kept.rows, new_column[kept.columns], kept.codes, kept.weights)
        shape = (self.shape[0], len(columns))
        return Sparse.from_cells(moved.sorted(len(columns)), shape, self.background)

    def hide(self, rows: Positions, columns: Positions) -> "Sparse":
        """Return the store with these cells unknown, over whatever background."""
        cells = self.cells()
        keys = cell_keys(cells.rows, cells.columns, self.n_labels)
        hidden = _sorted_once(cell_keys(rows, columns, self.n_labels))
        kept = cells.pick(~np.isin(keys, hidden))
        if self.background:
            kept = _with_unknown(kept, hidden, self.n_labels)
        return Sparse.from_cells(kept, self.shape, self.background)

    def counts(self) -> Counts:
        """Count the states of each label."""

        def stored(code: int) -> Positions:
            return np.bincount(self.indices[self.codes == code], minlength=self.n_labels)

        n_items, present = self.shape[0], stored(PRESENT)
        if self.background:
            unknown = stored(UNKNOWN)
            return Counts(present, n_items - present - unknown, unknown)
        absent = stored(ABSENT)
        return Counts(present, absent, n_items - present - absent)


def _pointers(lengths: Positions) -> Positions:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


def _with_unknown(cells: Cells, hidden: Positions, n_labels: int) -> Cells:
    rows, columns = np.divmod(hidden, max(n_labels, 1))
    unknown = np.full(len(hidden), UNKNOWN, dtype=np.int8)
    return Cells(
        np.concatenate([cells.rows, rows]),
        np.concatenate([cells.columns, columns]),
        np.concatenate([cells.codes, unknown]),
        np.concatenate([cells.full_weights(), np.zeros(len(hidden))]),
    ).sorted(n_labels)


def _sorted_once(keys: Positions) -> Positions:
    """Return the keys sorted, each once; most come so, and looking is much cheaper than sorting."""
    return keys if bool((keys[1:] > keys[:-1]).all()) else np.unique(keys)
