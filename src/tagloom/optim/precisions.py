"""Single precision first, double precision to the end."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tagloom.optim.arrays import Matrix
from tagloom.optim.objective import Objective
from tagloom.optim.recorder import Recorder
from tagloom.optim.solution import Callback, Solution

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
