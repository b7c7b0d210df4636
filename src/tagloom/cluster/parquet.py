"""A folder of parquet files as features and labels, a task for each row group."""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tagloom.cluster.blocks import Lazy, RowBlocks
from tagloom.cluster.parquet_reading import (
    LabelLayout,
    RowGroup,
    explained,
    names_in,
    read_columns,
    read_features,
    read_known,
)
from tagloom.cluster.running import computed, task, tree_sum
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels

_NO_LAYOUT = (
    "ParquetItems does not say where the labels are. Name the column of lists with present=, or "
    "the columns of true, false and null with label_columns=."
)


class ParquetItems:
    """Items in a folder of parquet files, which every worker can read; one task a row group.

    Only the footers of the files are read where the client is. Files are taken in the order of
    their names.

    Parameters
    ----------
    folder : path
        Files that end in ``.parquet`` lie in it; names that begin with ``.`` or ``_`` are passed
        over.
    features : str or sequence of str, default="features"
        A column of lists of numbers, all of one length, or the columns of one number each.
    present, absent : str, optional
        Columns of lists of names (list<string>): labels that an item has, and that it is known not
        to have.
    unlisted : {"unknown", "absent"} or float in (0, 1], optional
        What a label means that neither column lists, see `PartialLabels.from_tags`. Required with
        `present`.
    label_columns : sequence of str, optional
        Instead of lists: a column of true, false and null (unknown) for each label.
    labels : sequence of str, optional
        All labels in their order. By default the names that occur, sorted; that costs a pass over
        the columns of lists.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        features: str | Sequence[str] = "features",
        present: str | None = None,
        absent: str | None = None,
        unlisted: str | float | None = None,
        label_columns: Sequence[str] = (),
        labels: Sequence[str] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.features = features if isinstance(features, str) else tuple(features)
        self._layout = _checked_layout(present, absent, tuple(label_columns), unlisted)
        given = tuple(label_columns) or labels
        self._labels = None if given is None else tuple(given)

    @cached_property
    def groups(self) -> tuple[tuple[RowGroup, int], ...]:
        """Every row group that has rows, and how many."""
        import pyarrow.parquet as pq

        groups = []
        for path in _files_in(self.folder):
            with explained(path):
                footer = pq.read_metadata(path)
            sizes = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
            groups += [(RowGroup(path, number), size) for number, size in enumerate(sizes) if size]
        if not groups:
            raise InvalidInputError(f"The parquet files in {self.folder} have no rows.")
        return tuple(groups)

    def feature_blocks(self) -> RowBlocks:
        """Return the features, block by block; nothing of them is read before a task needs it."""
        width, dtype = self._first
        return RowBlocks(
            tuple(
                Lazy(read_features, group, self.features, width, dtype) for group, _ in self.groups
            ),
            tuple(size for _, size in self.groups),
            width,
            dtype,
        )

    def label_blocks(self, labels: tuple[str, ...]) -> tuple[Any, ...]:
        """Return what is known, block by block, as `PartialLabels`."""
        if not (self._layout.present or self._layout.columns):
            raise InvalidInputError(_NO_LAYOUT)
        return tuple(Lazy(read_known, group, self._layout, labels) for group, _ in self.groups)

    def labels(self, client: Any) -> tuple[str, ...]:
        """Return the labels in their order; names that were not given are sought by the workers."""
        if self._labels is not None:
            return self._labels
        columns = [name for name in (self._layout.present, self._layout.absent) if name]
        if not columns:
            raise InvalidInputError(_NO_LAYOUT)
        terms = [task(_Names.of, group, columns) for group, _ in self.groups]
        found: _Names = computed(client, tree_sum(terms))
        return tuple(sorted(found.names))

    @cached_property
    def _first(self) -> tuple[int, np.dtype[Any]]:
        """Number of features and their type, as the first file has them."""
        group, _ = self.groups[0]
        if isinstance(self.features, tuple):
            return len(self.features), _type_of(group, list(self.features))
        kind = _schema(group.path)
        if self.features not in kind.names:
            read_columns(group, [self.features])
        column = kind.field(self.features).type
        size = getattr(column, "list_size", None)
        if size is None:
            size = _length_of_first(group, self.features)
        return int(size), _single_or_double(getattr(column, "value_type", column))


class _Names:
    """Names of labels that add up."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    @classmethod
    def of(cls, group: RowGroup, columns: list[str]) -> "_Names":
        return cls(names_in(group, columns))

    def __add__(self, other: "_Names") -> "_Names":
        return _Names(self.names | other.names)


def _checked_layout(
    present: str | None, absent: str | None, columns: tuple[str, ...], unlisted: Any
) -> LabelLayout:
    if columns and (present or absent):
        raise InvalidInputError(
            "Labels are either lists (present=, absent=) or columns of their own (label_columns=)."
        )
    if not present:
        if absent:
            raise InvalidInputError("absent= lists what items lack; name present= as well.")
        return LabelLayout(columns=columns)
    # Reading no tag at all says what an unlisted one weighs, or why it cannot be said.
    weight = PartialLabels.from_tags([[]], unlisted=unlisted, labels=["any"]).unlisted_weight
    return LabelLayout(present, absent, (), weight)


def _files_in(folder: Path) -> list[str]:
    if not folder.is_dir():
        state = "is not a folder" if folder.exists() else "does not exist"
        raise InvalidInputError(f"{folder} {state}. Expected a folder of parquet files.")
    files = sorted(path for path in folder.glob("*.parquet") if path.name[0] not in "._")
    if not files:
        raise InvalidInputError(f"There is no file in {folder} that ends in .parquet.")
    return [str(path) for path in files]


def _schema(path: str) -> Any:
    import pyarrow.parquet as pq

    with explained(path):
        return pq.read_schema(path)


def _type_of(group: RowGroup, names: list[str]) -> np.dtype[Any]:
    schema = _schema(group.path)
    if any(name not in schema.names for name in names):
        read_columns(group, names)
    kinds = [_single_or_double(schema.field(name).type) for name in names]
    return np.dtype(np.result_type(*kinds))


def _length_of_first(group: RowGroup, name: str) -> int:
    """Return how many numbers the first list of a column holds."""
    column = read_columns(group, [name]).column(name)
    first = column[0].as_py()
    return len(first) if isinstance(first, list) else 0


def _single_or_double(kind: Any) -> np.dtype[Any]:
    import pyarrow as pa

    single = pa.types.is_float32(kind) or pa.types.is_float16(kind)
    return np.dtype(np.float32 if single else np.float64)
