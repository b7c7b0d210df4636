"""Accelerated proximal gradient, made good in practice."""

import math
from typing import NamedTuple

import numpy as np

from tagloom.optim.duality import dual_bound, relative_gap
from tagloom.optim.objective import Objective
from tagloom.optim.penalties import Matrix, inner, shrink
from tagloom.optim.solvers.base import Handover, Reached, Recorder, Stop

# After a success the Lipschitz estimate falls by this factor: it lets the step follow the local
# curvature, at the price of a rejected step (one gradient) now and then.
_EASE = 0.98
# A rejected step raises the estimate at least by this factor, or to the curvature that was seen.
_RAISE = 1.2
# The certificate costs about half an iteration: it is asked for more often near the end.
_CERTIFY_AFTER = 10
_CERTIFY_AFTER_NEAR_END = 4
_NEAR_END = 10.0
# Progress in F below which single precision sees none.
_SINGLE_PROGRESS = 3e-7


class _Point(NamedTuple):
    """M, the gradient of f there, F, and the rank of M."""

    M: Matrix
    G: Matrix
    F: float
    rank: int


class _Step(NamedTuple):
    """An accepted step: where it led, the subgradient of lambda ||.||_* that it leaves, its mu."""

    point: _Point
    Z: Matrix
    mu: float


def run_apg(
    objective: Objective, start: Matrix, before_it: Handover | None, stop: Stop, recorder: Recorder
) -> Reached:
    """Iterate until the gap is at most `tol` or the recorder holds `max_iter` iterations.

    One iteration is the paper's: extrapolate to V, step to prox(V - G_V / mu), check the quadratic
    bound. What differs:

    - f is quadratic, so the gradient at V is extrapolated like V itself, and the bound reads
      <D, G_new - G_V> <= mu ||D||_F^2 with D = M_new - V: one gradient an iteration, nothing else
      touches the rows.
    - Momentum is full, V = 2M - M_before, until it points uphill, <V - M_new, M_new - M> > 0; then
      it starts anew with a plain step (the greedy restart of Liang, Luo and Schönlieb, which needs
      about half the iterations of the usual sequence). A restart that finds F higher than at the
      restart before goes back there, so that F falls from restart to restart.
    - mu may fall again.
    """
    mu = _first_lipschitz_estimate(objective) if before_it is None else before_it.scale
    before = point = anchor = _Point(start, objective.gradient(start), math.inf, 0)
    bound, gap, F_checked, next_check = -math.inf, math.inf, math.inf, 1
    for k in range(1, max(1, stop.max_iter - len(recorder.history)) + 1):
        V, G_V = 2 * point.M - before.M, 2 * point.G - before.G
        new, Z, mu = _accepted_step(objective, V, G_V, mu * _EASE)
        uphill = inner(V - new.M, new.M - point.M) > 0
        if before is point:
            anchor = new
        if uphill and new.F > anchor.F:
            new = anchor
        before, point = (new if uphill else point), new
        certify = k >= next_check or len(recorder.history) + 1 >= stop.max_iter
        if certify:
            # After a step back Z belongs to another M: the bound is weaker there, and as true.
            bound = max(bound, dual_bound(objective, point.M, point.G, Z))
            gap = relative_gap(point.F, bound)
            near_end = gap <= _NEAR_END * stop.tol
            next_check = k + (_CERTIFY_AFTER_NEAR_END if near_end else _CERTIFY_AFTER)
        shown = gap if certify else math.nan
        recorder.add(point.M, objective=point.F, gap=shown, rank=point.rank, step=1 / mu)
        if gap <= stop.tol or recorder.stopped:
            break
        if certify and stop.until_blind:
            if (1 - _SINGLE_PROGRESS) * F_checked <= point.F:
                break
            F_checked = point.F
    return Reached(point.M, point.F, point.rank, gap, Handover(mu))


def _first_lipschitz_estimate(objective: Objective) -> float:
    """Return the curvature of f along its gradient at 0: a lower bound, which the search raises."""
    G_0, scale = objective.gradient_at_zero, objective.gradient_norm_at_zero
    if scale == 0:
        return 1.0
    direction = G_0 / G_0.dtype.type(scale)
    return inner(direction, objective.hessian_product(direction))


def _accepted_step(objective: Objective, V: Matrix, G_V: Matrix, mu: float) -> _Step:
    """Step from V with the first mu, from the given one upwards, for which the bound holds."""
    while True:
        M, sigma = shrink(V - G_V / V.dtype.type(mu), objective.lam / mu)
        G = objective.gradient(M)
        D = M - V
        length = inner(D, D)
        curvature = inner(D, G - G_V)
        if curvature <= mu * length + _rounding(objective, G, length):
            Z = -G_V - V.dtype.type(mu) * D
            F = objective.smooth_value_from(M, G) + objective.lam * float(sigma.sum())
            return _Step(_Point(M, G, F, len(sigma)), Z, mu)
        mu = max(_RAISE * mu, curvature / length)


def _rounding(objective: Objective, G: Matrix, length: float) -> float:
    """Bound the rounding error in <D, G_new - G_V>: without it a converged step is never accepted.

    The gradient is a sum whose parts are of the size of the gradient at 0.
    """
    size = objective.gradient_norm_at_zero + math.sqrt(inner(G, G))
    return float(10 * np.finfo(G.dtype).eps) * size * math.sqrt(length)
