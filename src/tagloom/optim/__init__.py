"""The objective of the paper, term by term, and the solvers that minimise it.

A solver asks the `Objective` for the gradient and value of its smooth part and for the proximal map
of the nuclear norm. Nothing else is known to it.
"""

from tagloom.optim.blocks import Part
from tagloom.optim.duality import dual_bound
from tagloom.optim.loss import Loss, MaskedSquaredLoss, Spread
from tagloom.optim.objective import Objective
from tagloom.optim.penalties import InstanceLaplacian, LabelLaplacian, Ridge
from tagloom.optim.rows import LossSums, ProductSums, Summing
from tagloom.optim.solvers import SOLVERS, solve
from tagloom.optim.solvers.base import Callback, Iteration, Solution

__all__ = [
    "SOLVERS",
    "Callback",
    "InstanceLaplacian",
    "Iteration",
    "LabelLaplacian",
    "Loss",
    "LossSums",
    "MaskedSquaredLoss",
    "Objective",
    "Part",
    "ProductSums",
    "Ridge",
    "Solution",
    "Spread",
    "Summing",
    "dual_bound",
    "solve",
]
