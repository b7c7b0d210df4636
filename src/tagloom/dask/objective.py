"""The sums over rows that the loss asks for, where the rows are partitions of a cluster."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.dask.blocks import (
    TREE_WIDTH,
    Lazy,
    RowBlocks,
    added,
    checked_array,
    computed,
    constant,
    kept,
    memory_of,
    opened,
    part_of_dask,
    row_blocks,
    task,
    tree_sum,
)
from tagloom.dask.neighbors import GraphBlocks
from tagloom.dask.parquet import ParquetItems
from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights, laplacian
from tagloom.labels import PartialLabels
from tagloom.optim import InMemoryRows, InstanceLaplacian, LabelLaplacian, LossSums, ProductSums

# §§ sizing
# How much memory our objects hold, which Dask has to know.
#
# It takes an object of an unknown class for a few bytes: it would send partitions around as if that
# cost nothing, and never think of a worker as full.


_DEEPEST = 6


@cache
def teach_sizes(*kinds: type) -> None:
    """Tell Dask, in this process, how large objects of these classes are, and of those below."""
    sizeof = part_of_dask("dask.sizeof").sizeof
    for kind in (InMemoryRows, LossSums, ProductSums, PartialLabels, *kinds):
        sizeof.register(kind)(bytes_held)


def bytes_held(thing: object) -> int:
    """Return the bytes of all arrays that an object holds, each counted once.

    >>> part = InMemoryRows(np.zeros((10, 2)), PartialLabels.from_array(np.ones((10, 3))))
    >>> bytes_held(part) >= 10 * 2 * 8
    True
    """
    arrays = {id(array): array.nbytes for array in _arrays_in(thing, _DEEPEST)}
    return 64 + sum(arrays.values())


def _arrays_in(thing: object, depth: int) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(thing, np.ndarray):
        yield thing
    elif depth:
        for inner in _inside(thing):
            yield from _arrays_in(inner, depth - 1)


def _inside(thing: object) -> list[object]:
    """Return what an object is made of; names and numbers are made of nothing that counts."""
    if isinstance(thing, list | tuple):
        return [] if thing and isinstance(thing[0], str | int) else list(thing)
    if not type(thing).__module__.startswith("tagloom"):
        return []
    slots = [slot for kind in type(thing).__mro__ for slot in getattr(kind, "__slots__", ())]
    held = [getattr(thing, slot) for slot in slots if hasattr(thing, slot)]
    return held + list(getattr(thing, "__dict__", {}).values())


# §§ lessons
# Features and labels in the same partitions: what a learner is taught.


Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# Partitions are kept where they fill no more than this share of the memory of the workers: sums,
# copies on their way and the interpreters need room as well.
_SHARE_TO_KEEP = 0.4


@dataclass(frozen=True, eq=False)
class Lessons:
    """Rows of features, and for each block of them the `PartialLabels` of the same items."""

    rows: RowBlocks
    known: tuple[Any, ...]
    labels: tuple[Hashable, ...]

    def kept(self, client: Any) -> "Lessons":
        """Return the same with everything in the memory of the workers."""
        # Features and labels of the same items are one task: apart, they could end up on two
        # workers, and one of them would have to travel.
        both = zip(self.rows.blocks, self.known, strict=True)
        pairs = kept(client, [task(_both, block, known) for block, known in both])
        rows = replace(self.rows, blocks=tuple(task(getitem, pair, 0) for pair in pairs))
        return replace(self, rows=rows, known=tuple(task(getitem, pair, 1) for pair in pairs))

    def fit_in(self, client: Any) -> bool:
        """Say whether the features fill no more than a good part of the workers' memory."""
        memory = memory_of(client)
        return memory is None or self.rows.n_bytes <= _SHARE_TO_KEEP * memory


def read_lessons(X: Any, Y: Any, client: Any) -> Lessons:
    """Read a dask array with a dask array of 1, 0 and NaN, or `ParquetItems` with their labels."""
    rows = row_blocks(X)
    if isinstance(X, ParquetItems):
        if Y is not None:
            raise InvalidInputError(
                "ParquetItems bring their labels: leave Y out, and name the columns of the labels "
                "with present= and absent=, or label_columns=."
            )
        labels = X.labels(client)
        return Lessons(rows, X.label_blocks(labels), labels)
    return _array_lessons(rows, Y)


def _array_lessons(rows: RowBlocks, Y: Any) -> Lessons:
    if Y is None:
        raise InvalidInputError("Y is missing: pass a dask array of 1, 0 and NaN (unknown).")
    table = checked_array(Y, "Y")
    if table.shape[0] != rows.n_rows:
        raise InvalidInputError(
            f"X and Y must have one row for each item: X has {rows.n_rows} rows, Y has "
            f"{table.shape[0]}."
        )
    chunks = table.rechunk((rows.sizes, -1)).to_delayed().ravel()
    known = tuple(
        task(_known_in, chunk, start) for chunk, start in zip(chunks, rows.starts, strict=True)
    )
    return Lessons(rows, known, tuple(range(table.shape[1])))


def _both(block: Any, known: Any) -> tuple[Array, PartialLabels]:
    teach_sizes()
    return opened(block), opened(known)


def _known_in(table: Array, start: int) -> PartialLabels:
    try:
        return PartialLabels.from_array(table)
    except InvalidInputError:
        # Again with the positions in the whole, for the message to name them.
        return PartialLabels.from_array(table, items=range(start, start + len(table)))


@dataclass(frozen=True, eq=False)
class Survey:
    """What has to be known of all rows before the first pass; surveys add up."""

    n_items: int
    total: Floats
    """Sum of the rows."""
    squares: npt.NDArray[np.float64]
    """Sum of the squares of all features."""
    largest: float
    """The largest feature by size."""
    present: npt.NDArray[np.int64]
    """How many items are known to have each label."""
    absent: npt.NDArray[np.int64]
    """How many items are known not to have it."""

    @classmethod
    def of(cls, block: Any, labels: Any) -> "Survey":
        """Survey one block."""
        teach_sizes(Survey)
        X, counts = opened(block), opened(labels).counts()
        squares = np.einsum("ij,ij->j", X, X, dtype=np.float64)
        largest = max(abs(float(X.max(initial=0))), abs(float(X.min(initial=0))))
        total = X.sum(axis=0, dtype=np.float64)
        return cls(len(X), total, squares, largest, counts.present, counts.absent)

    def __add__(self, other: "Survey") -> "Survey":
        return Survey(
            self.n_items + other.n_items,
            self.total + other.total,
            self.squares + other.squares,
            max(self.largest, other.largest),
            self.present + other.present,
            self.absent + other.absent,
        )

    def in_two_rows(self, labels: tuple[Hashable, ...]) -> PartialLabels:
        """Return labels of two items that can be learned exactly where those of all can be.

        The first item has every label that any item has, the second lacks every label that any
        item is known to lack.
        """
        table = np.full((2, len(labels)), np.nan)
        table[0, self.present > 0] = 1
        table[1, self.absent > 0] = 0
        return PartialLabels.from_array(table, labels=labels)


def surveyed(lessons: Lessons, client: Any) -> Survey:
    """Look at all rows once."""
    pairs = zip(lessons.rows.blocks, lessons.known, strict=True)
    terms = [task(Survey.of, block, known) for block, known in pairs]
    survey: Survey = computed(client, tree_sum(terms))
    return survey


# §§ main summing


Dtype = np.dtype[Any]


class ClusterRows:
    """Rows in partitions, `InMemoryRows` for each: every sum is one pass over all of them.

    M goes to all workers, sums of the size of M come back, added in a tree: a worker holds its
    partitions, M and a few sums, and nobody holds more than one partition of others.

    Parameters
    ----------
    lessons : Lessons
    centre : array of shape (n_features,), optional
        What is subtracted from every row.
    client : distributed.Client
    keep : bool
        Whether to keep the parts in the memory of the workers; else they are made anew from the
        lessons at every pass, and forgotten one by one.
    on_pass : callable
        Called after every pass.
    """

    def __init__(
        self,
        lessons: Lessons,
        centre: Floats | None,
        client: Any,
        *,
        keep: bool,
        on_pass: Callable[[], None],
    ) -> None:
        self.centre = centre
        self.dtype: Dtype = lessons.rows.dtype
        self._client = client
        self._on_pass = on_pass
        pairs = zip(lessons.rows.blocks, lessons.known, strict=True)
        self._parts = [[block, known, centre] for block, known in pairs]
        if keep:
            self._parts = kept(client, [task(_part, *part, self.dtype) for part in self._parts])

    def in_single_precision(self) -> "ClusterRows":
        """Return the same rows, summed in float32; they are converted as they are used."""
        single = copy(self)
        single.dtype = np.dtype(np.float32)
        return single

    def sums(self) -> LossSums:
        """Return the sums that do not depend on M."""
        result: LossSums = self._summed(_sums)
        return result

    def products(self, M: Array) -> ProductSums:
        """Return X'(W o XM) and 1'(W o XM)."""
        result: ProductSums = self._summed(_products, M)
        # What comes over the network may be read-only, and the loss goes on working in it.
        return replace(result, features=np.require(result.features, requirements="W"))

    def _summed(self, function: Callable[..., Any], *arguments: Array) -> Any:
        shared = [constant(argument) for argument in arguments]
        terms = [task(function, group, self.dtype, *shared) for group in self._groups()]
        result = computed(self._client, tree_sum(terms))
        self._on_pass()
        return result

    def _groups(self) -> list[list[Any]]:
        """Return the parts that one task goes through, one after the other.

        Where parts are read from files and there are many, a task takes as many as the tree adds at
        a time: fewer sums travel, and they are added in the same order.
        """
        from_files = all(
            isinstance(part, list) and isinstance(part[0], Lazy) for part in self._parts
        )
        threads = sum(self._client.nthreads().values())
        many = len(self._parts) >= 2 * TREE_WIDTH * max(1, threads)
        size = TREE_WIDTH if from_files and many else 1
        return [self._parts[start : start + size] for start in range(0, len(self._parts), size)]


def _sums(parts: Sequence[Any], dtype: Dtype) -> LossSums:
    result: LossSums = added(_ready(part, dtype).sums() for part in parts)
    return result


def _products(parts: Sequence[Any], dtype: Dtype, M: Array) -> ProductSums:
    result: ProductSums = added(_ready(part, dtype).products(M) for part in parts)
    return result


def _ready(part: Any, dtype: Dtype) -> InMemoryRows:
    """Return the part that was kept, or make it, in the precision that is asked for."""
    if not isinstance(part, InMemoryRows):
        block, known, centre = part
        return _part(block, known, centre, dtype)
    return part if part.dtype == dtype else part.in_single_precision()


def _part(block: Any, known: Any, centre: Floats | None, dtype: Dtype) -> InMemoryRows:
    """Return rows around their centre, with what is known of them."""
    teach_sizes()
    X, labels = opened(block), opened(known)
    if centre is not None or X.dtype != dtype:
        moved = np.empty(X.shape, dtype=dtype)
        np.subtract(X, 0.0 if centre is None else centre, out=moved, casting="same_kind")
        X = moved
    return InMemoryRows(X, labels)


# §§ laplacian
# X'LX of a graph over all items as a sum over pairs of partitions.


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


# §§ terms
# The terms of the objective that graphs give, from sums over partitions.


def item_term(
    gamma: float, lessons: Lessons, graph: Any, mean: Floats, client: Any
) -> InstanceLaplacian | None:
    """Return gamma_s tr(M'X'L_s X M), with X'L_s X summed over pairs of partitions."""
    if graph is None:
        _refuse_lack(gamma, "gamma", "graph", "items")
        return None
    sizes = lessons.rows.sizes
    blocks = graph if isinstance(graph, GraphBlocks) else GraphBlocks.from_matrix(graph, sizes)
    if gamma == 0:
        return None
    middle = congruence(lessons.rows, blocks, mean, client)
    return InstanceLaplacian.from_congruence(gamma, middle)


def label_term(
    gamma: float, label_graph: Any, sums: LossSums, centre: Floats | None, dtype: np.dtype[Any]
) -> LabelLaplacian | None:
    """Return gamma_t tr(X M L_t M'X')."""
    if label_graph is None:
        _refuse_lack(gamma, "gamma_labels", "label_graph", "labels")
        return None
    n_labels = len(sums.weight)
    weights = check_weights(label_graph, n_labels, name="label_graph", nodes="labels")
    if gamma == 0:
        return None
    # The term knows X by X'X alone: any matrix with the same products of columns stands for it.
    root = _root(_second_moments(sums, centre)).astype(dtype)
    return LabelLaplacian(gamma, root, laplacian(weights))


def _second_moments(sums: LossSums, centre: Floats | None) -> Floats:
    """Return X'X of the rows as they were given, from sums of rows moved to the centre.

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


def _refuse_lack(strength: float, parameter: str, name: str, nodes: str) -> None:
    if strength > 0:
        raise InvalidInputError(
            f"{parameter}={strength} asks for smoothness on a graph of the {nodes}, but {name} is "
            f"None. Pass {name}=, or set {parameter}=0."
        )
