"""The semantic graph of the paper, which joins items of like meaning, and graph Laplacians."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.errors import InvalidInputError
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


@dataclass(frozen=True, eq=False)
class ItemGraph:
    """A graph of items for cross-validation: `graph[rows]` is the graph among these items.

    Tools of scikit-learn split whatever has a row for each item. Of a matrix of weights they would
    keep all columns; this keeps the columns of the same items.

    Parameters
    ----------
    weights : square matrix, dense or sparse
        As for `fit`.

    Examples
    --------
    >>> ItemGraph([[0, 1, 0], [1, 0, 2], [0, 2, 0]])[[1, 2]].weights.toarray()
    array([[0., 2.],
           [2., 0.]])
    """

    weights: Any

    @property
    def shape(self) -> tuple[int, int]:
        """The number of items, twice."""
        n_items = int(np.shape(self.weights)[0])
        return n_items, n_items

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> "ItemGraph":
        rows = key[0] if isinstance(key, tuple) else key
        return ItemGraph(_as_csr(self.weights, "graph")[rows][:, rows])


def check_weights(weights: Any, n_nodes: int, *, name: str, nodes: str) -> sparse.csr_array:
    """Return the weights W of an undirected graph as CSR without self-edges.

    `weights` is a square symmetric matrix (array, scipy sparse, DataFrame, ItemGraph) of finite
    weights >= 0.
    `name` and `nodes` are the names of the argument and of its nodes in error messages.
    """
    W = _as_csr(weights, name)
    if W.shape != (n_nodes, n_nodes):
        raise InvalidInputError(
            f"{name} must be a square matrix with one row for each of the {n_nodes} {nodes}; "
            f"got shape {W.shape}."
        )
    _refuse_first(
        W, ~np.isfinite(W.data), name, "is not finite", "Weights are finite numbers >= 0."
    )
    _refuse_first(W, W.data < 0, name, "is negative", "Weights are similarities >= 0.")
    _refuse_asymmetry(W, name)
    W.setdiag(0)  # self-edges cancel in the Laplacian
    W.eliminate_zeros()
    return W


def _as_csr(weights: Any, name: str) -> sparse.csr_array:
    if isinstance(weights, ItemGraph):
        weights = weights.weights
    try:
        if not sparse.issparse(weights):
            weights = np.asarray(weights)
        if weights.ndim != 2:
            raise InvalidInputError(
                f"{name} must be a square matrix of weights; got {weights.ndim} dimension(s)."
            )
        if weights.dtype.kind == "c":
            raise TypeError("found complex ones")
        W = sparse.csr_array(weights, dtype=np.float64, copy=True)
    except InvalidInputError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must hold numbers: {error}.") from None
    W.sum_duplicates()
    return W


def _refuse_first(
    W: sparse.csr_array, wrong: np.ndarray[Any, Any], name: str, what: str, remedy: str
) -> None:
    """Raise an error that names the place of the first wrong weight."""
    if not wrong.any():
        return
    first = int(np.argmax(wrong))
    row = int(np.searchsorted(W.indptr, first, side="right")) - 1
    raise InvalidInputError(
        f"{name}[{row}, {W.indices[first]}] = {W.data[first]} {what} "
        f"({int(wrong.sum())} such weight(s) in all). {remedy}"
    )


def _refuse_asymmetry(W: sparse.csr_array, name: str) -> None:
    """Raise if w_ij and w_ji differ by more than rounding."""
    difference = abs(W - W.T).tocoo()
    if difference.nnz == 0:
        return
    worst = int(np.argmax(difference.data))
    if difference.data[worst] <= 1e-6 * W.data.max():
        return
    i, j = (int(index[worst]) for index in difference.coords)
    raise InvalidInputError(
        f"{name} must be symmetric, because its edges are undirected: {name}[{i}, {j}] = {W[i, j]} "
        f"but {name}[{j}, {i}] = {W[j, i]}. Use (W + W.T) / 2 or W.maximum(W.T)."
    )


def laplacian(W: sparse.csr_array, *, normalized: bool = False) -> sparse.csr_array:
    """Return L = D - W, where D = Diag(W 1); or D^-1/2 L D^-1/2 if `normalized`.

    A node without edges has a row of zeros in both.
    """
    degree = np.asarray(W.sum(axis=1)).ravel()
    L = sparse.csr_array(sparse.diags_array(degree) - W)
    if not normalized:
        return L
    scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    D = sparse.diags_array(scale)
    return sparse.csr_array(D @ L @ D)
