"""The terms of the objective that graphs give, from sums over partitions."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.cluster.graph import GraphBlocks
from tagloom.cluster.laplacian import congruence
from tagloom.cluster.lessons import Lessons
from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights, laplacian
from tagloom.optim import InstanceLaplacian, LabelLaplacian, LossSums

Floats = npt.NDArray[np.float64]


def item_term(
    gamma: float, lessons: Lessons, graph: Any, mean: Floats, client: Any
) -> InstanceLaplacian | None:
    """Return gamma_s tr(M'X'L_s X M), with X'L_s X summed over pairs of partitions."""
    if graph is None:
        _refuse_lack(gamma, "gamma", "graph", "items")
        return None
    sizes = lessons.rows.sizes
    blocks = graph if isinstance(graph, GraphBlocks) else GraphBlocks.from_matrix(graph, sizes)
    if gamma == 0:
        return None
    middle = congruence(lessons.rows, blocks, mean, client)
    return InstanceLaplacian.from_middle(gamma, middle)


def label_term(
    gamma: float, label_graph: Any, sums: LossSums, centre: Floats | None, dtype: np.dtype[Any]
) -> LabelLaplacian | None:
    """Return gamma_t tr(X M L_t M'X')."""
    if label_graph is None:
        _refuse_lack(gamma, "gamma_labels", "label_graph", "labels")
        return None
    n_labels = len(sums.weight)
    weights = check_weights(label_graph, n_labels, name="label_graph", nodes="labels")
    if gamma == 0:
        return None
    # The term knows X by X'X alone: any matrix with the same products of columns stands for it.
    root = _root(_second_moments(sums, centre)).astype(dtype)
    return LabelLaplacian(gamma, root, laplacian(weights))


def _second_moments(sums: LossSums, centre: Floats | None) -> Floats:
    """Return X'X of the rows as they were given, from sums of rows moved to the centre.

    With X = C + 1m' it is C'C + C'1 m' + m 1'C + n m m'.
    """
    if centre is None:
        return sums.second_moments
    mixed = np.outer(sums.total, centre)
    around_zero = mixed + mixed.T + sums.n_items * np.outer(centre, centre)
    return np.asarray(sums.second_moments + around_zero)


def _root(gram: Floats) -> Floats:
    """Return R with R'R = gram."""
    squares, vectors = np.linalg.eigh(gram)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0))[:, None] * vectors.T)


def _refuse_lack(strength: float, parameter: str, name: str, nodes: str) -> None:
    if strength > 0:
        raise InvalidInputError(
            f"{parameter}={strength} asks for smoothness on a graph of the {nodes}, but {name} is "
            f"None. Pass {name}=, or set {parameter}=0."
        )
