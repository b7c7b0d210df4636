"""Looks at a run from time to time: what is proved, and when to look again."""

import math

import numpy as np

from tagloom.optim.arrays import Matrix
from tagloom.optim.certificate import dual_bound, relative_gap
from tagloom.optim.nuclear import numerical_rank
from tagloom.optim.objective import Objective
from tagloom.optim.precisions import Reached, Stop

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
