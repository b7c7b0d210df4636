"""Solvers of `Objective`: ADMM, accelerated proximal gradient, conjugate gradients, the paper's."""

from typing import Any

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.linalg import Matrix
from tagloom.optim.objective import Objective
from tagloom.optim.solvers.admm import run_admm
from tagloom.optim.solvers.apg import run_apg
from tagloom.optim.solvers.base import Callback, Solution, solve_in_mixed_precision
from tagloom.optim.solvers.cg import solve_cg
from tagloom.optim.solvers.paper import solve_paper

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
    """Minimise the objective with the named solver.

    "admm" (the alternating direction method of multipliers) and "apg" (accelerated proximal
    gradient) stop at a certificate. Where lambda = 0, conjugate gradients replace both: there is no
    proximal map to take. "paper" is Algorithm 2 of the paper to the letter.
    """
    _refuse_out_of_range(objective)
    if start is not None and not objective.couples_labels:
        # Nothing would lead a label without known entries back to 0.
        start = np.where(objective.loss.curvature.weight > 0, start, start.dtype.type(0))
    how: dict[str, Any] = {"start": start, "tol": tol, "max_iter": max_iter, "callback": callback}
    if solver == "paper":
        return solve_paper(objective, **how)
    if objective.lam == 0:
        return solve_cg(objective, **how)
    run = {"admm": run_admm, "apg": run_apg}[solver]
    return solve_in_mixed_precision(run, objective, **how)


def _refuse_out_of_range(objective: Objective) -> None:
    """Refuse features whose products overflow or underflow in the precision of the objective."""
    G_0 = objective.gradient_at_zero
    curvature, dtype = objective.loss.curvature, objective.dtype
    largest = curvature.largest
    with np.errstate(over="ignore"):
        square = dtype.type(largest) ** 2 * dtype.type(curvature.n_items)
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
