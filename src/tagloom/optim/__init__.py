"""The paper's objective, term by term, and the solvers that minimise it.

A solver asks the `Objective` for the gradient and value of its smooth part, and for the weight of
the nuclear norm. It knows nothing else of the problem.
"""

from tagloom.optim.loss import (
    Curvature,
    InMemoryRows,
    Loss,
    LossSums,
    MaskedSquaredLoss,
    ProductSums,
    SparseRows,
    SummableRows,
)
from tagloom.optim.objective import (
    InstanceLaplacian,
    LabelLaplacian,
    Objective,
    Ridge,
    dual_bound,
)
from tagloom.optim.solvers import SOLVERS
from tagloom.optim.solvers.base import Callback, Iteration, Solution, Solver

__all__ = [
    "SOLVERS",
    "Callback",
    "Curvature",
    "InMemoryRows",
    "InstanceLaplacian",
    "Iteration",
    "LabelLaplacian",
    "Loss",
    "LossSums",
    "MaskedSquaredLoss",
    "Objective",
    "ProductSums",
    "Ridge",
    "Solution",
    "Solver",
    "SparseRows",
    "SummableRows",
    "dual_bound",
]
