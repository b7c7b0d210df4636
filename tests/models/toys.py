"""A toy whose answer is known: labels are noiseless thresholds of low-rank scores."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from tagloom.labels import PartialLabels, hide_per_class, keep_presences


class Toy(NamedTuple):
    X: np.ndarray
    truth: np.ndarray
    known: PartialLabels
    graph: sparse.csr_array


def low_rank_toy(n=120, d=10, c=8, rank=2, rate=0.4, seed=0) -> Toy:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, rank)) @ rng.normal(size=(rank, c))
    truth = (scores > 0.5).astype(float)
    known = hide_per_class(PartialLabels.from_array(truth), rate, seed)
    near = np.argsort(((X[:, None] - X[None]) ** 2).sum(axis=2), axis=1)[:, 1:6]
    W = np.zeros((n, n))
    np.put_along_axis(W, near, 1.0, axis=1)
    return Toy(X, truth, known, sparse.csr_array(np.maximum(W, W.T)))


def forms_of_knowledge(toy: Toy) -> dict[str, PartialLabels]:
    """What is known of a toy as single entries, with weights, as tag lists, and in full."""
    entries, truth = toy.known.entries(), PartialLabels.from_array(toy.truth)
    return {
        "entries": toy.known,
        "weighted": PartialLabels.from_entries(
            entries.rows,
            entries.columns,
            entries.present,
            shape=toy.known.shape,
            weights=np.random.default_rng(0).uniform(0.1, 2.0, size=len(entries.rows)),
        ),
        "tag lists": keep_presences(truth, 0.5, unlisted=0.3, random_state=0).with_hidden([3], [2]),
        "all": truth,
    }
