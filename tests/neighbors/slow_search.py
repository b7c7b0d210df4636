"""A slow search, and rows in clusters."""

import numpy as np


def slow_neighbors(base, k, queries=None, metric="euclidean"):
    """Sort all distances in double precision, ties by position."""
    base = np.asarray(base, dtype=np.float64)
    points = base if queries is None else np.asarray(queries, dtype=np.float64)
    indices, distances = [], []
    for i, x in enumerate(points):
        if metric == "cosine":
            norms = np.linalg.norm(x) * np.linalg.norm(base, axis=1)
            d = 1 - np.divide(base @ x, norms, out=np.zeros(len(base)), where=norms > 0)
        else:
            d = ((base - x) ** 2).sum(axis=1)
        order = [j for j in np.lexsort((np.arange(len(d)), d)) if queries is not None or j != i]
        indices.append(order[:k])
        distances.append(d[order[:k]] if metric == "cosine" else np.sqrt(d[order[:k]]))
    return np.array(indices), np.array(distances)


def clustered(n, d=10, seed=5, dtype=np.float32):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(1, n // 50), d))
    return (centres[rng.integers(len(centres), size=n)] + rng.standard_normal((n, d))).astype(dtype)
