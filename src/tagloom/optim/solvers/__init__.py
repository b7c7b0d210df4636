"""Solvers of `Objective`: ADMM, accelerated proximal gradient, and the paper's algorithm.

Where lambda = 0 there is no proximal map to take, and conjugate gradients replace the first two.
"""

from tagloom.optim.solvers.admm import run_admm
from tagloom.optim.solvers.apg import run_apg, run_paper
from tagloom.optim.solvers.base import Solver

SOLVERS = {
    "admm": Solver(run_admm),
    "apg": Solver(run_apg),
    "paper": Solver(run_paper, mixed_precision=False),
}
