"""Features and labels in the same partitions: what a learner is taught."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.cluster.blocks import RowBlocks, checked_array, opened, row_blocks
from tagloom.cluster.parquet import ParquetItems
from tagloom.cluster.running import computed, kept, memory_of, task, tree_sum
from tagloom.cluster.sizing import teach_sizes
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels

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
