"""What solvers share: stopping rule, record of a run and mixed precision."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.linalg import Matrix, nuclear_norm
from tagloom.optim.objective import Objective, relative_gap, smooth_gap
from tagloom.validation import largest_feature

# Problems with more multiplications per product are first solved in single precision.
_LARGE = 1 << 27
# Sums of squares outside of [_LEAST, 1 / _LEAST] are too close to the limits of single precision.
_LEAST = 1e-28
# The smallest gap that single precision resolves.
_SINGLE_TOL = 5e-5
# Where M will be rounded to single precision, the gap is first brought below this share of tol.
_ROOM_TO_ROUND = 0.9


class Iteration(NamedTuple):
    """One line of a solver's history."""

    iteration: int
    objective: float
    """F(M), the full objective; NaN where it was not computed."""
    gap: float
    """Relative distance to the optimum (objective - lower bound) / objective, in the precision of
    the iteration; NaN where it was not computed."""
    rank: int
    """Rank of M; -1 where it was not computed (conjugate gradients)."""
    step: float
    """Step size: the reciprocal of the Lipschitz estimate, or of sigma in "admm"."""
    seconds: float
    """Time since the start of the solver."""


Callback = Callable[[Iteration, Matrix], object]
"""Called after every iteration with its record and M; a true result stops the solver."""


@dataclass(frozen=True)
class Solution:
    """The minimiser that a solver found, with a certificate of its quality."""

    M: Matrix
    objective: float
    """F(M), computed in double precision like the gap."""
    gap: float
    """Proved relative distance to the optimum, or the relative gradient norm where no bound exists
    (neither nuclear norm nor ridge); NaN if the solver does not certify."""
    rank: int
    converged: bool
    history: list[Iteration]
    stopped: bool = False
    """Whether the callback has stopped the solver."""


class Recorder:
    """Collects the history of a solver and asks the callback whether to go on."""

    def __init__(self, callback: Callback | None) -> None:
        self.history: list[Iteration] = []
        self.stopped = False
        self._callback = callback
        self._start = time.perf_counter()

    def add(
        self, M: Matrix, *, objective: float, rank: int, step: float, gap: float = math.nan
    ) -> None:
        """Record an iteration; `stopped` becomes true if the callback asks for it."""
        seconds = time.perf_counter() - self._start
        line = Iteration(len(self.history) + 1, objective, gap, rank, step, seconds)
        self.history.append(line)
        if self._callback is not None and self._callback(line, M):
            self.stopped = True


class DualPoint(NamedTuple):
    """Where the lower bound is tight: near the result, which has low rank, but not the same."""

    M: Matrix
    curvature: float
    """<D, HD> for the difference D between the result and M."""


class WarmStart(NamedTuple):
    """What a run in single precision passes on to the run in double precision."""

    scale: float
    """The scale of the steps: the Lipschitz estimate, or sigma in "admm"."""
    subgradient: Matrix | None = None
    """A subgradient of lambda ||.||_*, where the solver has one."""
    point: DualPoint | None = None
    """Where to compute the lower bound, if not at the starting point."""


class Start(NamedTuple):
    """Where a run starts: at M, with what an earlier run has passed on."""

    M: Matrix
    warm_start: WarmStart | None = None


class StoppingRule(NamedTuple):
    """When a run stops: at the tolerance, at the last iteration, or at stagnation."""

    tol: float
    max_iter: int
    at_stagnation: bool
    """Whether to stop when progress is lost in the rounding of single precision."""


class RunResult(NamedTuple):
    """Where a run ended, and the gap that is proved there."""

    M: Matrix
    F: float
    rank: int
    gap: float
    warm_start: WarmStart | None = None
    converged: bool = False
    """Whether a rule of the solver's own was met, apart from the gap."""


Run = Callable[[Objective, Start, StoppingRule, Recorder], RunResult]
"""(objective, starting point, stopping rule, recorder) -> where it ended."""


@dataclass(frozen=True)
class Solver:
    """A way to minimise an objective."""

    run: Run
    mixed_precision: bool = True
    """Whether large problems in double precision are first solved in single precision."""

    def solve(
        self,
        objective: Objective,
        *,
        start: Matrix | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        callback: Callback | None = None,
    ) -> Solution:
        """Minimise the objective.

        Single precision costs half as much and is used for large problems until it stagnates. The
        last iterations, and with them the objective and the certificate, are in double precision
        whatever the precision of X: sums in float32 can be off by more than the gap. M is returned
        in the precision of X, and the certificate is that of the M returned.
        """
        _refuse_out_of_range(objective)
        M, warm_start = _first_M(objective, start), None
        recorder = Recorder(callback)
        if self.mixed_precision and max_iter > 1 and _single_pays_off(objective):
            rule = StoppingRule(max(0.9 * tol, _SINGLE_TOL), max_iter - 1, True)
            in_single = objective.in_single_precision()
            with _divergence_explained(objective):
                single = self.run(in_single, Start(M.astype(np.float32)), rule, recorder)
            if math.isfinite(single.F):
                M, warm_start = single.M.astype(np.float64), single.warm_start
            if recorder.stopped:
                end = RunResult(M, objective.value(M), single.rank, math.inf)
                return _solution(objective, end, tol, recorder)
        room = _ROOM_TO_ROUND if _is_rounded(objective) else 1.0
        rule = StoppingRule(room * tol, max_iter, False)
        with _divergence_explained(objective):
            end = self.run(objective, Start(M, warm_start), rule, recorder)
        return _solution(objective, end, tol, recorder)


def _solution(objective: Objective, end: RunResult, tol: float, recorder: Recorder) -> Solution:
    """Round M to the precision of X, and state objective and gap of the rounded M."""
    M, F, gap = end.M, end.F, end.gap
    if _is_rounded(objective):
        M = M.astype(np.float32)
    exact = M.astype(objective.dtype)
    if not np.array_equal(exact, end.M):
        G = objective.gradient(exact)
        F = objective.smooth_value_from(exact, G) + objective.lam * nuclear_norm(exact)
        if objective.lam == 0:
            gap = smooth_gap(objective, exact, G)
        elif gap >= 0:  # the lower bound on the optimum stays the same
            gap = relative_gap(F, (1 - gap) * end.F)
    converged = end.converged or gap <= tol
    return Solution(M, F, gap, end.rank, converged, recorder.history, recorder.stopped)


def _is_rounded(objective: Objective) -> bool:
    """Say whether M is wanted in less than the precision of the objective."""
    return bool(objective.dtype == np.float64 and objective.loss.stored == np.float32)


def _refuse_out_of_range(objective: Objective) -> None:
    """Refuse features whose products overflow or underflow in the precision of X."""
    G_0 = objective.gradient_at_zero
    curvature, dtype = objective.loss.curvature, objective.loss.stored
    largest = curvature.largest
    with np.errstate(over="ignore"):
        square = dtype.type(largest) ** 2 * dtype.type(curvature.n_items)
    within = np.isfinite(square) and largest <= largest_feature(dtype)
    if not (np.isfinite(G_0).all() and within):
        raise InvalidInputError(
            f"The features are too large for {dtype}: the largest is {largest:.3g}, and products "
            "of squares overflow. Scale them, for example by sklearn.preprocessing.StandardScaler."
        )
    if largest > 0 and square < np.finfo(dtype).tiny:
        raise InvalidInputError(
            f"The features are too small for {dtype}: the largest is {largest:.3g}, and sums of "
            "squares vanish. Scale them, for example by sklearn.preprocessing.StandardScaler."
        )


@contextmanager
def _divergence_explained(objective: Objective) -> Iterator[None]:
    """Explain the errors of decompositions whose matrices have overflowed."""
    try:
        yield
    except (np.linalg.LinAlgError, ZeroDivisionError):
        raise InvalidInputError(
            "The solver has overflowed: the features are of too different scales (the largest is "
            f"{objective.loss.curvature.largest:.3g}). Scale them, for example by "
            "sklearn.preprocessing.StandardScaler."
        ) from None


def _first_M(objective: Objective, start: Matrix | None) -> Matrix:
    if start is None:
        return objective.zero()
    if objective.couples_labels:
        return start
    # Nothing would lead a label without known entries back to 0.
    return np.where(objective.loss.curvature.weight > 0, start, start.dtype.type(0))


def _single_pays_off(objective: Objective) -> bool:
    """Say whether products are large, and their squares within the range of single precision.

    Conjugate gradients, for lambda = 0, stay in double precision.
    """
    if objective.dtype != np.float64 or objective.lam == 0:
        return False
    curvature = objective.loss.curvature
    square = curvature.largest**2 * curvature.n_items
    large = math.prod((curvature.n_items, *objective.shape)) > _LARGE
    return large and _LEAST < square < 1 / _LEAST
