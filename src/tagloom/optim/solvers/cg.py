"""Conjugate gradients, for the case without nuclear norm: a linear system needs no proximal map."""

import math

import numpy as np

from tagloom.optim.duality import curvature_bound, relative_gap
from tagloom.optim.objective import Objective
from tagloom.optim.penalties import Matrix, inner
from tagloom.optim.solvers.base import Callback, Recorder, Solution


def solve_conjugate(
    objective: Objective,
    *,
    start: Matrix | None = None,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    """Minimise f (lambda = 0) by conjugate gradients on Hm = g, all labels side by side.

    Every label is a system of its own and gets its own step lengths, unless a label graph couples
    them; then M is one long vector. From M = 0 the iterates stay in the range of H, so that for a
    rank-deficient X the solution of least norm is found.

    With ridge or graph the duality gap certifies the stop; without them no bound exists that is not
    zero, and the stop is ||G||_F <= tol ||G_0||_F.
    """
    M = objective.zero() if start is None else start
    G = objective.gradient(M)
    direction, squares = -G, dots(objective, G, G)
    recorder = Recorder(callback)
    F, gap = objective.smooth_value_from(M, G), _distance(objective, M, G)
    for _ in range(max_iter):
        if gap <= tol or recorder.stopped:
            break
        bent = objective.hessian_product(direction)
        step = safe_ratio(squares, dots(objective, direction, bent))
        M = M + step * direction
        # Recomputed and not updated: a recurrence would drift away from the true gradient.
        G = objective.gradient(M)
        squares, squares_before = dots(objective, G, G), squares
        direction = safe_ratio(squares, squares_before) * direction - G
        F, gap = objective.smooth_value_from(M, G), _distance(objective, M, G)
        # Nothing keeps the rank low here, and to count it would cost more than the iteration.
        recorder.add(M, objective=F, gap=gap, rank=-1, step=float(np.mean(step)))
    rank = int(np.linalg.matrix_rank(M))
    return Solution(M, F, gap, rank, gap <= tol, recorder.history)


def dots(objective: Objective, A: Matrix, B: Matrix) -> Matrix:
    """Return <a_j, b_j> for each label, or <A, B> where a label graph couples the labels."""
    if objective.couples_labels:
        return np.asarray(inner(A, B), dtype=A.dtype)
    return np.asarray(np.einsum("ij,ij->j", A, B))


def safe_ratio(numerator: Matrix, denominator: Matrix) -> Matrix:
    """Divide; a label that is solved exactly (0 / 0) stands still."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def _distance(objective: Objective, M: Matrix, G: Matrix) -> float:
    """Return the relative duality gap where there is a bound, else the relative gradient norm."""
    if objective.strong_part is not None:
        F = objective.smooth_value_from(M, G)
        return relative_gap(F, curvature_bound(objective, M, G, np.zeros_like(M)))
    size = objective.gradient_norm_at_zero
    return math.sqrt(inner(G, G)) / size if size > 0 else 0.0
