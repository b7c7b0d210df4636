"""A graph over the items whose rows lie in partitions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.dask.blocks import (
    Lazy,
    RowBlocks,
    client_or_default,
    constant,
    dask_array,
    kept,
    opened,
    row_blocks,
    shown_while_kept,
    task,
)
from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights
from tagloom.graph.knn import SYMMETRIES, WEIGHTS, symmetrized
from tagloom.neighbors import ALGORITHMS, METRICS, Neighbors, nearest_neighbors, neighbor_table
from tagloom.validation import check_choice, check_integer, is_integer

# §§ neighbours
# Nearest neighbours among rows that no machine holds together: pair by pair of partitions.


Array = npt.NDArray[Any]


class Candidates(NamedTuple):
    """The nearest rows found so far for each row of a block, nearest first, ties by position.

    `products` are x_i'x_j and `cosines` the same of unit length, which the weights of a graph need
    and which only a task that holds both rows can form.
    """

    indices: npt.NDArray[np.int64]
    distances: npt.NDArray[np.float64]
    products: npt.NDArray[np.float64]
    cosines: npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NeighborBlocks:
    """The neighbours of all rows, a task that gives `Candidates` for each block of them."""

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
        da = dask_array()

        return da.concatenate(
            [
                da.from_delayed(task(getattr, block, name), (size, self.n_neighbors), dtype)
                for block, size in zip(self.blocks, self.sizes, strict=True)
            ]
        )


@dataclass(frozen=True)
class Search:
    """What is sought: the k nearest of each row, in which metric, by which method."""

    n_neighbors: int
    metric: str
    algorithm: str


def cluster_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: str = "euclidean",
    algorithm: str = "exact",
    client: Any = None,
    show_progress: bool = False,
) -> NeighborBlocks:
    """Find the nearest other rows of each row, as `tagloom.neighbors.nearest_neighbors` does.

    Every pair of partitions is searched by one task, and each row keeps the nearest of what it
    found: no task sees more than two partitions. Time grows with the square of the number of rows.

    Parameters
    ----------
    X : dask array, `ParquetItems` or `RowBlocks`
    n_neighbors : int
    metric : {"euclidean", "cosine"}
    algorithm : {"exact", "approximate", "auto"}
        How to search in one partition; "approximate" is quicker for large ones.
    client : distributed.Client, optional
        By default the client that was made last.
    show_progress : bool, default=False
        Draw a bar of the partitions that are done.
    """
    check_choice("metric", metric, METRICS)
    check_choice("algorithm", algorithm, ALGORITHMS)
    rows = row_blocks(X)
    if not is_integer(n_neighbors) or not 1 <= n_neighbors < rows.n_rows:
        raise InvalidInputError(
            f"n_neighbors must be an integer from 1 to {rows.n_rows - 1}, the number of rows "
            f"that can be neighbours; got {n_neighbors!r}."
        )
    search = Search(int(n_neighbors), metric, algorithm)
    tasks = list(_searches(rows, search))
    blocks = shown_while_kept(
        client_or_default(client),
        tasks,
        "seeking neighbours",
        show_progress=show_progress,
        unit="partitions",
    )
    return NeighborBlocks(tuple(blocks), rows.sizes, search.n_neighbors)


def _searches(rows: RowBlocks, search: Search) -> Iterator[Any]:
    """Yield for each block the last task of its chain: look into one block after the other.

    In a chain one foreign block is on its way at a time. Each block starts with itself and goes
    round, so that not all of them ask for the same block at once.
    """
    n_blocks, starts = len(rows.blocks), rows.starts
    for a, own in enumerate(rows.blocks):
        found: Any = None
        for step in range(n_blocks):
            b = (a + step) % n_blocks
            other = passed_on(rows.blocks[b])
            found = task(_nearer, found, own, other, starts[b], search)
        yield task(_without_self, found, starts[a], search.n_neighbors)


def passed_on(block: Any) -> Any:
    """Return a block under a name of its own, for one task only.

    A worker keeps a foreign block as long as any task anywhere needs the name under which it came:
    with one name for all, workers would gather every block.
    """
    return block if isinstance(block, Lazy) else task(opened, block)


def _nearer(
    before: Candidates | None, own: Any, other: Any, start: int, search: Search
) -> Candidates:
    """Return the nearest of the candidates before and the rows of another block."""
    queries, base = opened(own), opened(other)
    most = min(search.n_neighbors + 1, len(base))
    found = nearest_neighbors(base, most, queries, metric=search.metric, algorithm=search.algorithm)
    fresh = _candidates(queries, base, found, start)
    if before is None:
        return fresh
    joined = Candidates(*(np.hstack(pair) for pair in zip(before, fresh, strict=True)))
    order = np.lexsort((joined.indices, joined.distances), axis=-1)
    return _picked(joined, order[:, : search.n_neighbors + 1])


def _candidates(queries: Array, base: Array, found: Neighbors, start: int) -> Candidates:
    products = np.empty(found.indices.shape)
    for column, near in enumerate(found.indices.T):
        products[:, column] = np.einsum("ij,ij->i", queries, base[near], dtype=np.float64)
    cosines = products * (_inverse_norms(queries)[:, None] * _inverse_norms(base)[found.indices])
    return Candidates(found.indices + start, found.distances, products, cosines)


def _inverse_norms(rows: Array) -> npt.NDArray[np.float64]:
    """Return 1 / |x_i|, and 0 where a row is all zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return np.asarray(np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0))


def _picked(candidates: Candidates, places: npt.NDArray[np.intp]) -> Candidates:
    parts: list[Array] = [np.take_along_axis(part, places, axis=1) for part in candidates]
    return Candidates(*parts)


def _without_self(found: Candidates, start: int, k: int) -> Candidates:
    """Drop each row itself, or the last where earlier equal rows crowd it out."""
    own = found.indices == np.arange(start, start + len(found.indices))[:, None]
    own[~own.any(axis=1), -1] = True
    return Candidates(*(part[~own].reshape(-1, k) for part in found))


# §§ main graph


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
        """Cut a graph that is in memory, dense or sparse, into blocks of so many rows."""
        weights = check_weights(W, sum(sizes), name="graph", nodes="items")
        ends = np.cumsum(sizes)
        parts = [weights[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        return cls(tuple(constant(part) for part in parts), sizes)

    def to_matrix(self) -> sparse.csr_array:
        """Gather all rows where the client is; for graphs that fit there."""
        gathered = task(list, list(self.blocks)).compute()
        return sparse.csr_array(sparse.vstack(gathered))


def cluster_graph(
    S: Any,
    n_neighbors: int = 10,
    *,
    weight: str = "dot",
    symmetrize: str = "max",
    metric: str = "euclidean",
    algorithm: str = "exact",
    client: Any = None,
    show_progress: bool = False,
) -> GraphBlocks:
    """Join each item to its nearest others, as `tagloom.graph.semantic_graph` does.

    Parameters
    ----------
    S : dask array, `ParquetItems` or `RowBlocks` of shape (n_items, n_features)
        Semantic descriptors, in the partitions of the features with which the graph is used.
    n_neighbors, weight, symmetrize, metric, algorithm
        See `tagloom.graph.semantic_graph`.
    client : distributed.Client, optional
        By default the client that was made last.
    show_progress : bool, default=False
        Draw a bar of the partitions that are done.
    """
    check_choice("weight", weight, WEIGHTS)
    check_choice("symmetrize", symmetrize, SYMMETRIES)
    check_integer("n_neighbors", n_neighbors, at_least=1)
    client, rows = client_or_default(client), row_blocks(S)
    if rows.n_rows < 2:
        raise InvalidInputError(f"A graph needs at least 2 items to join; found {rows.n_rows}.")
    k = min(int(n_neighbors), rows.n_rows - 1)
    found = cluster_neighbors(
        rows, k, metric=metric, algorithm=algorithm, client=client, show_progress=show_progress
    )
    return GraphBlocks(
        tuple(_symmetric_rows(client, found.blocks, rows, weight, symmetrize)), rows.sizes
    )


def _symmetric_rows(
    client: Any, found: tuple[Any, ...], rows: Any, weight: str, symmetrize: str
) -> list[Any]:
    """Join what each block chose with what the others chose in it; kept on the workers."""
    chosen = [task(_chosen, block, rows.n_rows, weight, rows.dtype) for block in found]
    spans = [(start, start + size) for start, size in zip(rows.starts, rows.sizes, strict=True)]
    tasks = [
        task(_joined, own, [task(_columns, other, *span) for other in chosen], symmetrize)
        for own, span in zip(chosen, spans, strict=True)
    ]
    return kept(client, tasks)


def _chosen(found: Candidates, n_items: int, weight: str, dtype: np.dtype[Any]) -> sparse.csr_array:
    """Return w_ij = max(0, s_i's_j) for the neighbours j that the items of a block chose."""
    weights = found.cosines if weight == "cosine" else found.products
    table = neighbor_table(np.maximum(weights, 0), found.indices, n_items)
    return sparse.csr_array(table.astype(dtype))


def _columns(chosen: sparse.csr_array, start: int, stop: int) -> sparse.csr_array:
    return sparse.csr_array(chosen[:, start:stop])


def _joined(
    own: sparse.csr_array, columns: list[sparse.csr_array], symmetrize: str
) -> sparse.csr_array:
    """Return rows of max(W, W'), min(W, W') or (W + W') / 2."""
    return symmetrized(own, sparse.csr_array(sparse.vstack(columns).T), symmetrize)
