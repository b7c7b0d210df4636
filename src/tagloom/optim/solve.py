"""Choose the solver."""

from tagloom.optim.apg import solve_apg
from tagloom.optim.arrays import Matrix
from tagloom.optim.conjugate import solve_conjugate
from tagloom.optim.objective import Objective
from tagloom.optim.paper import solve_as_in_paper
from tagloom.optim.solution import Callback, Solution

SOLVERS = ("apg", "paper")


def solve(
    objective: Objective,
    solver: str = "apg",
    *,
    start: Matrix | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> Solution:
    """Minimise the objective with the solver of that name.

    "apg" is the certified accelerated proximal gradient; where lambda = 0 there is no proximal map
    to take and conjugate gradients do the same job sooner. "paper" is Algorithm 2 to the letter.
    """
    chosen = {
        "apg": solve_apg if objective.lam > 0 else solve_conjugate,
        "paper": solve_as_in_paper,
    }
    return chosen[solver](objective, start=start, tol=tol, max_iter=max_iter, callback=callback)
