"""The smooth penalties, one class a term: each is a convex quadratic in M with value 0 at M = 0."""

from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.optim.arrays import Matrix, inner

# L X is formed for this many rows at a time: all of it would be as large as X.
_ROWS_AT_ONCE = 2048


class QuadraticTerm(Protocol):
    """A convex quadratic q(M) = 1/2 <M, HM>: all of it is in its gradient HM."""

    def gradient(self, M: Matrix) -> Matrix:
        """Return HM."""
        ...


def value(term: QuadraticTerm, M: Matrix) -> float:
    """Return q(M) = 1/2 <M, HM>."""
    return inner(M, term.gradient(M)) / 2


class Ridge:
    """rho/2 ||M||_F^2, with gradient rho M."""

    def __init__(self, rho: float) -> None:
        self.rho = rho

    def gradient(self, M: Matrix) -> Matrix:
        """Return rho M."""
        return M.dtype.type(self.rho) * M


class InstanceLaplacian:
    """gamma_s tr(M'X'L_s X M): pictures joined in the semantic graph get similar scores.

    Its gradient is 2 gamma_s (X'L_s X) M; the d x d matrix in the middle is formed once.
    """

    def __init__(self, gamma: float, X: Matrix, laplacian: sparse.csr_array) -> None:
        middle = _congruence(X, laplacian)
        self.hessian = gamma * (middle + middle.T)  # rounding must not make it asymmetric
        """2 gamma_s X'L_s X, in double precision."""

    @classmethod
    def from_middle(cls, gamma: float, middle: npt.NDArray[np.float64]) -> "InstanceLaplacian":
        """Return the term for a ready X'L_s X."""
        term = cls.__new__(cls)
        term.hessian = gamma * (middle + middle.T)
        return term

    @cached_property
    def _single(self) -> npt.NDArray[np.float32]:
        return self.hessian.astype(np.float32)

    def gradient(self, M: Matrix) -> Matrix:
        """Return 2 gamma_s (X'L_s X) M."""
        product: Matrix = (self._single if M.dtype == np.float32 else self.hessian) @ M
        return product


class LabelLaplacian:
    """gamma_t tr(X M L_t M'X'): labels joined in the label graph get similar scores.

    Its gradient is 2 gamma_t (X'X) M L_t.
    """

    def __init__(self, gamma: float, X: Matrix, laplacian: sparse.csr_array) -> None:
        self._doubled_gram = X.dtype.type(2 * gamma) * (X.T @ X)
        self._laplacian = laplacian.toarray()
        self.weight_of_gram = 2 * gamma * self._laplacian.diagonal()
        """2 gamma_t diag(L_t): how often X'X counts in the curvature of each label by itself."""

    def gradient(self, M: Matrix) -> Matrix:
        """Return 2 gamma_t (X'X) M L_t."""
        smoothed = M @ self._laplacian.astype(M.dtype, copy=False)
        return self._doubled_gram.astype(M.dtype, copy=False) @ smoothed


def _congruence(X: Matrix, L: sparse.csr_array) -> npt.NDArray[np.float64]:
    """Return X'LX, block by block of the rows of L, summed in double precision.

    A Laplacian does not see a constant, L1 = 0, so that X may be centred: where columns are far
    from 0 that keeps the digits of the result. Of X only the rows are taken to which the edges of
    the block lead, for to convert all of it again and again would cost more than the products.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, X.shape[0], _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        edges = L[rows]
        ends, where = np.unique(edges.indices, return_inverse=True)
        among_ends = sparse.csr_array(
            (edges.data, where, edges.indptr), shape=(edges.shape[0], len(ends))
        )
        total += (X[rows] - mean).T @ (among_ends @ (X[ends] - mean))
    return total
