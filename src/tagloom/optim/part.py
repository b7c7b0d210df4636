"""Rows that lie in memory, with what is known of them."""

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.labels import PartialLabels, State
from tagloom.optim.arrays import Matrix
from tagloom.optim.blocks import Accumulated, Block, Factor
from tagloom.optim.rows import Rows
from tagloom.optim.sums import LossSums, ProductSums
from tagloom.optim.weighing import blocks_of, weighing_of

# Less than this share of the background's weight is the rounding of a label that is all unknown.
_NO_WEIGHT = 1e-12

Floats = npt.NDArray[np.float64]


class Part:
    """The rows X, moved to `centre`, and the weights W = background + V of their labels.

    X'(W o XM) = background (X'X) M + X'(V o XM): the first costs nothing that grows with the rows,
    the second is made block by block.
    """

    def __init__(self, X: Matrix, known: PartialLabels, centre: Floats | None = None) -> None:
        self.known = known
        self.centre = centre
        self._rows = Rows(X, centre)
        self._weighing = weighing_of(known, X.shape[1])
        if X.dtype == np.float32:
            self._weighing = self._weighing.in_single_precision()
        blocks = blocks_of(known, self._weighing)
        if X.dtype == np.float32:
            blocks = (block.in_single_precision() for block in blocks)
        self._blocks = list(blocks)
        self.dtype: np.dtype[Any] = X.dtype

    def in_single_precision(self) -> "Part":
        """Return the same rows, summed in float32."""
        _ = self._moments  # found in the precision of X, for both
        single = copy(self)
        single._rows = self._rows.in_single_precision()
        single._blocks = [block.in_single_precision() for block in self._blocks]
        single.dtype = np.dtype(np.float32)
        # Offsets of single precision must cancel the background to the last bit.
        single._weighing = self._weighing.in_single_precision()
        return single

    def products(self, M: Matrix) -> ProductSums:
        """Return X'(W o XM) and 1'(W o XM)."""
        found = Accumulated(*M.shape)
        factor = Factor(M, self._rows.width, self._weighing.rows)
        for block in self._stored:
            block.add_products(self._rows, factor, found)
        features = found.features.T.astype(self.dtype)
        if w := self._weighing.background:
            gram, total = self._moments
            features += w * (gram.astype(self.dtype, copy=False) @ M)
            found.total += w * (total @ M)
        return ProductSums(features, found.total)

    def sums(self) -> LossSums:
        """Return the sums that do not depend on M."""
        gram, total = self._moments
        n, d = self._rows.X.shape
        found = Accumulated(d, self.known.n_labels)
        for block in self._stored:
            block.add_weights(self._rows, found)
        w = self._weighing.background
        weight = found.total + w * n
        weight[weight < _NO_WEIGHT * w * n] = 0
        present, present_features = self._presences()
        return LossSums(
            n_items=n,
            weight=weight,
            present=present,
            weighted_features=found.features.T + w * total[:, None],
            present_features=present_features,
            second_moments=gram,
            total=total,
            largest=self._rows.largest(),
            least_weight=min((block.least_offset for block in self._stored), default=0.0) + w,
        )

    @property
    def _stored(self) -> list[Block]:
        """The blocks that hold anything beside the background."""
        return [block for block in self._blocks if not block.is_empty]

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """X'X and 1'X, products in the precision of X, sums in double."""
        d = self._rows.X.shape[1]
        gram, total = np.zeros((d, d)), np.zeros(d)
        for block in self._blocks:
            X = self._rows.block(block.start, block.stop)
            gram += X.T @ X
            total += X.sum(axis=0, dtype=np.float64)
        return gram, total

    def _presences(self) -> tuple[Floats, Floats]:
        """Return the sums of w_ij y_ij and of w_ij y_ij x_i over the rows."""
        d = self._rows.X.shape[1]
        present, features = np.zeros(self.known.n_labels), np.zeros((self.known.n_labels, d))
        for start, stop, Y in _present_weights(self.known, self._weighing.rows):
            present += Y.sum(axis=0)
            features += Y.T @ self._rows.block(start, stop)
        return present, features.T


def _present_weights(
    known: PartialLabels, step: int
) -> Iterator[tuple[int, int, sparse.csr_array]]:
    """Yield W o Y, so many rows at a time."""
    stored = _stored_presences(known) if known.is_sparse else None
    for start in range(0, known.n_items, step):
        stop = min(known.n_items, start + step)
        if stored is not None:
            yield start, stop, stored[start:stop]
            continue
        codes, weights = known.block(start, stop)
        rows, columns = np.nonzero(codes == int(State.PRESENT))
        values = np.ones(len(rows)) if weights is None else weights[rows, columns]
        yield start, stop, sparse.csr_array((values, (rows, columns)), shape=codes.shape)


def _stored_presences(known: PartialLabels) -> sparse.csr_array:
    entries = known.entries()
    present = entries.present
    where = (entries.rows[present], entries.columns[present])
    return sparse.csr_array((entries.weights[present], where), shape=known.shape)
