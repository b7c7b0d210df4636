"""Kernels between items, their bandwidth in units of the data, and Nystroem landmarks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics.pairwise import euclidean_distances

from tagloom.models.base import parameter
from tagloom.validation import check_choice, check_number

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

KERNELS = ("rbf", "laplacian", "linear")

# The median distance is estimated on at most about this many rows.
_SAMPLE_SIZE = 1_000
# Products with a kernel are taken for so many of its entries at a time, to bound the memory.
_ENTRIES_AT_ONCE = 1 << 24
# Directions in which the kernel of the landmarks is smaller, relative to its largest, are rounding.
_NO_EIGENVALUE = 1e-12


@dataclass(frozen=True, eq=False)
class Kernel:
    r"""A kernel k(x, x') between rows.

        rbf          exp(-gamma ||x - x'||^2)
        laplacian    exp(-gamma ||x - x'||)
        linear       gamma (x - origin)'(x' - origin)

    The Laplacian kernel is that of the Euclidean norm, which no rotation of the features changes
    (Belkin, Ma and Mandal 2018). Rows are computed with around the origin, in double precision:
    squared distances between rows far from it would cancel.
    """

    name: str
    gamma: float
    origin: Floats

    @classmethod
    def of(
        cls,
        rows: Array,
        name: str,
        *,
        gamma: float | None = None,
        bandwidth: float = 1.0,
        centred: bool = True,
    ) -> "Kernel":
        """Return a kernel for these rows, around their mean if `centred`.

        Without gamma it is 1/(h s), and for the Laplacian kernel 1/sqrt(h s), where h is the
        bandwidth and s the median squared distance between rows (the median heuristic, Gretton et
        al. 2012): then no kernel depends on the units of the features.
        """
        origin = rows.mean(axis=0, dtype=np.float64) if centred else np.zeros(rows.shape[1])
        if gamma is None:
            squared = bandwidth * median_squared_distance(rows - origin)
            gamma = 1 / float(np.sqrt(squared) if name == "laplacian" else squared)
        return cls(name, float(gamma), origin)

    def __call__(self, A: Array, B: Array) -> Floats:
        """Return k(a, b) for all rows of A and of B."""
        same = A is B
        A = A - self.origin
        B = A if same else B - self.origin
        if self.name == "linear":
            return np.asarray(self.gamma * (A @ B.T))
        table: Floats = euclidean_distances(A, B, squared=self.name == "rbf")
        table *= -self.gamma
        return np.exp(table, out=table)

    def product(self, A: Array, B: Array, M: Floats) -> Floats:
        """Return K(A, B) M, without ever holding much of K."""
        step = max(1, _ENTRIES_AT_ONCE // max(1, len(B)))
        out = np.empty((len(A), M.shape[1]))
        for start in range(0, len(A), step):
            part = slice(start, start + step)
            out[part] = self(A[part], B) @ M
        return out


def median_squared_distance(rows: Array) -> float:
    """Return the median over pairs of rows; their mean where it is 0, and 1 where that is, too."""
    sample = np.asarray(rows[:: 1 + len(rows) // _SAMPLE_SIZE], dtype=np.float64)
    distances = euclidean_distances(sample, squared=True)
    pairs = distances[np.triu_indices(len(sample), 1)]
    if not len(pairs):
        return 1.0
    return float(np.median(pairs)) or float(np.mean(pairs)) or 1.0


def check_kernel(model: Any) -> None:
    """Require that the parameters kernel, gamma and bandwidth of a learner make sense."""
    check_choice(*parameter(model, "kernel"), KERNELS)
    check_number(*parameter(model, "bandwidth"), low=0, inclusive=False)
    if model.gamma is not None:
        check_number(*parameter(model, "gamma"), low=0, inclusive=False)


def inverse_root(K: Floats) -> Floats:
    """Return K^(-1/2) of a positive semidefinite matrix, 0 in directions in which K is 0.

    With the kernel K of some landmarks, phi(x) = k(x, landmarks) K^(-1/2) are the features of the
    Nystroem approximation (Williams and Seeger 2001): phi(x)'phi(x') is about k(x, x').
    """
    values, vectors = np.linalg.eigh(K)
    kept = values > _NO_EIGENVALUE * max(values[-1], 0.0)
    scaled = vectors[:, kept] / np.sqrt(values[kept])
    return np.asarray(scaled @ vectors[:, kept].T)
