"""Checked weights of undirected graphs, and their Laplacians."""

from typing import Any

import numpy as np
from scipy import sparse

from tagloom.errors import InvalidInputError


def check_weights(weights: Any, n_nodes: int, *, name: str, nodes: str) -> sparse.csr_array:
    """Return the weights W of an undirected graph as CSR without self-edges.

    `weights` is a square symmetric matrix (array, scipy sparse, DataFrame) of finite weights >= 0.
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
