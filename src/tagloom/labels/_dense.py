"""The dense store: a code for every cell."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tagloom.labels._cells import Cells, weigh_one
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
        """Lay the cells out; all others are unknown."""
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

    def block(self, start: int, stop: int) -> tuple[Codes, Floats | None]:
        """Return views of some rows."""
        # A view is frozen anew, because a copied or unpickled store forgets that it was.
        codes = frozen(self.codes[start:stop])
        if self.weights is None or weigh_one(codes, self.weights[start:stop]):
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

    def counts(self) -> Counts:
        """Count the states of each label."""
        present = np.count_nonzero(self.codes == PRESENT, axis=0).astype(np.int64)
        absent = np.count_nonzero(self.codes == ABSENT, axis=0).astype(np.int64)
        return Counts(present, absent, self.shape[0] - present - absent)
