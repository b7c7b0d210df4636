"""The semantic graph: items joined to their nearest neighbours in semantic space."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.neighbors import nearest_neighbors, neighbor_table
from tagloom.validation import check_choice, check_integer

WEIGHTS = ("dot", "cosine")
SYMMETRIES = ("max", "mean", "min")
_ENTRIES_AT_ONCE = 1 << 20


def semantic_graph(
    S: npt.ArrayLike,
    n_neighbors: int = 10,
    *,
    weight: str = "dot",
    symmetrize: str = "max",
    metric: str = "euclidean",
    algorithm: str = "auto",
) -> sparse.csr_array:
    r"""Return the weights W_s of the paper's semantic graph, symmetric, sparse and >= 0.

    Each item i is joined to its k_s nearest others j in semantic space, with w_ij = s_i's_j.

    Parameters
    ----------
    S : array of shape (n_items, n_features)
        Semantic descriptors, one row s_i for each item.
    n_neighbors : int, default=10
        The paper's k_s; all other items where there are fewer.
    weight : {"dot", "cosine"}, default="dot"
        s_i's_j, or that divided by both norms. There is no edge where the product is 0 or negative
        (which it cannot be for posteriors and pooled labels); an item whose descriptor is all zero
        is isolated.
    symmetrize : {"max", "mean", "min"}, default="max"
        An edge that only one of its ends chose has its full weight, half of it, or none.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance of the neighbour search; the paper's is Euclidean.
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        See `tagloom.neighbors.nearest_neighbors`.

    Returns
    -------
    csr_array of shape (n_items, n_items)
        In the precision of S, without self-edges; accepted by `check_weights` and by the learners.

    Examples
    --------
    >>> semantic_graph([[1.0, 0], [2, 0], [0, 3], [0, 1]], n_neighbors=1).toarray()
    array([[0., 2., 0., 0.],
           [2., 0., 0., 0.],
           [0., 0., 0., 3.],
           [0., 0., 3., 0.]])
    """
    check_choice("weight", weight, WEIGHTS)
    check_choice("symmetrize", symmetrize, SYMMETRIES)
    check_integer("n_neighbors", n_neighbors, at_least=1)
    rows = np.asarray(S)
    if rows.ndim == 2 and len(rows) < 2:
        return sparse.csr_array((len(rows), len(rows)), dtype=np.float64)
    k = min(int(n_neighbors), len(rows) - 1)
    found = nearest_neighbors(rows, k, metric=metric, algorithm=algorithm)
    rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
    chosen = neighbor_table(_edge_weights(rows, found.indices, weight), found.indices, len(rows))
    W: sparse.csr_array = symmetrized(chosen, chosen.T, symmetrize).astype(rows.dtype)
    return W


def _edge_weights(
    S: npt.NDArray[Any], neighbors: npt.NDArray[np.int64], weight: str
) -> npt.NDArray[np.float64]:
    """Return max(0, s_i's_j) for each neighbour j of i, summed in double precision."""
    norms = np.sqrt(np.einsum("ij,ij->i", S, S, dtype=np.float64))
    scale = np.ones(len(S))
    if weight == "cosine":
        scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    weights = np.empty(neighbors.shape)
    step = max(1, _ENTRIES_AT_ONCE // max(1, neighbors.shape[1] * S.shape[1]))
    for start in range(0, len(S), step):
        part = slice(start, start + step)
        near = neighbors[part]
        products = np.multiply(S[part, None, :], S[near], dtype=np.float64).sum(axis=2)
        weights[part] = products * (scale[part, None] * scale[near])
    return np.maximum(weights, 0, out=weights)


def symmetrized(W: Any, opposite: Any, symmetrize: str) -> sparse.csr_array:
    """Return the maximum, the minimum or the mean of W and its transpose, given as `opposite`."""
    if symmetrize == "max":
        result = W.maximum(opposite)
    elif symmetrize == "min":
        result = W.minimum(opposite)
    else:
        result = (W + opposite) / 2
    graph = sparse.csr_array(result)
    graph.eliminate_zeros()
    return graph
