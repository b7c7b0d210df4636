"""Graphs of items in partitions: the semantic graph and X'LX, affinities and diffusion."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import acosh, ceil
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.dask.blocks import (
    ALL,
    LazyBlock,
    RowBlocks,
    compute,
    constant,
    get_client,
    load_block,
    persist,
    row_blocks,
    take,
    task,
    tree_sum,
)
from tagloom.dask.neighbors import Candidates, nearest_neighbors
from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights
from tagloom.graph.diffusion import (
    SINKHORN_MAX_ITER,
    is_doubly_stochastic,
    local_scales,
    positive_or_one,
    self_tuning_affinities,
    sinkhorn_step,
)
from tagloom.graph.semantic import SYMMETRIES, WEIGHTS, symmetrized
from tagloom.neighbors import Neighbors, neighbor_table
from tagloom.validation import check_choice, check_integer

Array = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GraphBlocks:
    """Symmetric weights W between items: a task for each block of consecutive rows of W."""

    blocks: tuple[Any, ...]
    sizes: tuple[int, ...]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return sum(self.sizes)

    @classmethod
    def from_matrix(cls, W: Any, sizes: tuple[int, ...]) -> "GraphBlocks":
        """Cut a graph in memory, dense or sparse, into blocks of these numbers of rows."""
        weights = check_weights(W, sum(sizes), name="graph", nodes="items")
        ends = np.cumsum(sizes)
        parts = [weights[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        return cls(tuple(constant(part) for part in parts), sizes)

    def to_matrix(self) -> sparse.csr_array:
        """Gather all rows in the memory of the client; for graphs that fit there."""
        gathered = task(list, list(self.blocks)).compute()
        return sparse.csr_array(sparse.vstack(gathered))


def semantic_graph(
    S: Any,
    n_neighbors: int = 10,
    *,
    weight: str = "dot",
    symmetrize: str = "max",
    metric: str = "euclidean",
    algorithm: str = "exact",
    random_state: int = 0,
    client: Any = None,
    verbose: bool = False,
) -> GraphBlocks:
    """Join each item to its nearest others, as `tagloom.graph.semantic_graph` does.

    Parameters
    ----------
    S : dask array, `ParquetItems` or `RowBlocks` of shape (n_items, n_features)
        Semantic descriptors, in the same partitions as the features that the graph is used with.
    n_neighbors, weight, symmetrize, metric
        See `tagloom.graph.semantic_graph`.
    algorithm, random_state, client, verbose
        See `nearest_neighbors`.
    """
    check_choice("weight", weight, WEIGHTS)
    check_choice("symmetrize", symmetrize, SYMMETRIES)
    check_integer("n_neighbors", n_neighbors, at_least=1)
    client, rows = get_client(client), row_blocks(S)
    if rows.n_rows < 2:
        raise InvalidInputError(f"A graph needs at least 2 items to join; found {rows.n_rows}.")
    k = min(int(n_neighbors), rows.n_rows - 1)
    how: dict[str, Any] = {"metric": metric, "algorithm": algorithm, "random_state": random_state}
    found = nearest_neighbors(rows, k, **how, client=client, verbose=verbose)
    blocks = _symmetric_blocks(client, found.blocks, rows, weight, symmetrize)
    return GraphBlocks(tuple(blocks), rows.sizes)


def _symmetric_blocks(
    client: Any, found: tuple[Any, ...], rows: RowBlocks, weight: str, symmetrize: str
) -> list[Any]:
    chosen = [task(_directed_weights, block, rows.n_rows, weight, rows.dtype) for block in found]
    halo = Halo.of(client, [task(Candidates.positions, block) for block in found], rows)
    return persist(client, _with_transposed(chosen, halo, rows, symmetrize))


def _with_transposed(
    chosen: Sequence[Any], halo: "Halo", rows: RowBlocks, symmetrize: str
) -> list[Any]:
    """Join the edges that each block chose with those that other blocks chose to it."""
    spans = _spans(rows)
    parts: list[list[Any]] = [[] for _ in chosen]
    for b, joined in enumerate(halo.joined):
        for a in joined:
            parts[a].append(task(_transposed, chosen[b], spans[a], spans[b]))
    return [
        task(_symmetrized, own, given, symmetrize) for own, given in zip(chosen, parts, strict=True)
    ]


def _directed_weights(
    found: Candidates, n_items: int, weight: str, dtype: np.dtype[Any]
) -> sparse.csr_array:
    """Return w_ij = max(0, s_i's_j) for the neighbours j of the items i of a block."""
    weights = found.cosines if weight == "cosine" else found.products
    table = neighbor_table(np.maximum(weights, 0), found.indices, n_items)
    return sparse.csr_array(table.astype(dtype))


def _transposed(chosen: sparse.csr_array, to: "_Span", own: "_Span") -> sparse.csr_array:
    """Return the rows of W' in one block, from the columns that another block chose there."""
    part = sparse.csr_array(chosen[:, to.start : to.stop].T)
    shape = (part.shape[0], chosen.shape[1])
    return sparse.csr_array((part.data, part.indices + own.start, part.indptr), shape=shape)


def _symmetrized(
    own: sparse.csr_array, transposed: list[sparse.csr_array], symmetrize: str
) -> sparse.csr_array:
    """Return rows of max(W, W'), min(W, W') or (W + W') / 2; the parts of W' do not overlap."""
    empty = sparse.csr_array(own.shape, dtype=own.dtype)
    return symmetrized(own, sparse.csr_array(sum(transposed, empty)), symmetrize)


class _Span(NamedTuple):
    """Positions of the rows of a block."""

    start: int
    stop: int


def _spans(rows: RowBlocks) -> list[_Span]:
    return [_Span(start, start + size) for start, size in zip(rows.starts, rows.sizes, strict=True)]


def congruence(rows: RowBlocks, graph: GraphBlocks, mean: Floats, client: Any) -> Floats:
    """Return X'LX with L = D - W, where D = Diag(W1).

    With the partitions X_a and the blocks W_ab of the weights it is

        sum_a X_a' D_a X_a - sum_a X_a' W_aa X_a - sum_{a<b} (X_a' W_ab X_b + X_b' W_ab' X_a),

    so a partition needs only those rows of another that its items are joined to, and only once.
    As L1 = 0, rows may be centred by `mean`, which saves digits where columns are far from 0. For
    each partition one d x d sum is passed from pair to pair.
    """
    if graph.sizes != rows.sizes:
        raise InvalidInputError(
            "The graph must have the partitions of X, row for row: X has "
            f"{len(rows.sizes)} partitions with {rows.n_rows} rows, the graph {len(graph.sizes)} "
            f"with {graph.n_items}. Make it from descriptors with the chunks of X."
        )
    result: Floats = compute(client, tree_sum(_congruence_terms(rows, graph, constant(mean))))
    return result


def _congruence_terms(rows: RowBlocks, graph: GraphBlocks, mean: Any) -> list[Any]:
    spans = _spans(rows)
    terms = []
    for a, (own, W) in enumerate(zip(rows.blocks, graph.blocks, strict=True)):
        total = task(_within, own, W, mean, spans[a])
        for b in range(a + 1, len(spans)):
            other = rows.blocks[b]
            if not isinstance(other, LazyBlock):
                other = task(_joined_rows, other, W, spans[b])
            total = task(_across, total, own, other, W, mean, spans[b])
        terms.append(total)
    return terms


def _within(own: Any, W: sparse.csr_array, mean: Floats, span: _Span) -> Floats:
    """Return X_a'(D_a - W_aa) X_a."""
    X = load_block(own) - mean
    degrees = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    result: Floats = X.T @ (degrees[:, None] * X - W[:, span.start : span.stop] @ X)
    return result


def _joined_rows(other: Any, W: sparse.csr_array, span: _Span) -> tuple[Array, Array]:
    """Return the rows of another block that the items of this one are joined to, and where."""
    positions = np.unique(W.indices[(W.indices >= span.start) & (W.indices < span.stop)])
    return positions, load_block(other)[positions - span.start]


def _across(
    total: Floats, own: Any, other: Any, W: sparse.csr_array, mean: Floats, span: _Span
) -> Floats:
    """Subtract X_a' W_ab X_b and its transpose from the sum so far."""
    positions, rows = _joined_rows(other, W, span) if isinstance(other, LazyBlock) else other
    if not len(positions):
        return total
    product = (load_block(own) - mean).T @ (W[:, positions] @ (rows - mean))
    return np.asarray(total - product - product.T)


@dataclass(frozen=True, eq=False)
class Halo:
    """The rows of all blocks that the edges of each block lead to (halo or ghost exchange).

    A block needs no others, so that no worker ever holds a table over all items.

    Attributes
    ----------
    joined : tuple of tuples of int
        For each block the blocks that it needs rows of, in order.
    wanted : tuple of tuples
        For each of these a task for the positions of the rows within it.
    n_rows : int
        The largest number of rows that a block needs.
    """

    joined: tuple[tuple[int, ...], ...]
    wanted: tuple[tuple[Any, ...], ...]
    n_rows: int

    @classmethod
    def of(cls, client: Any, positions: Sequence[Any], rows: RowBlocks) -> "Halo":
        """Return the halo of blocks that need these positions, given as tasks, ascending."""
        bounds = np.array([*rows.starts, rows.n_rows])
        cut = persist(client, [task(_cut, needed, bounds) for needed in positions])
        lengths = compute(client, task(list, [task(_lengths, parts) for parts in cut]))
        joined = tuple(tuple(np.flatnonzero(row).tolist()) for row in lengths)
        pairs = zip(cut, joined, strict=True)
        wanted = tuple(tuple(task(getitem, parts, b) for b in those) for parts, those in pairs)
        return cls(joined, wanted, int(max(row.sum() for row in lengths)))

    def __call__(self, blocks: Sequence[Any], columns: slice = ALL) -> list[list[Any]]:
        """Return for each block tasks for the rows that it needs, in order, of blocks of rows."""
        return [
            [task(take, blocks[b], at, columns) for b, at in zip(those, wanted, strict=True)]
            for those, wanted in zip(self.joined, self.wanted, strict=True)
        ]


def _cut(positions: Positions, bounds: Positions) -> list[Positions]:
    parts = np.split(positions, np.searchsorted(positions, bounds[1:-1]))
    return [part - start for part, start in zip(parts, bounds[:-1], strict=True)]


def _lengths(parts: list[Positions]) -> Positions:
    return np.array([len(part) for part in parts])


@dataclass(frozen=True, eq=False)
class AffinityBlocks:
    """`tagloom.graph.AffinityGraph` in partitions, with Sinkhorn scaling.

    Attributes
    ----------
    S : tuple
        For each block a task for its rows of the normalised affinities, with columns for the rows
        of its halo alone.
    halo : Halo
    rows : RowBlocks
        The features of the items.
    scales, factors : tuple
        Tasks for the local scales of the items, and for the diagonal of T.
    n_neighbors, metric, algorithm, random_state
        How neighbours are searched, see `tagloom.dask.nearest_neighbors`.
    """

    S: tuple[Any, ...]
    halo: Halo
    rows: RowBlocks
    scales: tuple[Any, ...]
    factors: tuple[Any, ...]
    n_neighbors: int
    metric: str
    algorithm: str
    random_state: int

    def diffuse(
        self, tables: Sequence[Any], alpha: float, client: Any, *, tol: float = 1e-5
    ) -> list[Any]:
        r"""Return tasks for the blocks of (1 - a) (I - a S)^{-1} R, given tasks for those of R.

        The Chebyshev semi-iteration (Golub and Varga 1961) from G_0 = (1 - a) R,

            G_{k+1} = w_{k+1} (a S G_k + (1 - a) R - G_{k-1}) + G_{k-1},
            w_1 = 1,   w_2 = 1 / (1 - a^2 / 2),   w_{k+1} = 1 / (1 - a^2 w_k / 4),

        is as fast as conjugate gradients in the worst case. As the eigenvalues of a S lie in
        [-a, a], it needs no inner products over all items, for which every iteration of theirs
        would wait twice. The error of each column r is at most tol ||r|| after n iterations with
        a / cosh(n arccosh(1 / a)) <= tol.
        """
        if alpha == 0:
            return list(tables)
        # Kept step by step: Dask takes time with the square of the depth of a graph.
        tables = persist(client, tables)
        previous, spread = tables, persist(client, [task(_scaled, R, 1 - alpha) for R in tables])
        weight = 1.0
        for k in range(_n_iterations(alpha, tol)):
            if k:
                weight = 1 / (1 - alpha**2 * weight / (2 if k == 1 else 4))
            parts = zip(self.S, self.halo(spread), tables, previous, strict=True)
            following = [task(_chebyshev_step, *part, alpha, weight) for part in parts]
            previous, spread = spread, persist(client, following)
        return list(spread)


def _n_iterations(alpha: float, tol: float) -> int:
    """Return the least n with a / cosh(n arccosh(1 / a)) <= tol, at least 1."""
    return max(1, ceil(acosh(max(1.0, alpha / tol)) / acosh(1 / alpha)))


def _scaled(table: Array, factor: float) -> Array:
    return np.asarray(factor * table, dtype=table.dtype)


def _chebyshev_step(
    S: sparse.csr_array,
    needed: list[Array],
    table: Array,
    previous: Array,
    alpha: float,
    weight: float,
) -> Array:
    fixed_point = alpha * (S @ np.concatenate(needed)) + (1 - alpha) * table
    return np.asarray(weight * (fixed_point - previous) + previous, dtype=table.dtype)


def affinity_graph(
    rows: RowBlocks,
    n_neighbors: int,
    *,
    metric: str = "euclidean",
    algorithm: str = "auto",
    random_state: int = 0,
    client: Any,
    verbose: bool = False,
) -> AffinityBlocks:
    """Connect each item to its nearest neighbours, as `tagloom.graph.affinity_graph` does."""
    k = min(n_neighbors, rows.n_rows - 1)
    how: dict[str, Any] = {"metric": metric, "algorithm": algorithm, "random_state": random_state}
    found = nearest_neighbors(rows, k, **how, client=client, verbose=verbose).blocks
    scales = persist(
        client, [task(local_scales, task(getattr, block, "distances")) for block in found]
    )
    positions = persist(client, [task(Candidates.positions, block) for block in found])
    halo = Halo.of(client, positions, rows)
    chosen = [
        task(_chosen_affinities, *parts, rows.n_rows)
        for parts in zip(found, scales, positions, halo(scales), strict=True)
    ]
    A = persist(client, [task(_compressed, W) for W in _with_transposed(chosen, halo, rows, "max")])
    halo = Halo.of(client, [task(getitem, part, 1) for part in A], rows)
    weights = persist(client, [task(getitem, part, 0) for part in A])
    factors = _sinkhorn_factors(weights, halo, client)
    scaled = [
        task(_scaled_affinities, *parts)
        for parts in zip(weights, factors, halo(factors), strict=True)
    ]
    sums = [task(_row_sums, W) for W in scaled]
    bounded = [
        task(_bounded, *parts, rows.dtype) for parts in zip(scaled, sums, halo(sums), strict=True)
    ]
    S = tuple(persist(client, bounded))
    return AffinityBlocks(S, halo, rows, tuple(scales), tuple(factors), n_neighbors, **how)


def _chosen_affinities(
    found: Candidates, scales: Floats, positions: Positions, needed: list[Floats], n_items: int
) -> sparse.csr_array:
    near = np.searchsorted(positions, found.indices)
    local = Neighbors(near, found.distances, 1.0, "exact")
    weights = self_tuning_affinities(local, scales, np.concatenate(needed))
    return neighbor_table(weights, found.indices, n_items)


def _compressed(W: sparse.csr_array) -> tuple[sparse.csr_array, Positions]:
    """Return W with its empty columns left out, and the positions of the others."""
    positions, columns = np.unique(W.indices, return_inverse=True)
    parts = (W.data, columns.astype(np.int32), W.indptr)
    return sparse.csr_array(parts, shape=(W.shape[0], len(positions))), positions.astype(np.int64)


def _sinkhorn_factors(A: Sequence[Any], halo: Halo, client: Any) -> list[Any]:
    """Return tasks for t with t_i sum_j a_ij t_j = 1, see `tagloom.graph.diffusion`."""
    t = persist(client, [task(_first_factors, W) for W in A])
    for _ in range(SINKHORN_MAX_ITER):
        sums = [task(_products, *parts) for parts in zip(A, halo(t), strict=True)]
        sums = persist(client, sums)
        pairs = list(zip(t, sums, strict=True))
        if compute(client, task(all, [task(is_doubly_stochastic, *pair) for pair in pairs])):
            break
        t = persist(client, [task(sinkhorn_step, *pair) for pair in pairs])
    return list(t)


def _first_factors(A: sparse.csr_array) -> Floats:
    return np.asarray(1 / np.sqrt(positive_or_one(_row_sums(A))))


def _row_sums(A: sparse.csr_array) -> Floats:
    return np.asarray(A.sum(axis=1), dtype=np.float64)


def _products(A: sparse.csr_array, needed: list[Array]) -> Array:
    return np.asarray(A @ np.concatenate(needed))


def _scaled_affinities(A: sparse.csr_array, t: Floats, needed: list[Floats]) -> sparse.csr_array:
    """Return rows of T A T."""
    i = np.repeat(np.arange(len(t)), np.diff(A.indptr))
    data = t[i] * A.data * np.concatenate(needed)[A.indices]
    return sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)


def _bounded(
    A: sparse.csr_array, sums: Floats, needed: list[Floats], dtype: np.dtype[Any]
) -> sparse.csr_array:
    """Return rows of A with a_ij divided by the larger of the sums of its row and its column."""
    i = np.repeat(np.arange(len(sums)), np.diff(A.indptr))
    largest = np.maximum(sums[i], np.concatenate(needed)[A.indices])
    data = (A.data / positive_or_one(largest)).astype(dtype)
    return sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)
