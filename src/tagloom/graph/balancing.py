"""Give every item of a graph the same weight among its neighbours."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Floats = npt.NDArray[np.float64]

# Sums are brought so near to 1, or as near as so many steps bring them.
_NEAR = 1e-3
_MAX_STEPS = 100
# Where nothing can be balanced, t would grow with every step.
_LARGEST = 1e100


def balanced(A: sparse.csr_array) -> tuple[sparse.csr_array, Floats]:
    r"""Return S = T A T whose rows and columns sum to 1, and the diagonal t of T.

    t solves t_i sum_j a_ij t_j = 1 and is found by t <- sqrt(t / (A t)). In D^{-1/2} A D^{-1/2} a
    score that all items share would come out larger for items with many near neighbours; here it
    stays as it is, and no item counts for more because it lies in a crowd.

    Not every A can be balanced (all that a star's points have is its centre, which has but 1 to
    give). Whatever sums are left, s_ij / max(r_i, r_j) with the row sums r brings none above 1, so
    that all eigenvalues of S lie in [-1, 1].

    Parameters
    ----------
    A : csr_array of shape (n_items, n_items)
        Symmetric, not negative. An item without edges has t = 1.
    """
    t = 1 / np.sqrt(or_one(np.asarray(A.sum(axis=1), dtype=np.float64)))
    for _ in range(_MAX_STEPS):
        reached = A @ t
        if np.all(np.abs(t * reached - 1)[reached > 0] < _NEAR):
            break
        t = np.where(reached > 0, np.sqrt(t) / np.sqrt(or_one(reached)), 1.0)
        t = np.clip(t, 1 / _LARGEST, _LARGEST)
    return _with_sums_below_one(A, t), t


def _with_sums_below_one(A: sparse.csr_array, t: Floats) -> sparse.csr_array:
    S = sparse.coo_array(A)
    i, j = S.coords
    weights = t[i] * S.data * t[j]
    sums = np.bincount(i, weights, minlength=len(t))
    return sparse.csr_array((weights / or_one(np.maximum(sums[i], sums[j])), (i, j)), A.shape)


def or_one(values: npt.NDArray[Any]) -> Floats:
    """Return the values with 1 in the place of 0: an item nobody is near has nothing to scale."""
    return np.where(values > 0, values, 1.0)
