"""The alternating direction method of multipliers: few passes over the rows."""

import math

from tagloom.optim.apg import run_apg
from tagloom.optim.arrays import Matrix, inner
from tagloom.optim.certificate import nearest_subgradient
from tagloom.optim.conjugate import dots, safe_ratio
from tagloom.optim.nuclear import clip, numerical_rank, shrink, singular_values
from tagloom.optim.objective import Objective
from tagloom.optim.precisions import Handover, Reached, Stop
from tagloom.optim.preconditioner import Preconditioner
from tagloom.optim.recorder import Recorder
from tagloom.optim.watch import Watch

# Going further than the half-step led (over-relaxation) saves about a third of the iterations.
_RELAXED = 1.6
# The linear system of a half-step is solved until its residual has fallen to this share, or for so
# many products: the next half-step goes on from there.
_RESIDUAL = 0.5
_PRODUCTS = 8
# sigma is changed by a factor where one of the two residuals is so many times the other, and only
# now and then after the first iterations, for a sigma that keeps changing prevents convergence.
_UNBALANCED = ((100.0, 16.0), (3.0, 2.0))
_BALANCE_FREELY = 30
# Beyond this many times the first sigma there is nothing but rounding.
_RANGE = 1e6


class _State:
    """Both copies of M, the multiplier between them, and the gradient at the first."""

    def __init__(self, objective: Objective, start: Matrix, handover: Handover) -> None:
        self.M = self.Z = start
        self.G = objective.gradient(start) if start.any() else objective.gradient_at_zero
        self.sigma = self._first_sigma = handover.scale
        # At the optimum the multiplier sigma U is the subgradient -G of lambda ||.||_*.
        if handover.subgradient is None:
            multiplier = nearest_subgradient(start, self.G, objective.lam)
        else:
            multiplier = clip(handover.subgradient.astype(start.dtype), objective.lam)
        self.U = multiplier / start.dtype.type(self.sigma)
        self.kept = singular_values(start)
        """The singular values of Z."""

    def rescale(self, factor: float) -> None:
        """Change sigma, within limits; the multiplier sigma U stays."""
        if not 1 / _RANGE <= self.sigma * factor / self._first_sigma <= _RANGE:
            return
        self.sigma *= factor
        self.U = self.U / self.U.dtype.type(factor)

    @property
    def subgradient(self) -> Matrix:
        """Sigma U, a subgradient of lambda ||.||_* at Z."""
        return self.U.dtype.type(self.sigma) * self.U


def run_admm(
    objective: Objective, start: Matrix, handover: Handover | None, stop: Stop, recorder: Recorder
) -> Reached:
    """Iterate until the gap is at most `tol` or the recorder holds `max_iter` iterations.

    F = f(M) + lambda ||Z||_* with M = Z. In turns, with sigma U the multiplier of M = Z,

        (H + sigma I) M = -G_0 + sigma (Z - U)          by preconditioned conjugate gradients,
        Z = prox(M^ + U),  M^ = 1.6 M - 0.6 Z_before    singular value thresholding by lambda/sigma,
        U = M^ + U - Z.

    sigma U is a subgradient of lambda ||.||_* at Z, which the certificate needs. sigma follows
    ||M - Z|| and ||Z - Z_before||, so that neither lags behind. Conjugate gradients go on from the
    M before and take a single product with H where the preconditioner is good, which it is when a
    label is known at more rows than there are features: an iteration then is one pass over the
    rows and one threshold, as with proximal gradients, which mostly need several times as many.
    Where labels are so unlike in weight, or features in scale, that one sigma does not serve them
    all, it gets nowhere: then proximal gradients go on from the best point.
    """
    inverse = Preconditioner(objective)
    state = _State(objective, start, handover or Handover(inverse.typical))
    watch, k = Watch(objective, stop, len(recorder.history)), 0
    watch.look(0, state.Z, state.G, state.kept, state.subgradient)
    if watch.satisfied:
        _note(recorder, watch, state, 0)
    while not (watch.satisfied or recorder.stopped):
        k += 1
        _solve_for_M(objective, inverse, state)
        balance = _threshold(objective, state)
        if k >= watch.next_look:
            # The gradient is at hand, free of the rounding of many updates: M goes on from here.
            state.M, state.G = state.Z, objective.gradient(state.Z)
            watch.look(k, state.Z, state.G, state.kept, state.subgradient)
        _note(recorder, watch, state, k)
        if k <= _BALANCE_FREELY or k % _BALANCE_FREELY == 0:
            state.rescale(balance)
        if watch.is_slow and not recorder.stopped:
            return run_apg(objective, watch.best.M, None, stop, recorder)
    if watch.looked_at < k:  # the callback has stopped it
        watch.look(k, state.Z, objective.gradient(state.Z), state.kept, state.subgradient)
    return watch.best._replace(handover=Handover(state.sigma, state.subgradient))


def _note(recorder: Recorder, watch: Watch, state: _State, k: int) -> None:
    F, gap = (watch.F, watch.best.gap) if watch.looked_at == k else (math.nan, math.nan)
    rank = numerical_rank(state.kept)
    recorder.add(state.Z, objective=F, gap=gap, rank=rank, step=1 / state.sigma)


def _solve_for_M(objective: Objective, inverse: Preconditioner, state: _State) -> None:
    """Move M towards the solution of (H + sigma I) M = -G_0 + sigma (Z - U)."""
    sigma = state.M.dtype.type(state.sigma)
    R = -(state.G + sigma * (state.M - state.Z + state.U))
    enough = _RESIDUAL * math.sqrt(inner(R, R))
    direction = squares = None
    for _ in range(_PRODUCTS):
        Y = inverse.solve(R, state.sigma)
        squares, before = dots(objective, R, Y), squares
        direction = Y if direction is None else Y + safe_ratio(squares, before) * direction
        bent = objective.hessian_product(direction)
        curvature = dots(objective, direction, bent) + sigma * dots(objective, direction, direction)
        step = safe_ratio(squares, curvature)
        state.M = state.M + step * direction
        state.G = state.G + step * bent
        R -= step * (bent + sigma * direction)
        if math.sqrt(inner(R, R)) <= enough:
            break


def _threshold(objective: Objective, state: _State) -> float:
    """Move Z and U; return the factor by which sigma should change."""
    relaxed = state.M.dtype.type(_RELAXED)
    B = relaxed * state.M + (1 - relaxed) * state.Z + state.U
    Z, state.kept = shrink(B, objective.lam / state.sigma)
    state.U = B - Z
    apart, moved = Z - state.M, Z - state.Z
    state.Z = Z
    return _balance(math.sqrt(inner(apart, apart)), math.sqrt(inner(moved, moved)))


def _balance(apart: float, moved: float) -> float:
    """Return the factor for sigma that brings ||M - Z|| and ||Z - Z_before|| closer together."""
    for times, factor in _UNBALANCED:
        if apart > times * moved:
            return factor
        if moved > times * apart:
            return 1 / factor
    return 1.0
