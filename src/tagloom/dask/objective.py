"""The objective of `APGGraph` where the rows are partitions on a cluster."""

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.dask.blocks import (
    TREE_WIDTH,
    LazyBlock,
    RowBlocks,
    add_all,
    check_dask_array,
    compute,
    constant,
    load_block,
    persist,
    register_sizes,
    row_blocks,
    task,
    total_memory,
    tree_sum,
)
from tagloom.dask.graph import GraphBlocks, congruence
from tagloom.dask.parquet import ParquetItems
from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights, laplacian
from tagloom.labels import PartialLabels
from tagloom.optim import InMemoryRows, InstanceLaplacian, LabelLaplacian, LossSums, ProductSums

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Dtype = np.dtype[Any]

# Partitions are kept where they fill no more than this share of the memory of the workers: sums,
# copies in transit and the interpreters need room as well.
_SHARE_TO_KEEP = 0.4


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Blocks of features, and for each of them the `PartialLabels` of the same items."""

    rows: RowBlocks
    known: tuple[Any, ...]
    labels: tuple[Hashable, ...]

    def persisted(self, client: Any) -> "TrainingData":
        """Return the same data in the memory of the workers."""
        # Features and labels of the same items are one task: apart, they could end up on two
        # workers, and one of them would have to be sent.
        both = zip(self.rows.blocks, self.known, strict=True)
        pairs = persist(client, [task(_load_both, block, known) for block, known in both])
        rows = replace(self.rows, blocks=tuple(task(getitem, pair, 0) for pair in pairs))
        return replace(self, rows=rows, known=tuple(task(getitem, pair, 1) for pair in pairs))

    def fits_in_memory(self, client: Any) -> bool:
        """Say whether the features leave enough of the workers' memory free."""
        memory = total_memory(client)
        return memory is None or self.rows.n_bytes <= _SHARE_TO_KEEP * memory


def _load_both(block: Any, known: Any) -> tuple[Array, PartialLabels]:
    _register_sizes()
    return load_block(block), load_block(known)


def _register_sizes() -> None:
    register_sizes(InMemoryRows, LossSums, ProductSums, PartialLabels, DataSummary)


def read_training_data(X: Any, Y: Any, client: Any) -> TrainingData:
    """Read a dask array with a dask array of 1, 0 and NaN, or `ParquetItems` with their labels."""
    if isinstance(X, TrainingData):
        return X
    rows = row_blocks(X)
    if isinstance(X, ParquetItems):
        if Y is not None:
            raise InvalidInputError(
                "ParquetItems bring their labels: leave Y out, and name the columns of the labels "
                "with present= and absent=, or label_columns=."
            )
        labels = X.labels(client)
        return TrainingData(rows, X.label_blocks(labels), labels)
    if Y is None:
        raise InvalidInputError("Y is missing: pass a dask array of 1, 0 and NaN (unknown).")
    table = check_dask_array(Y, "Y")
    if table.shape[0] != rows.n_rows:
        raise InvalidInputError(
            f"X and Y must have one row for each item: X has {rows.n_rows} rows, Y has "
            f"{table.shape[0]}."
        )
    chunks = table.rechunk((rows.sizes, -1)).to_delayed().ravel()
    known = tuple(
        task(_read_labels, chunk, start) for chunk, start in zip(chunks, rows.starts, strict=True)
    )
    return TrainingData(rows, known, tuple(range(table.shape[1])))


def _read_labels(table: Array, start: int) -> PartialLabels:
    try:
        return PartialLabels.from_array(table)
    except InvalidInputError:
        # Again with positions in the whole table, for the error message.
        return PartialLabels.from_array(table, items=range(start, start + len(table)))


@dataclass(frozen=True, eq=False)
class DataSummary:
    """What the fit needs to know of all rows before its first pass; summaries can be added."""

    n_items: int
    total: Floats
    """Sum of the rows."""
    squares: Floats
    """Sums of the squares of each column."""
    present: npt.NDArray[np.int64]
    """How many items are known to have each label."""
    absent: npt.NDArray[np.int64]
    """How many items are known not to have it."""

    @classmethod
    def of_block(cls, block: Any, labels: Any) -> "DataSummary":
        """Summarize one block."""
        _register_sizes()
        X, counts = load_block(block), load_block(labels).counts()
        squares = np.einsum("ij,ij->j", X, X, dtype=np.float64)
        total = X.sum(axis=0, dtype=np.float64)
        return cls(len(X), total, squares, counts.present, counts.absent)

    def __add__(self, other: "DataSummary") -> "DataSummary":
        return DataSummary(
            self.n_items + other.n_items,
            self.total + other.total,
            self.squares + other.squares,
            self.present + other.present,
            self.absent + other.absent,
        )

    def in_two_rows(self, labels: tuple[Hashable, ...]) -> PartialLabels:
        """Return labels of two items that are learnable exactly where those of all items are.

        The first item has every label that any item has, the second lacks every label that any
        item is known to lack.
        """
        table = np.full((2, len(labels)), np.nan)
        table[0, self.present > 0] = 1
        table[1, self.absent > 0] = 0
        return PartialLabels.from_array(table, labels=labels)


def summarize(data: TrainingData, client: Any) -> DataSummary:
    """Summarize all rows in one pass."""
    pairs = zip(data.rows.blocks, data.known, strict=True)
    terms = [task(DataSummary.of_block, block, known) for block, known in pairs]
    summary: DataSummary = compute(client, tree_sum(terms))
    return summary


class DistributedRows:
    """`tagloom.optim.SummableRows` in partitions: every sum is one pass over all of them.

    M is sent to all workers and sums of the size of M are returned, added in a tree. A worker holds
    its partitions, M, a few sums, and at most one partition of another worker.

    Parameters
    ----------
    data : TrainingData
    centre : array of shape (n_features,), optional
        What is subtracted from every row.
    client : distributed.Client
    keep : bool
        Whether to keep the partitions in the memory of the workers; else they are loaded again in
        every pass and forgotten one by one.
    on_pass : callable
        Called after every pass.
    """

    def __init__(
        self,
        data: TrainingData,
        centre: Floats | None,
        client: Any,
        *,
        keep: bool,
        on_pass: Callable[[], None],
    ) -> None:
        self.centre = centre
        self.dtype: Dtype = np.dtype(np.float64)
        self.stored: Dtype = data.rows.dtype
        self._client = client
        self._on_pass = on_pass
        pairs = zip(data.rows.blocks, data.known, strict=True)
        self._parts = [[block, known, centre] for block, known in pairs]
        if keep:
            self._parts = persist(client, [task(_centred, *part) for part in self._parts])

    def in_single_precision(self) -> "DistributedRows":
        """Return the same rows, summed in float32; they are converted when they are used."""
        single = copy(self)
        single.dtype = np.dtype(np.float32)
        return single

    def sums(self) -> LossSums:
        """Return the sums that do not depend on M."""
        result: LossSums = self._sum(_sums)
        return result

    def products(self, M: Array) -> ProductSums:
        """Return X'(W o XM) and 1'(W o XM)."""
        result: ProductSums = self._sum(_products, M)
        # An array from the network may be read-only, and the loss changes it in place.
        return replace(result, features=np.require(result.features, requirements="W"))

    def _sum(self, function: Callable[..., Any], *arguments: Array) -> Any:
        shared = [constant(argument) for argument in arguments]
        terms = [task(function, group, self.dtype, *shared) for group in self._groups()]
        result = compute(self._client, tree_sum(terms))
        self._on_pass()
        return result

    def _groups(self) -> list[list[Any]]:
        """Return groups of partitions, each summed by one task.

        Where partitions are read from files and there are many, a task takes as many as the tree
        adds at a time: fewer sums are sent, and they are added in the same order.
        """
        from_files = all(
            isinstance(part, list) and isinstance(part[0], LazyBlock) for part in self._parts
        )
        threads = sum(self._client.nthreads().values())
        many = len(self._parts) >= 2 * TREE_WIDTH * max(1, threads)
        size = TREE_WIDTH if from_files and many else 1
        return [self._parts[start : start + size] for start in range(0, len(self._parts), size)]


def _sums(parts: Sequence[Any], dtype: Dtype) -> LossSums:
    result: LossSums = add_all(_load_rows(part, dtype).sums() for part in parts)
    return result


def _products(parts: Sequence[Any], dtype: Dtype, M: Array) -> ProductSums:
    result: ProductSums = add_all(_load_rows(part, dtype).products(M) for part in parts)
    return result


def _load_rows(part: Any, dtype: Dtype) -> InMemoryRows:
    """Return the rows that were kept, or load them, in the required precision."""
    rows = part if isinstance(part, InMemoryRows) else _centred(*part)
    return rows if rows.dtype == dtype else rows.in_single_precision()


def _centred(block: Any, known: Any, centre: Floats | None) -> InMemoryRows:
    _register_sizes()
    return InMemoryRows(load_block(block), load_block(known), centre)


def item_term(
    gamma: float, data: TrainingData, graph: Any, mean: Floats, client: Any
) -> InstanceLaplacian | None:
    """Return gamma_s tr(M'X'L_s X M), with X'L_s X summed over pairs of partitions."""
    if graph is None:
        _refuse_missing_graph(gamma, "gamma", "graph", "items")
        return None
    sizes = data.rows.sizes
    blocks = graph if isinstance(graph, GraphBlocks) else GraphBlocks.from_matrix(graph, sizes)
    if gamma == 0:
        return None
    return InstanceLaplacian.from_congruence(gamma, congruence(data.rows, blocks, mean, client))


def label_term(
    gamma: float, label_graph: Any, sums: LossSums, centre: Floats | None
) -> LabelLaplacian | None:
    """Return gamma_t tr(X M L_t M'X')."""
    if label_graph is None:
        _refuse_missing_graph(gamma, "gamma_labels", "label_graph", "labels")
        return None
    n_labels = len(sums.weight)
    weights = check_weights(label_graph, n_labels, name="label_graph", nodes="labels")
    if gamma == 0:
        return None
    # The term depends on X through X'X alone: any matrix with the same X'X may replace it.
    root = _root(_second_moments(sums, centre))
    return LabelLaplacian(gamma, root, laplacian(weights))


def _second_moments(sums: LossSums, centre: Floats | None) -> Floats:
    """Return X'X of the rows before centring, from sums of centred rows.

    With X = C + 1m' it is C'C + C'1 m' + m 1'C + n m m'.
    """
    if centre is None:
        return sums.second_moments
    mixed = np.outer(sums.total, centre)
    around_zero = mixed + mixed.T + sums.n_items * np.outer(centre, centre)
    return np.asarray(sums.second_moments + around_zero)


def _root(gram: Floats) -> Floats:
    """Return R with R'R = gram."""
    squares, vectors = np.linalg.eigh(gram)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0))[:, None] * vectors.T)


def _refuse_missing_graph(strength: float, parameter: str, name: str, nodes: str) -> None:
    if strength > 0:
        raise InvalidInputError(
            f"{parameter}={strength} asks for smoothness on a graph of the {nodes}, but {name} is "
            f"None. Pass {name}=, or set {parameter}=0."
        )
