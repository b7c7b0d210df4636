"""Accelerated proximal gradient: with greedy restarts and a certificate, and as in the paper.

`run_paper` is Algorithm 2 (APG-Graph) of the paper, line by line: the baseline of the faster ones.
"""

import math
from typing import NamedTuple

import numpy as np

from tagloom.linalg import (
    Matrix,
    Thresholded,
    inner,
    threshold_by_svd,
    threshold_singular_values,
)
from tagloom.optim.objective import Objective, dual_bound, relative_gap
from tagloom.optim.solvers.base import Recorder, RunResult, Start, StoppingRule, WarmStart
from tagloom.optim.solvers.cg import run_cg

# After an accepted step the Lipschitz estimate is multiplied by this factor, so that steps follow
# the local curvature, at the price of an occasional rejected step (one gradient).
_DECREASE = 0.98
# A rejected step raises the estimate at least by this factor, or to the observed curvature.
_INCREASE = 1.2
# The certificate costs about half an iteration: it is computed more often near the end.
_CERTIFY_AFTER = 10
_CERTIFY_AFTER_NEAR_END = 4
_NEAR_END = 10.0
# The smallest relative progress in F that single precision resolves.
_SINGLE_PROGRESS = 3e-7
# Of Algorithm 2: the first mu, and the factor by which it grows.
_A = 1.0
_RHO = 2.0


class _Point(NamedTuple):
    """M, the gradient of f there, F, and the rank of M."""

    M: Matrix
    G: Matrix
    F: float
    rank: int


class _Step(NamedTuple):
    """An accepted step: where it leads, its subgradient Z of lambda ||.||_*, and its mu."""

    point: _Point
    Z: Matrix
    mu: float


def run_apg(
    objective: Objective, start: Start, rule: StoppingRule, recorder: Recorder
) -> RunResult:
    """Iterate until the gap is at most `tol` or the recorder holds `max_iter` iterations.

    One iteration is the paper's: extrapolate to V, step to prox(V - G_V / mu), check the quadratic
    bound. The differences:

    - f is quadratic, so the gradient at V is extrapolated like V itself, and the bound reads
      <D, G_new - G_V> <= mu ||D||_F^2 with D = M_new - V: one gradient per iteration, and nothing
      else touches the rows.
    - Momentum is full, V = 2M - M_previous, until it points uphill,
      <V - M_new, M_new - M> > 0; then it restarts with a plain step. This greedy restart (Liang,
      Luo and Schönlieb 2022) needs about half the iterations of the usual sequence. A restart at a
      higher F than the previous one returns to that one, so that F falls from restart to restart.
    - mu may decrease.
    """
    if objective.lam == 0:
        return run_cg(objective, start, rule, recorder)
    M, warm_start = start
    mu = _first_lipschitz_estimate(objective) if warm_start is None else warm_start.scale
    previous = point = anchor = _Point(M, objective.gradient(M), math.inf, 0)
    bound, gap, F_checked, next_check = -math.inf, math.inf, math.inf, 1
    for k in range(1, max(1, rule.max_iter - len(recorder.history)) + 1):
        V, G_V = 2 * point.M - previous.M, 2 * point.G - previous.G
        new, Z, mu = _accepted_step(objective, V, G_V, mu * _DECREASE)
        uphill = inner(V - new.M, new.M - point.M) > 0
        if previous is point:
            anchor = new
        if uphill and new.F > anchor.F:
            new = anchor
        previous, point = (new if uphill else point), new
        certify = k >= next_check or len(recorder.history) + 1 >= rule.max_iter
        if certify:
            # After a return to the anchor, Z belongs to another M: the bound is weaker but valid.
            bound = max(bound, dual_bound(objective, point.M, point.G, Z))
            gap = relative_gap(point.F, bound)
            near_end = gap <= _NEAR_END * rule.tol
            next_check = k + (_CERTIFY_AFTER_NEAR_END if near_end else _CERTIFY_AFTER)
        shown = gap if certify else math.nan
        recorder.add(point.M, objective=point.F, gap=shown, rank=point.rank, step=1 / mu)
        if gap <= rule.tol or recorder.stopped:
            break
        if certify and rule.at_stagnation:
            if (1 - _SINGLE_PROGRESS) * F_checked <= point.F:
                break
            F_checked = point.F
    return RunResult(point.M, point.F, point.rank, gap, WarmStart(mu))


def _first_lipschitz_estimate(objective: Objective) -> float:
    """Return the curvature of f along its gradient at 0: a lower bound of the constant."""
    G_0, scale = objective.gradient_at_zero, objective.gradient_norm_at_zero
    if scale == 0:
        return 1.0
    direction = G_0 / G_0.dtype.type(scale)
    return inner(direction, objective.hessian_product(direction))


def _accepted_step(objective: Objective, V: Matrix, G_V: Matrix, mu: float) -> _Step:
    """Step from V, raising mu until the quadratic bound holds."""
    while True:
        M, sigma = threshold_singular_values(V - G_V / V.dtype.type(mu), objective.lam / mu)
        G = objective.gradient(M)
        D = M - V
        length = inner(D, D)
        curvature = inner(D, G - G_V)
        if curvature <= mu * length + _rounding(objective, G, length):
            Z = -G_V - V.dtype.type(mu) * D
            F = objective.smooth_value_from(M, G) + objective.lam * float(sigma.sum())
            return _Step(_Point(M, G, F, len(sigma)), Z, mu)
        mu = max(_INCREASE * mu, curvature / length)


def _rounding(objective: Objective, G: Matrix, length: float) -> float:
    """Bound the rounding error in <D, G_new - G_V>: without it no step at the optimum is accepted.

    The gradient is a sum of terms of the size of the gradient at 0.
    """
    size = objective.gradient_norm_at_zero + math.sqrt(inner(G, G))
    return float(10 * np.finfo(G.dtype).eps) * size * math.sqrt(length)


def run_paper(
    objective: Objective, start: Start, rule: StoppingRule, recorder: Recorder
) -> RunResult:
    """Minimise F as Algorithm 2 does, with mu read as the Lipschitz estimate.

    The paper calls mu the step size and lets it grow in the line search. A search that lengthens
    the steps until the quadratic bound holds would not end, so mu is taken as the reciprocal of the
    step size. Comments give the paper's line numbers. It stops when F decreases by less than the
    factor (1 - epsilon), which proves nothing about the distance to the optimum: `gap` is NaN.
    """
    M = M_before = start.M  # 1: M_1 = M_2
    theta = theta_before = 1.0
    mu = _A
    F = math.inf
    converged = False
    while not (converged or recorder.stopped) and len(recorder.history) < rule.max_iter:  # 3
        V = M + theta * (1 / theta_before - 1) * (M - M_before)  # 4
        G_V = objective.gradient(V)
        f_V = objective.smooth_value_from(V, G_V)
        new, sigma = _argmin_Q(objective, V, G_V, mu)  # 5
        f_new = objective.smooth_value(new)
        while f_new > _bound(new, V, f_V, G_V, mu):  # 6: F > Q, lambda ||M||_* on both sides
            mu *= _RHO  # 7
            new, sigma = _argmin_Q(objective, V, G_V, mu)  # 8
            f_new = objective.smooth_value(new)
        M, M_before = new, M
        theta, theta_before = (math.sqrt(theta**4 + 4 * theta**2) - theta**2) / 2, theta  # 10
        F, F_before = f_new + objective.lam * float(sigma.sum()), F
        recorder.add(M, objective=F, rank=len(sigma), step=1 / mu)
        converged = (1 - rule.tol) * F_before < F  # 3
    rank = recorder.history[-1].rank if recorder.history else 0
    return RunResult(M, F, rank, math.nan, converged=converged)


def _argmin_Q(objective: Objective, V: Matrix, G_V: Matrix, mu: float) -> Thresholded:
    """Return argmin_M of Q(M, V) = f(V) + <M - V, G_V> + mu/2 ||M - V||_F^2 + lambda ||M||_*."""
    return threshold_by_svd(V - G_V / mu, objective.lam / mu)


def _bound(M: Matrix, V: Matrix, f_V: float, G_V: Matrix, mu: float) -> float:
    """Return Q(M, V) - lambda ||M||_* plus a margin for the rounding of f.

    Near the optimum f and its bound agree to the last digits; without the margin, rounding would
    double mu for ever.
    """
    D = M - V
    rounding = 1e-12 if M.dtype == "float64" else 1e-5
    return f_V + inner(D, G_V) + mu / 2 * inner(D, D) + rounding * abs(f_V)
