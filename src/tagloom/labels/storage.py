"""How partial labels are held in memory: a dense or a sparse store of state codes and weights."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.int8]
Positions = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Lists that mix numbers and None are arrays to us, though not to numpy.
TableLike = ArrayLike | Sequence[Sequence[object]]
_T = TypeVar("_T", bound=np.generic)


class State(IntEnum):
    """What is known about one (item, label)."""

    ABSENT = 0
    PRESENT = 1
    UNKNOWN = -1


# Plain integers, because comparing an array with an IntEnum member is slow.
ABSENT, PRESENT, UNKNOWN = int(State.ABSENT), int(State.PRESENT), int(State.UNKNOWN)


@dataclass(frozen=True, eq=False)
class Entries:
    """Known entries in row-major order, each (row, column) once.

    Attributes
    ----------
    rows, columns : ndarray of int64
        Where the entry is.
    present : ndarray of bool
        True where the item has the label, False where it is known not to have it.
    weights : ndarray of float64
        Weight of the entry, greater than 0.
    """

    rows: Positions
    columns: Positions
    present: Flags
    weights: Floats


class Counts(NamedTuple):
    """Numbers of items at which each label is present, absent or unknown."""

    present: Positions
    absent: Positions
    unknown: Positions


def frozen(array: NDArray[_T]) -> NDArray[_T]:
    """Make `array`, which must belong to the caller, read-only."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a table, each at most once, sorted by row and then by column.

    `weights` is None where every known cell weighs 1; an unknown cell weighs 0.
    """

    rows: Positions
    columns: Positions
    codes: Codes
    weights: Floats | None

    def pick(self, chosen: Flags | Positions) -> "Cells":
        """Return the chosen cells in the chosen order."""
        weights = None if self.weights is None else self.weights[chosen]
        return Cells(self.rows[chosen], self.columns[chosen], self.codes[chosen], weights)

    def sorted(self, n_labels: int) -> "Cells":
        """Return the cells in row-major order."""
        keys = cell_keys(self.rows, self.columns, n_labels)
        if np.all(keys[1:] > keys[:-1]):
            return self
        return self.pick(np.argsort(keys, kind="stable"))

    def without_background(self, background: float) -> "Cells":
        """Leave out cells that equal the background, and the weights if all are 1."""
        same = self.codes == (ABSENT if background else UNKNOWN)
        if background:
            same &= self.full_weights() == background
        cells = self.pick(~same) if same.any() else self
        if cells.weights is not None and all_weights_one(cells.codes, cells.weights):
            return Cells(cells.rows, cells.columns, cells.codes, None)
        return cells

    def full_weights(self) -> Floats:
        """Return the weight of every cell: 1 where none was given, 0 where unknown."""
        if self.weights is not None:
            return self.weights
        return np.asarray(self.codes != UNKNOWN, dtype=np.float64)


def cell_keys(rows: Positions, columns: Positions, n_labels: int) -> Positions:
    """Return the number of each cell in row-major order."""
    return rows * np.int64(n_labels) + columns


def cell_positions(keys: Positions, n_labels: int) -> tuple[Positions, Positions]:
    """Return row and column of each numbered cell."""
    rows, columns = np.divmod(keys, max(n_labels, 1))
    return rows, columns


def all_weights_one(codes: Codes, weights: Floats) -> bool:
    """Return whether every known entry has weight 1 (and every unknown one 0)."""
    return bool(np.array_equal(weights, codes != UNKNOWN))


@dataclass(frozen=True, eq=False)
class Dense:
    """Codes of all cells, and their weights unless all known ones weigh 1."""

    codes: Codes
    weights: Floats | None

    is_sparse: ClassVar[bool] = False
    background: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        frozen(self.codes)
        if self.weights is not None:
            frozen(self.weights)

    @classmethod
    def from_cells(cls, cells: Cells, shape: tuple[int, int]) -> "Dense":
        """Store the cells; all others are unknown."""
        codes = np.full(shape, UNKNOWN, dtype=np.int8)
        codes[cells.rows, cells.columns] = cells.codes
        if cells.weights is None:
            return cls(codes, None)
        weights = np.zeros(shape)
        weights[cells.rows, cells.columns] = cells.weights
        return cls(codes, weights)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of items and labels."""
        return self.codes.shape[0], self.codes.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.codes.nbytes + (0 if self.weights is None else self.weights.nbytes)

    def cells(self) -> Cells:
        """Return the known cells."""
        rows, columns = np.nonzero(self.codes != UNKNOWN)
        weights = None if self.weights is None else self.weights[rows, columns]
        return Cells(rows, columns, self.codes[rows, columns], weights)

    def known_cells(self) -> Cells:
        """Return the known cells."""
        return self.cells()

    def unknown_cells(self) -> Cells:
        """Return none: there is no absent background over which cells are unknown."""
        none = np.zeros(0, dtype=np.int64)
        return Cells(none, none, np.zeros(0, dtype=np.int8), None)

    def block(self, start: int, stop: int) -> tuple[Codes, Floats | None]:
        """Return views of some rows."""
        # Views are frozen again, because a copied or unpickled store is writeable.
        codes = frozen(self.codes[start:stop])
        if self.weights is None or all_weights_one(codes, self.weights[start:stop]):
            return codes, None
        return codes, frozen(self.weights[start:stop])

    def take(self, rows: Positions) -> "Dense":
        """Return the store of these rows."""
        return Dense(self.codes[rows], None if self.weights is None else self.weights[rows])

    def select(self, columns: Positions) -> "Dense":
        """Return the store of these columns."""
        weights = None if self.weights is None else self.weights[:, columns]
        return Dense(self.codes[:, columns], weights)

    def hide(self, rows: Positions, columns: Positions) -> "Dense":
        """Return the store with these cells unknown."""
        codes = self.codes.copy()
        codes[rows, columns] = UNKNOWN
        if self.weights is None:
            return Dense(codes, None)
        weights = self.weights.copy()
        weights[rows, columns] = 0.0
        return Dense(codes, weights)

    def known_rows(self) -> Flags:
        """Return whether anything is known of each row."""
        return np.asarray((self.codes != UNKNOWN).any(axis=1))

    def hide_rows(self, hidden: Flags) -> "Dense":
        """Return the store with all cells of these rows unknown."""
        codes = self.codes.copy()
        codes[hidden] = UNKNOWN
        weights = None if self.weights is None else np.where(hidden[:, None], 0.0, self.weights)
        return Dense(codes, weights)

    def counts(self) -> Counts:
        """Count the states of each label."""
        present = np.count_nonzero(self.codes == PRESENT, axis=0).astype(np.int64)
        absent = np.count_nonzero(self.codes == ABSENT, axis=0).astype(np.int64)
        return Counts(present, absent, self.shape[0] - present - absent)


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
        """Store sorted cells, except those that equal the background."""
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

    def _chosen(self, chosen: Flags) -> Cells:
        """Return some of the stored cells, without places of the others, which may be many."""
        if chosen.all():
            # The weights are copied, for the store itself is read-only.
            cells = self.cells()
            return cells if cells.weights is None else replace(cells, weights=cells.weights.copy())
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(chosen)])[self.indptr]
        return Cells(
            np.repeat(np.arange(self.shape[0]), np.diff(ends)),
            self.indices[chosen].astype(np.int64),
            self.codes[chosen],
            None if self.weights is None else self.weights[chosen],
        )

    def known_cells(self) -> Cells:
        """Return the known cells, without those of an absent background."""
        return self._chosen(self.codes != UNKNOWN)

    def unknown_cells(self) -> Cells:
        """Return the unknown cells over an absent background."""
        return self._chosen(self.codes == UNKNOWN)

    def known_rows(self) -> Flags:
        """Return whether anything is known of each row."""
        is_unknown = np.concatenate([[0], np.cumsum(self.codes == UNKNOWN)])
        n_unknown = np.diff(is_unknown[self.indptr])
        if self.background:
            return np.asarray(n_unknown < self.n_labels)
        return np.asarray(n_unknown < np.diff(self.indptr))

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
        return frozen(codes), None if all_weights_one(codes, weights) else frozen(weights)

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
        """Return the store with these cells unknown, over any background."""
        cells = self.cells()
        keys = cell_keys(cells.rows, cells.columns, self.n_labels)
        hidden = _sorted_once(cell_keys(rows, columns, self.n_labels))
        kept = cells.pick(~np.isin(keys, hidden))
        if self.background:
            kept = _with_unknown(kept, hidden, self.n_labels)
        return Sparse.from_cells(kept, self.shape, self.background)

    def hide_rows(self, hidden: Flags) -> "Sparse":
        """Return the store with all cells of these rows unknown, over any background.

        The same as `hide` for all of these cells, in a fraction of its time and memory.
        """
        lengths = np.diff(self.indptr)
        stored = np.repeat(~hidden, lengths)
        indptr = _pointers(np.where(hidden, self.n_labels if self.background else 0, lengths))
        kept = np.repeat(~hidden, np.diff(indptr))
        columns = np.arange(self.n_labels, dtype=np.int32)
        indices = np.empty(len(kept), dtype=np.int32)
        indices[kept] = self.indices[stored]
        indices[~kept] = np.tile(columns, int(hidden.sum()) if self.background else 0)
        codes = np.full(len(kept), UNKNOWN, dtype=np.int8)
        codes[kept] = self.codes[stored]
        weights = None
        if self.weights is not None:
            weights = np.zeros(len(kept))
            weights[kept] = self.weights[stored]
            weights = None if all_weights_one(codes, weights) else weights
        return Sparse(self.n_labels, self.background, indptr, indices, codes, weights)

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
    rows, columns = cell_positions(hidden, n_labels)
    unknown = np.full(len(hidden), UNKNOWN, dtype=np.int8)
    return Cells(
        np.concatenate([cells.rows, rows]),
        np.concatenate([cells.columns, columns]),
        np.concatenate([cells.codes, unknown]),
        np.concatenate([cells.full_weights(), np.zeros(len(hidden))]),
    ).sorted(n_labels)


def _sorted_once(keys: Positions) -> Positions:
    """Return the keys sorted, each once; they mostly are already, which is cheap to check."""
    return keys if bool((keys[1:] > keys[:-1]).all()) else np.unique(keys)


Store = Dense | Sparse

# Stores are compared in blocks of about this many cells.
_BLOCK_CELLS = 4_000_000


def store_cells(cells: Cells, shape: tuple[int, int], background: float) -> Store:
    """Put sorted cells in the smaller store; over an absent background always the sparse one."""
    cells = cells.without_background(background)
    if background or _sparse_is_smaller(len(cells.rows), shape, cells.weights is not None):
        return Sparse.from_cells(cells, shape, background)
    return Dense.from_cells(cells, shape)


def store_table(codes: Codes, weights: Floats | None) -> Store:
    """Put a whole table, which then belongs to the store, in the smaller store."""
    if weights is not None and all_weights_one(codes, weights):
        weights = None
    dense = Dense(codes, weights)
    n_known = int(np.count_nonzero(codes != UNKNOWN))
    if _sparse_is_smaller(n_known, dense.shape, weights is not None):
        return Sparse.from_cells(dense.cells(), dense.shape, 0.0)
    return dense


def _sparse_is_smaller(n_stored: int, shape: tuple[int, int], weighted: bool) -> bool:
    n_items, n_labels = shape
    weight = 8 if weighted else 0
    return 8 * (n_items + 1) + n_stored * (5 + weight) < n_items * n_labels * (1 + weight)


def same_content(one: Store, other: Store) -> bool:
    """Return whether every cell has the same state and weight in both."""
    if one.shape != other.shape or not all(map(np.array_equal, one.counts(), other.counts())):
        return False
    if isinstance(one, Sparse) and isinstance(other, Sparse) and one.background == other.background:
        return _same_stored(one, other)
    n_items, n_labels = one.shape
    step = max(1, _BLOCK_CELLS // max(1, n_labels))
    return all(
        _same_block(one, other, start, min(start + step, n_items))
        for start in range(0, n_items, step)
    )


def _same_stored(one: Sparse, other: Sparse) -> bool:
    return (
        np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.codes, other.codes)
        and np.array_equal(one.cells().full_weights(), other.cells().full_weights())
    )


def _same_block(one: Store, other: Store, start: int, stop: int) -> bool:
    codes, weights = one.block(start, stop)
    other_codes, other_weights = other.block(start, stop)
    if not np.array_equal(codes, other_codes):
        return False
    if weights is None or other_weights is None:
        return weights is other_weights
    return np.array_equal(weights, other_weights)
