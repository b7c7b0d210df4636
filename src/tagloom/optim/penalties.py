"""The nuclear norm lambda ||M||_*: its value, its proximal map and its dual norm."""

import math
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

# §§ arrays
# Small things about arrays that every part of the optimiser shares.


Matrix = npt.NDArray[np.floating[Any]]
"""A real matrix or vector in float32 or float64."""


def inner(A: Matrix, B: Matrix) -> float:
    """Return <A, B> = tr(A'B), accumulated in double precision whatever the matrices hold."""
    if A.dtype == B.dtype == np.float64:
        return float(np.vdot(A, B))
    return float(np.einsum("i,i->", A.ravel(), B.ravel(), dtype=np.float64))


# §§ main nuclear


# The squares of singular values come out of the Gram matrix with an absolute error of about
# eps * sigma_1^2: a value at 1e-5 sigma_1 is still right to 1e-6 of itself in double precision.
_GRAM_IS_ACCURATE_ABOVE = 1e-5

# Singular values below this share of the largest are rounding.
_NO_SINGULAR_VALUE = 1e-6

# A singular value that exceeds the threshold by less is at the threshold.
_MORE_THAN_ROUNDING = 1 + 1e-12


class Shrunk(NamedTuple):
    """A matrix after singular value thresholding, and the singular values left in it."""

    matrix: Matrix
    singular_values: Matrix


def singular_values(A: Matrix) -> Matrix:
    """Return the singular values of A in double precision, largest first; none for A = 0."""
    if not A.any():
        return np.zeros(0)
    return np.linalg.svd(A.astype(np.float64, copy=False), compute_uv=False)


def nuclear_norm(A: Matrix) -> float:
    """Return ||A||_*, the sum of the singular values."""
    return float(singular_values(A).sum())


def numerical_rank(sigma: Matrix) -> int:
    """Count the singular values that are not the rounding of a matrix from single precision."""
    return int((sigma > _NO_SINGULAR_VALUE * sigma.max(initial=0.0)).sum())


def spectral_norm(A: Matrix) -> float:
    """Return ||A||_2, the largest singular value: the dual norm of ||.||_*.

    The largest eigenvalue of the smaller Gram matrix is as accurate as a decomposition of A, for it
    is only the small singular values that squaring loses.
    """
    A64 = A.astype(np.float64, copy=False)
    gram = A64 @ A64.T if A.shape[0] < A.shape[1] else A64.T @ A64
    return math.sqrt(max(0.0, float(np.linalg.eigvalsh(gram)[-1])))


def shrink(A: Matrix, tau: float) -> Shrunk:
    """Return prox_{tau ||.||_*}(A) = U (S - tau)_+ V' where A = U S V': Cai, Candès and Shen's SVT.

    Computed from the eigenvectors of the smaller Gram matrix, which costs a quarter of a singular
    value decomposition: with A'A = V S^2 V', the result is A V (1 - tau/S)_+ V'. Where tau is so
    small that the squaring would lose it, the decomposition itself is used.
    """
    if A.shape[0] < A.shape[1]:
        transposed = _shrink_tall(A.T, tau)
        shrunk = Shrunk(np.ascontiguousarray(transposed.matrix.T), transposed.singular_values)
    else:
        shrunk = _shrink_tall(A, tau)
    # A label of which nothing is known has a column of 0, which is to stay 0 to the last bit.
    shrunk.matrix[:, ~A.any(axis=0)] = 0
    return shrunk


def _shrink_tall(A: Matrix, tau: float) -> Shrunk:
    A64 = A.astype(np.float64, copy=False)
    squares, V = np.linalg.eigh(A64.T @ A64)
    sigma = np.sqrt(np.maximum(squares, 0.0))
    if tau < _GRAM_IS_ACCURATE_ABOVE * sigma[-1]:
        return shrink_by_svd(A, tau)
    kept = sigma > tau * _MORE_THAN_ROUNDING
    sigma, V = sigma[kept], V[:, kept].astype(A.dtype, copy=False)
    matrix = ((A @ V) * (1 - tau / sigma).astype(A.dtype)) @ V.T
    return Shrunk(matrix, (sigma - tau)[::-1])


def clip(A: Matrix, limit: float) -> Matrix:
    """Return the matrix nearest to A whose spectral norm is at most `limit`: U min(S, limit) V'."""
    if limit == 0:
        return np.zeros_like(A)
    clipped: Matrix = A - shrink(A, limit).matrix
    return clipped


def shrink_by_svd(A: Matrix, tau: float) -> Shrunk:
    """Return the same as `shrink`, by the definition."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    kept = sigma > tau
    left = sigma[kept] - sigma.dtype.type(tau)
    return Shrunk((U[:, kept] * left) @ Vt[kept], left.astype(np.float64))


# §§ quadratic
# The smooth penalties, one class a term: each is a convex quadratic in M with value 0 at M = 0.


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
