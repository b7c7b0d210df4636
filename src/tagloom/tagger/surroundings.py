"""Who is like a picture: in the learner's own graph, or in semantic space."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.neighbours import nearest_neighbours

Array = npt.NDArray[Any]


class Near(NamedTuple):
    """Training rows, and how close each is."""

    rows: npt.NDArray[np.int64]
    affinities: Array


def check_explainable(learner: Any) -> None:
    """Refuse learners whose scores are no linear part to which a graph adds."""
    if not hasattr(learner, "coef_"):
        raise InvalidInputError(
            f"Only learners with a linear part can be explained; {type(learner).__name__} has no "
            "coef_."
        )


def linear_weights(learner: Any, x: Array, training_row: int | None) -> tuple[Array, Array]:
    """Return by which weights and from which base a learner makes the linear part of one row."""
    if hasattr(learner, "linear_at"):
        weights, base = learner.linear_at(x, training_row)
        return weights, base
    return learner.coef_, learner.intercept_


def asks_graph(learner: Any) -> bool:
    """Say whether the scores have a part that comes from a graph of the learner's own."""
    return hasattr(learner, "affinities") and learner.graph_ is not None


def joined(learner: Any, x: Array, training_row: int | None) -> Near:
    """Return whom the learner's last graph joins to a training row, or to a new row x."""
    if training_row is None:
        found = sparse.csr_array(learner.affinities(x))
    else:
        found = sparse.csr_array(learner.graph_[[training_row]])
    return Near(found.indices.astype(np.int64), found.data)


def nearest(S: Array, s: Array, n_neighbors: int, training_row: int | None) -> Near:
    """Return the nearest in semantic space, never the picture itself, with s_i's_j."""
    k = min(n_neighbors + (training_row is not None), len(S))
    rows = np.asarray(nearest_neighbours(S, k, s).indices[0])
    rows = rows[rows != training_row][:n_neighbors]
    return Near(rows, S[rows] @ s[0])
