"""Accelerated proximal gradient, made good in practice."""

import math
from typing import NamedTuple

import numpy as np

from tagloom.optim.arrays import Matrix, inner
from tagloom.optim.certificate import dual_bound, relative_gap
from tagloom.optim.nuclear import shrink
from tagloom.optim.objective import Objective
from tagloom.optim.recorder import Recorder
from tagloom.optim.solution import Callback, Solution

# After a success the Lipschitz estimate falls by this factor: it lets the step follow the local
# curvature, at the price of a rejected step (one gradient) now and then.
_EASE = 0.97
# A rejected step raises the estimate at least by this factor, or to the curvature that was seen.
_RAISE = 1.2
# The certificate costs about one singular value threshold.
_CERTIFY_EVERY = 10


class _Point(NamedTuple):
    """M, the gradient of f there, a subgradient of lambda ||.||_*, and its singular values."""

    M: Matrix
    G: Matrix
    Z: Matrix
    nuclear_norm: float
    rank: int


def solve_apg(
    objective: Objective,
    *,
    start: Matrix | None = None,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution:
    """Minimise F by accelerated proximal gradient with adaptive restart and a certified stop.

    One iteration is the paper's: extrapolate to V, step to prox(V - G_V / mu), check the quadratic
    bound. What differs:

    - f is quadratic, so the gradient at V is extrapolated like V itself, and the bound reads
      <D, G_new - G_V> <= mu ||D||_F^2 with D = M_new - V: one gradient an iteration, nothing else
      touches the rows.
    - Momentum starts anew when it points uphill: <V - M_new, M_new - M> > 0, as O'Donoghue and
      Candès have it.
    - mu may fall again.
    - It stops when the relative duality gap is at most `tol`.
    """
    M = objective.zero() if start is None else start
    before = point = _Point(M, objective.gradient(M), M, math.nan, 0)
    mu = _first_lipschitz_estimate(objective)
    momentum, F, bound, gap = 1.0, math.nan, -math.inf, math.inf
    recorder = Recorder(callback)
    for k in range(1, max_iter + 1):
        next_momentum = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        beta = (momentum - 1) / next_momentum
        V = point.M + beta * (point.M - before.M)
        G_V = point.G + beta * (point.G - before.G)
        mu, new = _accepted_step(objective, V, G_V, mu * _EASE)
        momentum = 1.0 if inner(V - new.M, new.M - point.M) > 0 else next_momentum
        before, point = point, new
        F = objective.smooth_value_from(point.M, point.G) + objective.lam * point.nuclear_norm
        certify = k == 1 or k % _CERTIFY_EVERY == 0 or k == max_iter
        if certify:
            bound = max(bound, dual_bound(objective, point.M, point.G, point.Z))
            gap = relative_gap(F, bound)
        shown = gap if certify else math.nan
        recorder.add(point.M, objective=F, gap=shown, rank=point.rank, step=1 / mu)
        if gap <= tol or recorder.stopped:
            break
    return Solution(point.M, F, gap, point.rank, gap <= tol, recorder.history)


def _first_lipschitz_estimate(objective: Objective) -> float:
    """Return the curvature of f along its gradient at 0: a lower bound, which the search raises."""
    G_0 = objective.gradient_at_zero
    scale = math.sqrt(inner(G_0, G_0))
    if scale == 0:
        return 1.0
    direction = G_0 / G_0.dtype.type(scale)
    return inner(direction, objective.gradient(direction) - G_0)


def _accepted_step(objective: Objective, V: Matrix, G_V: Matrix, mu: float) -> tuple[float, _Point]:
    """Step from V with the first mu, from the given one upwards, for which the bound holds."""
    while True:
        M, sigma = shrink(V - G_V / V.dtype.type(mu), objective.lam / mu)
        D = M - V
        Z = -G_V - V.dtype.type(mu) * D
        new = _Point(M, objective.gradient(M), Z, float(sigma.sum()), len(sigma))
        length = inner(D, D)
        curvature = inner(D, new.G - G_V)
        if curvature <= mu * length + _rounding(objective, new, length):
            return mu, new
        mu = max(_RAISE * mu, curvature / length)


def _rounding(objective: Objective, new: _Point, length: float) -> float:
    """Bound the rounding error in <D, G_new - G_V>: without it a converged step is never accepted.

    The gradient is a sum whose parts are of the size of the gradient at 0.
    """
    G_0 = objective.gradient_at_zero
    size = math.sqrt(inner(G_0, G_0)) + math.sqrt(inner(new.G, new.G))
    return float(10 * np.finfo(G_0.dtype).eps) * size * math.sqrt(length)
