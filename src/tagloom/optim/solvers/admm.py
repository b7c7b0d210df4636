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
from tagloom.optim.solvers.base import Recorder, RunResult, Start, StoppingRule, WarmStart, run_cg

# Over-relaxation: it saves about a third of the iterations.
_RELAXATION = 1.6
# The linear system for M is solved until its residual has fallen to this share, or for this many
# products: the next iteration continues from there.
_RESIDUAL = 0.5
_MAX_PRODUCTS = 8
# (ratio, factor): sigma changes by the factor where one residual exceeds ratio times the other.
# After the first iterations it rarely does: a sigma that keeps changing prevents convergence.
_UNBALANCED = ((100.0, 16.0), (3.0, 2.0))
_BALANCE_EVERY = 30
# Beyond this many times the first sigma there is nothing but rounding.
_SIGMA_RANGE = 1e6
# Curvatures below this share of the largest are rounding, or as good as none.
_NO_CURVATURE = 1e-6
# A convergence check costs one pass over the rows: it is made when the gap may have reached tol.
_FIRST_CHECK = 5
_CHECK_SOON = 2
# However slow the convergence, the next check comes after this share of the iterations so far.
_PATIENCE = 0.3
# The gap stagnates if this many checks have not brought it below this share of the one before.
_STAGNANT_CHECKS = 3
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
        Z = prox(M^ + U),  M^ = 1.6 M - 0.6 Z_previous    singular value threshold lambda / sigma,
        U = M^ + U - Z.

    sigma U is a subgradient of lambda ||.||_* at Z, which the certificate needs. sigma is adapted
    to keep ||M - Z|| and ||Z - Z_previous|| balanced. Conjugate gradients continue from the
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
    monitor, k = ConvergenceMonitor(objective, rule, len(recorder.history)), 0
    monitor.check(0, state.Z, state.G, state.sigma_Z, state.subgradient)
    if monitor.finished:
        _record(recorder, monitor, state, 0)
    while not (monitor.finished or recorder.stopped):
        k += 1
        _solve_for_M(objective, preconditioner, state)
        balance = _threshold(objective, state)
        if k >= monitor.next_check:
            # M continues from Z, whose gradient is exact: many updates accumulate rounding errors.
            state.M, state.G = state.Z, objective.gradient(state.Z)
            monitor.check(k, state.Z, state.G, state.sigma_Z, state.subgradient)
        _record(recorder, monitor, state, k)
        if k <= _BALANCE_EVERY or k % _BALANCE_EVERY == 0:
            state.rescale(balance)
        if monitor.is_slow and not recorder.stopped:
            return run_apg(objective, Start(monitor.best.M), rule, recorder)
    if monitor.last_check < k:  # stopped by the callback
        G = objective.gradient(state.Z)
        monitor.check(k, state.Z, G, state.sigma_Z, state.subgradient)
    return monitor.best._replace(warm_start=WarmStart(state.sigma, state.subgradient))


class _State:
    """Both copies of M, the multiplier between them, and the gradient at the first."""

    def __init__(self, objective: Objective, start: Matrix, warm_start: WarmStart) -> None:
        self.M = self.Z = start
        self.G = objective.gradient(start) if start.any() else objective.gradient_at_zero
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
        if math.sqrt(inner(R, R)) <= enough:
            break


def _threshold(objective: Objective, state: _State) -> float:
    """Update Z and U; return the factor by which sigma should change."""
    relaxation = state.M.dtype.type(_RELAXATION)
    B = relaxation * state.M + (1 - relaxation) * state.Z + state.U
    Z, state.sigma_Z = threshold_singular_values(B, objective.lam / state.sigma)
    state.U = B - Z
    primal, dual = Z - state.M, Z - state.Z
    state.Z = Z
    return _balance(math.sqrt(inner(primal, primal)), math.sqrt(inner(dual, dual)))


def _balance(primal: float, dual: float) -> float:
    """Return the factor for sigma that brings ||M - Z|| and ||Z - Z_previous|| closer together."""
    for ratio, factor in _UNBALANCED:
        if primal > ratio * dual:
            return factor
        if dual > ratio * primal:
            return 1 / factor
    return 1.0


def _record(recorder: Recorder, monitor: "ConvergenceMonitor", state: _State, k: int) -> None:
    F, gap = (monitor.F, monitor.best.gap) if monitor.last_check == k else (math.nan, math.nan)
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
    """The best point and lower bound so far, the gap between them, and when to check again."""

    def __init__(self, objective: Objective, rule: StoppingRule, iterations_before: int) -> None:
        self._objective = objective
        self._rule = rule
        self._last_iteration = max(1, rule.max_iter - iterations_before)
        self._bound, self._stagnant_checks = -math.inf, 0
        self._gaps: list[tuple[int, float]] = []
        self.last_check, self.next_check = 0, 0
        self.F = math.inf
        """F at the last check."""
        self.best = RunResult(np.zeros((0, 0)), math.inf, 0, math.inf)

    def check(self, k: int, Z: Matrix, G: Matrix, sigma_Z: Matrix, subgradient: Matrix) -> None:
        """Compute F and the gap at Z, the result of iteration k.

        G is the gradient of f at Z, `sigma_Z` the singular values of Z, and the subgradient is one
        of lambda ||.||_* at Z.
        """
        objective, previous_gap = self._objective, self.best.gap
        self.F = objective.smooth_value_from(Z, G) + objective.lam * float(sigma_Z.sum())
        self._bound = max(self._bound, dual_bound(objective, Z, G, subgradient))
        best = self.best
        if self.F <= best.F:
            best = RunResult(Z, self.F, numerical_rank(sigma_Z), math.inf)
        self.best = best._replace(gap=relative_gap(best.F, self._bound))
        stagnant = self.best.gap > _PROGRESS * previous_gap
        self._stagnant_checks = self._stagnant_checks + 1 if stagnant else 0
        expected = self._iterations_to_tol(k - self.last_check, previous_gap)
        wait = min(expected, max(_CHECK_SOON, int(_PATIENCE * k)))
        self.next_check = min(self._last_iteration, k + (wait if k else _FIRST_CHECK))
        self.last_check = k
        self._gaps.append((k, self.best.gap))

    def _iterations_to_tol(self, since: int, previous_gap: float) -> int:
        """Extrapolate after how many iterations the gap reaches the tolerance."""
        gap, tol = self.best.gap, self._rule.tol
        if not tol < gap < previous_gap < math.inf or tol == 0:
            return _CHECK_SOON
        speed = math.log(previous_gap / gap) / since
        return math.ceil(math.log(gap / tol) / speed)

    @property
    def is_slow(self) -> bool:
        """Whether the gap has hardly fallen in the second half of many iterations."""
        k, gap = self._gaps[-1]
        earlier = [before for i, before in self._gaps if 0 < i <= k / 2]
        return k >= _MANY_ITERATIONS and bool(earlier) and gap > _SLOW * earlier[-1]

    @property
    def finished(self) -> bool:
        """Whether the stopping rule is met: tolerance, stagnation, or the last iteration."""
        stagnated = self._rule.at_stagnation and self._stagnant_checks >= _STAGNANT_CHECKS
        tol_reached = self.best.gap <= self._rule.tol
        return tol_reached or stagnated or self.last_check >= self._last_iteration
