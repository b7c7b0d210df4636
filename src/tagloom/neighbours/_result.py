"""What a search answers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.floating[Any]]
Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest rows of each query, nearest first, ties in the order of their positions.

    Attributes
    ----------
    indices : array of int64, shape (n_queries, n_neighbors)
    distances : array of float64, shape (n_queries, n_neighbors)
        In the metric that was asked for.
    recall : float
        Share of the true neighbours that were found: 1 for an exact search, else measured against
        the exact search on a random sample of the queries.
    method : str
        "exact" or "approximate".
    """

    indices: Positions
    distances: Floats
    recall: float
    method: str
