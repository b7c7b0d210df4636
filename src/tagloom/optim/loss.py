"""How far the scores are from what is known."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.labels import PartialLabels
from tagloom.optim.arrays import Matrix
from tagloom.optim.blocks import Block, blocks_of

# A block of scores should stay in the processor's cache between the product that makes it, the
# masking and the product that uses it; and nothing else of size (rows x labels) is ever allocated.
_BLOCK_ENTRIES = 1 << 18
# Means with less than this share of the energy of X cost no digits.
_NEGLIGIBLE_OFFSET = 1e-3


class MaskedSquaredLoss:
    """The weighted squared loss on the known entries, its intercept minimised out.

    With observation weights w_ij >= 0 (0: unknown) and an unpenalised intercept b in R^c,

        f(M) = min_b 1/2 sum_ij w_ij (x_i' m_j + b_j - y_ij)^2,

    which for w in {0, 1} and b = 0 is the paper's 1/2 ||R_Omega(XM) - Y||_F^2. The minimising b is
    the weighted mean residual of each label, so f stays a convex quadratic in M alone, its gradient
    is X'(W o (XM + 1b' - Y)) at that b, and b costs one extra vector instead of one extra variable.

    Such an f does not change when a constant is added to a column of X. Rounding does: columns far
    from 0 are therefore centred, block by block, before they are used.
    """

    def __init__(self, X: Matrix, known: PartialLabels, *, fit_intercept: bool) -> None:
        self.X = X
        self.fit_intercept = fit_intercept
        self.n_labels = known.n_labels
        rows = max(1, min(X.shape[0], _BLOCK_ENTRIES // max(1, known.n_labels)))
        self._blocks = list(blocks_of(known, rows))
        self._total_weight = sum(block.weight_per_label() for block in self._blocks)
        self._centre = _centre_of(X) if fit_intercept else None
        self._scores = np.empty((rows, self.n_labels), dtype=X.dtype)
        as_given = self._centre is None
        self._converted = None if as_given else np.empty((rows, X.shape[1]), dtype=X.dtype)
        self._compute_in(X.dtype)

    def in_single_precision(self) -> "MaskedSquaredLoss":
        """Return the same loss, computed in float32; X is converted block by block, not copied.

        The two share their scratch memory and must not be at work at the same time.
        """
        single = copy(self)
        shape = (len(self._scores), self.X.shape[1])
        if self._converted is None:
            single._converted = np.empty(shape, dtype=np.float32)
        else:
            single._converted = _front_of(self._converted, shape)
        single._scores = _front_of(self._scores, self._scores.shape)
        single._compute_in(np.dtype(np.float32))
        return single

    def _compute_in(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._shift = None if self._centre is None else self._centre.astype(dtype)
        self._weighted_features = self._sum_of_features() if self.fit_intercept else None

    def gradient(self, M: Matrix) -> Matrix:
        """Return the gradient of f at M, in one pass over the rows."""
        return self._gradient(M, minus_labels=True)

    def hessian_product(self, D: Matrix) -> Matrix:
        """Return HD, where H is the Hessian of f: the gradient at D if every label were absent.

        The difference of two gradients would be the same, but for small D all rounding.
        """
        return self._gradient(D, minus_labels=False)

    def _gradient(self, M: Matrix, *, minus_labels: bool) -> Matrix:
        G = np.zeros((self.X.shape[1], self.n_labels), dtype=self.dtype)
        total = np.zeros(self.n_labels)
        for X_block, R in self._residuals(M, minus_labels):
            G += X_block.T @ R
            if self.fit_intercept:
                total += R.sum(axis=0, dtype=np.float64)
        if self._weighted_features is not None:
            G += self._weighted_features * self._mean(-total).astype(self.dtype)
        return G

    def value(self, M: Matrix) -> float:
        """Return f(M), summed entry by entry.

        With r = XM - Y, the minimum over b is 1/2 sum_j (sum_i w_ij r_ij^2 - (sum_i w_ij r_ij)^2 /
        sum_i w_ij).
        """
        squares, total = 0.0, np.zeros(self.n_labels)
        for block, X_block in self._rows():
            R = self._product(X_block, M)
            block.weigh_residual(R)
            squares += block.sum_of_squares(R)
            if self.fit_intercept:
                total += R.sum(axis=0, dtype=np.float64)
        return float(squares - np.sum(total * self._mean(total))) / 2

    def intercept(self, M: Matrix) -> Matrix:
        """Return the b that attains the minimum in f(M): the weighted mean residual per label."""
        if not self.fit_intercept:
            return np.zeros(self.n_labels)
        total = np.zeros(self.n_labels)
        for _, R in self._residuals(M, minus_labels=True):
            total += R.sum(axis=0, dtype=np.float64)
        b = self._mean(-total)
        return b if self._shift is None else b - self._shift.astype(np.float64) @ M

    def _residuals(self, M: Matrix, minus_labels: bool) -> Iterator[tuple[Matrix, Matrix]]:
        """Yield (X, W o (XM - Y)) block by block of rows; both are overwritten by the next."""
        for block, X_block in self._rows():
            R = self._product(X_block, M)
            block.weigh_residual(R, minus_labels=minus_labels)
            yield X_block, R

    def _rows(self) -> Iterator[tuple[Block, Matrix]]:
        for block in self._blocks:
            X_block = self.X[block.start : block.stop]
            if self._converted is not None:
                converted = self._converted[: len(X_block)]
                converted[...] = X_block
                if self._shift is not None:
                    converted -= self._shift
                X_block = converted
            yield block, X_block

    def _product(self, X_block: Matrix, M: Matrix) -> Matrix:
        return np.matmul(X_block, M, out=self._scores[: X_block.shape[0]])

    def _mean(self, total: Matrix) -> Matrix:
        """Divide sums by the weight of what is known; a label of which nothing is known gets 0."""
        return np.divide(
            total, self._total_weight, out=np.zeros_like(total), where=self._total_weight > 0
        )

    def _sum_of_features(self) -> Matrix:
        """Return X'W: for each label, the weighted sum of the rows at which it is known."""
        total = np.zeros((self.X.shape[1], self.n_labels), dtype=self.dtype)
        for block, X_block in self._rows():
            W = self._scores[: X_block.shape[0]]
            block.write_weights(W)
            total += X_block.T @ W
        return total


def _front_of(scratch: Matrix, shape: tuple[int, int]) -> npt.NDArray[np.float32]:
    """Return a float32 array of that shape on the memory of a larger one."""
    return scratch.reshape(-1).view(np.float32)[: shape[0] * shape[1]].reshape(shape)


def _centre_of(X: Matrix) -> npt.NDArray[np.float64] | None:
    """Return the column means of X; None where they are too small to matter."""
    mean = X.mean(axis=0, dtype=np.float64)
    energy = np.einsum("ij,ij->", X, X, dtype=np.float64) / len(X)
    return mean if mean @ mean > _NEGLIGIBLE_OFFSET * energy else None
