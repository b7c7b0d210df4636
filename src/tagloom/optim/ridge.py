"""Ridge regression of many labels side by side, by preconditioned conjugate gradients."""

from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from tagloom.linalg import Matrix, column_dots, conjugate_gradients
from tagloom.optim.loss import Loss

Floats = npt.NDArray[np.float64]


class RidgeSolution(NamedTuple):
    """M, and how it was found."""

    M: Floats
    n_iter: int
    converged: bool


class RidgeSolver:
    r"""Solves (H + rho I) M = B for all labels side by side, H being the Hessian of a loss.

    With B = -G_0 (see `MaskedSquaredLoss`) M is the ridge regression of every label on its known
    entries. The Hessian of label j is about w_j S, with the scatter S of all rows and the total
    weight w_j of its known entries. One eigendecomposition S = V diag(s) V' gives the
    preconditioner (w_j S + rho I)^{-1} of every label and every rho. It is exact where every label
    is known at the same rows.

    An iteration is one pass over the rows for all labels, two products of matrices, where normal
    equations would be a matrix and its factorisation for each label.
    """

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        variances, self._V = eigh(loss.curvature.scatter, check_finite=False)
        self._weighted = np.maximum(variances, 0)[:, None] * loss.curvature.weight

    def solve(self, B: Matrix, ridge: float, *, tol: float, max_iter: int) -> RidgeSolution:
        """Solve for every column of B to a residual of `tol`, relative to that of M = 0."""
        M, residual = np.zeros(B.shape), B.astype(np.float64)
        enough = tol * np.sqrt(column_dots(residual, residual))
        divisors = self._weighted + ridge
        steps = conjugate_gradients(
            self._loss.hessian_product,
            residual,
            shift=np.float64(ridge),
            precondition=lambda R: np.asarray(self._V @ ((self._V.T @ R) / divisors)),
        )
        for n_iter, step in enumerate(islice(steps, max_iter), start=1):
            M += step.length * step.direction
            if (np.sqrt(column_dots(residual, residual)) <= enough).all():
                return RidgeSolution(M, n_iter, converged=True)
        return RidgeSolution(M, max_iter, converged=False)
