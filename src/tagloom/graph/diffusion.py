"""Spread what is known over a graph of neighbours, and reach new items through it."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tagloom.errors import InvalidInputError
from tagloom.neighbors import Neighbors, nearest_neighbors, neighbor_table
from tagloom.validation import check_integer, check_number

# §§ balancing
# Give every item of a graph the same weight among its neighbours.


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


# §§ main diffusion


Array = npt.NDArray[Any]

# The neighbour whose distance is the scale of an item's surroundings.
_SCALE_RANK = 7
# Columns are diffused in blocks of about this many entries, to bound the memory of the search
# directions.
_ENTRIES_AT_ONCE = 1 << 23
_MAX_ITER = 500


@dataclass(frozen=True, eq=False)
class AffinityGraph:
    """Neighbours weighted by how close they are, normalised, open to new items.

    Attributes
    ----------
    S : csr_array of shape (n_items, n_items)
        T A T, symmetric, with the affinities A and the diagonal T that makes rows and columns sum
        to 1 (see `balanced`), or D^{-1/2} with the row sums D. Its eigenvalues lie in [-1, 1].
    rows : array of shape (n_items, n_features)
        Where the items lie.
    scales : array of shape (n_items,)
        Size of each item's surroundings.
    degrees : array of shape (n_items,)
        The diagonal of D.
    factors : array of shape (n_items,), or None
        The diagonal of T; None where sums are not balanced.
    n_neighbors, metric, algorithm
        How neighbours are sought, see `tagloom.neighbors.nearest_neighbors`.
    """

    S: sparse.csr_array
    rows: Array
    scales: npt.NDArray[np.float64]
    degrees: npt.NDArray[np.float64]
    factors: npt.NDArray[np.float64] | None
    n_neighbors: int
    metric: str
    algorithm: str

    def joined(self, queries: Array) -> sparse.csr_array:
        """Return the normalised affinities of new items to those of the graph, a row for each.

        Balanced, s_xj = a_xj t_j / sum_k a_xk t_k: a row that sums to 1, as those of S do. Else
        s_xj = a_xj / sqrt(d_x (d_j + a_xj)): the edge to the new item counts in the sum of its
        neighbour, as it would had it been there, or beside an item that nobody else is near
        affinities would grow beyond all bounds. Each new item stands alone against the graph:
        others that are asked with it do not matter.
        """
        k = min(self.n_neighbors, len(self.rows))
        found = nearest_neighbors(
            self.rows, k, queries, metric=self.metric, algorithm=self.algorithm
        )
        weights = _affinities(found, _scales(found), self.scales)
        if self.factors is None:
            own = or_one(weights.sum(axis=1, keepdims=True))
            weights /= np.sqrt(own * or_one(self.degrees[found.indices] + weights))
        else:
            weights *= self.factors[found.indices]
            weights /= or_one(weights.sum(axis=1, keepdims=True))
        return neighbor_table(weights.astype(self.S.dtype), found.indices, len(self.rows))


def affinity_graph(
    rows: Array,
    n_neighbors: int = 20,
    *,
    metric: str = "euclidean",
    algorithm: str = "auto",
    balance: bool = True,
) -> AffinityGraph:
    r"""Join each item to its nearest others, close ones more.

    a_ij = exp(-d_ij^2 / (sigma_i sigma_j)), where sigma_i is the distance of item i to its 7th
    neighbour (the last, where fewer are sought): near and far are judged by the surroundings, so
    that crowded and empty regions are joined alike. An edge that only one of its ends chose counts
    in full.

    Parameters
    ----------
    rows : array of shape (n_items, n_features), at least 2 items
    n_neighbors : int, default=20
        All others where there are fewer.
    metric, algorithm
        See `tagloom.neighbors.nearest_neighbors`.
    balance : bool, default=True
        Whether the sums of all rows of S are balanced; else S = D^{-1/2} A D^{-1/2}.
    """
    check_integer("n_neighbors", n_neighbors, at_least=1)
    rows = np.asarray(rows)
    if len(rows) < 2:
        raise InvalidInputError(f"A graph needs at least 2 items to join; got {len(rows)}.")
    k = min(int(n_neighbors), len(rows) - 1)
    found = nearest_neighbors(rows, k, metric=metric, algorithm=algorithm)
    scales = _scales(found)
    chosen = neighbor_table(_affinities(found, scales, scales), found.indices, len(rows))
    A = sparse.csr_array(chosen.maximum(chosen.T))
    degrees = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    S, factors = balanced(A) if balance else (_by_degrees(A, degrees), None)
    S = S.astype(rows.dtype if rows.dtype == np.float32 else np.float64)
    sums = scales, degrees, factors
    return AffinityGraph(S, rows, *sums, int(n_neighbors), metric, algorithm)


def _by_degrees(A: sparse.csr_array, degrees: npt.NDArray[np.float64]) -> sparse.csr_array:
    turn = sparse.diags_array(1 / np.sqrt(or_one(degrees)))
    return sparse.csr_array(turn @ A @ turn)


def diffuse(S: sparse.csr_array, R: Array, reach: float, *, tol: float = 1e-4) -> Array:
    """Return (1 - a) (I - a S)^{-1} R, what R has become when it has spread with reach a.

    It is the fixed point of G = a S G + (1 - a) R, and the minimiser of
    ||G - R||_F^2 + a / (1 - a) tr(G'(I - S) G): near R, and smooth on the graph. Reach 0 leaves R
    as it is.

    Parameters
    ----------
    S : csr_array of shape (n_items, n_items)
        Symmetric with eigenvalues in [-1, 1].
    R : array of shape (n_items, n_columns)
    reach : float in [0, 1)
    tol : float, default=1e-4
        Size of the residual of each column, relative to that column of (1 - a) R, at which to stop.
        Then G is wrong by at most tol ||r|| in each column r of R.
    """
    check_number("reach", reach, low=0, high=1)
    if reach == 1:
        raise InvalidInputError(f"reach must be a number in [0, 1); got {reach!r}.")
    if R.dtype.kind != "f":
        # Shares of integers and truth values are no integers.
        R = R.astype(np.float64)
    if reach == 0:
        return R.copy()
    spread = np.empty_like(R)
    step = max(1, _ENTRIES_AT_ONCE // max(1, len(R)))
    for start in range(0, R.shape[1], step):
        part = slice(start, start + step)
        spread[:, part] = _conjugate_gradients(S, R[:, part], reach, tol)
    return spread


def _conjugate_gradients(S: sparse.csr_array, R: Array, a: float, tol: float) -> Array:
    """Solve (I - a S) G = (1 - a) R for all columns side by side, each with steps of its own."""
    b = np.asarray((1 - a) * R, dtype=R.dtype)
    G: Array = b.copy()
    residual = np.asarray(a * (S @ G), dtype=R.dtype)
    direction = residual.copy()
    size = _square_norms(residual)
    enough = tol**2 * _square_norms(b)
    for _ in range(_MAX_ITER):
        if (size <= enough).all():
            break
        turned = direction - np.asarray(a * (S @ direction), dtype=R.dtype)
        curvature = np.einsum("ij,ij->j", direction, turned)
        step = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        G += step * direction
        residual -= step * turned
        before, size = size, _square_norms(residual)
        direction *= np.divide(size, before, out=np.zeros_like(size), where=before > 0)
        direction += residual
    if not (size <= enough).all():
        warnings.warn(
            f"What spreads with reach {a:g} was not found in {_MAX_ITER} iterations, and the "
            "result is less exact than asked for. Lower the reach, or raise tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return G


def _square_norms(columns: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->j", columns, columns))


def _scales(found: Neighbors) -> npt.NDArray[np.float64]:
    """Return the distance of each query to its 7th neighbour, or to the last of fewer."""
    rank = min(_SCALE_RANK, found.distances.shape[1]) - 1
    return np.asarray(found.distances[:, rank], dtype=np.float64)


def _affinities(
    found: Neighbors, of: npt.NDArray[np.float64], among: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return exp(-d^2 / (sigma_i sigma_j)); equal rows are as close as can be."""
    width = of[:, None] * among[found.indices]
    ratio = np.divide(found.distances**2, width, out=np.full(width.shape, np.inf), where=width > 0)
    ratio[found.distances == 0] = 0.0
    return np.asarray(np.exp(-ratio))
