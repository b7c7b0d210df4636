"""Partial labels as arrays and facts, and back, store and all."""

import numpy as np
from scipy import sparse

from tagloom.labels._dense import Dense
from tagloom.labels._names import Names
from tagloom.labels._partial import PartialLabels
from tagloom.labels._sparse import Sparse
from tagloom.labels._store import Store
from tagloom.labels._types import PRESENT, UNKNOWN, Codes
from tagloom.packing import Arrays, Packed, refuse_strange_names


def pack_labels(known: PartialLabels) -> Packed:
    """Return all that is known.

    The store is kept as it is: a dense and a sparse one say the same, but sums over them may be
    taken in another order and differ in the last digit.
    """
    for names in (known.labels, known.items or ()):
        refuse_strange_names(names)
    store = known._store
    arrays: Arrays = {"codes": store.codes}
    if store.weights is not None:
        arrays["weights"] = store.weights
    if isinstance(store, Sparse):
        arrays |= {"indptr": store.indptr, "indices": store.indices}
    facts = {
        "labels": list(known.labels),
        "items": None if known.items is None else list(known.items),
        "unlisted_weight": float(known.unlisted_weight),
        "is_sparse": known.is_sparse,
    }
    return Packed(arrays, facts)


def unpack_labels(packed: Packed) -> PartialLabels:
    """Return what `pack_labels` was given; what cannot be partial labels is refused."""
    facts = packed.facts
    n_labels = len(facts["labels"])
    store = _sparse(packed, n_labels) if facts["is_sparse"] else _dense(packed.arrays)
    return PartialLabels(store, Names.checked(store.shape, facts["labels"], facts["items"]))


def _dense(arrays: Arrays) -> Store:
    codes, weights = arrays["codes"].astype(np.int8, copy=False), arrays.get("weights")
    if codes.ndim != 2 or (weights is not None and weights.shape != codes.shape):
        raise ValueError("labels and their weights must be tables of the same shape")
    _check_codes(codes)
    return Dense(codes, weights)


def _sparse(packed: Packed, n_labels: int) -> Store:
    arrays = packed.arrays
    codes, indptr, indices = (arrays[name] for name in ("codes", "indptr", "indices"))
    _check_codes(codes)
    weights = arrays.get("weights")
    if weights is not None and weights.shape != codes.shape:
        raise ValueError("there must be one weight for each known label")
    rows = sparse.csr_array((codes, indices, indptr), shape=(len(indptr) - 1, n_labels))
    rows.check_format(full_check=True)
    background = float(packed.facts["unlisted_weight"])
    return Sparse(
        n_labels,
        background,
        indptr.astype(np.int64, copy=False),
        indices.astype(np.int32, copy=False),
        codes.astype(np.int8, copy=False),
        weights,
    )


def _check_codes(codes: Codes) -> None:
    if codes.size and not (codes.min() >= UNKNOWN and codes.max() <= PRESENT):
        raise ValueError("a label is neither present nor absent nor unknown")
