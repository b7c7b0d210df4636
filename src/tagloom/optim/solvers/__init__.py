"""Choose the solver."""

from typing import Any

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.optim.objective import Objective
from tagloom.optim.penalties import Matrix
from tagloom.optim.solvers.admm import run_admm
from tagloom.optim.solvers.apg import run_apg
from tagloom.optim.solvers.base import Callback, Solution, solve_in_two_precisions
from tagloom.optim.solvers.cg import solve_conjugate
from tagloom.optim.solvers.paper import solve_as_in_paper

SOLVERS = ("admm", "apg", "paper")


def solve(
    objective: Objective,
    solver: str = "admm",
    *,
    start: Matrix | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> Solution:
    """Minimise the objective with the solver of that name.

    "admm" and "apg" stop at a certificate: the alternating direction method of multipliers and
    accelerated proximal gradients. Where lambda = 0 there is no proximal map to take and conjugate
    gradients do the same job sooner. "paper" is Algorithm 2 to the letter.
    """
    _refuse_out_of_range(objective)
    if start is not None and not objective.couples_labels:
        # Nothing would lead a label of which nothing is known back to 0.
        start = np.where(objective.loss.spread.weight > 0, start, start.dtype.type(0))
    how: dict[str, Any] = {"start": start, "tol": tol, "max_iter": max_iter, "callback": callback}
    if solver == "paper":
        return solve_as_in_paper(objective, **how)
    if objective.lam == 0:
        return solve_conjugate(objective, **how)
    run = {"admm": run_admm, "apg": run_apg}[solver]
    return solve_in_two_precisions(run, objective, **how)


def _refuse_out_of_range(objective: Objective) -> None:
    """Refuse features whose products cannot be held in the precision of the objective."""
    G_0 = objective.gradient_at_zero
    spread, dtype = objective.loss.spread, objective.dtype
    largest = spread.largest
    with np.errstate(over="ignore"):
        square = dtype.type(largest) ** 2 * dtype.type(spread.n_items)
    if not (np.isfinite(G_0).all() and np.isfinite(square)):
        raise InvalidInputError(
            f"The features are too large for {dtype}: the largest is {largest:.3g}, and sums of "
            "squares overflow. Scale them, for example by sklearn.preprocessing.StandardScaler."
        )
    if largest > 0 and square < np.finfo(dtype).tiny:
        raise InvalidInputError(
            f"The features are too small for {dtype}: the largest is {largest:.3g}, and sums of "
            "squares vanish. Scale them, for example by sklearn.preprocessing.StandardScaler."
        )
