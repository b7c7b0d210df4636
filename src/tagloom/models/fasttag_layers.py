"""FastTag's closed forms: tags enriched by tags, and predicted from features."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, pinvh

Floats = npt.NDArray[np.float64]

# Tags are written out in blocks of about this many entries.
_ENTRIES_AT_ONCE = 1 << 22


class Settings(NamedTuple):
    """The parameters of FastTag but for beta."""

    noise: float
    alpha: float
    n_layers: int
    ridge: float
    max_rounds: int
    tol: float


class Enrichment(NamedTuple):
    """One layer: tags y become By + b."""

    B: Floats
    b: Floats


class Features:
    """Centred features x_i, with (K + beta I)^-1 for their covariance K = 1/n sum_i x_i x_i'."""

    def __init__(self, X: npt.NDArray[Any], beta: float) -> None:
        X64 = X.astype(np.float64, copy=False)
        self.origin = X64.mean(axis=0)
        self.X = X64 - self.origin
        K = self.X.T @ self.X / len(X)
        K.flat[:: len(K) + 1] += beta
        self._solve = _positive_solver(K)

    def solve(self, right: Floats) -> Floats:
        """Return (K + beta I)^-1 times the right-hand side."""
        return np.asarray(self._solve(right))


class Moments(NamedTuple):
    """Averages over the items of which the closed forms are made."""

    mean: Floats
    """y^ = 1/n sum_i y_i."""
    S: Floats
    """1/n sum_i (y_i - y^)(y_i - y^)'."""
    squares: Floats
    """1/n sum_i y_ik^2 for each tag k."""
    C: Floats
    """1/n sum_i x_i (y_i - y^)', features x tags."""


def corrupted_moments(mean_square: Floats, S: Floats, noise: float) -> tuple[Floats, Floats]:
    r"""Return P and Q, the moments of tags that are blanked out, each with probability p.

    Blank-out noise turns y into y~ with y~_k = 0 with probability p and y_k otherwise, tag by tag.
    Its mean is (1-p) y, its variance p(1-p) y_k^2 for tag k, and different tags are independent.
    With y^ the mean of y over the items, and averaged over items and noise alike,

        P = avg (y - y^)(y~ - (1-p) y^)' = (1-p) S,
        Q = avg (y~ - (1-p) y^)(y~ - (1-p) y^)' = (1-p)^2 S + p (1-p) diag(avg y_k^2).
    """
    p = noise
    return (1 - p) * S, (1 - p) ** 2 * S + p * (1 - p) * np.diag(mean_square)


def fit_layers(features: Features, tags: sparse.csr_array, settings: Settings) -> Enrichment:
    """Return M' and the intercept of the last layer's prediction from features not yet centred."""
    layers: list[Enrichment] = []
    for _ in range(settings.n_layers):
        moments = _moments(features, tags, layers)
        reach = features.solve(moments.C)
        B = _enriching(moments, moments.C.T @ reach, settings)
        # b makes the mean of the enriched tags right: it minimises r over b.
        b = moments.mean - (1 - settings.noise) * (B @ moments.mean)
        layers.append(Enrichment(B, b))
    W = B @ reach.T
    return Enrichment(W, B @ moments.mean + b - W @ features.origin)


def _enriching(moments: Moments, H: Floats, settings: Settings) -> Floats:
    r"""Return B, found by turns with W; H = C'(K + beta I)^-1 C.

    With biases b, c minimised out the objective is

        J(B, W) = 1/n sum_i ||B (y_i - y^) - W x_i||^2 + beta ||W||^2 + alpha r(B) + rho ||B||^2,
        r(B) = 1/n sum_i E ||(y_i - y^) - B (y~_i - (1-p) y^)||^2 = tr(S - 2 B P' + B Q B').

    For given B the best W is B C'(K + beta I)^-1; for given W the best B solves
    B (alpha Q + S + rho I) = alpha P + W C, where W C = B H. With W at its best, J is
    tr(B (S - H) B') + alpha r(B) + rho ||B||^2. The start is the B that is best for r alone.
    """
    S, alpha = moments.S, settings.alpha
    P, Q = corrupted_moments(moments.squares, S, settings.noise)
    eye = np.eye(len(S))
    solve = _positive_solver(alpha * Q + S + settings.ridge * eye)
    curvature = S - H + alpha * Q + settings.ridge * eye

    def objective(B: Floats) -> float:
        return float(np.vdot(B @ curvature - 2 * alpha * P, B) + alpha * np.trace(S))

    B = _positive_solver(Q + settings.ridge * eye)(P).T
    value = objective(B)
    for _ in range(settings.max_rounds):
        B = solve((alpha * P + B @ H).T).T
        before, value = value, objective(B)
        if before - value <= settings.tol * abs(before):
            break
    return np.asarray(B)


def _moments(features: Features, tags: sparse.csr_array, layers: list[Enrichment]) -> Moments:
    n, n_tags = tags.shape
    total, second = np.zeros(n_tags), np.zeros((n_tags, n_tags))
    C = np.zeros((features.X.shape[1], n_tags))
    for rows, Y in _blocks(tags, layers):
        total += Y.sum(axis=0)
        second += Y.T @ Y
        C += features.X[rows].T @ Y
    mean = total / n
    second /= n
    # The features are centred: centring the tags as well would not change C.
    return Moments(mean, second - np.outer(mean, mean), np.diag(second).copy(), C / n)


def _blocks(tags: sparse.csr_array, layers: list[Enrichment]) -> Iterator[tuple[slice, Floats]]:
    """Yield the tags as the earlier layers leave them: y <- tanh(By + b), layer after layer."""
    step = max(1, _ENTRIES_AT_ONCE // max(1, tags.shape[1]))
    for start in range(0, tags.shape[0], step):
        rows = slice(start, min(start + step, tags.shape[0]))
        Y = tags[rows].toarray()
        for layer in layers:
            Y = np.tanh(Y @ layer.B.T + layer.b)
        yield rows, Y


def _positive_solver(S: Floats) -> Callable[[Floats], Floats]:
    """Return what multiplies by S^-1, or by the pseudo-inverse where S is singular to rounding."""
    try:
        return partial(cho_solve, cho_factor(S, lower=True))
    except LinAlgError:
        return partial(np.matmul, pinvh(S))
