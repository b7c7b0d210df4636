"""The nuclear norm lambda ||M||_*: its value, its proximal map and its dual norm."""

import math
from typing import NamedTuple

import numpy as np

from tagloom.optim.arrays import Matrix

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
