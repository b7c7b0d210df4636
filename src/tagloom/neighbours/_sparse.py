"""Numbers about neighbours as a sparse table."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.neighbours._result import Positions


def neighbour_table(values: npt.NDArray[Any], indices: Positions, n_rows: int) -> sparse.csr_array:
    """Return the values of each query's neighbours at their places in a row over all `n_rows`.

    >>> neighbour_table(np.array([[0.5, 2.0]]), np.array([[3, 1]]), 4).toarray()
    array([[0. , 2. , 0. , 0.5]])
    """
    n_queries, k = indices.shape
    indptr = np.arange(0, n_queries * k + 1, k)
    # Copies, for sorting works in place: the order of somebody's neighbours is no business of ours.
    parts = (values.flatten(), indices.flatten(), indptr)
    table = sparse.csr_array(parts, shape=(n_queries, n_rows))
    table.eliminate_zeros()
    table.sort_indices()
    return table
