"""A graph over the items whose rows lie in partitions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tagloom.checks import check_choice, check_whole
from tagloom.cluster.blocks import row_blocks
from tagloom.cluster.neighbours import Candidates, cluster_neighbours
from tagloom.cluster.running import client_or_default, constant, kept, task
from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights
from tagloom.graph.semantic import SYMMETRIES, WEIGHTS, joined_both_ways
from tagloom.neighbours import neighbour_table


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
    method: str = "exact",
    client: Any = None,
    show_progress: bool = False,
) -> GraphBlocks:
    """Join each item to its nearest others, as `tagloom.graph.semantic_graph` does.

    Parameters
    ----------
    S : dask array, `ParquetItems` or `RowBlocks` of shape (n_items, n_features)
        Semantic descriptors, in the partitions of the features with which the graph is used.
    n_neighbors, weight, symmetrize, metric, method
        See `tagloom.graph.semantic_graph`.
    client : distributed.Client, optional
        By default the client that was made last.
    show_progress : bool, default=False
        Draw a bar of the partitions that are done.
    """
    check_choice("weight", weight, WEIGHTS)
    check_choice("symmetrize", symmetrize, SYMMETRIES)
    check_whole("n_neighbors", n_neighbors, at_least=1)
    client, rows = client_or_default(client), row_blocks(S)
    if rows.n_rows < 2:
        raise InvalidInputError(f"A graph needs at least 2 items to join; found {rows.n_rows}.")
    k = min(int(n_neighbors), rows.n_rows - 1)
    found = cluster_neighbours(
        rows, k, metric=metric, method=method, client=client, show_progress=show_progress
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
    table = neighbour_table(np.maximum(weights, 0), found.indices, n_items)
    return sparse.csr_array(table.astype(dtype))


def _columns(chosen: sparse.csr_array, start: int, stop: int) -> sparse.csr_array:
    return sparse.csr_array(chosen[:, start:stop])


def _joined(
    own: sparse.csr_array, columns: list[sparse.csr_array], symmetrize: str
) -> sparse.csr_array:
    """Return rows of max(W, W'), min(W, W') or (W + W') / 2."""
    return joined_both_ways(own, sparse.csr_array(sparse.vstack(columns).T), symmetrize)
