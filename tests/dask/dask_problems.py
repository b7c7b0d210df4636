"""A small problem, in memory and cut into partitions."""

import dask.array as da
import numpy as np

from tagloom.graph import semantic_graph


class Problem:
    def __init__(self, n=240, d=6, c=9, *, observed=0.6, offset=0.0, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) / 3
        truth = X @ rng.normal(size=(d, 3)) @ rng.normal(size=(3, c)) > 0.5
        self.X = X + offset
        self.Y = np.where(rng.random((n, c)) < observed, truth.astype(float), np.nan)
        self.descriptors = np.abs(X[:, :5])
        self.graph = semantic_graph(self.descriptors, 4)
        self.label_graph = np.ones((c, c)) - np.eye(c)

    def arrays(self, rows=50):
        return da.from_array(self.X, chunks=(rows, 4)), da.from_array(self.Y, chunks=(33, 4))
