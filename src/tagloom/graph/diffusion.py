"""Affinity graphs of nearest neighbours, and the diffusion of scores and residuals over them.

Below the graph and label spreading: the scores of a model, corrected by its diffused residuals and
smoothed, as in Correct and Smooth (Huang et al. 2021), with entries that may be unknown.
"""

import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import cpu_count
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.linalg import column_dots, conjugate_gradients, side_by_side
from tagloom.neighbors import Neighbors, nearest_neighbors, neighbor_table
from tagloom.validation import check_choice, check_integer, check_number

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

NORMALIZATIONS = ("sinkhorn", "symmetric")
# The distance to this neighbour is the local scale of an item (Zelnik-Manor and Perona 2004).
_SCALE_RANK = 7
# Sinkhorn iterations stop when all row sums are this close to 1, or after this many steps.
_SINKHORN_TOL = 1e-3
SINKHORN_MAX_ITER = 100
# Where no doubly stochastic scaling exists, factors would grow with every step.
_LARGEST_FACTOR = 1e100
# So many entries are diffused at a time, to bound the memory of the search directions.
_ENTRIES_AT_ONCE = 1 << 23
# Of these, columns are solved for in blocks of about this many entries: the tables of conjugate
# gradients then stay in the cache. The graph is read once for each block: it has some columns.
_ENTRIES_IN_CACHE = 1 << 21
_FEWEST_COLUMNS = 24
_MAX_ITER = 500


@dataclass(frozen=True, eq=False)
class AffinityGraph:
    """A normalised graph of nearest neighbours that can be extended to new items.

    Attributes
    ----------
    S : csr_array of shape (n_items, n_items)
        The normalised affinities, symmetric with eigenvalues in [-1, 1]: T A T, where A are the
        affinities and T is the diagonal of the Sinkhorn scaling (see `sinkhorn_scaling`), or
        D^{-1/2} A D^{-1/2} with the degrees D.
    rows : array of shape (n_items, n_features)
        The features of the items, or what numpy makes that array of when it is needed.
    scales : array of shape (n_items,)
        The local scale of each item: its distance to its 7th neighbour.
    degrees : array of shape (n_items,)
        The diagonal of D, the row sums of A.
    factors : array of shape (n_items,), or None
        The diagonal of T; None under symmetric normalisation.
    n_neighbors, metric, algorithm
        How neighbours are searched, see `tagloom.neighbors.nearest_neighbors`.
    """

    S: sparse.csr_array
    rows: Any
    scales: Floats
    degrees: Floats
    factors: Floats | None
    n_neighbors: int
    metric: str
    algorithm: str

    def out_of_sample(self, queries: Array) -> sparse.csr_array:
        """Return the normalised affinities of new items to the items of the graph, a row for each.

        Under Sinkhorn scaling s_xj = a_xj t_j / sum_k a_xk t_k, a row that sums to 1 like those of
        S. Under symmetric normalisation s_xj = a_xj / sqrt(d_x (d_j + a_xj)): the new edge counts
        in the degree of the neighbour as if the item were part of the graph, which keeps the
        affinity to an isolated neighbour bounded. New items do not influence each other.
        """
        k = min(self.n_neighbors, len(self.rows))
        found = nearest_neighbors(
            self.rows, k, queries, metric=self.metric, algorithm=self.algorithm
        )
        weights = self_tuning_affinities(found, local_scales(found.distances), self.scales)
        if self.factors is None:
            own = positive_or_one(weights.sum(axis=1, keepdims=True))
            weights /= np.sqrt(own * positive_or_one(self.degrees[found.indices] + weights))
        else:
            weights *= self.factors[found.indices]
            weights /= positive_or_one(weights.sum(axis=1, keepdims=True))
        return neighbor_table(weights.astype(self.S.dtype), found.indices, len(self.rows))


def affinity_graph(
    rows: Array,
    n_neighbors: int = 20,
    *,
    metric: str = "euclidean",
    algorithm: str = "auto",
    normalization: str = "sinkhorn",
) -> AffinityGraph:
    r"""Connect each item to its nearest neighbours by self-tuning affinities.

    a_ij = exp(-d_ij^2 / (sigma_i sigma_j)), where the local scale sigma_i is the distance of item i
    to its 7th neighbour (to the last, where there are fewer): dense and sparse regions are
    connected alike (Zelnik-Manor and Perona 2004). An edge is kept if either of its ends chose it.

    Parameters
    ----------
    rows : array of shape (n_items, n_features), at least 2 items
    n_neighbors : int, default=20
        All other items where there are fewer.
    metric, algorithm
        See `tagloom.neighbors.nearest_neighbors`.
    normalization : {"sinkhorn", "symmetric"}, default="sinkhorn"
        Doubly stochastic (Sinkhorn) scaling of A, or D^{-1/2} A D^{-1/2} with the degrees D.
    """
    check_integer("n_neighbors", n_neighbors, at_least=1)
    check_choice("normalization", normalization, NORMALIZATIONS)
    rows = np.asarray(rows)
    if len(rows) < 2:
        raise InvalidInputError(f"A graph needs at least 2 items to join; got {len(rows)}.")
    k = min(int(n_neighbors), len(rows) - 1)
    found = nearest_neighbors(rows, k, metric=metric, algorithm=algorithm)
    scales = local_scales(found.distances)
    chosen = neighbor_table(self_tuning_affinities(found, scales, scales), found.indices, len(rows))
    A = sparse.csr_array(chosen.maximum(chosen.T))
    degrees = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    S, factors = (
        sinkhorn_scaling(A) if normalization == "sinkhorn" else (_symmetric(A, degrees), None)
    )
    S = S.astype(rows.dtype if rows.dtype == np.float32 else np.float64)
    return AffinityGraph(S, rows, scales, degrees, factors, int(n_neighbors), metric, algorithm)


def local_scales(distances: Floats) -> Floats:
    """Return the distance of each query to its 7th neighbour, or to the last of fewer."""
    rank = min(_SCALE_RANK, distances.shape[1]) - 1
    return np.asarray(distances[:, rank], dtype=np.float64)


def self_tuning_affinities(found: Neighbors, query_scales: Floats, row_scales: Floats) -> Floats:
    """Return exp(-d^2 / (sigma_i sigma_j)); equal rows have affinity 1."""
    width = query_scales[:, None] * row_scales[found.indices]
    ratio = np.divide(found.distances**2, width, out=np.full(width.shape, np.inf), where=width > 0)
    ratio[found.distances == 0] = 0.0
    return np.asarray(np.exp(-ratio))


def _symmetric(A: sparse.csr_array, degrees: Floats) -> sparse.csr_array:
    """Return D^{-1/2} A D^{-1/2}."""
    D = sparse.diags_array(1 / np.sqrt(positive_or_one(degrees)))
    return sparse.csr_array(D @ A @ D)


def sinkhorn_scaling(A: sparse.csr_array) -> tuple[sparse.csr_array, Floats]:
    r"""Return the doubly stochastic matrix S = T A T and the diagonal t of T (Sinkhorn 1967).

    t solves t_i sum_j a_ij t_j = 1 and is found by the iteration t <- sqrt(t / (A t)) (Knight et
    al. 2014). D^{-1/2} A D^{-1/2} inflates a score shared by all items in dense regions; a doubly
    stochastic matrix leaves it unchanged, so that dense regions do not dominate.

    Not every A has such a scaling (a star graph has none). Dividing s_ij by max(r_i, r_j)
    with the remaining row sums r brings no sum above 1, so that all eigenvalues lie in [-1, 1].

    Parameters
    ----------
    A : csr_array of shape (n_items, n_items)
        Symmetric and non-negative. An item without edges has t = 1.
    """
    t = 1 / np.sqrt(positive_or_one(np.asarray(A.sum(axis=1), dtype=np.float64)))
    for _ in range(SINKHORN_MAX_ITER):
        sums = A @ t
        if is_doubly_stochastic(t, sums):
            break
        t = sinkhorn_step(t, sums)
    return _scaled_to_at_most_one(A, t), t


def is_doubly_stochastic(t: Floats, sums: Floats) -> bool:
    """Return whether the row sums of T A T are close enough to 1, from t and A t."""
    return bool(np.all(np.abs(t * sums - 1)[sums > 0] < _SINKHORN_TOL))


def sinkhorn_step(t: Floats, sums: Floats) -> Floats:
    """Return sqrt(t / (A t)), from t and A t."""
    following = np.where(sums > 0, np.sqrt(t) / np.sqrt(positive_or_one(sums)), 1.0)
    return np.clip(following, 1 / _LARGEST_FACTOR, _LARGEST_FACTOR)


def _scaled_to_at_most_one(A: sparse.csr_array, t: Floats) -> sparse.csr_array:
    """Return T A T with s_ij divided by the larger of its row and column sums."""
    S = sparse.coo_array(A)
    i, j = S.coords
    weights = t[i] * S.data * t[j]
    sums = np.bincount(i, weights, minlength=len(t))
    largest = positive_or_one(np.maximum(sums[i], sums[j]))
    return sparse.csr_array((weights / largest, (i, j)), A.shape)


def positive_or_one(values: Array) -> Floats:
    """Return the values with 1 in the place of 0, as divisors that leave isolated items alone."""
    return np.where(values > 0, values, 1.0)


def diffuse(
    S: sparse.csr_array, R: Array | sparse.csc_array, alpha: float, *, tol: float = 1e-4
) -> Array:
    """Return (1 - a) (I - a S)^{-1} R, label spreading with alpha = a (Zhou et al. 2004).

    It is the fixed point of G = a S G + (1 - a) R, and the minimiser of
    ||G - R||_F^2 + a / (1 - a) tr(G'(I - S) G): close to R, and smooth on the graph. With alpha 0
    it is R itself. Blocks of columns are solved for side by side; the result does not depend on the
    number of threads.

    Parameters
    ----------
    S : csr_array of shape (n_items, n_items)
        Symmetric with eigenvalues in [-1, 1].
    R : array or csc_array of shape (n_items, n_columns)
    alpha : float in [0, 1)
    tol : float, default=1e-4
        Norm of the residual of each column, relative to that column of (1 - a) R, at which to stop.
        The error of G is then at most tol ||r|| in each column r of R.
    """
    check_number("alpha", alpha, low=0, high=1)
    if alpha == 1:
        raise InvalidInputError(f"alpha must be a number in [0, 1); got {alpha!r}.")
    if R.dtype.kind != "f":
        # The result for integers and booleans is fractional.
        R = R.astype(np.float64)
    spread = np.empty(R.shape, dtype=R.dtype)

    def spread_block(part: slice) -> bool:
        some: Array = R[:, part] if isinstance(R, np.ndarray) else R[:, part].toarray()
        spread[:, part], converged = (some, True) if alpha == 0 else _solve(S, some, alpha, tol)
        return converged

    n_items, n_columns = R.shape
    width, n_at_once = _block_width(n_items)
    blocks = [partial(spread_block, part) for part in _slices(n_columns, width)]
    n_threads = max(1, min(len(blocks), n_at_once, cpu_count()))
    if not all(list(side_by_side(blocks, n_threads))):
        warnings.warn(
            f"Diffusion with alpha={alpha:g} did not converge in {_MAX_ITER} iterations; the "
            "result is less accurate than tol asks for. Lower alpha, or raise tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return spread


def column_blocks(n_items: int, n_columns: int) -> Iterator[slice]:
    """Yield the columns of a table, as many at a time as `diffuse` has in memory.

    Diffused in these blocks or all together, columns are the same to the last bit.
    """
    width, n_at_once = _block_width(n_items)
    return _slices(n_columns, width * n_at_once)


def _block_width(n_items: int) -> tuple[int, int]:
    """Return how many columns are solved for together, and how many such blocks at a time."""
    most = max(1, _ENTRIES_AT_ONCE // max(1, n_items))
    width = min(most, max(_FEWEST_COLUMNS, _ENTRIES_IN_CACHE // max(1, n_items)))
    return width, most // width


def _slices(n_columns: int, width: int) -> Iterator[slice]:
    return (slice(start, start + width) for start in range(0, n_columns, width))


def _solve(S: sparse.csr_array, R: Array, a: float, tol: float) -> tuple[Array, bool]:
    """Solve (I - a S) G = (1 - a) R by conjugate gradients, all columns side by side.

    Returns G, and whether it was found to the tolerance.
    """
    b = np.asarray((1 - a) * R, dtype=R.dtype)
    G: Array = b.copy()
    residual = np.asarray(a * (S @ G), dtype=R.dtype)

    def product(D: Array) -> Array:
        return np.asarray(D - np.asarray(a * (S @ D), dtype=R.dtype))

    def converged() -> bool:
        return bool((column_dots(residual, residual) <= enough).all())

    enough = tol**2 * column_dots(b, b)
    steps = conjugate_gradients(product, residual)
    for _ in range(_MAX_ITER):
        if converged():
            return G, True
        step = next(steps)
        G += step.length * step.direction
    return G, converged()


class KnownResiduals(NamedTuple):
    """R = W o (Y - P) and W, sparse tables of all items and labels."""

    residuals: sparse.csc_array
    weights: sparse.csc_array


class Diffused(NamedTuple):
    """Residuals and weights, diffused over a graph."""

    residuals: Array
    weights: Array


class ResidualDiffusion:
    """Scores of a linear model, corrected by diffused residuals and smoothed, on one graph.

    With P = XM + b, the weights W of the known labels (0: unknown), the residuals R = W o (Y - P)
    and the normalised affinities S of the graph,

        residuals = (1 - a) (I - a S)^{-1} R
        weights   = (1 - a) (I - a S)^{-1} W
        G_ij = residuals_ij / (weights_ij + m)      the mean residual nearby, with shrinkage m
        F = (1 - s) (I - s S)^{-1} (P + G)          smoothed with s.

    Labels do not depend on each other: of a large collection some are computed at a time, and the
    diffused tables are not kept, but made again for a file or, to be kept then, for new items.

    Parameters
    ----------
    graph : AffinityGraph
    alpha : float
        a.
    known : KnownResiduals, optional
        R and W.
    diffused : Diffused, optional
        What was diffused before, instead of `known`.
    """

    def __init__(
        self,
        graph: AffinityGraph,
        alpha: float,
        known: KnownResiduals | None = None,
        diffused: Diffused | None = None,
    ) -> None:
        self.graph, self.alpha = graph, alpha
        self._known, self._diffused = known, diffused
        self._weights: Array | None = None
        self._smoothed: dict[float, Array] = {}

    def of_residuals(self, residuals: sparse.csc_array) -> "ResidualDiffusion":
        """Return the same of other residuals, which shares what was diffused of the weights."""
        assert self._known is not None
        other = copy(self)
        other._known = self._known._replace(residuals=residuals)
        other._diffused, other._smoothed = None, {}
        if self._diffused is not None:
            other._weights = self._diffused.weights
        return other

    def diffused(self, labels: slice = slice(None), *, keep: bool = False) -> Diffused:
        """Return residuals and weights of some labels, diffused; those of all may be kept."""
        if self._diffused is not None:
            return Diffused(*(table[:, labels] for table in self._diffused))
        assert self._known is not None
        residuals, weights = (table[:, labels] for table in self._known)
        found = Diffused(
            diffuse(self.graph.S, residuals, self.alpha),
            diffuse(self.graph.S, weights, self.alpha)
            if self._weights is None
            else self._weights[:, labels],
        )
        if keep:
            self._diffused = found
        return found

    def scores(self, P: Array, shrinkage: float, smoothing: float, *, keep: bool = False) -> Array:
        """Return F. The smoothed P is the same for every shrinkage: `keep` it for the next."""
        blocks = list(column_blocks(*P.shape))
        if keep or len(blocks) == 1:
            self.diffused(keep=True)
        if keep and smoothing not in self._smoothed:
            self._smoothed[smoothing] = diffuse(self.graph.S, P, smoothing)
        F = np.empty_like(P)
        for labels in blocks:
            F[:, labels] = self._scores_of(labels, P, shrinkage, smoothing)
        return F

    def _scores_of(self, labels: slice, P: Array, shrinkage: float, smoothing: float) -> Array:
        F = diffuse(self.graph.S, shrunk(*self.diffused(labels), shrinkage), smoothing)
        if smoothing in self._smoothed:
            F += self._smoothed[smoothing][:, labels]
        else:
            F += diffuse(self.graph.S, P[:, labels], smoothing)
        return F

    def out_of_sample(
        self, queries: Array, P: Array, F: Array, shrinkage: float, smoothing: float
    ) -> Array:
        """Return the scores of new items, each a further row of the equations above.

        With s_x the affinities of a new item x, which has no known labels,

            residuals(x) = a s_x residuals,    weights(x) = a s_x weights,
            f(x) = s s_x F + (1 - s) (p(x) + g(x)).
        """
        s_x = self.graph.out_of_sample(queries)
        tables = self.diffused(keep=True)
        residuals, weights = (self.alpha * (s_x @ table) for table in tables)
        corrected = P + shrunk(residuals, weights, shrinkage)
        return np.asarray(smoothing * (s_x @ F) + (1 - smoothing) * corrected, dtype=P.dtype)


def shrunk(residuals: Array, weights: Array, shrinkage: float) -> Array:
    """Return G = residuals / (weights + m), entry by entry."""
    # Solved to a tolerance, sums of weights may fall short of 0 by a rounding.
    below = np.maximum(weights, 0)
    below += residuals.dtype.type(shrinkage)
    return np.divide(residuals, below, out=below)


def known_residuals(known: PartialLabels, P: Array) -> KnownResiduals:
    """Return R = W o (Y - P) and W over all items and labels, 0 where an entry is not listed.

    Unlisted tags that count as absent were not annotated: they are not diffused.
    """
    entries = known.entries()
    at = entries.rows, entries.columns
    residuals = (entries.weights * (entries.present - P[at])).astype(P.dtype)
    weights = entries.weights.astype(P.dtype)
    tables = (sparse.csc_array((table, at), shape=P.shape) for table in (residuals, weights))
    return KnownResiduals(*tables)
