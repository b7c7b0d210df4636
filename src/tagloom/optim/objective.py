"""The function that is minimised, joined from its terms."""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, solve_triangular

from tagloom.optim.loss import Loss
from tagloom.optim.penalties import (
    InstanceLaplacian,
    LabelLaplacian,
    Matrix,
    QuadraticTerm,
    Ridge,
    inner,
    nuclear_norm,
    spectral_norm,
)

# Below this share of the largest eigenvalue, a direction counts as without curvature of its own.
_SINGULAR = 1e-9
# Sums of products are right to so many units of rounding of their trace.
_ROUNDED = 10.0


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
        root = self.strong_part
        single.strong_part = None if root is None else root.astype(np.float32)
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

    def smooth_value(self, M: Matrix) -> float:
        """Return f(M)."""
        return self.smooth_value_from(M, self.gradient(M))

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
        return self.loss.slope

    @cached_property
    def gradient_norm_at_zero(self) -> float:
        """||G_0||_F, the scale of every gradient."""
        return math.sqrt(inner(self.gradient_at_zero, self.gradient_at_zero))

    def smooth_value_from(self, M: Matrix, G: Matrix) -> float:
        """Return f(M) given G, its gradient at M: f(0) + 1/2 <M, G + G_0>, as f is quadratic."""
        return self.smooth_value_at_zero + inner(M, G + self.gradient_at_zero) / 2

    @cached_property
    def curvature_of_items(self) -> npt.NDArray[np.float64]:
        """A = rho I + 2 gamma_s X'L_s X, the part of the Hessian that all labels share."""
        A = self.ridge * np.eye(self.shape[0])
        for term in self._terms:
            if isinstance(term, InstanceLaplacian):
                A += term.hessian
        return A

    @property
    def weight_of_scatter(self) -> npt.NDArray[np.float64]:
        """How often the scatter of the rows counts in the Hessian of each label, about."""
        spread = self.loss.spread
        weight = spread.weight.copy()
        for term in self._terms:
            if isinstance(term, LabelLaplacian):
                weight += spread.n_items * term.weight_of_gram
        return weight

    @cached_property
    def strong_part(self) -> Matrix | None:
        """C^-1, where CC' = A is a lower bound of every label's Hessian; None where A is singular.

        A = rho I + 2 gamma_s X'L_s X + n w S, where w is the least weight of any entry: 0 unless
        every label is known of every item. 1/2 <M, AM> is the part of f whose curvature is certain,
        which the certificate needs.
        """
        spread = self.loss.spread
        A = self.curvature_of_items + spread.least * spread.scatter
        # What rounding may have added to the scatter is not certain.
        rounding = _ROUNDED * float(np.finfo(self.dtype).eps) * spread.least
        A -= rounding * np.trace(spread.scatter) * np.eye(len(A))
        spectrum = np.linalg.eigvalsh(A)
        if spectrum[0] <= _SINGULAR * spectrum[-1]:
            return None
        factor = cholesky(A, lower=True, check_finite=False)
        root = solve_triangular(factor, np.eye(len(A)), lower=True, check_finite=False)
        return np.asarray(root, dtype=self.dtype)

    def lam_max(self) -> float:
        """Return the smallest lambda at which M = 0 is optimal.

        0 is a minimiser if and only if 0 lies in G_0 + lambda * {Z : ||Z||_2 <= 1}, that is, if
        ||G_0||_2 <= lambda. Ridge and graphs have no say in it: their gradient at 0 is 0.
        """
        return spectral_norm(self.gradient_at_zero)
