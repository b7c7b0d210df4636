"""Row groups of parquet files as features and labels; what is wrong is named with its place."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class RowGroup:
    """Where some rows lie: a file, and which of its row groups."""

    path: str
    number: int

    def __str__(self) -> str:
        return f"{self.path} (row group {self.number})"


@dataclass(frozen=True)
class LabelLayout:
    """Which columns tell of labels: lists of names, or a column for each label."""

    present: str | None = None
    absent: str | None = None
    columns: tuple[str, ...] = ()
    unlisted_weight: float = 0.0


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn what pyarrow says of a file it cannot read into a message that names it."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as problem:
        raise InvalidInputError(f"{path} cannot be read as parquet: {problem}") from None


def read_columns(group: RowGroup, columns: list[str]) -> Any:
    """Return these columns of a row group, or say which of them the file lacks."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with explained(group.path), pq.ParquetFile(group.path) as file:
        available = file.schema_arrow.names
        missing = [name for name in columns if name not in available]
        if missing:
            raise InvalidInputError(
                f"{group.path} has no column {missing[0]!r}. Its columns are: "
                f"{', '.join(map(repr, available[:20]))}{', ...' if len(available) > 20 else ''}."
            )
        table = file.read_row_group(group.number, columns=columns, use_threads=False)
    # To decode lists takes several times their size. What is left of it would count as memory of
    # the worker, which takes no task where it holds too much.
    pa.default_memory_pool().release_unused()
    return table


def read_features(
    group: RowGroup, features: str | tuple[str, ...], width: int, dtype: np.dtype[Any]
) -> Array:
    """Return the rows of a row group as a table of numbers."""
    if isinstance(features, str):
        rows = _list_column(group, features)
    else:
        table = read_columns(group, list(features))
        rows = np.column_stack([_number_column(group, table, name) for name in features])
    if rows.shape[1] != width:
        raise InvalidInputError(
            f"{group}, column {features!r}: expected {width} numbers a row, as in the first file; "
            f"found {rows.shape[1]}."
        )
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        name = features if isinstance(features, str) else features[column]
        raise InvalidInputError(
            f"{group}, column {name!r}: features must be finite; found {rows[row, column]} in row "
            f"{row}, place {column}."
        )
    return np.ascontiguousarray(rows, dtype=dtype)


def _list_column(group: RowGroup, name: str) -> Array:
    """Return a column of lists of numbers, all of one length, as a table."""
    import pyarrow as pa

    column = read_columns(group, [name]).column(name).combine_chunks()
    kind = column.type
    is_list = pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind)
    if not (is_list or pa.types.is_large_list(kind)) or not _is_number(kind.value_type):
        raise InvalidInputError(
            f"{group}, column {name!r}: expected a list of numbers for each item; found {kind}. "
            "Numbers in columns of their own are named by features=[...]."
        )
    values = column.flatten()
    if column.null_count or values.null_count:
        raise InvalidInputError(f"{group}, column {name!r}: an item lacks features (null).")
    if pa.types.is_fixed_size_list(kind):
        width = kind.list_size
    else:
        lengths = np.unique(column.value_lengths().to_numpy(zero_copy_only=False))
        if len(lengths) > 1:
            raise InvalidInputError(
                f"{group}, column {name!r}: all items need as many features; found lists of "
                f"{lengths[0]} and of {lengths[-1]} numbers."
            )
        width = int(lengths[0])
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(column), width)


def _number_column(group: RowGroup, table: Any, name: str) -> Array:
    column = table.column(name)
    if not _is_number(column.type) or column.null_count:
        found = column.type if not column.null_count else f"{column.null_count} null(s)"
        raise InvalidInputError(
            f"{group}, column {name!r}: expected a number for each item; found {found}."
        )
    return np.asarray(column.to_numpy())


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def read_known(group: RowGroup, layout: LabelLayout, labels: tuple[str, ...]) -> PartialLabels:
    """Return what is known of the items of a row group."""
    try:
        if layout.columns:
            return _known_by_columns(group, layout.columns, labels)
        return _known_by_lists(group, layout, labels)
    except InvalidInputError as problem:
        place = "" if group.path in str(problem) else f"{group}: "
        raise InvalidInputError(f"{place}{problem}") from None


def _known_by_columns(
    group: RowGroup, columns: tuple[str, ...], labels: tuple[str, ...]
) -> PartialLabels:
    """Read a column of true, false (or 1, 0) and null, which is unknown, for each label."""
    table = read_columns(group, list(columns))
    states = np.column_stack([table.column(name).to_numpy().astype(object) for name in columns])
    return PartialLabels.from_array(states, labels=labels)


def _known_by_lists(group: RowGroup, layout: LabelLayout, labels: tuple[str, ...]) -> PartialLabels:
    named = [name for name in (layout.present, layout.absent) if name is not None]
    table = read_columns(group, named)
    rows, columns, present = [], [], []
    for name in named:
        r, c = _entries(group, table.column(name).combine_chunks(), name, labels)
        rows.append(r)
        columns.append(c)
        present.append(np.full(len(r), name == layout.present))
    return PartialLabels.from_entries(
        np.concatenate(rows),
        np.concatenate(columns),
        np.concatenate(present),
        shape=(len(table), len(labels)),
        labels=labels,
        unlisted_weight=layout.unlisted_weight,
    )


def _entries(
    group: RowGroup, column: Any, name: str, labels: tuple[str, ...]
) -> tuple[Array, Array]:
    """Return rows and positions of the labels in a column of lists of names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values, rows = _names(group, column, name)
    at = pc.index_in(values, value_set=pa.array(labels, type=values.type))
    if at.null_count:
        first = int(np.argmax(at.is_null().to_numpy(zero_copy_only=False)))
        raise InvalidInputError(
            f"{group}, column {name!r}: row {rows[first]} lists {values[first].as_py()!r}, which "
            f"is none of the {len(labels)} labels. Correct it, or leave labels=None to take all."
        )
    return rows, at.to_numpy(zero_copy_only=False).astype(np.int64)


def _names(group: RowGroup, column: Any, name: str) -> tuple[Any, Array]:
    """Return the names in a column of lists, and the row of each; no list is an empty list."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    text = is_list and (
        pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)
    )
    if not text and not (is_list and pa.types.is_null(kind.value_type)):
        raise InvalidInputError(
            f"{group}, column {name!r}: expected lists of names (list<string>); found {kind}."
        )
    values = column.flatten()
    rows = pc.list_parent_indices(column).to_numpy(zero_copy_only=False)
    if values.null_count:
        first = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
        raise InvalidInputError(
            f"{group}, column {name!r}: row {rows[first]} lists a label without a name (null)."
        )
    return values.cast(pa.string()), rows.astype(np.int64)


def names_in(group: RowGroup, columns: list[str]) -> frozenset[str]:
    """Return the names that occur in the lists of a row group."""
    table = read_columns(group, columns)
    names: set[str] = set()
    for column in columns:
        values, _ = _names(group, table.column(column).combine_chunks(), column)
        names.update(values.unique().to_pylist())
    return frozenset(names)
