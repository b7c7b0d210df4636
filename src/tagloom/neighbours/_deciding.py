"""Distances in double precision, which decide."""

import numpy as np

from tagloom.neighbours._result import Floats, Matrix, Positions

# Differences are formed for this many numbers at a time.
_DIFFERENCE_ENTRIES = 1 << 17


def decide(
    base: Matrix, queries: Matrix, i: Positions, j: Positions, k: int
) -> tuple[Positions, Floats]:
    """Keep the k nearest of the candidate pairs (query i, row j), nearest first, ties by position.

    Each query has at least k candidates.
    """
    squares = squared_distances(queries, base, i, j)
    order = np.lexsort((j, squares, i))
    first = np.searchsorted(i[order], np.arange(len(queries)))
    chosen = order[first[:, None] + np.arange(k)]
    return j[chosen], squares[chosen]


def squared_distances(A: Matrix, B: Matrix, i: Positions, j: Positions) -> Floats:
    """Return |a_i - b_j|^2 for pairs (i, j), the same bits for the same pair wherever it stands."""
    squares = np.empty(len(i))
    step = max(1, _DIFFERENCE_ENTRIES // max(1, A.shape[1]))
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        difference = np.subtract(A[i[part]], B[j[part]], dtype=np.float64)
        difference *= difference
        squares[part] = difference.sum(axis=1)
    return squares
