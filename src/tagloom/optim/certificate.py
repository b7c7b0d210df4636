"""How far M can be from optimal, proved without knowing the optimum."""

import numpy as np

from tagloom.optim.arrays import Matrix, inner
from tagloom.optim.nuclear import singular_values
from tagloom.optim.objective import Objective


def dual_bound(objective: Objective, M: Matrix, G: Matrix) -> float:
    r"""Return a lower bound on min F, from M and G, the gradient of f at M.

    Write f(M) = f~(M) + rho/2 ||M||_F^2. The quadratic f~ is 1/2 ||K(M) - y||^2 for some linear K
    (the weighted products, the roots of the Laplacian terms) and some y with ||y||^2 = 2 f(0). With
    h(M) = lambda ||M||_* + rho/2 ||M||_F^2, Fenchel's inequality gives for every theta

        min F >= -1/2 ||theta||^2 - <theta, y> - h*(-K'theta).

    Along the ray theta = s (K(M) - y) all of it is at hand: with G~ = G - rho M and
    a = <M, G_0> + 2 f(0),

        D(s) = -s^2 f~(M) + s a - h*(s G~),    h*(Z) = sum_i (sigma_i(Z) - lambda)_+^2 / (2 rho),

    where for rho = 0 h* is 0 if ||Z||_2 <= lambda and infinite otherwise. Every s >= 0 gives a
    valid bound; the best one is returned. At the optimum s = 1 closes the gap. Without ridge and
    without nuclear norm only s = 0 is allowed and the bound is 0: true, and useless.
    """
    smooth = objective.smooth_value_from(M, G) - objective.ridge / 2 * inner(M, M)
    linear = inner(M, objective.gradient_at_zero) + 2 * objective.smooth_value_at_zero
    G_without_ridge = G - G.dtype.type(objective.ridge) * M if objective.ridge else G
    sigma = singular_values(G_without_ridge)
    if objective.ridge == 0:
        s = _best_scale_on_interval(smooth, linear, objective.lam, sigma.max(initial=0.0))
        return s * (linear - s * smooth)
    return _best_smoothed_bound(smooth, linear, objective.lam, objective.ridge, sigma)


def _best_scale_on_interval(smooth: float, linear: float, lam: float, norm: float) -> float:
    """Return the s in [0, lambda / ||G||_2] that maximises s a - s^2 f."""
    unconstrained = linear / (2 * smooth) if smooth > 0 else np.inf
    largest = lam / norm if norm > 0 else np.inf
    best = min(unconstrained, largest)
    return max(0.0, best) if np.isfinite(best) else 0.0


def _best_smoothed_bound(
    smooth: float, linear: float, lam: float, rho: float, sigma: Matrix
) -> float:
    """Return max_s of the concave D(s) = s a - s^2 f~ - sum_i (s sigma_i - lambda)_+^2 / (2 rho).

    D is a parabola between the points s = lambda / sigma_i. Where k singular values are active it
    peaks at s_k = (a + lambda S_k / rho) / (2 f~ + Q_k / rho), with S_k and Q_k the sums of the k
    largest and of their squares. One of these peaks is the maximum: D is evaluated at all of them.
    """
    sums = np.concatenate([[0.0], np.cumsum(sigma)])
    squares = np.concatenate([[0.0], np.cumsum(sigma**2)])
    curvature = 2 * smooth + squares / rho
    numerator = linear + lam * sums / rho
    peaks = np.divide(numerator, curvature, out=np.zeros_like(sums), where=curvature > 0)
    s = np.clip(peaks, 0.0, None)
    excess = np.clip(np.outer(s, sigma) - lam, 0.0, None)
    bound = s * linear - s**2 * smooth - (excess**2).sum(axis=1) / (2 * rho)
    return float(bound.max())


def relative_gap(F: float, bound: float) -> float:
    """Return (F - bound) / F, at least 0; F is never negative."""
    return max(0.0, F - bound) / F if F > 0 else 0.0
