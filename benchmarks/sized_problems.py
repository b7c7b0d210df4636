"""Made-up problems of the sizes that matter, with the spectrum and rarity that real sets have."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from tagloom.labels import PartialLabels, hide_per_class


class Sized(NamedTuple):
    """A problem: features, what is known, a graph."""

    X: np.ndarray
    known: PartialLabels
    graph: sparse.csr_array


def sized_problem(n: int, d: int, c: int, rate: float, seed: int = 0) -> Sized:
    """Return pictures in clusters, features of falling energy as PCA gives them, and rare labels.

    A label is present for the 1.5% of pictures that score highest in a low-rank model, which is as
    rare as the labels of Corel5k are; the graph joins each picture to ten of its cluster.
    """
    rng = np.random.default_rng(seed)
    n_clusters = max(1, n // 100)
    cluster = rng.integers(n_clusters, size=n)
    energy = np.arange(1, d + 1) ** -0.5
    X = (rng.normal(size=(n_clusters, d))[cluster] + rng.normal(size=(n, d))) * energy
    X /= np.sqrt(np.mean(np.sum(X**2, axis=1)))
    scores = X @ rng.normal(size=(d, 40)) @ rng.normal(size=(40, c))
    scores += 0.3 * scores.std() * rng.normal(size=(n, c))
    truth = scores > np.quantile(scores, 0.985, axis=0)
    known = hide_per_class(PartialLabels.from_array(truth.astype(float)), rate, seed)
    return Sized(X, known, _cluster_graph(cluster, rng))


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
