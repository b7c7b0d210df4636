"""What all solvers share: their result, their history, and the start in single precision."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tagloom.linalg import Matrix
from tagloom.optim.objective import Objective

# Problems with more multiplications per product are first solved in single precision.
_LARGE = 1 << 27
# Sums of squares outside of [_LEAST, 1 / _LEAST] are too close to the limits of single precision.
_LEAST = 1e-28
# The smallest gap that single precision resolves.
_SINGLE_TOL = 5e-5


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
    gap: float
    """Proved relative distance to the optimum, or the relative gradient norm where no bound exists
    (neither nuclear norm nor ridge); NaN if the solver does not certify."""
    rank: int
    converged: bool
    history: list[Iteration]


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


class WarmStart(NamedTuple):
    """What a run in single precision passes on to the run in double precision."""

    scale: float
    """The scale of the steps: the Lipschitz estimate, or sigma in "admm"."""
    subgradient: Matrix | None = None
    """A subgradient of lambda ||.||_*, where the solver has one."""


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


Run = Callable[[Objective, Matrix, WarmStart | None, StoppingRule, Recorder], RunResult]
"""(objective, starting point, warm start, stopping rule, recorder) -> where it ended."""


def solve_in_mixed_precision(
    run: Run,
    objective: Objective,
    *,
    start: Matrix | None,
    tol: float,
    max_iter: int,
    callback: Callback | None,
) -> Solution:
    """Run a large problem in single precision until it stagnates, at half the cost, then in double.

    The last iterations, and with them the certificate, are in the precision of X.
    """
    M, warm_start = objective.zero() if start is None else start, None
    recorder = Recorder(callback)
    if objective.dtype == np.float64 and max_iter > 1 and _single_pays_off(objective):
        rule = StoppingRule(max(0.9 * tol, _SINGLE_TOL), max_iter - 1, True)
        single = run(objective.in_single_precision(), M.astype(np.float32), None, rule, recorder)
        if math.isfinite(single.F):
            M, warm_start = single.M.astype(np.float64), single.warm_start
    if recorder.stopped:
        return Solution(M, single.F, math.inf, single.rank, False, recorder.history)
    end = run(objective, M, warm_start, StoppingRule(tol, max_iter, False), recorder)
    return Solution(end.M, end.F, end.gap, end.rank, end.gap <= tol, recorder.history)


def _single_pays_off(objective: Objective) -> bool:
    """Say whether products are large, and their squares within the range of single precision."""
    curvature = objective.loss.curvature
    square = curvature.largest**2 * curvature.n_items
    large = math.prod((curvature.n_items, *objective.shape)) > _LARGE
    return large and _LEAST < square < 1 / _LEAST
