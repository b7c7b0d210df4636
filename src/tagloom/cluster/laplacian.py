"""X'LX of a graph over all items as a sum over pairs of partitions."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.cluster.blocks import Lazy, RowBlocks, opened
from tagloom.cluster.graph import GraphBlocks
from tagloom.cluster.running import computed, constant, task, tree_sum
from tagloom.errors import InvalidInputError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class _Span(NamedTuple):
    """Positions of the rows of a block."""

    start: int
    stop: int


def congruence(rows: RowBlocks, graph: GraphBlocks, mean: Floats, client: Any) -> Floats:
    """Return X'LX with L = D - W, where D = Diag(W1).

    With the partitions X_a and the blocks W_ab of the weights it is

        sum_a X_a' D_a X_a - sum_a X_a' W_aa X_a - sum_{a<b} (X_a' W_ab X_b + X_b' W_ab' X_a),

    so that a partition needs of another only the rows to which its items are joined, and needs them
    once. L does not see a constant, L1 = 0: rows are centred by `mean`, which keeps digits where
    columns are far from 0. For each partition one d x d sum is carried from pair to pair.
    """
    if graph.sizes != rows.sizes:
        raise InvalidInputError(
            "The graph must have the partitions of X, row for row: X has "
            f"{len(rows.sizes)} partitions with {rows.n_rows} rows, the graph {len(graph.sizes)} "
            f"with {graph.n_items}. Make it from descriptors with the chunks of X."
        )
    result: Floats = computed(client, tree_sum(_terms(rows, graph, constant(mean))))
    return result


def _terms(rows: RowBlocks, graph: GraphBlocks, mean: Any) -> list[Any]:
    spans = [
        _Span(start, start + size) for start, size in zip(rows.starts, rows.sizes, strict=True)
    ]
    terms = []
    for a, (own, W) in enumerate(zip(rows.blocks, graph.blocks, strict=True)):
        total = task(_within, own, W, mean, spans[a])
        for b in range(a + 1, len(spans)):
            other = rows.blocks[b]
            if not isinstance(other, Lazy):
                other = task(_joined_rows, other, W, spans[b])
            total = task(_across, total, own, other, W, mean, spans[b])
        terms.append(total)
    return terms


def _within(own: Any, W: sparse.csr_array, mean: Floats, span: _Span) -> Floats:
    """Return X_a'(D_a - W_aa) X_a."""
    X = opened(own) - mean
    degrees = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    result: Floats = X.T @ (degrees[:, None] * X - W[:, span.start : span.stop] @ X)
    return result


def _joined_rows(other: Any, W: sparse.csr_array, span: _Span) -> tuple[Array, Array]:
    """Return which rows of another block the items of this one are joined to, and the rows."""
    places = np.unique(W.indices[(W.indices >= span.start) & (W.indices < span.stop)])
    return places, opened(other)[places - span.start]


def _across(
    total: Floats, own: Any, other: Any, W: sparse.csr_array, mean: Floats, span: _Span
) -> Floats:
    """Return the sum so far less X_a' W_ab X_b and its transpose."""
    places, rows = _joined_rows(other, W, span) if isinstance(other, Lazy) else other
    if not len(places):
        return total
    product = (opened(own) - mean).T @ (W[:, places] @ (rows - mean))
    return np.asarray(total - product - product.T)
