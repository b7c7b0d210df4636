"""Learners with known results, and some that misbehave; imported by worker processes."""

import os
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import cpu_count
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

from tagloom.models.base import PartialLabelLearner


class Ridge(PartialLabelLearner):
    """Ridge regression label by label, unknown entries left out; a search of three."""

    def __init__(self, ridge=1.0):
        self.ridge = ridge

    def fit(self, X, Y, graph=None):
        rows, known = self.read_data(X, Y)
        rows = np.hstack([rows, np.ones((len(rows), 1))])
        truth, weights = known.to_array(), known.weights()
        self.coef_ = np.zeros((rows.shape[1], known.n_labels))
        for j in range(known.n_labels):
            at = weights[:, j] > 0
            A = rows[at].T @ (weights[at, j, None] * rows[at]) + self.ridge * np.eye(rows.shape[1])
            self.coef_[:, j] = np.linalg.solve(A, rows[at].T @ (weights[at, j] * truth[at, j]))
        return self

    def default_param_grid(self, X, Y, graph=None):
        return [{"ridge": [0.1, 1.0, 10.0]}]

    def score_rows(self, X):
        return np.hstack([X, np.ones((len(X), 1))]) @ self.coef_


class Rates(PartialLabelLearner):
    """Scores every item by the share of known presences; nothing to search."""

    def fit(self, X, Y, graph=None):
        _, known = self.read_data(X, Y)
        counts = known.counts()
        self.rates_ = counts.present / np.maximum(1, counts.present + counts.absent)
        return self

    def default_param_grid(self, X, Y, graph=None):
        return []

    def score_rows(self, X):
        return np.tile(self.rates_, (len(X), 1))


class Broken(Rates):
    """Fails if the file `needs` does not exist."""

    def __init__(self, needs="/nonexistent"):
        self.needs = needs

    def fit(self, X, Y, graph=None):
        if not Path(self.needs).exists():
            raise RuntimeError("this learner has no luck")
        return super().fit(X, Y)


class Slow(Rates):
    """Slow enough to be interrupted."""

    def fit(self, X, Y, graph=None):
        time.sleep(0.3)
        return super().fit(X, Y)


class Killed(Rates):
    """Dies as a process does that runs out of memory."""

    def fit(self, X, Y, graph=None):
        os._exit(1)


class Watched(Rates):
    """Records its inputs and the number of threads it may use."""

    def __init__(self, folder=""):
        self.folder = folder

    def fit(self, X, Y, graph=None):
        number = len(list(Path(self.folder).iterdir()))
        threads = max([cpu_count(), *(pool["num_threads"] for pool in threadpool_info())])
        states = Y.states()
        path = Path(self.folder) / f"{os.getpid()}-{number}.npz"
        np.savez(path, X=X, states=states, threads=threads, mapped=not X.flags.owndata)
        return super().fit(X, Y)


class Warns(Rates):
    """Warns while it is fitted."""

    def fit(self, X, Y, graph=None):
        warnings.warn("this took long", ConvergenceWarning, stacklevel=2)
        return super().fit(X, Y)
