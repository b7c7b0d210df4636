"""Synthetic problems of realistic size, spectrum of the features and rarity of the labels."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from tagloom.graph import check_weights, laplacian
from tagloom.labels import PartialLabels
from tagloom.optim import InstanceLaplacian, MaskedSquaredLoss, Objective

PRESENCES = "presences"
_ROWS_AT_ONCE = 20_000
_ENTRIES_AT_ONCE = 10_000_000
_RARITY = 0.015
_KEPT_PRESENCES = 0.5
_UNLISTED_WEIGHT = 0.3


class Sized(NamedTuple):
    """A problem: features, known labels, a graph."""

    X: np.ndarray
    known: PartialLabels
    graph: sparse.csr_array


def sized_problem(
    n: int, d: int, c: int, rate: float | str, seed: int = 0, dtype: type = np.float64
) -> Sized:
    """Return pictures in clusters, with features of decreasing variance and rare labels.

    A label is present for about the 1.5% of pictures that score highest in a low-rank model: as
    rare as the labels of Corel5k. The graph joins each picture to ten others of its cluster. `rate`
    is the share of presences and absences that are known, or "presences": half of the presences are
    listed, and unlisted labels count as absent with weight 0.3.
    """
    rng = np.random.default_rng(seed)
    n_clusters = max(1, n // 100)
    cluster = rng.integers(n_clusters, size=n)
    energy = np.arange(1, d + 1) ** -0.5
    X = rng.normal(size=(n_clusters, d))[cluster].astype(dtype)
    for rows in _slices(n):
        X[rows] += rng.normal(size=X[rows].shape)
    X *= energy
    X /= np.sqrt(np.mean(np.einsum("ij,ij->i", X, X)))
    parts = list(_entries(X, c, rate, rng))
    rows, columns, present = (np.concatenate(part) for part in zip(*parts, strict=True))
    unlisted = _UNLISTED_WEIGHT if rate == PRESENCES else 0.0
    known = PartialLabels.from_entries(
        rows, columns, present, shape=(n, c), unlisted_weight=unlisted
    )
    return Sized(X, known, _cluster_graph(cluster, rng))


def objective_of(problem: Sized) -> Objective:
    """Return the paper's objective with a weak nuclear norm and a graph."""
    loss = MaskedSquaredLoss.of(problem.X, problem.known, fit_intercept=True)
    L = laplacian(check_weights(problem.graph, len(problem.X), name="graph", nodes="items"))
    graph = InstanceLaplacian(0.01, problem.X, L)
    return Objective(loss, 0.01 * Objective(loss, 0.0).lam_max(), terms=[graph])


def _entries(
    X: np.ndarray, c: int, rate: float | str, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the rows, columns and states that are known, some rows at a time."""
    model = (rng.normal(size=(X.shape[1], 40)) @ rng.normal(size=(40, c))).astype(X.dtype)
    threshold = spread = None
    for rows in _slices(len(X), c):
        scores = X[rows] @ model
        if spread is None:
            spread = scores.std()
        scores += (0.3 * spread * rng.normal(size=scores.shape)).astype(X.dtype)
        if threshold is None:
            threshold = np.quantile(scores, 1 - _RARITY, axis=0)
        present = scores > threshold
        seen = rng.uniform(size=present.shape) < (_KEPT_PRESENCES if rate == PRESENCES else rate)
        where = np.nonzero(seen & present if rate == PRESENCES else seen)
        yield where[0] + rows.start, where[1], present[where]


def _slices(n: int, width: int = 1) -> Iterator[slice]:
    step = min(_ROWS_AT_ONCE, _ENTRIES_AT_ONCE // width)
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


def _cluster_graph(cluster: np.ndarray, rng: np.random.Generator) -> sparse.csr_array:
    """Join each item to the five that follow it in a random order of its cluster."""
    n = len(cluster)
    order = np.lexsort([rng.permutation(n), cluster])
    W = sparse.csr_array((n, n))
    for step in range(1, 6):
        first, second = order[:-step], order[step:]
        together = cluster[first] == cluster[second]
        edges = (first[together], second[together])
        W = W + sparse.csr_array((np.ones(together.sum()), edges), shape=(n, n))
    return sparse.csr_array(W + W.T)
