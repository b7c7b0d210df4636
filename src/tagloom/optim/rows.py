"""The rows of X, block by block, in the precision and around the centre that the loss wants."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.optim.arrays import Matrix
from tagloom.optim.sampled import aligned_zeros

# A mean with less than this share of the energy of its column costs no digits.
_NEGLIGIBLE_OFFSET = 1e-3
# Rows that are converted at a time.
_ROWS_AT_ONCE = 4096


class Rows:
    """X - 1 centre', without a copy where there is nothing to change.

    Rows in single precision are changed once and kept, for most iterations are made with them;
    rows in double precision are changed on the way, for a copy would be as large as X.
    """

    def __init__(self, X: Matrix, centre: npt.NDArray[np.float64] | None = None) -> None:
        self.X = X
        self.centre = centre
        self.dtype: np.dtype[Any] = X.dtype
        self._ready = X if centre is None else None
        if centre is not None and X.dtype == np.float32:
            self._ready = _moved(X, centre)

    def in_single_precision(self) -> "Rows":
        """Return the same rows in float32."""
        if self.dtype == np.float32:
            return self
        single = Rows(self.X)
        single.centre, single.dtype = self.centre, np.dtype(np.float32)
        single._ready = _moved(self.X, self.centre)
        return single

    def block(self, start: int, stop: int) -> Matrix:
        """Return some rows; a view where it can be."""
        return self.wide_block(start, stop)[:, : self.X.shape[1]]

    @property
    def width(self) -> int:
        """Columns of a wide block."""
        return int((self.X if self._ready is None else self._ready).shape[1])

    def wide_block(self, start: int, stop: int) -> Matrix:
        """Return some rows, C-contiguous, perhaps followed by columns of 0."""
        if self._ready is not None:
            return np.ascontiguousarray(self._ready[start:stop])
        shift = 0.0 if self.centre is None else self.centre
        moved: Matrix = np.subtract(self.X[start:stop], shift)
        return np.ascontiguousarray(moved)

    def largest(self) -> float:
        """Return the largest feature by size, as it was given."""
        return max(abs(float(self.X.max(initial=0))), abs(float(self.X.min(initial=0))))


def centre_of(
    n_items: int, total: npt.NDArray[np.float64], squares: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64] | None:
    """Return the mean of n rows from their sum; None where no column needs to be centred.

    `squares` are the sums of the squares of each column.
    """
    mean = total / n_items
    return mean if (mean**2 > _NEGLIGIBLE_OFFSET * squares / n_items).any() else None


def _moved(X: Matrix, centre: npt.NDArray[np.float64] | None) -> Matrix:
    """Return X - 1 centre' in float32, each row on whole lines of the cache."""
    n, d = X.shape
    moved = aligned_zeros(n, d, np.float32)
    shift = 0 if centre is None else centre.astype(X.dtype)
    for start in range(0, n, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        np.subtract(X[rows], shift, out=moved[rows, :d], casting="same_kind")
    return moved
