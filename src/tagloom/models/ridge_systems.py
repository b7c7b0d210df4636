"""Ridge regression for many strengths of the ridge: what they share is computed once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tagloom.models.columns import Floats


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """(S + rho I) Z = B, where S has no negative eigenvalue."""

    S: Floats
    B: Floats

    def solution(self, ridge: float) -> Floats:
        """Return (S + rho I)^-1 B."""
        shifted = self.S.copy()
        shifted.flat[:: len(shifted) + 1] += ridge
        try:
            factor = cho_factor(shifted, lower=True, check_finite=False)
        except LinAlgError:  # rho is lost in the rounding of S
            return np.asarray(np.linalg.lstsq(shifted, self.B, rcond=None)[0])
        return np.asarray(cho_solve(factor, self.B, check_finite=False))


@dataclass(frozen=True, eq=False)
class WrittenOut:
    """The rows A and their targets Y of min_M 1/2 ||AM - Y||_F^2 + rho/2 ||M||_F^2."""

    A: Floats
    Y: Floats

    def solution(self, ridge: float) -> Floats:
        """Return the minimiser, the smallest where rho = 0, and 0 where there is no row.

        (A'A + rho I)^-1 A'Y = A'(AA' + rho I)^-1 Y: the smaller of the two systems is solved.
        """
        if not len(self.A):
            return np.zeros((self.A.shape[1], self.Y.shape[1]))
        if ridge == 0:
            return np.asarray(np.linalg.lstsq(self.A, self.Y, rcond=None)[0])
        Z = self._normal.solution(ridge)
        return np.asarray(self.A.T @ Z) if self._is_wide else Z

    @property
    def _is_wide(self) -> bool:
        n, d = self.A.shape
        return bool(n <= d)

    @cached_property
    def _normal(self) -> NormalEquations:
        if self._is_wide:
            return NormalEquations(self.A @ self.A.T, self.Y)
        return NormalEquations(self.A.T @ self.A, self.A.T @ self.Y)


@dataclass(frozen=True, eq=False)
class Centred:
    """Equations for M in features and labels less their means, from which b follows."""

    equations: NormalEquations | WrittenOut
    mean: Floats
    y_mean: Floats

    def solution(self, ridge: float) -> tuple[Floats, Floats]:
        """Return M and b = y^ - x^'M."""
        M = self.equations.solution(ridge)
        return M, self.y_mean - self.mean @ M
