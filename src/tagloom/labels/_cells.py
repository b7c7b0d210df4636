"""Single cells in row-major order: the form in which stores are built, filtered and compared."""

from dataclasses import dataclass

import numpy as np

from tagloom.labels._types import ABSENT, UNKNOWN, Codes, Flags, Floats, Positions


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
        """Leave out what the background says already, and weights that say nothing."""
        same = self.codes == (ABSENT if background else UNKNOWN)
        if background:
            same &= self.full_weights() == background
        cells = self.pick(~same) if same.any() else self
        if cells.weights is not None and weigh_one(cells.codes, cells.weights):
            return Cells(cells.rows, cells.columns, cells.codes, None)
        return cells

    def full_weights(self) -> Floats:
        """Return the weights with nothing left out: 1 where none was given, 0 where unknown."""
        if self.weights is not None:
            return self.weights
        return np.asarray(self.codes != UNKNOWN, dtype=np.float64)


def cell_keys(rows: Positions, columns: Positions, n_labels: int) -> Positions:
    """Return the number of each cell, counted row by row."""
    return rows * np.int64(n_labels) + columns


def weigh_one(codes: Codes, weights: Floats) -> bool:
    """Say whether every known entry has weight 1 (an unknown one has weight 0)."""
    return bool(np.array_equal(weights, codes != UNKNOWN))
