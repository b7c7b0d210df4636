"""A small data set and the methods that are run on it."""

import numpy as np

from tagloom.benchmark.config import Benchmark
from tagloom.benchmark.methods import Method
from tagloom.datasets.base import Dataset
from tagloom.labels import PartialLabels
from tagloom.vision import Features

RIDGE = Method("ridge", "Ridge", "toy_learners:Ridge")
RATES = Method("rates", "Rates", "toy_learners:Rates")
GRAPH = Method(
    "graph",
    "APG-Graph",
    "tagloom.models:APGGraph",
    {"ridge": 0.0},
    fixed=("ridge",),
    needs_graph=True,
)


def make_dataset(*, n_concepts=6, n_visual=8, flip_test=False, n_rare=0, seed=0):
    """Sixty items of four labels that a linear rule decides, two thirds of them to train on.

    The last `n_rare` labels are present in one training item alone.
    """
    rng = np.random.default_rng(seed)
    visual = rng.normal(size=(60, n_visual))
    present = visual @ rng.normal(size=(n_visual, 4)) + 0.3 * rng.normal(size=(60, 4)) > 0.5
    order = rng.permutation(60)
    training, test = order[:40], order[40:]
    if flip_test:
        present[test] = ~present[test]
    for label in range(4 - n_rare, 4):
        present[training, label] = training == training[label]
    posteriors = rng.dirichlet(np.ones(n_concepts), size=60) if n_concepts else np.empty((60, 0))
    items = [f"item-{i}" for i in range(60)]
    concepts = [f"concept-{i}" for i in range(n_concepts)]
    truth = PartialLabels.from_array(present, labels=["sky", "sea", "sun", "cat"], items=items)
    features = Features(items, visual, posteriors, concepts)
    return Dataset("toy", truth, training, test, features=features)


def small(out, **changes):
    """Return a benchmark of two rates and two seeds that runs in this process."""
    settings = {"rates": (0.3, 0.6), "repeats": 2, "normalize_rows": "never", "n_jobs": 1}
    return Benchmark(**settings | {"out": out} | changes)
