"""The labels of neighbours, pooled."""

import numpy as np
from scipy import sparse

from tagloom.labels import PartialLabels
from tagloom.neighbours import Neighbours, neighbour_table
from tagloom.semantics.evidence import Floats, as_dense, evidence_by_labels


def pool_observed(known: PartialLabels, found: Neighbours) -> Floats:
    """Return l_i = (1/k) sum over the neighbours of their observed labels, unknown as 0.

    It is the paper's: what is unknown cannot be told from what is absent, and weights have no say.
    """
    A = _adjacency(found, known.n_items)
    pooled = np.empty((A.shape[0], known.n_labels))
    for labels, evidence in evidence_by_labels(known):
        pooled[:, labels] = as_dense(A @ (evidence.present > 0).astype(np.float64))
    pooled /= found.indices.shape[1]
    return pooled


def pool_known(known: PartialLabels, found: Neighbours, rates: Floats, prior: float) -> Floats:
    """Return the share of presences among what is known of the neighbours, drawn to the rate.

    l_ij = (sum_n w_nj y_nj + prior * rate_j) / (sum_n w_nj + prior), n over the neighbours of i.
    Where nothing is known of the neighbours, and prior is 0, it is the rate.
    """
    A = _adjacency(found, known.n_items)
    pooled = np.empty((A.shape[0], known.n_labels))
    for labels, evidence in evidence_by_labels(known):
        present, total = evidence.sums(A)
        rate = rates[labels]
        nothing = total <= 0
        total += prior + nothing
        present += prior * rate + nothing * rate
        pooled[:, labels] = present / total
    # Over an absent background sums are differences: rounding must not lead out of [0, 1].
    return np.clip(pooled, 0, 1, out=pooled)


def _adjacency(found: Neighbours, n_items: int) -> sparse.csr_array:
    return neighbour_table(np.ones(found.indices.shape), found.indices, n_items)
