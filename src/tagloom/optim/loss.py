"""How far the scores are from what is known."""

from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tagloom.labels import PartialLabels
from tagloom.optim.blocks import Part
from tagloom.optim.penalties import Matrix, inner
from tagloom.optim.rows import LossSums, Summing, centre_of

Floats = npt.NDArray[np.float64]


class Loss(Protocol):
    """A convex quadratic of M, as solvers see it."""

    dtype: np.dtype[Any]
    couples_labels: bool
    """Whether the Hessian joins columns of M, so that they are not problems of their own."""

    @property
    def shape(self) -> tuple[int, int]:
        """(d, c), the shape of M."""
        ...

    @property
    def spread(self) -> "Spread":
        """What is known of its Hessian without asking for products."""
        ...

    @property
    def value_at_zero(self) -> float:
        """Its value at M = 0."""
        ...

    @property
    def slope(self) -> Matrix:
        """G_0, its gradient at M = 0."""
        ...

    def hessian_product(self, D: Matrix) -> Matrix:
        """Return HD: its gradient at M is G_0 + HM."""
        ...

    def intercept(self, M: Matrix) -> Matrix:
        """Return the intercept that goes with M."""
        ...

    def in_single_precision(self) -> "Loss":
        """Return the same loss, computed in float32."""
        ...


class Spread(NamedTuple):
    """The Hessian of the loss is about w_j S for label j, were its known rows drawn at random."""

    scatter: Floats
    """S, the mean of (x - mean)(x - mean)', or of xx' without intercept."""
    weight: Floats
    """Sum_i w_ij for each label j."""
    n_items: int
    largest: float
    """The largest feature by size."""
    least: float
    """The Hessian is at least this many times S for every label, for certain."""


class MaskedSquaredLoss:
    """The weighted squared loss on the known entries, its intercept minimised out.

    With observation weights w_ij >= 0 (0: unknown) and an unpenalised intercept b in R^c,

        f(M) = min_b 1/2 sum_ij w_ij (x_i' m_j + b_j - y_ij)^2,

    which for w in {0, 1} and b = 0 is the paper's 1/2 ||R_Omega(XM) - Y||_F^2. The minimising b is
    the weighted mean residual of each label, so f stays a convex quadratic in M alone:

        f(M) = f(0) + <G_0, M> + 1/2 <M, HM>,
        HM   = X'(W o XM) - X'W diag(1'(W o XM) / 1'W),
        G_0  = -X'(W o Y) + X'W diag(1'(W o Y) / 1'W).

    Labels are needed for f(0) and G_0 alone; an iteration asks for HM. All of it are sums over the
    rows, which may lie in memory (`of`) or elsewhere.

    Such an f does not change when a constant is added to a column of X. Rounding does: columns far
    from 0 are therefore centred.
    """

    couples_labels = False

    def __init__(self, rows: Summing, *, fit_intercept: bool, sums: LossSums | None = None) -> None:
        self.fit_intercept = fit_intercept
        self.dtype = rows.dtype
        self._rows = rows
        self._sums = rows.sums() if sums is None else sums

    @classmethod
    def of(cls, X: Matrix, known: PartialLabels, *, fit_intercept: bool) -> "MaskedSquaredLoss":
        """Return the loss on rows that lie in memory."""
        centre = _centre(X) if fit_intercept else None
        return cls(Part(X, known, centre), fit_intercept=fit_intercept)

    @property
    def shape(self) -> tuple[int, int]:
        """(d, c), the shape of M."""
        d, c = self._sums.present_features.shape
        return d, c

    def in_single_precision(self) -> "MaskedSquaredLoss":
        """Return the same loss, computed in float32."""
        single = self._rows.in_single_precision()
        return MaskedSquaredLoss(single, fit_intercept=self.fit_intercept, sums=self._sums)

    def gradient(self, M: Matrix) -> Matrix:
        """Return the gradient of f at M."""
        G = self.hessian_product(M)
        G += self.slope
        return G

    def hessian_product(self, D: Matrix) -> Matrix:
        """Return HD, where H is the Hessian of f: one pass over the rows."""
        product = self._rows.products(D)
        if self.fit_intercept:
            product.features[...] -= self._weighted_features * self._mean(product.total)
        # Sums that cancel leave rounding where nothing is known.
        product.features[:, self._sums.weight == 0] = 0
        return product.features

    def value(self, M: Matrix) -> float:
        """Return f(M)."""
        return self.value_at_zero + inner(M, self.hessian_product(M)) / 2 + inner(M, self.slope)

    def intercept(self, M: Matrix) -> Matrix:
        """Return the b that attains the minimum in f(M): the weighted mean residual per label."""
        if not self.fit_intercept:
            return np.zeros(self.shape[1])
        b = self._mean(self._sums.present - self._rows.products(M).total)
        return b if self._rows.centre is None else b - self._rows.centre @ M

    @cached_property
    def spread(self) -> Spread:
        """What is known of H without asking for products."""
        sums = self._sums
        scatter = sums.second_moments / sums.n_items
        if self.fit_intercept:
            mean = sums.total / sums.n_items
            scatter = scatter - np.outer(mean, mean)
        least = max(0.0, sums.least_weight) * sums.n_items
        return Spread(scatter, sums.weight, sums.n_items, sums.largest, least)

    @cached_property
    def _weighted_features(self) -> Matrix:
        return self._sums.weighted_features.astype(self.dtype)

    @cached_property
    def slope(self) -> Matrix:
        """G_0, the gradient of f at 0."""
        sums = self._sums
        G_0 = -sums.present_features
        if self.fit_intercept:
            G_0 = G_0 + sums.weighted_features * self._mean(sums.present)
        G_0[:, sums.weight == 0] = 0
        return np.asarray(G_0, dtype=self.dtype)

    @property
    def value_at_zero(self) -> float:
        """f(0): y is 0 or 1, so that y^2 = y."""
        present = self._sums.present
        at_mean = present * self._mean(present) if self.fit_intercept else 0.0
        return float(np.sum(present - at_mean)) / 2

    def _mean(self, total: Floats) -> Matrix:
        """Divide sums by the weight of what is known; a label of which nothing is known gets 0."""
        weight = self._sums.weight
        mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
        return mean.astype(self.dtype, copy=False)


def _centre(X: Matrix) -> Floats | None:
    squares = np.einsum("ij,ij->j", X, X, dtype=np.float64)
    return centre_of(len(X), X.sum(axis=0, dtype=np.float64), squares)
