"""What is known of some consecutive rows, in the form in which its products are made.

All kinds have one face: `add_products` adds X'(V o XM) and its column sums, `add_features` adds X'V,
where V holds the weights of the block but for a constant that the caller accounts for.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tagloom.optim.arrays import Matrix
from tagloom.optim.sampled import LabelEntries, add_products


class Accumulated:
    """Sums over blocks: single precision within a block, double from block to block."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.features = np.zeros(shape)
        """X'(V o XM), transposed: of shape (labels, features)."""
        self.total = np.zeros(shape[0])


@dataclass(frozen=True)
class MaskBlock:
    """Many entries are known: one weight, or one byte, for every entry."""

    start: int
    stop: int
    weights: npt.NDArray[np.float64] | npt.NDArray[np.bool_]
    is_empty = False

    def add_products(self, X: Matrix, M: Matrix, scratch: Matrix, out: Accumulated) -> None:
        """Add X'(V o XM) and the column sums of V o XM."""
        R = np.matmul(X, M, out=scratch[: len(X)])
        R *= self.weights
        _add_masked(X, R, out)

    def add_features(self, X: Matrix, out: Accumulated) -> None:
        """Add X'V and the column sums of V."""
        _add_masked(X, self.weights.astype(X.dtype), out)


@dataclass(frozen=True)
class EntryBlock:
    """Few entries are known: only those are stored, label by label."""

    start: int
    stop: int
    entries: LabelEntries
    n_threads: int
    """Threads of the compiled kernel; 0 where there is none and dense products are used."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored, so that there is nothing to add."""
        return len(self.entries.rows) == 0

    def add_products(self, X: Matrix, M: Matrix, scratch: Matrix, out: Accumulated) -> None:
        """Add X'(V o XM) and the column sums of V o XM."""
        if self.n_threads:
            part = np.zeros(out.features.shape, dtype=X.dtype)
            add_products(X, M.T, self.entries, part, out.total, self.n_threads)
            out.features += part
            return
        R = np.matmul(X, M, out=scratch[: len(X)])
        flat = R.reshape(-1)
        kept = flat[self._positions] * self._offsets(X.dtype)
        flat.fill(0)
        flat[self._positions] = kept
        _add_masked(X, R, out)

    def add_features(self, X: Matrix, out: Accumulated) -> None:
        """Add X'V and the column sums of V."""
        V = np.zeros((len(X), len(self.entries.indptr) - 1), dtype=X.dtype)
        V.reshape(-1)[self._places()] = self._offsets(X.dtype)
        _add_masked(X, V, out)

    @cached_property
    def _positions(self) -> npt.NDArray[np.intp]:
        return self._places()

    def _places(self) -> npt.NDArray[np.intp]:
        """Return the places of the entries in the table of the block, counted row by row."""
        n_labels = len(self.entries.indptr) - 1
        columns = np.repeat(np.arange(n_labels), np.diff(self.entries.indptr))
        return (self.entries.rows * np.intp(n_labels) + columns).astype(np.intp)

    def _offsets(self, dtype: np.dtype[np.floating]) -> Matrix:
        if self.entries.weights is None:
            return np.asarray(self.entries.weight, dtype=dtype)
        return self.entries.weights.astype(dtype, copy=False)


Block = MaskBlock | EntryBlock


def _add_masked(X: Matrix, R: Matrix, out: Accumulated) -> None:
    out.features += R.T @ X
    out.total += R.sum(axis=0, dtype=np.float64)
