"""Keeps a solver's history and asks the callback whether to go on."""

import math
import time

from tagloom.optim.arrays import Matrix
from tagloom.optim.solution import Callback, Iteration


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
