"""Small things about arrays that every part of the optimiser shares."""

from typing import Any

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.floating[Any]]
"""A real matrix or vector in float32 or float64."""


def inner(A: Matrix, B: Matrix) -> float:
    """Return <A, B> = tr(A'B), accumulated in double precision whatever the matrices hold."""
    if A.dtype == B.dtype == np.float64:
        return float(np.vdot(A, B))
    return float(np.einsum("i,i->", A.ravel(), B.ravel(), dtype=np.float64))
