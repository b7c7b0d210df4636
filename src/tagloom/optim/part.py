"""Rows that lie in memory, with what is known of them."""

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.labels import PartialLabels, State
from tagloom.optim.arrays import Matrix
from tagloom.optim.blocks import Accumulated, Block
from tagloom.optim.rows import Rows
from tagloom.optim.sums import LossSums, ProductSums
from tagloom.optim.weighing import blocks_of, weighing_of

# Less than this share of the background's weight is the rounding of a label that is all unknown.
_NO_WEIGHT = 1e-12

Floats = npt.NDArray[np.float64]


class Part:
    """The rows X (moved to `centre`) and the observation weights W = background + V of their labels.

    X'(W o XM) = background (X'X) M + X'(V o XM): the first costs nothing that grows with the rows,
    the second is made block by block.
    """

    def __init__(self, X: Matrix, known: PartialLabels, centre: Floats | None = None) -> None:
        self.known = known
        self.centre = centre
        self._rows = Rows(X, centre)
        self._weighing = weighing_of(known, X.shape[1])
        self._blocks = list(blocks_of(known, self._weighing))
        self.dtype: np.dtype[Any] = X.dtype

    def in_single_precision(self) -> "Part":
        """Return the same rows, summed in float32."""
        _ = self._moments  # found in the precision of X, for both
        single = copy(self)
        single._rows = self._rows.in_single_precision()
        single.dtype = np.dtype(np.float32)
        return single

    def products(self, M: Matrix) -> ProductSums:
        """Return X'(W o XM) and 1'(W o XM)."""
        sums = Accumulated((M.shape[1], M.shape[0]))
        M = np.asfortranarray(M) if self._weighing.n_threads else M
        scratch = self._scratch()
        for block in self._stored:
            block.add_products(self._rows.block(block.start, block.stop), M, scratch, sums)
        features = sums.features.T.astype(self.dtype)
        if self._weighing.background:
            gram, total = self._moments
            w = self._weighing.background
            features += w * (gram.astype(self.dtype, copy=False) @ M)
            sums.total += w * (total @ M)
        return ProductSums(features, sums.total)

    def sums(self) -> LossSums:
        """Return the sums that do not depend on M."""
        gram, total = self._moments
        n, d = self._rows.X.shape
        weights = Accumulated((self.known.n_labels, d))
        for block in self._stored:
            block.add_features(self._rows.block(block.start, block.stop), weights)
        present, present_features = self._presences()
        w = self._weighing.background
        weight = weights.total + w * n
        weight[weight < _NO_WEIGHT * w * n] = 0
        return LossSums(
            n,
            weight,
            present,
            weights.features.T + w * total[:, None],
            present_features,
            gram,
            total,
            self._rows.largest(),
        )

    @property
    def _stored(self) -> list[Block]:
        """The blocks that hold anything beside the background."""
        return [block for block in self._blocks if not block.is_empty]

    def _scratch(self) -> Matrix:
        if self._weighing.n_threads or not self._stored:
            return np.empty((0, 0), dtype=self.dtype)
        return np.empty((self._weighing.rows, self.known.n_labels), dtype=self.dtype)

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
        for block in self._blocks:
            Y = _present_weights(self.known, block.start, block.stop)
            present += Y.sum(axis=0)
            features += Y.T @ self._rows.block(block.start, block.stop)
        return present, features.T


def _present_weights(known: PartialLabels, start: int, stop: int) -> sparse.csr_array:
    """Return W o Y for some rows."""
    codes, weights = known.block(start, stop)
    present = codes == int(State.PRESENT)
    return sparse.csr_array(present * (1.0 if weights is None else weights))
