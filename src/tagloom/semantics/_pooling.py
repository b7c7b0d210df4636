"""The labels of neighbours, pooled."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.labels import PartialLabels
from tagloom.neighbours import Neighbours, neighbour_table
from tagloom.semantics.evidence import Floats, as_dense, evidence_by_labels

Array = npt.NDArray[Any]

# Labels of neighbours are summed for so many (item, label) at a time.
_SUMS_AT_ONCE = 1 << 22


def pool_observed(known: PartialLabels, found: Neighbours, dtype: npt.DTypeLike) -> Array:
    """Return l_i = (1/k) sum over the neighbours of their observed labels, unknown as 0.

    It is the paper's: what is unknown cannot be told from what is absent, and weights have no say.
    """
    pooled = np.empty((len(found.indices), known.n_labels), dtype=dtype)
    for labels, evidence in evidence_by_labels(known):
        observed = (evidence.present > 0).astype(np.float64)
        for part, A in _adjacency_blocks(found, known):
            pooled[part, labels] = as_dense(A @ observed) / found.indices.shape[1]
    return pooled


def pool_known(
    known: PartialLabels, found: Neighbours, rates: Floats, prior: float, dtype: npt.DTypeLike
) -> Array:
    """Return the share of presences among what is known of the neighbours, drawn to the rate.

    l_ij = (sum_n w_nj y_nj + prior * rate_j) / (sum_n w_nj + prior), n over the neighbours of i.
    Where nothing is known of the neighbours, and prior is 0, it is the rate.
    """
    pooled = np.empty((len(found.indices), known.n_labels), dtype=dtype)
    for labels, evidence in evidence_by_labels(known):
        rate = rates[labels]
        for part, A in _adjacency_blocks(found, known):
            present, total = evidence.sums(A)
            nothing = total <= 0
            total += prior + nothing
            present += prior * rate + nothing * rate
            # Over an absent background sums are differences: rounding must not lead out of [0, 1].
            pooled[part, labels] = np.clip(present / total, 0, 1)
    return pooled


def _adjacency_blocks(
    found: Neighbours, known: PartialLabels
) -> Iterator[tuple[slice, sparse.csr_array]]:
    """Yield who is a neighbour of some items at a time, so many that their sums are small."""
    step = max(1, _SUMS_AT_ONCE // max(1, known.n_labels))
    for start in range(0, len(found.indices), step):
        part = slice(start, start + step)
        near = found.indices[part]
        yield part, neighbour_table(np.ones(near.shape), near, known.n_items)
