"""Graphs of labels, from their co-occurrence or from a list of edges."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.semantics.evidence import Floats, evidence_blocks, evidence_by_labels
from tagloom.validation import check_choice, some_of

Sums = Callable[[Any, Any], Floats]
MEASURES = ("cosine", "jaccard", "conditional")
_ROWS_AT_ONCE = 1 << 14


def label_graph_from_cooccurrence(Y: Any, *, measure: str = "cosine") -> sparse.csr_array:
    r"""Return weights W_t between labels that occur together, counted where both are known.

    With observation weights w (0: unknown) let n_ij = sum over items of w_i y_i w_j y_j, and
    a_ij = sum of w_i y_i w_j, which counts the items that have i and at which j is known. Then

        cosine       n_ij / sqrt(a_ij a_ji)
        jaccard      n_ij / (a_ij + a_ji - n_ij)
        conditional  (n_ij / a_ij + n_ij / a_ji) / 2, the mean of P(j | i) and P(i | j).

    Items at which either label is unknown are ignored; they are not counted as absences.

    Parameters
    ----------
    Y : PartialLabels, DataFrame or array of 1, 0 and NaN of shape (n_items, n_labels)
    measure : {"cosine", "jaccard", "conditional"}, default="cosine"

    Examples
    --------
    >>> nan = float("nan")
    >>> label_graph_from_cooccurrence([[1, 1], [1, nan], [0, 0]]).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    check_choice("measure", measure, MEASURES)
    known = as_partial_labels(Y)
    both, i_known, j_known = _cooccurrence(known)
    n = both.data
    if measure == "jaccard":
        weights = n / (i_known + j_known - n)
    elif measure == "conditional":
        weights = (n / i_known + n / j_known) / 2
    else:
        weights = n / np.sqrt(i_known * j_known)
    shape = (known.n_labels, known.n_labels)
    return sparse.csr_array((weights, both.coords), shape=shape)


def _cooccurrence(known: PartialLabels) -> tuple[sparse.coo_array, Floats, Floats]:
    """Return n_ij for the pairs that occur together, and a_ij and a_ji of the same pairs."""
    both, one = _sparse_sums(known) if known.is_sparse else _dense_sums(known)
    pairs = sparse.coo_array(both)
    pairs.setdiag(0)
    pairs.eliminate_zeros()
    i, j = pairs.coords
    # Over an absent background the sums are differences, which rounding could bring below n_ij.
    return pairs, np.maximum(one(i, j), pairs.data), np.maximum(one(j, i), pairs.data)


def _sparse_sums(known: PartialLabels) -> tuple[Any, Sums]:
    _, evidence = next(evidence_by_labels(known))
    P = evidence.present
    stored = sparse.csr_array(P.T @ evidence.offset)
    unlisted = evidence.background * np.asarray(P.sum(axis=0)).ravel()
    return P.T @ P, lambda i, j: unlisted[i] + np.asarray(stored[i, j]).ravel()


def _dense_sums(known: PartialLabels) -> tuple[Any, Sums]:
    both = np.zeros((known.n_labels, known.n_labels))
    one = np.zeros_like(both)
    for _, evidence in evidence_blocks(known, _ROWS_AT_ONCE):
        both += evidence.present.T @ evidence.present
        one += evidence.present.T @ evidence.offset
    return both, lambda i, j: one[i, j]


def label_graph_from_edges(
    edges: Iterable[Sequence[Any]],
    labels: PartialLabels | Iterable[Hashable],
    *,
    on_unknown_name: str = "raise",
) -> sparse.csr_array:
    """Return weights W_t between labels from a list of edges, such as a lexicon gives.

    Parameters
    ----------
    edges : iterable of (name, name) or (name, name, weight)
        Undirected; a weight is finite and >= 0, and defaults to 1. If an edge is listed more than
        once, the largest weight counts. Edges from a label to itself are ignored.
    labels : PartialLabels or iterable of names
        All labels in their order.
    on_unknown_name : {"raise", "ignore"}, default="raise"
        What to do with edges that name an unknown label.

    Examples
    --------
    >>> edges = [("sea", "beach"), ("sea", "boat", 0.5)]
    >>> label_graph_from_edges(edges, ["beach", "boat", "sea"]).toarray()
    array([[0. , 0. , 1. ],
           [0. , 0. , 0.5],
           [1. , 0.5, 0. ]])
    """
    check_choice("on_unknown_name", on_unknown_name, ("raise", "ignore"))
    names = labels.labels if isinstance(labels, PartialLabels) else tuple(labels)
    position = {name: at for at, name in enumerate(names)}
    if len(position) < len(names):
        raise InvalidInputError("The labels must differ; some name occurs more than once.")
    weights: dict[tuple[int, int], float] = {}
    missing: dict[Hashable, None] = {}
    for number, edge in enumerate(edges):
        one, other, weight = _read_edge(edge, number)
        unknown = [name for name in (one, other) if name not in position]
        missing.update(dict.fromkeys(unknown))
        if not unknown and one != other:
            pair = (position[one], position[other])
            weights[pair] = weights[pair[::-1]] = max(weight, weights.get(pair, 0.0))
    if missing and on_unknown_name == "raise":
        _refuse_unknown_names(list(missing), len(names))
    return _matrix(weights, len(names))


def _read_edge(edge: Sequence[Any], number: int) -> tuple[Hashable, Hashable, float]:
    if isinstance(edge, str) or len(edge) not in (2, 3):
        raise InvalidInputError(
            f"Edge {number} must be (name, name) or (name, name, weight); found {edge!r}."
        )
    try:
        weight = float(edge[2]) if len(edge) == 3 else 1.0
    except (TypeError, ValueError):
        weight = -1.0
    if not (np.isfinite(weight) and weight >= 0):
        raise InvalidInputError(
            f"The weight of edge {number} must be a finite number >= 0; found {edge!r}."
        )
    return edge[0], edge[1], weight


def _refuse_unknown_names(missing: list[Hashable], n_labels: int) -> None:
    raise InvalidInputError(
        f"{len(missing):,} name(s) in the edges are not among the {n_labels:,} labels: "
        f"{some_of(missing)}. "
        'Correct them, or pass on_unknown_name="ignore" to leave out their edges.'
    )


def _matrix(weights: dict[tuple[int, int], float], n_labels: int) -> sparse.csr_array:
    pairs = np.array(list(weights), dtype=np.int64).reshape(-1, 2)
    values = np.fromiter(weights.values(), dtype=np.float64, count=len(weights))
    W = sparse.csr_array((values, (pairs[:, 0], pairs[:, 1])), shape=(n_labels, n_labels))
    W.eliminate_zeros()
    return W
