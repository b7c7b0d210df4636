"""The objective: its quadratic penalties, their sum with loss and nuclear norm, and lower bounds.

Solvers ask the `Objective` for products with the Hessian of its smooth part, and `dual_bound` for
a proof of how close to the optimum they are.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

from tagloom.linalg import (
    Matrix,
    clip_singular_values,
    column_dots,
    inner,
    nuclear_norm,
    numerical_rank,
    spectral_norm,
)
from tagloom.optim.loss import Loss, sparse_gram

Floats = npt.NDArray[np.float64]

# Rows that are converted and multiplied at a time.
_ROWS_AT_ONCE = 2048
# Columns whose squared mean exceeds their variance by this factor are centred.
_FAR = 1e4
# LX is formed for so many entries at a time, as whole columns: all of it would be as large as X.
_COLUMN_ENTRIES = 1 << 22
_LEAST_COLUMNS, _MOST_COLUMNS = 8, 64
# With more labels and no more than this share of edges, a product with L_t is a sparse one.
_MANY_LABELS, _FEW_EDGES = 2_000, 0.1
# Below this share of the largest eigenvalue a direction counts as having no curvature.
_SINGULAR = 1e-9
# Sums of products are exact to this many units of rounding of their trace.
_ROUNDED = 10.0
# Once the curvature bound proves a relative gap below this, the other bound is not computed.
_CURVATURE_SUFFICES = 1e-2


class QuadraticTerm(Protocol):
    """A convex quadratic penalty q(M) = 1/2 <M, HM>, given by its gradient HM."""

    def gradient(self, M: Matrix) -> Matrix:
        """Return HM."""
        ...


class Ridge:
    """rho/2 ||M||_F^2, with gradient rho M."""

    def __init__(self, rho: float) -> None:
        self.rho = rho

    def gradient(self, M: Matrix) -> Matrix:
        """Return rho M."""
        return M.dtype.type(self.rho) * M


class InstanceLaplacian:
    """gamma_s tr(M'X'L_s X M): items that the semantic graph joins get similar scores.

    Its gradient is 2 gamma_s (X'L_s X) M; the d x d matrix X'L_s X is formed once.
    """

    def __init__(self, gamma: float, X: Matrix, laplacian: sparse.csr_array) -> None:
        self._set_hessian(gamma, congruence(X, laplacian))

    @classmethod
    def from_congruence(cls, gamma: float, XLX: Floats) -> "InstanceLaplacian":
        """Return the term for a given X'L_s X."""
        term = cls.__new__(cls)
        term._set_hessian(gamma, XLX)
        return term

    def _set_hessian(self, gamma: float, XLX: Floats) -> None:
        self.hessian = gamma * (XLX + XLX.T)  # symmetric in spite of rounding
        """2 gamma_s X'L_s X, in double precision."""

    @cached_property
    def _single(self) -> npt.NDArray[np.float32]:
        return self.hessian.astype(np.float32)

    def gradient(self, M: Matrix) -> Matrix:
        """Return 2 gamma_s (X'L_s X) M."""
        product: Matrix = (self._single if M.dtype == np.float32 else self.hessian) @ M
        return product


def congruence(X: Matrix, L: sparse.csr_array) -> Floats:
    """Return X'LX, summed in double precision.

    L = B + B' for B its upper triangle with half of its diagonal, so that X'LX = X'BX + (X'BX)'
    needs half of the edges. Rows that would have to be converted or centred first go another way:
    a copy would be as large as X.
    """
    if sparse.issparse(X):
        return sparse_gram(X, L)
    if X.dtype != np.float64 or _is_far_from_zero(X):
        return _centred_congruence(X, L)
    B = sparse.csr_array(sparse.triu(L, 1) + sparse.diags_array(L.diagonal() / 2))
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        total += X[rows].T @ (B[rows] @ X)
    return np.asarray(total + total.T)


def _is_far_from_zero(X: Matrix) -> bool:
    """Say whether the mean of a column is so large that squares would lose digits."""
    squares = np.einsum("ij,ij->j", X, X) / len(X)
    mean_square = X.mean(axis=0) ** 2
    return bool((mean_square > _FAR * (squares - mean_square)).any())


def _centred_congruence(X: Matrix, L: sparse.csr_array) -> Floats:
    """Return X'LX, some columns of LX at a time.

    L1 = 0, so that X'LX = X'LC for the centred C, which saves digits where columns are far from 0.
    X'LX is symmetric: what lies above the columns at hand is known already.
    """
    n, d = X.shape
    mean = X.mean(axis=0, dtype=np.float64)
    total = np.zeros((d, d))
    width = max(_LEAST_COLUMNS, min(_MOST_COLUMNS, _COLUMN_ENTRIES // max(1, n)))
    for left in range(0, d, width):
        some = slice(left, left + width)
        LX = L @ (X[:, some] - mean[some])
        for start in range(0, n, _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            total[left:, some] += X[rows, left:].astype(np.float64, copy=False).T @ LX[rows]
    return np.tril(total) + np.tril(total, -1).T


class LabelLaplacian:
    """gamma_t tr(X M L_t M'X'): labels that the label graph joins get similar scores.

    Its gradient is 2 gamma_t (X'X) M L_t.
    """

    def __init__(self, gamma: float, X: Matrix, laplacian: sparse.csr_array) -> None:
        self._scaled_gram = 2 * gamma * _gram(X)
        n_labels = laplacian.shape[0]
        few = n_labels > _MANY_LABELS and laplacian.nnz < _FEW_EDGES * n_labels**2
        self._laplacian: Any = laplacian if few else laplacian.toarray()
        self.gram_weight = 2 * gamma * laplacian.diagonal()
        """2 gamma_t diag(L_t): the multiple of X'X in the Hessian of each label."""

    def gradient(self, M: Matrix) -> Matrix:
        """Return 2 gamma_t (X'X) M L_t."""
        smoothed: Matrix = M @ self._laplacian.astype(M.dtype, copy=False)
        return self._scaled_gram.astype(M.dtype, copy=False) @ smoothed


def _gram(X: Matrix) -> Floats:
    """Return X'X in double precision, some rows at a time."""
    if sparse.issparse(X):
        return sparse_gram(X)
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, X.shape[0], _ROWS_AT_ONCE):
        rows = X[start : start + _ROWS_AT_ONCE].astype(np.float64, copy=False)
        total += rows.T @ rows
    return total


class Objective:
    """F(M) = lambda ||M||_* + f(M), where f(M) = loss(M) + rho/2 ||M||_F^2 + quadratic terms.

    f is a convex quadratic. Its gradient is therefore affine in M, which saves the solvers most of
    their work: the gradient at V = M_k + beta (M_k - M_{k-1}) is the same combination of the
    gradients at M_k and M_{k-1}, and the value follows from the gradient.
    """

    def __init__(
        self,
        loss: Loss,
        lam: float,
        *,
        ridge: float = 0.0,
        terms: Sequence[QuadraticTerm] = (),
    ) -> None:
        self.loss = loss
        # A numpy scalar of double precision would turn matrices of single precision into double.
        self.lam = float(lam)
        self.ridge = ridge = float(ridge)
        self.dtype = loss.dtype
        self._given_terms = tuple(terms)
        self._terms = (*terms, Ridge(ridge)) if ridge else tuple(terms)
        self.couples_labels = loss.couples_labels or any(
            isinstance(term, LabelLaplacian) for term in terms
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Return (d, c), the shape of M."""
        return self.loss.shape

    def in_single_precision(self) -> "Objective":
        """Return the same objective, computed in float32."""
        loss = self.loss.in_single_precision()
        single = Objective(loss, self.lam, ridge=self.ridge, terms=self._given_terms)
        root = self.inverse_curvature_root
        single.inverse_curvature_root = None if root is None else root.astype(np.float32)
        return single

    def zero(self) -> Matrix:
        """Return M = 0."""
        return np.zeros(self.shape, dtype=self.dtype)

    def gradient(self, M: Matrix) -> Matrix:
        """Return the gradient of f at M."""
        G = self.hessian_product(M)
        G += self.gradient_at_zero
        return G

    def hessian_product(self, D: Matrix) -> Matrix:
        """Return HD, where H is the Hessian of f."""
        product = self.loss.hessian_product(D)
        for term in self._terms:
            product += term.gradient(D)
        return product

    def dots(self, A: Matrix, B: Matrix) -> Matrix:
        """Return <a_j, b_j> for each label, or <A, B> where a label graph couples the labels."""
        if self.couples_labels:
            return np.asarray(inner(A, B), dtype=A.dtype)
        return column_dots(A, B)

    def smooth_value(self, M: Matrix) -> float:
        """Return f(M)."""
        return self.smooth_value_from(M, self.gradient(M))

    def smooth_value_from(self, M: Matrix, G: Matrix) -> float:
        """Return f(M) given G, its gradient at M: f(0) + 1/2 <M, G + G_0>, as f is quadratic."""
        return self.smooth_value_at_zero + inner(M, G + self.gradient_at_zero) / 2

    def value(self, M: Matrix) -> float:
        """Return F(M)."""
        return self.smooth_value(M) + self.lam * nuclear_norm(M)

    @property
    def smooth_value_at_zero(self) -> float:
        """f(0), the loss of the constant prediction."""
        return self.loss.value_at_zero

    @property
    def gradient_at_zero(self) -> Matrix:
        """The gradient of f at 0: -X'(W o (Y - mean)), to which no penalty contributes."""
        return self.loss.gradient_at_zero

    @cached_property
    def gradient_norm_at_zero(self) -> float:
        """||G_0||_F, the scale of every gradient."""
        return math.sqrt(inner(self.gradient_at_zero, self.gradient_at_zero))

    def lam_max(self) -> float:
        """Return the smallest lambda at which M = 0 is optimal.

        0 is a minimiser if and only if 0 lies in G_0 + lambda * {Z : ||Z||_2 <= 1}, that is, if
        ||G_0||_2 <= lambda. Ridge and graphs do not matter: their gradient at 0 is 0.
        """
        return spectral_norm(self.gradient_at_zero)

    @cached_property
    def shared_curvature(self) -> Floats:
        """A = rho I + 2 gamma_s X'L_s X, the part of the Hessian that all labels share."""
        A = self.ridge * np.eye(self.shape[0])
        for term in self._terms:
            if isinstance(term, InstanceLaplacian):
                A += term.hessian
        return A

    @property
    def scatter_weight(self) -> Floats:
        """The approximate multiple of the scatter of the rows in the Hessian of each label."""
        curvature = self.loss.curvature
        weight = curvature.weight.copy()
        for term in self._terms:
            if isinstance(term, LabelLaplacian):
                weight += curvature.n_items * term.gram_weight
        return weight

    @cached_property
    def inverse_curvature_root(self) -> Matrix | None:
        """C^-1, where CC' = A is a lower bound of every label's Hessian; None where A is singular.

        A = rho I + 2 gamma_s X'L_s X + n w S, where w is the least weight of any entry: 0 unless
        every label is known for every item. f - 1/2 <M, AM> is convex, which `curvature_bound`
        relies on.
        """
        curvature = self.loss.curvature
        A = self.shared_curvature + curvature.lower_bound * curvature.scatter
        # What rounding may have added to the scatter must not count.
        rounding = _ROUNDED * float(np.finfo(self.dtype).eps) * curvature.lower_bound
        A -= rounding * np.trace(curvature.scatter) * np.eye(len(A))
        spectrum = np.linalg.eigvalsh(A)
        if spectrum[0] <= _SINGULAR * spectrum[-1]:
            return None
        factor = cholesky(A, lower=True, check_finite=False)
        root = solve_triangular(factor, np.eye(len(A)), lower=True, check_finite=False)
        return np.asarray(root, dtype=self.dtype)


def dual_bound(objective: Objective, M: Matrix, G: Matrix, Z: Matrix | None = None) -> float:
    """Return a lower bound on min F, from M and G, the gradient of f at M.

    It is the better of two bounds. Z is a subgradient of lambda ||.||_* at M, such as a proximal
    step provides; without it the one nearest to -G is computed. Once the curvature bound proves
    anything, it converges faster than the other, which is then not worth its eigenvalues.
    """
    if Z is None:
        Z = nearest_subgradient(M, G, objective.lam)
    by_curvature = curvature_bound(objective, M, G, Z)
    F_at_least = objective.smooth_value_from(M, G) + inner(Z, M)
    if F_at_least - by_curvature <= _CURVATURE_SUFFICES * F_at_least:
        return by_curvature
    return max(by_curvature, _scaled_residual_bound(objective, M, G))


def curvature_bound(objective: Objective, M: Matrix, G: Matrix, Z: Matrix) -> float:
    """Bound min F by its strong convexity.

    Write f = f_1 + 1/2 <M, AM> with f_1 convex and A positive definite, the inverse of whose root
    is `objective.inverse_curvature_root`. The dual of lambda ||M||_* + 1/2 <M, AM> at -G_1, with
    G_1 the gradient of f_1 at M, is at most 1/2 <B, A^-1 B> for B = -G_1 - Z and every Z with
    ||Z||_2 <= lambda. That leaves

        min F >= f(M) + <Z, M> - 1/2 <R, A^-1 R>,    R = G + Z.

    For a subgradient, <Z, M> = lambda ||M||_* and the gap is 1/2 <R, A^-1 R>: quadratic in the
    distance from stationarity, where `_scaled_residual_bound` is linear. With neither ridge nor
    graph, and with unknown labels, A is 0 and there is no such bound: minus infinity.
    """
    root = objective.inverse_curvature_root
    if root is None:
        return -math.inf
    scaled = root @ (G + Z)
    missed = inner(scaled, scaled) / 2
    return objective.smooth_value_from(M, G) + inner(Z, M) - missed


def _scaled_residual_bound(objective: Objective, M: Matrix, G: Matrix) -> float:
    """Bound min F by scaling the residual until it is feasible for the dual.

    The quadratic f is 1/2 ||K(M) - y||^2 for some linear K (the weighted products, the roots of
    the penalties) and some y with ||y||^2 = 2 f(0). Fenchel's inequality gives for every theta with
    ||K'theta||_2 <= lambda

        min F >= -1/2 ||theta||^2 - <theta, y>.

    For theta = s (K(M) - y) it reads s a - s^2 f(M) with a = <M, G_0> + 2 f(0), where s may go up
    to lambda / ||G||_2. Without nuclear norm only s = 0 is feasible: true, and useless.
    """
    smooth = objective.smooth_value_from(M, G)
    linear = inner(M, objective.gradient_at_zero) + 2 * objective.smooth_value_at_zero
    norm = spectral_norm(G)
    best = linear / (2 * smooth) if smooth > 0 else math.inf
    largest = objective.lam / norm if norm > 0 else math.inf
    s = max(0.0, min(best, largest))
    return s * (linear - s * smooth) if math.isfinite(s) else 0.0


def nearest_subgradient(M: Matrix, G: Matrix, lam: float) -> Matrix:
    """Return the subgradient of lambda ||.||_* at M that is nearest to -G.

    With the thin decomposition M = U S V', the subgradients are lambda UV' + W, where
    U'W = WV = 0 and ||W||_2 <= lambda: W is the part of -G outside of both spaces, clipped.
    """
    if not M.any():
        return clip_singular_values(-G, lam)
    U, sigma, Vt = np.linalg.svd(M, full_matrices=False)
    rank = numerical_rank(sigma)
    U, Vt = U[:, :rank], Vt[:rank]
    outside = -(G - U @ (U.T @ G))
    outside -= (outside @ Vt.T) @ Vt
    return np.asarray(lam * (U @ Vt) + clip_singular_values(outside, lam), dtype=G.dtype)


def relative_gap(F: float, bound: float) -> float:
    """Return (F - bound) / F, at least 0.

    F cannot be negative: where rounding has made it so, nothing is proved. Nor is it by a bound
    that overflowed to NaN.
    """
    if F > 0 and not math.isnan(bound):
        return max(0.0, F - bound) / F
    return 0.0 if F == 0 and bound >= 0 else math.inf


def smooth_gap(objective: Objective, M: Matrix, G: Matrix) -> float:
    """Return the relative duality gap for lambda = 0, or else the relative norm of the gradient."""
    if objective.inverse_curvature_root is not None:
        F = objective.smooth_value_from(M, G)
        return relative_gap(F, curvature_bound(objective, M, G, np.zeros_like(M)))
    size = objective.gradient_norm_at_zero
    return math.sqrt(inner(G, G)) / size if size > 0 else 0.0
