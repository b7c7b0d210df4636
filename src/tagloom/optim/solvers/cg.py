"""Conjugate gradients, for objectives without nuclear norm: the optimum solves a linear system."""

import math

import numpy as np

from tagloom.linalg import Matrix, conjugate_gradients, inner
from tagloom.optim.objective import Objective, curvature_bound, relative_gap
from tagloom.optim.solvers.base import Recorder, RunResult, StoppingRule


def run_cg(
    objective: Objective,
    start: Matrix,
    rule: StoppingRule,
    recorder: Recorder,
) -> RunResult:
    """Minimise f (lambda = 0) by conjugate gradients on HM = -G_0, all labels side by side.

    Every label is a system of its own with its own step lengths, unless a label graph couples them;
    then M is one long vector. From M = 0 the iterates stay in the range of H, so that for a
    rank-deficient X the solution of least norm is found.

    With ridge or graph the duality gap certifies the result; without them there is no useful bound,
    and the stopping rule is ||G||_F <= tol ||G_0||_F.
    """
    M = start
    G = objective.gradient(M)
    F, gap = objective.smooth_value_from(M, G), _gap(objective, M, G)
    residual = -G
    steps = conjugate_gradients(objective.hessian_product, residual, dots=objective.dots)
    while not (gap <= rule.tol or recorder.stopped) and len(recorder.history) < rule.max_iter:
        step = next(steps)
        M = M + step.length * step.direction
        # Recomputed rather than updated: a recurrence would drift away from the true gradient.
        G = objective.gradient(M)
        np.negative(G, out=residual)
        F, gap = objective.smooth_value_from(M, G), _gap(objective, M, G)
        # Nothing keeps the rank low here, and computing it would cost more than the iteration.
        recorder.add(M, objective=F, gap=gap, rank=-1, step=float(np.mean(step.length)))
    return RunResult(M, F, int(np.linalg.matrix_rank(M)), gap)


def _gap(objective: Objective, M: Matrix, G: Matrix) -> float:
    """Return the relative duality gap where there is a bound, else the relative gradient norm."""
    if objective.inverse_curvature_root is not None:
        F = objective.smooth_value_from(M, G)
        return relative_gap(F, curvature_bound(objective, M, G, np.zeros_like(M)))
    size = objective.gradient_norm_at_zero
    return math.sqrt(inner(G, G)) / size if size > 0 else 0.0
