"""What a solver returns, and what it tells while it works."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tagloom.optim.arrays import Matrix


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
