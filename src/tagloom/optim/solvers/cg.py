"""Conjugate gradients, where there is no nuclear norm: F itself, and ridge regression by label."""

from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from tagloom.linalg import Matrix, column_dots, conjugate_gradients
from tagloom.optim.loss import Loss
from tagloom.optim.objective import Objective, smooth_gap
from tagloom.optim.solvers.base import Recorder, RunResult, Start, StoppingRule

Floats = npt.NDArray[np.float64]


def run_cg(objective: Objective, start: Start, rule: StoppingRule, recorder: Recorder) -> RunResult:
    """Minimise f (lambda = 0) by conjugate gradients on HM = -G_0, all labels side by side.

    Every label is a system of its own with its own step lengths, unless a label graph couples them;
    then M is one long vector. From M = 0 the iterates stay in the range of H, so that for a
    rank-deficient X the solution of least norm is found.

    With ridge or graph the duality gap certifies the result; without them there is no useful bound,
    and the stopping rule is ||G||_F <= tol ||G_0||_F.
    """
    M = start.M
    G = objective.gradient(M)
    F, gap = objective.smooth_value_from(M, G), smooth_gap(objective, M, G)
    residual = -G
    steps = conjugate_gradients(objective.hessian_product, residual, dots=objective.dots)
    while not (gap <= rule.tol or recorder.stopped) and len(recorder.history) < rule.max_iter:
        step = next(steps)
        M = M + step.length * step.direction
        # Recomputed rather than updated: a recurrence would drift away from the true gradient.
        G = objective.gradient(M)
        np.negative(G, out=residual)
        F, gap = objective.smooth_value_from(M, G), smooth_gap(objective, M, G)
        # Nothing keeps the rank low here, and computing it would cost more than the iteration.
        recorder.add(M, objective=F, gap=gap, rank=-1, step=float(np.mean(step.length)))
    return RunResult(M, F, int(np.linalg.matrix_rank(M)), gap)


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
    preconditioner (w_j S + rho I)^{-1} of every label and every rho. It is exact for a label that
    is known at all rows with one weight.

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
