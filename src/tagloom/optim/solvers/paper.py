"""Algorithm 2 (APG-Graph) of the paper, line by line: the baseline for the faster solvers."""

import math

from tagloom.linalg import Matrix, Thresholded, inner, threshold_by_svd
from tagloom.optim.objective import Objective
from tagloom.optim.solvers.base import Recorder, RunResult, Start, StoppingRule

_A = 1.0  # the initial mu
_RHO = 2.0  # the factor by which it grows


def run_paper(
    objective: Objective, start: Start, rule: StoppingRule, recorder: Recorder
) -> RunResult:
    """Minimise F as Algorithm 2 does, with mu read as the Lipschitz estimate.

    The paper calls mu the step size and lets it grow in the line search. A search that lengthens
    the steps until the quadratic bound holds would not end, so mu is taken as the reciprocal of the
    step size. Comments give the paper's line numbers. It stops when F decreases by less than the
    factor (1 - epsilon), which proves nothing about the distance to the optimum: `gap` is NaN.
    """
    M = M_before = start.M  # 1: M_1 = M_2
    theta = theta_before = 1.0
    mu = _A
    F = math.inf
    converged = False
    while not (converged or recorder.stopped) and len(recorder.history) < rule.max_iter:  # 3
        V = M + theta * (1 / theta_before - 1) * (M - M_before)  # 4
        G_V = objective.gradient(V)
        f_V = objective.smooth_value_from(V, G_V)
        new, sigma = _argmin_Q(objective, V, G_V, mu)  # 5
        f_new = objective.smooth_value(new)
        while f_new > _bound(new, V, f_V, G_V, mu):  # 6: F > Q, lambda ||M||_* on both sides
            mu *= _RHO  # 7
            new, sigma = _argmin_Q(objective, V, G_V, mu)  # 8
            f_new = objective.smooth_value(new)
        M, M_before = new, M
        theta, theta_before = (math.sqrt(theta**4 + 4 * theta**2) - theta**2) / 2, theta  # 10
        F, F_before = f_new + objective.lam * float(sigma.sum()), F
        recorder.add(M, objective=F, rank=len(sigma), step=1 / mu)
        converged = (1 - rule.tol) * F_before < F  # 3
    rank = recorder.history[-1].rank if recorder.history else 0
    return RunResult(M, F, rank, math.nan, converged=converged)


def _argmin_Q(objective: Objective, V: Matrix, G_V: Matrix, mu: float) -> Thresholded:
    """Return argmin_M of Q(M, V) = f(V) + <M - V, G_V> + mu/2 ||M - V||_F^2 + lambda ||M||_*."""
    return threshold_by_svd(V - G_V / mu, objective.lam / mu)


def _bound(M: Matrix, V: Matrix, f_V: float, G_V: Matrix, mu: float) -> float:
    """Return Q(M, V) - lambda ||M||_* plus a margin for the rounding of f.

    Near the optimum f and its bound agree to the last digits; without the margin, rounding would
    double mu for ever.
    """
    D = M - V
    rounding = 1e-12 if M.dtype == "float64" else 1e-5
    return f_V + inner(D, G_V) + mu / 2 * inner(D, D) + rounding * abs(f_V)
