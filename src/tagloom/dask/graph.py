"""Nearest neighbours, the semantic graph and X'LX for rows in partitions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom import neighbors
from tagloom.dask.blocks import (
    LazyBlock,
    RowBlocks,
    compute,
    constant,
    get_client,
    import_dask,
    load_block,
    persist,
    persist_and_wait,
    row_blocks,
    task,
    tree_sum,
)
from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights
from tagloom.graph.semantic import SYMMETRIES, WEIGHTS, symmetrized
from tagloom.neighbors import ALGORITHMS, METRICS, Neighbors, neighbor_table
from tagloom.validation import check_choice, check_integer, is_integer

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class Candidates(NamedTuple):
    """The nearest rows found so far for each row of a block, nearest first, ties by position.

    `products` are x_i'x_j and `cosines` the same of unit length. The weights of a graph need them,
    and only a task that holds both rows can compute them.
    """

    indices: npt.NDArray[np.int64]
    distances: Floats
    products: Floats
    cosines: Floats


@dataclass(frozen=True, eq=False)
class NeighborBlocks:
    """The neighbours of all rows: for each block of rows a task that gives `Candidates`."""

    blocks: tuple[Any, ...]
    sizes: tuple[int, ...]
    n_neighbors: int

    @property
    def indices(self) -> Any:
        """Positions of the neighbours as a dask array of shape (n_rows, n_neighbors)."""
        return self._array("indices", np.int64)

    @property
    def distances(self) -> Any:
        """Distances to the neighbours as a dask array of shape (n_rows, n_neighbors)."""
        return self._array("distances", np.float64)

    def _array(self, name: str, dtype: type) -> Any:
        da = import_dask("dask.array")

        return da.concatenate(
            [
                da.from_delayed(task(getattr, block, name), (size, self.n_neighbors), dtype)
                for block, size in zip(self.blocks, self.sizes, strict=True)
            ]
        )


@dataclass(frozen=True)
class _Search:
    n_neighbors: int
    metric: str
    algorithm: str


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: str = "euclidean",
    algorithm: str = "exact",
    client: Any = None,
    verbose: bool = False,
) -> NeighborBlocks:
    """Find the nearest other rows of each row, as `tagloom.neighbors.nearest_neighbors` does.

    Every pair of partitions is searched by one task, and each row keeps the nearest of all found:
    no task holds more than two partitions. Time grows with the square of the number of rows.

    Parameters
    ----------
    X : dask array, `ParquetItems` or `RowBlocks`
    n_neighbors : int
    metric : {"euclidean", "cosine"}
    algorithm : {"exact", "approximate", "auto"}
        How to search within one partition; "approximate" is faster for large ones.
    client : distributed.Client, optional
        By default the client that was created last.
    verbose : bool, default=False
        Show a progress bar over the partitions.
    """
    check_choice("metric", metric, METRICS)
    check_choice("algorithm", algorithm, ALGORITHMS)
    rows = row_blocks(X)
    if not is_integer(n_neighbors) or not 1 <= n_neighbors < rows.n_rows:
        raise InvalidInputError(
            f"n_neighbors must be an integer from 1 to {rows.n_rows - 1}, the number of rows "
            f"that can be neighbours; got {n_neighbors!r}."
        )
    search = _Search(int(n_neighbors), metric, algorithm)
    blocks = persist_and_wait(
        get_client(client),
        list(_search_tasks(rows, search)),
        "searching neighbours",
        verbose=verbose,
        unit="partitions",
    )
    return NeighborBlocks(tuple(blocks), rows.sizes, search.n_neighbors)


def _search_tasks(rows: RowBlocks, search: _Search) -> Iterator[Any]:
    """Yield the last task of the chain of each block, which searches one block after another.

    In a chain one foreign block is in transit at a time. Each block starts with itself and goes
    round, so that they do not all request the same block at once.
    """
    n_blocks, starts = len(rows.blocks), rows.starts
    for a, own in enumerate(rows.blocks):
        found: Any = None
        for step in range(n_blocks):
            b = (a + step) % n_blocks
            other = _used_once(rows.blocks[b])
            found = task(_merge_nearest, found, own, other, starts[b], search)
        yield task(_without_self, found, starts[a], search.n_neighbors)


def _used_once(block: Any) -> Any:
    """Return a block under a key of its own, for a single task.

    A worker keeps a foreign block as long as any task anywhere needs its key: with a single key for
    all tasks, workers would accumulate every block.
    """
    return block if isinstance(block, LazyBlock) else task(load_block, block)


def _merge_nearest(
    previous: Candidates | None, own: Any, other: Any, start: int, search: _Search
) -> Candidates:
    """Return the nearest of the previous candidates and the rows of another block."""
    queries, base = load_block(own), load_block(other)
    k = min(search.n_neighbors + 1, len(base))
    found = neighbors.nearest_neighbors(
        base, k, queries, metric=search.metric, algorithm=search.algorithm
    )
    candidates = _candidates(queries, base, found, start)
    if previous is None:
        return candidates
    both = Candidates(*(np.hstack(pair) for pair in zip(previous, candidates, strict=True)))
    order = np.lexsort((both.indices, both.distances), axis=-1)[:, : search.n_neighbors + 1]
    parts: list[Array] = [np.take_along_axis(part, order, axis=1) for part in both]
    return Candidates(*parts)


def _candidates(queries: Array, base: Array, found: Neighbors, start: int) -> Candidates:
    products = np.empty(found.indices.shape)
    for column, near in enumerate(found.indices.T):
        products[:, column] = np.einsum("ij,ij->i", queries, base[near], dtype=np.float64)
    cosines = products * (_inverse_norms(queries)[:, None] * _inverse_norms(base)[found.indices])
    return Candidates(found.indices + start, found.distances, products, cosines)


def _inverse_norms(rows: Array) -> Floats:
    """Return 1 / |x_i|, and 0 for a row of zeros."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return np.asarray(np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0))


def _without_self(found: Candidates, start: int, k: int) -> Candidates:
    """Drop each row from its own neighbours, or the last where equal rows come before it."""
    own = found.indices == np.arange(start, start + len(found.indices))[:, None]
    own[~own.any(axis=1), -1] = True
    return Candidates(*(part[~own].reshape(-1, k) for part in found))


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
    client: Any = None,
    verbose: bool = False,
) -> GraphBlocks:
    """Join each item to its nearest others, as `tagloom.graph.semantic_graph` does.

    Parameters
    ----------
    S : dask array, `ParquetItems` or `RowBlocks` of shape (n_items, n_features)
        Semantic descriptors, in the same partitions as the features that the graph is used with.
    n_neighbors, weight, symmetrize, metric, algorithm
        See `tagloom.graph.semantic_graph`.
    client, verbose
        See `nearest_neighbors`.
    """
    check_choice("weight", weight, WEIGHTS)
    check_choice("symmetrize", symmetrize, SYMMETRIES)
    check_integer("n_neighbors", n_neighbors, at_least=1)
    client, rows = get_client(client), row_blocks(S)
    if rows.n_rows < 2:
        raise InvalidInputError(f"A graph needs at least 2 items to join; found {rows.n_rows}.")
    k = min(int(n_neighbors), rows.n_rows - 1)
    how: dict[str, Any] = {"metric": metric, "algorithm": algorithm}
    found = nearest_neighbors(rows, k, **how, client=client, verbose=verbose)
    blocks = _symmetric_blocks(client, found.blocks, rows, weight, symmetrize)
    return GraphBlocks(tuple(blocks), rows.sizes)


def _symmetric_blocks(
    client: Any, found: tuple[Any, ...], rows: RowBlocks, weight: str, symmetrize: str
) -> list[Any]:
    """Join the edges that each block chose with those that other blocks chose to it."""
    chosen = [task(_directed_weights, block, rows.n_rows, weight, rows.dtype) for block in found]
    tasks = [
        task(_symmetrized, own, [task(_columns, other, *span) for other in chosen], symmetrize)
        for own, span in zip(chosen, _spans(rows), strict=True)
    ]
    return persist(client, tasks)


def _directed_weights(
    found: Candidates, n_items: int, weight: str, dtype: np.dtype[Any]
) -> sparse.csr_array:
    """Return w_ij = max(0, s_i's_j) for the neighbours j of the items i of a block."""
    weights = found.cosines if weight == "cosine" else found.products
    table = neighbor_table(np.maximum(weights, 0), found.indices, n_items)
    return sparse.csr_array(table.astype(dtype))


def _columns(chosen: sparse.csr_array, start: int, stop: int) -> sparse.csr_array:
    return sparse.csr_array(chosen[:, start:stop])


def _symmetrized(
    own: sparse.csr_array, columns: list[sparse.csr_array], symmetrize: str
) -> sparse.csr_array:
    """Return rows of max(W, W'), min(W, W') or (W + W') / 2."""
    return symmetrized(own, sparse.csr_array(sparse.vstack(columns).T), symmetrize)


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
