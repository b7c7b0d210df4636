"""The alternating direction method of multipliers (ADMM): few passes over the rows.

See Boyd, Parikh, Chu, Peleato and Eckstein (2011).
"""

import math
from functools import cached_property

import numpy as np

from tagloom.linalg import (
    Matrix,
    clip_singular_values,
    conjugate_gradients,
    inner,
    numerical_rank,
    singular_values,
    threshold_singular_values,
)
from tagloom.optim.objective import Objective, dual_bound, nearest_subgradient, relative_gap
from tagloom.optim.solvers.apg import run_apg
from tagloom.optim.solvers.base import (
    DualPoint,
    Recorder,
    RunResult,
    Start,
    StoppingRule,
    WarmStart,
)
from tagloom.optim.solvers.cg import run_cg

# Over-relaxation: it saves about a third of the iterations.
_RELAXATION = 1.5
# The linear system for M is solved until its residual has fallen to this share, or for this many
# products: the next iteration continues from there.
_RESIDUAL = 0.7
_MAX_PRODUCTS = 8
# (ratio, other ratio, factor): sigma grows by the factor where ||M - Z|| exceeds the first ratio
# times ||Z - Z_previous||, and shrinks where that exceeds the other ratio times ||M - Z||. After
# the first iterations it rarely does: a sigma that keeps changing prevents convergence.
_UNBALANCED = ((100.0, 100.0, 16.0), (2.0, 5.0, 2.0))
_BALANCE_EVERY = 30
# The gradient is computed anew after this many iterations.
_REFRESH_EVERY = 30
# <D, HD> of single precision serves in double up to this share of F: it is right to 1e-5 of itself.
_SMALL_CURVATURE = 1e-3
# Beyond this many times the first sigma there is nothing but rounding.
_SIGMA_RANGE = 1e6
# Curvatures below this share of the largest are rounding, or as good as none.
_NO_CURVATURE = 1e-6
# A check costs the largest singular value of a gradient: it is made when the gap may be small.
_FIRST_CHECK = 3
_CHECK_SOON = 1
# However slow the convergence, the next check comes after this share of the iterations so far.
_PATIENCE = 0.3
# The gap stagnates if this many iterations have not brought it below this share of the least.
_STAGNANT = 6
_PROGRESS = 0.9
# After this many iterations, the second half of them should have brought the gap below this share.
_MANY_ITERATIONS = 60
_SLOW = 0.3


def run_admm(
    objective: Objective, start: Start, rule: StoppingRule, recorder: Recorder
) -> RunResult:
    """Iterate until the gap is at most `tol` or the recorder holds `max_iter` iterations.

    F = f(M) + lambda ||Z||_* with M = Z. In turns, with sigma U the multiplier of M = Z,

        (H + sigma I) M = -G_0 + sigma (Z - U)            by preconditioned conjugate gradients,
        Z = prox(M^ + U),  M^ = 1.5 M - 0.5 Z_previous    singular value threshold lambda / sigma,
        U = M^ + U - Z.

    The result is Z, of low rank; the lower bound is taken at M, see `ConvergenceMonitor`. sigma is
    adapted to keep ||M - Z|| and ||Z - Z_previous|| balanced. Conjugate gradients continue from the
    previous M and need a single product with H where the preconditioner is good, that is, where a
    label is known for more rows than there are features: an iteration is then one pass over the
    rows and one threshold, as for proximal gradients, which mostly need several times as many.

    Where labels differ so much in weight, or features in scale, that no single sigma fits them all,
    ADMM converges slowly; then accelerated proximal gradients continue from the best point.
    """
    if objective.lam == 0:
        return run_cg(objective, start, rule, recorder)
    preconditioner = Preconditioner(objective)
    warm_start = start.warm_start or WarmStart(preconditioner.typical_curvature)
    state = _State(objective, start.M, warm_start)
    monitor = ConvergenceMonitor(objective, preconditioner, rule, len(recorder.history))
    k = 0
    monitor.prove(0, state)
    if monitor.finished:
        _record(recorder, monitor, state, 0)
    while not (monitor.finished or recorder.stopped):
        k += 1
        _solve_for_M(objective, preconditioner, state)
        balance = _threshold(objective, state)
        if k % _REFRESH_EVERY == 0:
            state.refresh(objective)
        if k >= monitor.next_check:
            monitor.check(k, state)
        _record(recorder, monitor, state, k)
        if k <= _BALANCE_EVERY or k % _BALANCE_EVERY == 0:
            state.rescale(balance)
        if monitor.is_slow and not recorder.stopped:
            monitor.prove(k, state)
            return run_apg(objective, Start(monitor.best.M), rule, recorder)
    if monitor.last_proof < k:  # stopped by the callback
        monitor.prove(k, state)
    return monitor.best


class _State:
    """Both copies of M, the multiplier between them, and the gradient at the first."""

    def __init__(self, objective: Objective, start: Matrix, warm_start: WarmStart) -> None:
        self.Z = start
        point = warm_start.point or DualPoint(start, 0.0)
        self.M = point.M.astype(start.dtype, copy=False)
        self.curvature: float | None = point.curvature
        """<D, HD> for D = Z - M; None where it is not known."""
        self.G = objective.gradient(self.M) if self.M.any() else objective.gradient_at_zero
        self.is_fresh = True
        """Whether G has been computed at M, rather than updated with M."""
        self.sigma = self._first_sigma = warm_start.scale
        # At the optimum the multiplier sigma U is the subgradient -G of lambda ||.||_*.
        if warm_start.subgradient is None:
            multiplier = nearest_subgradient(start, self.G, objective.lam)
        else:
            given = warm_start.subgradient.astype(start.dtype)
            multiplier = clip_singular_values(given, objective.lam)
        self.U = multiplier / start.dtype.type(self.sigma)
        self.sigma_Z = singular_values(start)
        """The singular values of Z."""

    def refresh(self, objective: Objective) -> None:
        """Compute G anew: many updates accumulate rounding errors."""
        if not self.is_fresh:
            self.G, self.is_fresh = objective.gradient(self.M), True

    def rescale(self, factor: float) -> None:
        """Change sigma, within limits; the multiplier sigma U stays."""
        if not 1 / _SIGMA_RANGE <= self.sigma * factor / self._first_sigma <= _SIGMA_RANGE:
            return
        self.sigma *= factor
        self.U = self.U / self.U.dtype.type(factor)

    @property
    def subgradient(self) -> Matrix:
        """Sigma U, a subgradient of lambda ||.||_* at Z."""
        return self.U.dtype.type(self.sigma) * self.U


def _solve_for_M(objective: Objective, preconditioner: "Preconditioner", state: _State) -> None:
    """Move M towards the solution of (H + sigma I) M = -G_0 + sigma (Z - U)."""
    sigma = state.M.dtype.type(state.sigma)
    R = -(state.G + sigma * (state.M - state.Z + state.U))
    enough = _RESIDUAL * math.sqrt(inner(R, R))
    steps = conjugate_gradients(
        objective.hessian_product,
        R,
        shift=sigma,
        precondition=lambda residual: preconditioner.solve(residual, state.sigma),
        dots=objective.dots,
    )
    for _ in range(_MAX_PRODUCTS):
        step = next(steps)
        state.M = state.M + step.length * step.direction
        state.G = state.G + step.length * step.product
        state.is_fresh = False
        if math.sqrt(inner(R, R)) <= enough:
            break


def _threshold(objective: Objective, state: _State) -> float:
    """Update Z and U; return the factor by which sigma should change."""
    relaxation = state.M.dtype.type(_RELAXATION)
    B = relaxation * state.M + (1 - relaxation) * state.Z + state.U
    Z, state.sigma_Z = threshold_singular_values(B, objective.lam / state.sigma)
    state.U = B - Z
    primal, dual = Z - state.M, Z - state.Z
    state.Z, state.curvature = Z, None
    return _balance(math.sqrt(inner(primal, primal)), math.sqrt(inner(dual, dual)))


def _balance(primal: float, dual: float) -> float:
    """Return the factor for sigma that brings ||M - Z|| and ||Z - Z_previous|| closer together."""
    for to_grow, to_shrink, factor in _UNBALANCED:
        if primal > to_grow * dual:
            return factor
        if dual > to_shrink * primal:
            return 1 / factor
    return 1.0


def _record(recorder: Recorder, monitor: "ConvergenceMonitor", state: _State, k: int) -> None:
    F, gap = (monitor.F, monitor.best.gap) if monitor.last_proof == k else (math.nan, math.nan)
    rank = numerical_rank(state.sigma_Z)
    recorder.add(state.Z, objective=F, gap=gap, rank=rank, step=1 / state.sigma)


class Preconditioner:
    """The inverse of sigma I + H_j, as if the known rows of each label j were drawn at random.

    Then H_j is about v_j S + A, with S the mean scatter of the rows, v_j the total weight of the
    label's known entries, and A ridge and item graph. With Q the eigenvectors of mean(v) S + A, and
    only the diagonals of Q'SQ and Q'AQ kept, the inverse is

        Q diag(1 / (v_j diag(Q'SQ) + diag(Q'AQ) + sigma)) Q':

    exact where all labels have equal weight and are known for the same rows, always positive
    definite, and as cheap for any other sigma. It is decomposed on first use.
    """

    def __init__(self, objective: Objective) -> None:
        # An approximation needs no more digits than the products that it is used with.
        self._S = objective.loss.curvature.scatter.astype(objective.dtype)
        self._A = objective.shared_curvature.astype(objective.dtype)
        self._weight = objective.scatter_weight.astype(objective.dtype)

    def solve(self, R: Matrix, sigma: float) -> Matrix:
        """Return about (sigma I + H)^-1 R."""
        _, Q = self._spectrum
        rotated = Q.T @ R
        rotated /= self._curvature + rotated.dtype.type(sigma)
        product: Matrix = Q @ rotated
        return product

    def curvature_along(self, D: Matrix) -> float:
        """Return about <D, HD>."""
        _, Q = self._spectrum
        rotated = Q.T @ D
        return inner(rotated * self._curvature, rotated)

    @property
    def typical_curvature(self) -> float:
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


class ConvergenceMonitor:
    """The best point and lower bound so far, the gap between them, and when to check again.

    F is small at Z, whose rank is low; the lower bound is tight at M. For M nearly solves
    (H + sigma I) M = -G_0 + sigma (Z_previous - U_previous), that is, with sigma U a subgradient,

        G_M = -sigma U - sigma (Z - Z_previous) + what the linear solver has left:

    the residuals at M are feasible for the dual problem up to the dual residual of ADMM, whereas
    the gradient at Z contains H (Z - M), which is larger by the condition number of H. G_M is known
    from the iteration itself. So a check costs no pass over the rows: with D = Z - M,

        F(Z) = f(M) + <G_M, D> + 1/2 <D, HD> + lambda ||Z||_*

    is known but for <D, HD>, which the preconditioner approximates to a few per cent. Only where
    that promises a gap within the tolerance is HD computed, and in double precision G_M anew.
    """

    def __init__(
        self,
        objective: Objective,
        preconditioner: Preconditioner,
        rule: StoppingRule,
        iterations_before: int,
    ) -> None:
        self._objective = objective
        self._preconditioner = preconditioner
        self._rule = rule
        self._last_iteration = max(1, rule.max_iter - iterations_before)
        self._bound = -math.inf
        self._least_gap, self._last_progress = math.inf, 0
        self._gaps: list[tuple[int, float]] = []
        self.last_check, self.next_check = 0, min(_FIRST_CHECK, self._last_iteration)
        self.last_proof = -1
        self.F = math.inf
        """F at the last proof."""
        self.best = RunResult(np.zeros((0, 0)), math.inf, 0, math.inf)

    def check(self, k: int, state: _State) -> None:
        """Estimate the gap after iteration k; prove it where the iterations may end."""
        D = state.Z - state.M
        F = self._F_without_curvature(state, D) + self._preconditioner.curvature_along(D) / 2
        bound = dual_bound(self._objective, state.M, state.G, state.subgradient)
        gap = relative_gap(F, max(bound, self._bound))
        if gap <= self._rule.tol:
            self.prove(k, state)
            gap = self.best.gap
        self._note(k, gap)
        if (self._stagnated or k >= self._last_iteration) and self.last_proof < k:
            self.prove(k, state)

    def _F_without_curvature(self, state: _State, D: Matrix) -> float:
        """Return F(Z) - 1/2 <D, HD>."""
        objective = self._objective
        smooth = objective.smooth_value_from(state.M, state.G) + inner(state.G, D)
        return smooth + objective.lam * float(state.sigma_Z.sum())

    def prove(self, k: int, state: _State) -> None:
        """Compute F at Z and the lower bound at M, the results of iteration k.

        A <D, HD> of at most a thousandth of F may be that of the run in single precision before.
        """
        objective, D = self._objective, state.Z - state.M
        if objective.dtype == np.float64:
            state.refresh(objective)
        without_curvature, curvature = self._F_without_curvature(state, D), state.curvature
        if curvature is None or not 0 <= curvature <= _SMALL_CURVATURE * without_curvature:
            state.curvature = curvature = inner(D, objective.hessian_product(D))
        self.F = without_curvature + curvature / 2
        bound = dual_bound(objective, state.M, state.G, state.subgradient)
        self._bound, best = max(self._bound, bound), self.best
        if self.F <= best.F:
            point = DualPoint(state.M, curvature)
            warm_start = WarmStart(state.sigma, state.subgradient, point)
            best = RunResult(state.Z, self.F, numerical_rank(state.sigma_Z), math.inf, warm_start)
        self.best = best._replace(gap=relative_gap(best.F, self._bound))
        self.last_proof = k

    def _note(self, k: int, gap: float) -> None:
        """Keep the gap, and decide when to check again."""
        expected = self._iterations_to_tol(k - self.last_check, gap)
        wait = min(expected, max(_CHECK_SOON, int(_PATIENCE * k)))
        self.next_check = min(self._last_iteration, k + wait)
        self.last_check = k
        if gap <= _PROGRESS * self._least_gap:
            self._last_progress = k
        self._least_gap = min(gap, self._least_gap)
        self._gaps.append((k, gap))

    def _iterations_to_tol(self, since: int, gap: float) -> int:
        """Extrapolate after how many iterations the gap reaches the tolerance."""
        tol, previous_gap = self._rule.tol, self._least_gap
        if not tol < gap < previous_gap < math.inf or tol == 0:
            return _CHECK_SOON
        speed = math.log(previous_gap / gap) / since
        return math.ceil(math.log(gap / tol) / speed)

    @property
    def is_slow(self) -> bool:
        """Whether the gap has hardly fallen in the second half of many iterations."""
        k, gap = self._gaps[-1] if self._gaps else (0, math.inf)
        earlier = [before for i, before in self._gaps if 0 < i <= k / 2]
        return k >= _MANY_ITERATIONS and bool(earlier) and gap > _SLOW * earlier[-1]

    @property
    def _stagnated(self) -> bool:
        since = self.last_check - self._last_progress
        return self._rule.at_stagnation and since >= max(_STAGNANT, _PATIENCE * self.last_check)

    @property
    def finished(self) -> bool:
        """Whether the stopping rule is met: tolerance, stagnation, or the last iteration."""
        tol_reached = self.best.gap <= self._rule.tol
        return tol_reached or self._stagnated or self.last_proof >= self._last_iteration
