"""What a solver returns, and what it tells while it works."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tagloom.optim.objective import Objective
from tagloom.optim.penalties import Matrix

# §§ main solution


class Iteration(NamedTuple):
    """One line of a solver's history."""

    iteration: int
    objective: float
    """F(M), the full objective; NaN where it was not computed."""
    gap: float
    """Relative distance to the optimum (objective - lower bound) / objective, in the precision of
    the iteration; NaN where it was not computed."""
    rank: int
    """Rank of M; -1 where it was not counted (conjugate gradients)."""
    step: float
    """Step size: the reciprocal of the Lipschitz estimate, or of sigma in "admm"."""
    seconds: float
    """Time since the start of the solver."""


Callback = Callable[[Iteration, Matrix], object]
"""Called after every iteration with its record and M; a true answer stops the solver."""


@dataclass(frozen=True)
class Solution:
    """The minimiser a solver found, with the proof of its quality."""

    M: Matrix
    objective: float
    gap: float
    """Proved relative distance to the optimum, or the relative gradient norm where no bound exists
    (neither nuclear norm nor ridge); NaN if the solver does not certify."""
    rank: int
    converged: bool
    history: list[Iteration]


# §§ recorder
# Keeps a solver's history and asks the callback whether to go on.


class Recorder:
    """Collects one `Iteration` after another."""

    def __init__(self, callback: Callback | None) -> None:
        self.history: list[Iteration] = []
        self.stopped = False
        self._callback = callback
        self._start = time.perf_counter()

    def add(
        self, M: Matrix, *, objective: float, rank: int, step: float, gap: float = math.nan
    ) -> None:
        """Note an iteration; `stopped` turns true if the callback wants no more."""
        seconds = time.perf_counter() - self._start
        line = Iteration(len(self.history) + 1, objective, gap, rank, step, seconds)
        self.history.append(line)
        if self._callback is not None and self._callback(line, M):
            self.stopped = True


# §§ precisions
# Single precision first, double precision to the end.


# Products of so many multiplications are worth doing in single precision first.
_LARGE = 1 << 27
# Sums of squares outside of [_LEAST, 1 / _LEAST] are too near to the limits of single precision.
_LEAST = 1e-28
# A gap that single precision can still show.
_SINGLE_TOL = 5e-5


class Handover(NamedTuple):
    """What spares the next run the search for its own."""

    scale: float
    """The scale of the steps."""
    subgradient: Matrix | None = None
    """A subgradient of lambda ||.||_*, where the run keeps one."""


class Reached(NamedTuple):
    """Where a run ended and what is proved there."""

    M: Matrix
    F: float
    rank: int
    gap: float
    handover: Handover | None = None


class Stop(NamedTuple):
    """When a run is to stop."""

    tol: float
    max_iter: int
    until_blind: bool
    """Also when there is no progress that rounding in single precision would not hide."""


Run = Callable[[Objective, Matrix, Handover | None, Stop, Recorder], Reached]
"""(objective, start, what a run before hands over, when to stop, recorder) -> where it ended."""


def solve_in_two_precisions(
    run: Run,
    objective: Objective,
    *,
    start: Matrix | None,
    tol: float,
    max_iter: int,
    callback: Callback | None,
) -> Solution:
    """Run in single precision as far as that can see, at half the cost, where X is of double.

    The end, and with it the certificate, is in the precision of X.
    """
    M, handover = objective.zero() if start is None else start, None
    recorder = Recorder(callback)
    if objective.dtype == np.float64 and max_iter > 1 and _single_is_worth_it(objective):
        stop = Stop(max(0.9 * tol, _SINGLE_TOL), max_iter - 1, True)
        single = run(objective.in_single_precision(), M.astype(np.float32), None, stop, recorder)
        if math.isfinite(single.F):
            M, handover = single.M.astype(np.float64), single.handover
    if recorder.stopped:
        return Solution(M, single.F, math.inf, single.rank, False, recorder.history)
    end = run(objective, M, handover, Stop(tol, max_iter, False), recorder)
    return Solution(end.M, end.F, end.gap, end.rank, end.gap <= tol, recorder.history)


def _single_is_worth_it(objective: Objective) -> bool:
    """Say whether products are large, and of numbers whose squares single precision can hold."""
    spread = objective.loss.spread
    square = spread.largest**2 * spread.n_items
    return math.prod((spread.n_items, *objective.shape)) > _LARGE and _LEAST < square < 1 / _LEAST
