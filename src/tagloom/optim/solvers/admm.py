"""The alternating direction method of multipliers: few passes over the rows."""

import math
from functools import cached_property

import numpy as np

from tagloom.optim.duality import dual_bound, nearest_subgradient, relative_gap
from tagloom.optim.objective import Objective
from tagloom.optim.penalties import Matrix, clip, inner, numerical_rank, shrink, singular_values
from tagloom.optim.solvers.apg import run_apg
from tagloom.optim.solvers.base import Handover, Reached, Recorder, Stop
from tagloom.optim.solvers.cg import dots, safe_ratio

# §§ preconditioner
# An inverse of the Hessian that needs no pass over the rows.


# Curvatures below this share of the largest are rounding, or as good as none.
_NO_CURVATURE = 1e-6


class Preconditioner:
    """The inverse of sigma I + H_j, were the known rows of each label j drawn at random.

    Then H_j is about v_j S + A, with S the mean scatter of the rows, v_j the weight of what is
    known of the label and A the ridge and the graph of the items. With Q the eigenvectors of
    mean(v) S + A, and only the diagonals of Q'SQ and Q'AQ kept, the inverse is

        Q diag(1 / (v_j diag(Q'SQ) + diag(Q'AQ) + sigma)) Q':

    exact where all labels weigh the same and are known at the same rows, positive definite always,
    and as cheap for another sigma. Nothing is computed before it is asked for.
    """

    def __init__(self, objective: Objective) -> None:
        # An approximation needs no more digits than the products it goes with.
        self._S = objective.loss.spread.scatter.astype(objective.dtype)
        self._A = objective.curvature_of_items.astype(objective.dtype)
        self._weight = objective.weight_of_scatter.astype(objective.dtype)

    def solve(self, R: Matrix, sigma: float) -> Matrix:
        """Return about (sigma I + H)^-1 R."""
        _, Q = self._spectrum
        turned = Q.T @ R
        turned /= self._curvature + turned.dtype.type(sigma)
        product: Matrix = Q @ turned
        return product

    @property
    def typical(self) -> float:
        """The median of the curvatures that are not rounding, a scale for sigma; 1 if all are."""
        eigenvalues, _ = self._spectrum
        some = eigenvalues[eigenvalues > _NO_CURVATURE * eigenvalues.max(initial=0)]
        return float(np.median(some)) if len(some) else 1.0

    @cached_property
    def _spectrum(self) -> tuple[Matrix, Matrix]:
        eigenvalues, Q = np.linalg.eigh(self._weight.mean() * self._S + self._A)
        return eigenvalues, Q

    @cached_property
    def _curvature(self) -> Matrix:
        """v_j diag(Q'SQ) + diag(Q'AQ), one column for each label."""
        _, Q = self._spectrum
        along_S = np.einsum("ij,ij->j", Q, self._S @ Q)
        along_A = np.einsum("ij,ij->j", Q, self._A @ Q)
        curvature: Matrix = np.maximum(0, np.outer(along_S, self._weight) + along_A[:, None])
        return curvature


# §§ watch
# Looks at a run from time to time: what is proved, and when to look again.


# A look costs one pass over the rows: it is taken when the goal may be about to be reached.
_FIRST_LOOK = 5
_SOON = 2
# However far the goal seems, it is looked at again after this share of the iterations so far.
_PATIENCE = 0.3
# After so many looks without this much progress in the gap, rounding hides the rest.
_BLIND_AFTER = 3
_PROGRESS = 0.9
# In this many iterations the gap should fall, from half of them on, below this share.
_MANY = 60
_HARDLY = 0.3


class Watch:
    """The best point seen, the best bound, and the gap between the two."""

    def __init__(self, objective: Objective, stop: Stop, iterations_before: int) -> None:
        self._objective = objective
        self._stop = stop
        self._last = max(1, stop.max_iter - iterations_before)
        self._bound, self._idle = -math.inf, 0
        self._gaps: list[tuple[int, float]] = []
        self.looked_at, self.next_look = 0, 0
        self.F = math.inf
        """F where it was looked at last."""
        self.best = Reached(np.zeros((0, 0)), math.inf, 0, math.inf)

    def look(self, k: int, Z: Matrix, G: Matrix, kept: Matrix, subgradient: Matrix) -> None:
        """Look at Z, reached in iteration k.

        G is the gradient of f at Z, `kept` the singular values of Z, and the subgradient is one of
        lambda ||.||_*.
        """
        objective, before = self._objective, self.best.gap
        self.F = objective.smooth_value_from(Z, G) + objective.lam * float(kept.sum())
        self._bound = max(self._bound, dual_bound(objective, Z, G, subgradient))
        best = self.best
        if self.F <= best.F:
            best = Reached(Z, self.F, numerical_rank(kept), math.inf)
        self.best = best._replace(gap=relative_gap(best.F, self._bound))
        self._idle = self._idle + 1 if self.best.gap > _PROGRESS * before else 0
        wait = min(self._wait(k - self.looked_at, before), max(_SOON, int(_PATIENCE * k)))
        self.next_look = min(self._last, k + (wait if k else _FIRST_LOOK))
        self.looked_at = k
        self._gaps.append((k, self.best.gap))

    @property
    def is_slow(self) -> bool:
        """Whether the gap has hardly fallen in the second half of many iterations."""
        k, gap = self._gaps[-1]
        earlier = [before for i, before in self._gaps if 0 < i <= k / 2]
        return k >= _MANY and bool(earlier) and gap > _HARDLY * earlier[-1]

    @property
    def satisfied(self) -> bool:
        """Whether the gap is small enough, nothing more is to be seen, or it took too long."""
        blind = self._stop.until_blind and self._idle >= _BLIND_AFTER
        return self.best.gap <= self._stop.tol or blind or self.looked_at >= self._last

    def _wait(self, since: int, gap_before: float) -> int:
        """Return after how many iterations the goal is reached if the gap goes on to fall."""
        gap, tol = self.best.gap, self._stop.tol
        if not tol < gap < gap_before < math.inf or tol == 0:
            return _SOON
        speed = math.log(gap_before / gap) / since
        return math.ceil(math.log(gap / tol) / speed)


# §§ main admm


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
