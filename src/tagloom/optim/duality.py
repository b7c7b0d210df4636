"""How far M can be from optimal, proved without knowing the optimum."""

import math

import numpy as np

from tagloom.optim.objective import Objective
from tagloom.optim.penalties import Matrix, clip, inner, numerical_rank, spectral_norm

# A relative gap below which the bound by curvature is left alone.
_PROVES_SOMETHING = 1e-2


def dual_bound(objective: Objective, M: Matrix, G: Matrix, Z: Matrix | None = None) -> float:
    """Return a lower bound on min F, from M and G, the gradient of f at M.

    Two bounds are known. Z is a subgradient of lambda ||.||_* at M, such as a proximal step leaves
    behind; without it the one nearest to -G is computed. Once the curvature proves something, it
    will prove the rest sooner than the other bound, which then is not worth its eigenvalues.
    """
    if Z is None:
        Z = nearest_subgradient(M, G, objective.lam)
    by_curvature = curvature_bound(objective, M, G, Z)
    F_at_least = objective.smooth_value_from(M, G) + inner(Z, M)
    if F_at_least - by_curvature <= _PROVES_SOMETHING * F_at_least:
        return by_curvature
    return max(by_curvature, scaled_bound(objective, M, G))


def scaled_bound(objective: Objective, M: Matrix, G: Matrix) -> float:
    """Bound min F by scaling the residual until it is feasible for the dual.

    The quadratic f is 1/2 ||K(M) - y||^2 for some linear K (the weighted products, the roots of
    the penalties) and some y with ||y||^2 = 2 f(0). Fenchel's inequality gives for every theta with
    ||K'theta||_2 <= lambda

        min F >= -1/2 ||theta||^2 - <theta, y>.

    For theta = s (K(M) - y) it reads s a - s^2 f(M) with a = <M, G_0> + 2 f(0), where s may go up
    to lambda / ||G||_2. Without nuclear norm only s = 0 is allowed: true, and useless.
    """
    smooth = objective.smooth_value_from(M, G)
    linear = inner(M, objective.gradient_at_zero) + 2 * objective.smooth_value_at_zero
    norm = spectral_norm(G)
    best = linear / (2 * smooth) if smooth > 0 else math.inf
    largest = objective.lam / norm if norm > 0 else math.inf
    s = max(0.0, min(best, largest))
    return s * (linear - s * smooth) if math.isfinite(s) else 0.0


def curvature_bound(objective: Objective, M: Matrix, G: Matrix, Z: Matrix) -> float:
    """Bound min F by the curvature that it has for certain.

    Write f = f_1 + 1/2 <M, AM> with f_1 convex and A positive definite, `objective.strong_part`.
    The dual of lambda ||M||_* + 1/2 <M, AM> at -G_1, with G_1 the gradient of f_1 at M, is at most
    1/2 <B, A^-1 B> for B = -G_1 - Z and every Z with ||Z||_2 <= lambda. That leaves

        min F >= f(M) + <Z, M> - 1/2 <R, A^-1 R>,    R = G + Z.

    For a subgradient, <Z, M> = lambda ||M||_* and the gap is 1/2 <R, A^-1 R>: quadratic in how far
    M is from stationary, where `scaled_bound` is linear. Without ridge and graph, and with labels
    that are not all known, A is 0 and there is no such bound: minus infinity.
    """
    root = objective.strong_part
    if root is None:
        return -math.inf
    scaled = root @ (G + Z)
    missed = inner(scaled, scaled) / 2
    return objective.smooth_value_from(M, G) + inner(Z, M) - missed


def nearest_subgradient(M: Matrix, G: Matrix, lam: float) -> Matrix:
    """Return the subgradient of lambda ||.||_* at M that is nearest to -G.

    With M = U S V' of full rank r in its factors, the subgradients are lambda UV' + W, where
    U'W = WV = 0 and ||W||_2 <= lambda: W is what -G has outside of both spaces, clipped.
    """
    if not M.any():
        return clip(-G, lam)
    U, sigma, Vt = np.linalg.svd(M, full_matrices=False)
    rank = numerical_rank(sigma)
    U, Vt = U[:, :rank], Vt[:rank]
    outside = -(G - U @ (U.T @ G))
    outside -= (outside @ Vt.T) @ Vt
    return np.asarray(lam * (U @ Vt) + clip(outside, lam), dtype=G.dtype)


def relative_gap(F: float, bound: float) -> float:
    """Return (F - bound) / F, at least 0.

    F cannot be negative: where rounding has made it so, nothing is proved.
    """
    if F > 0:
        return max(0.0, F - bound) / F
    return 0.0 if F == 0 and bound >= 0 else math.inf
