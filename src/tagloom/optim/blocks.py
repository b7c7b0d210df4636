"""What is known of some consecutive rows, in the form in which its products are made.

Every kind of block has one face: `add_products` adds X'(V o XM) and its column sums, `add_weights`
adds X'V and its column sums, where V holds the weights of the block but for a constant that the
caller accounts for.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.optim.arrays import Matrix
from tagloom.optim.rows import Rows
from tagloom.optim.sampled import LabelEntries, add_products, aligned_zeros

# Up to this share of stored entries a sparse product is quicker than a whole one.
_FEW = 0.02
# Entries of a table that is written out for a product.
_DENSE_ENTRIES = 1 << 20


class Accumulated:
    """Sums over blocks: in the precision of X within a block, in double from block to block."""

    def __init__(self, n_features: int, n_labels: int) -> None:
        self.features = np.zeros((n_labels, n_features))
        """X'(V o XM), transposed."""
        self.total = np.zeros(n_labels)

    def add(self, X: Matrix, R: Matrix) -> None:
        """Add X'R and the column sums of R."""
        self.features += R.T @ X
        self.total += R.sum(axis=0, dtype=np.float64)


class Factor:
    """M, ready to meet the blocks of some rows; `rows_at_once` is the length of the longest."""

    def __init__(self, M: Matrix, width: int, rows_at_once: int) -> None:
        self.M = M
        self._width = width
        self._rows_at_once = rows_at_once

    @cached_property
    def transposed(self) -> Matrix:
        """M' in rows as wide as those of a wide block."""
        d, c = self.M.shape
        if self._width == d:
            return np.ascontiguousarray(self.M.T)
        Mt = aligned_zeros(c, self._width, self.M.dtype)
        Mt[:, :d] = self.M.T
        return Mt

    @cached_property
    def _scratch(self) -> Matrix:
        return np.empty((self._rows_at_once, self.M.shape[1]), dtype=self.M.dtype)

    def scores(self, X: Matrix) -> Matrix:
        """Return XM, in memory that the next call uses again."""
        return np.matmul(X, self.M, out=self._scratch[: len(X)])


@dataclass(frozen=True)
class MaskBlock:
    """Many entries are known: a weight, or a byte, for every entry."""

    start: int
    stop: int
    weights: npt.NDArray[np.float64] | npt.NDArray[np.bool_]
    is_empty = False

    @property
    def least_offset(self) -> float:
        """The least entry of V."""
        return float(self.weights.min())

    def add_products(self, rows: Rows, factor: Factor, out: Accumulated) -> None:
        """Add X'(V o XM) and the column sums of V o XM."""
        X = rows.block(self.start, self.stop)
        R = factor.scores(X)
        R *= self.weights
        out.add(X, R)

    def add_weights(self, rows: Rows, out: Accumulated) -> None:
        """Add X'V and the column sums of V."""
        X = rows.block(self.start, self.stop)
        out.add(X, self.weights.astype(X.dtype))

    def in_single_precision(self) -> "MaskBlock":
        """Return the same block, whose weights serve in any precision."""
        return self


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

    @property
    def least_offset(self) -> float:
        """The least entry of V: what is not stored is 0."""
        weights = self.entries.weights
        return min(0.0, self.entries.weight if weights is None else float(weights.min()))

    def add_products(self, rows: Rows, factor: Factor, out: Accumulated) -> None:
        """Add X'(V o XM) and the column sums of V o XM."""
        if self.n_threads:
            self._add_sampled(rows.wide_block(self.start, self.stop), factor.transposed, out)
            return
        X = rows.block(self.start, self.stop)
        R = factor.scores(X)
        flat = R.reshape(-1)
        kept = flat[self._places] * self._offsets(X.dtype)
        flat.fill(0)
        flat[self._places] = kept
        out.add(X, R)

    def _add_sampled(self, X: Matrix, Mt: Matrix, out: Accumulated) -> None:
        """Add the same, computed at the stored entries alone."""
        d = out.features.shape[1]
        part = aligned_zeros(len(Mt), d, X.dtype) if X.shape[1] > d else np.zeros_like(Mt)
        add_products(X, Mt, self.entries, part, out.total, self.n_threads)
        out.features += part[:, :d]

    def add_weights(self, rows: Rows, out: Accumulated) -> None:
        """Add X'V and the column sums of V."""
        X = rows.block(self.start, self.stop)
        offsets = np.broadcast_to(self._offsets(X.dtype), len(self.entries.rows))
        shape = (len(X), len(out.total))
        V = sparse.csc_array((offsets, self.entries.rows, self.entries.indptr), shape=shape).tocsr()
        if V.nnz < _FEW * X.shape[0] * shape[1]:
            out.features += V.T @ X
            out.total += V.sum(axis=0, dtype=np.float64)
            return
        step = max(1, _DENSE_ENTRIES // shape[1])
        for start in range(0, len(X), step):
            out.add(X[start : start + step], V[start : start + step].toarray())

    def in_single_precision(self) -> "EntryBlock":
        """Return the same block with weights in float32."""
        if self.entries.weights is None:
            return self
        weights = self.entries.weights.astype(np.float32)
        return replace(self, entries=self.entries._replace(weights=weights))

    @cached_property
    def _places(self) -> npt.NDArray[np.intp]:
        """The places of the entries in the table of the block, counted row by row."""
        n_labels = len(self.entries.indptr) - 1
        columns = np.repeat(np.arange(n_labels), np.diff(self.entries.indptr))
        return self.entries.rows * np.intp(n_labels) + columns

    def _offsets(self, dtype: np.dtype[Any]) -> Matrix:
        if self.entries.weights is None:
            return np.asarray(self.entries.weight, dtype=dtype)
        return self.entries.weights.astype(dtype, copy=False)


Block = MaskBlock | EntryBlock
