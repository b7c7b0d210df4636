"""Features and labels in folders of parquet files, here or by URL, a task for each row group."""

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.dask.blocks import LazyBlock, RowBlocks, compute, task, tree_sum
from tagloom.errors import InvalidInputError, first_line
from tagloom.io import (
    atomic_write,
    check_writable,
    is_url,
    local_path,
    open_store,
    write_whole,
)
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.validation import check_integer, check_same_items

Array = npt.NDArray[Any]

_FOOTER_BYTES = 1 << 16
# What stores call the version of a file, the surest first.
_VERSIONS = ("ETag", "etag", "content_md5", "LastModified", "updated", "mtime", "created")
_NO_LAYOUT = (
    "ParquetItems has no columns of labels. Name the column of lists with present=, or the columns "
    "of true, false and null with label_columns=."
)


class FileState(NamedTuple):
    """What shows that a file is still the one whose footer was read first."""

    size: int
    modified: str
    """The time of its last change, or what a store tells versions apart by."""
    footer: int
    """Checksum of its last bytes, which hold the least and the largest value of each column."""

    @classmethod
    def of(cls, path: str, storage_options: Mapping[str, Any]) -> "FileState":
        """Return the state of a file as it is now."""
        if not is_url(path):
            with open(path, "rb") as stream:
                status = os.fstat(stream.fileno())
                stream.seek(max(0, status.st_size - _FOOTER_BYTES))
                footer = stream.read(_FOOTER_BYTES)
            return cls(status.st_size, str(status.st_mtime_ns), zlib.crc32(footer))
        fs, at = open_store(path, storage_options)
        fs.invalidate_cache()
        known = fs.info(at)
        size = int(known["size"])
        footer = fs.cat_file(at, start=max(0, size - _FOOTER_BYTES), end=size)
        version = next((str(known[name]) for name in _VERSIONS if known.get(name)), "")
        return cls(size, version, zlib.crc32(footer))


@dataclass(frozen=True)
class RowGroup:
    """A row group of a parquet file."""

    path: str
    number: int
    state: FileState
    # Not shown: they may hold passwords.
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def check_unchanged(self) -> None:
        """Refuse a file that was replaced: passes over two versions of it prove nothing."""
        if FileState.of(self.path, self.storage_options) != self.state:
            raise InvalidInputError(
                f"{self.path} was changed while it was in use. Results of passes before and after "
                "that cannot be combined: create ParquetItems again, and leave the files alone."
            )

    def __str__(self) -> str:
        return f"{self.path} (row group {self.number})"


@dataclass(frozen=True)
class LabelLayout:
    """Which columns hold the labels: lists of names, or a column for each label."""

    present: str | None = None
    absent: str | None = None
    columns: tuple[str, ...] = ()
    unlisted_weight: float = 0.0


class ParquetItems:
    """Items in a folder of parquet files that every worker can read, one task for each row group.

    A folder is a path that all workers share, or a URL that fsspec knows: ``s3://``, ``gs://``,
    ``https://`` and others, with the package for it installed on every worker.

    The client reads only the footers of the files. Files are sorted by name, and must not change
    while they are in use: one that does is refused.

    Parameters
    ----------
    folder : path or URL
        Its ``.parquet`` files are read, except those whose names begin with ``.`` or ``_``. Over
        HTTP the server must list the folder.
    features : str or sequence of str, default="features"
        A column of lists of numbers, all of one length, or several columns of numbers.
    present, absent : str, optional
        Columns of lists of names (list<string>): labels that an item has, and labels that it is
        known not to have.
    unlisted : {"unknown", "absent"} or float in (0, 1], optional
        The meaning of a label that neither column lists, see `PartialLabels.from_tags`. Required
        with `present`.
    label_columns : sequence of str, optional
        Instead of lists: a column of true, false and null (unknown) for each label.
    labels : sequence of str, optional
        All labels in order. By default the names that occur, sorted, which costs a pass over the
        columns of lists.
    storage_options : dict, optional
        For a URL: what fsspec's file system takes, such as ``key`` and ``secret``. They are sent to
        the workers; credentials that each worker finds by itself are safer.
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
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder = _checked_folder(folder, storage_options)
        self._storage_options = dict(storage_options or {})
        self.features = features if isinstance(features, str) else tuple(features)
        self._layout = _check_layout(present, absent, tuple(label_columns), unlisted)
        given = tuple(label_columns) or labels
        self._labels = None if given is None else tuple(given)

    @cached_property
    def groups(self) -> tuple[tuple[RowGroup, int], ...]:
        """All row groups that are not empty, with their numbers of rows."""
        options, groups = self._storage_options, []
        for path in _files_in(self.folder, options):
            with _readable_errors(path), _opened(path, options) as file:
                state, footer = FileState.of(path, options), file.metadata
            sizes = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
            groups += [
                (RowGroup(path, number, state, options), size)
                for number, size in enumerate(sizes)
                if size
            ]
        if not groups:
            raise InvalidInputError(f"The parquet files in {self.folder} have no rows.")
        return tuple(groups)

    def feature_blocks(self) -> RowBlocks:
        """Return the blocks of the features; a task reads its block when it runs."""
        width, dtype = self._first
        blocks = tuple(
            LazyBlock(_read_features, group, self.features, width, dtype)
            for group, _ in self.groups
        )
        return RowBlocks(blocks, tuple(size for _, size in self.groups), width, dtype)

    def label_blocks(self, labels: tuple[str, ...]) -> tuple[Any, ...]:
        """Return the blocks of the labels, as `PartialLabels`."""
        if not (self._layout.present or self._layout.columns):
            raise InvalidInputError(_NO_LAYOUT)
        return tuple(
            LazyBlock(_read_labels, group, self._layout, labels) for group, _ in self.groups
        )

    def labels(self, client: Any) -> tuple[str, ...]:
        """Return the labels in order; the workers collect names that were not given."""
        if self._labels is not None:
            return self._labels
        columns = [name for name in (self._layout.present, self._layout.absent) if name]
        if not columns:
            raise InvalidInputError(_NO_LAYOUT)
        terms = [task(_Names.of, group, columns) for group, _ in self.groups]
        found: _Names = compute(client, tree_sum(terms))
        return tuple(sorted(found.names))

    @cached_property
    def _first(self) -> tuple[int, np.dtype[Any]]:
        """Number and type of the features in the first file."""
        group, _ = self.groups[0]
        if isinstance(self.features, tuple):
            return len(self.features), _type_of(group, list(self.features))
        kind = _schema(group)
        if self.features not in kind.names:
            _read_columns(group, [self.features])
        column = kind.field(self.features).type
        size = getattr(column, "list_size", None)
        if size is None:
            size = _length_of_first(group, self.features)
        return int(size), _single_or_double(getattr(column, "value_type", column))


class _Names:
    """Names of labels; `+` unites them."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    @classmethod
    def of(cls, group: RowGroup, columns: list[str]) -> "_Names":
        return cls(_names_in(group, columns))

    def __add__(self, other: "_Names") -> "_Names":
        return _Names(self.names | other.names)


def _check_layout(
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
    # Reading an empty list validates `unlisted` and gives its weight.
    weight = PartialLabels.from_tags([[]], unlisted=unlisted, labels=["any"]).unlisted_weight
    return LabelLayout(present, absent, (), weight)


def _checked_folder(
    folder: str | os.PathLike[str], storage_options: Mapping[str, Any] | None
) -> Path | str:
    """Return the path, or the URL without a slash at its end."""
    if is_url(folder):
        store, slashes, path = str(folder).partition("://")
        return f"{store}{slashes}{path.rstrip('/')}"
    if storage_options:
        raise InvalidInputError(
            f"storage_options are for URLs; {folder} is a path. Leave them out, or pass a URL such "
            "as s3://bucket/folder."
        )
    return local_path(folder)


def _files_in(folder: Path | str, storage_options: Mapping[str, Any]) -> list[str]:
    names = _names_at(folder, storage_options) if isinstance(folder, str) else _names_here(folder)
    files = sorted(name for name in names if name.endswith(".parquet") and name[0] not in "._")
    if not files:
        raise InvalidInputError(f"There is no file in {folder} that ends in .parquet.")
    return [f"{folder}/{name}" if isinstance(folder, str) else str(folder / name) for name in files]


def _names_here(folder: Path) -> list[str]:
    if not folder.is_dir():
        state = "is not a folder" if folder.exists() else "does not exist"
        raise InvalidInputError(f"{folder} {state}. Expected a folder of parquet files.")
    return [path.name for path in folder.iterdir()]


def _names_at(url: str, storage_options: Mapping[str, Any], *, or_none: bool = False) -> list[str]:
    """Return the names of the files in a folder; one that does not exist may have none."""
    fs, path = open_store(url, storage_options)
    try:
        found = fs.ls(path, detail=False)
    except FileNotFoundError:
        if or_none:
            return []
        raise InvalidInputError(f"{url} does not exist, or holds no files.") from None
    except Exception as problem:  # every store has errors of its own
        raise InvalidInputError(f"{url} cannot be listed: {first_line(problem)}") from None
    return [str(one).rstrip("/").rpartition("/")[2] for one in found]


@contextmanager
def _opened(path: str, storage_options: Mapping[str, Any]) -> Iterator[Any]:
    """Open a parquet file; of one at a URL only the bytes that are asked for are read."""
    import pyarrow.parquet as pq

    if not is_url(path):
        with pq.ParquetFile(path) as file:
            yield file
        return
    fs, at = open_store(path, storage_options)
    with fs.open(at, "rb", cache_type="none") as stream, pq.ParquetFile(stream) as file:
        yield file


def _schema(group: RowGroup) -> Any:
    with _readable_errors(group.path), _opened(group.path, group.storage_options) as file:
        return file.schema_arrow


def _type_of(group: RowGroup, names: list[str]) -> np.dtype[Any]:
    schema = _schema(group)
    if any(name not in schema.names for name in names):
        _read_columns(group, names)
    kinds = [_single_or_double(schema.field(name).type) for name in names]
    return np.dtype(np.result_type(*kinds))


def _length_of_first(group: RowGroup, name: str) -> int:
    """Return how many numbers the first list of a column holds."""
    column = _read_columns(group, [name]).column(name)
    first = column[0].as_py()
    return len(first) if isinstance(first, list) else 0


def _single_or_double(kind: Any) -> np.dtype[Any]:
    import pyarrow as pa

    single = pa.types.is_float32(kind) or pa.types.is_float16(kind)
    return np.dtype(np.float32 if single else np.float64)


def write_parquet(
    folder: str | os.PathLike[str],
    X: npt.ArrayLike,
    Y: Any,
    *,
    items: Sequence[str] | None = None,
    rows_per_file: int = 65536,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Path] | list[str]:
    """Write features and labels as files that `ParquetItems` reads, each atomically.

    The columns are ``features`` (fixed-size list of float32 or float64), ``present`` and ``absent``
    (lists of names) and, if items have names, ``item``. The meaning of unlisted labels is not
    written: pass it to `ParquetItems`.

    Parameters
    ----------
    folder : path or URL
        Created if needed; it must not contain parquet files.
    X : array of shape (n_items, n_features)
    Y : PartialLabels, DataFrame or array of 1, 0 and NaN
        Labels are written by name, or by number where they have no names.
    items : sequence of str, optional
    rows_per_file : int, default=65536
        Each file is one row group, the unit of work of a task.
    storage_options : dict, optional
        For a URL, see `ParquetItems`.

    Returns
    -------
    list of Path, or of URLs
    """
    check_integer("rows_per_file", rows_per_file, at_least=1)
    rows, known = np.asarray(X), as_partial_labels(Y)
    check_same_items(len(rows), known.n_items)
    _refuse_what_lists_cannot_express(known)
    target, options = _checked_folder(folder, storage_options), storage_options or {}
    _refuse_filled(target, options)
    names = np.array([str(label) for label in known.labels], dtype=object)
    paths: list[Any] = []
    for number, start in enumerate(range(0, len(rows), rows_per_file)):
        part = slice(start, min(start + rows_per_file, len(rows)))
        entries = known.take(part).entries()
        columns = {"features": features_column(rows[part])}
        size = part.stop - part.start
        for column, wanted in (("present", True), ("absent", False)):
            chosen = entries.present == wanted
            columns[column] = _lists(entries.rows[chosen], names[entries.columns[chosen]], size)
        if items is not None:
            columns["item"] = list(items[part])
        name = partition_name(number)
        paths.append(f"{target}/{name}" if isinstance(target, str) else target / name)
        write_table(paths[-1], columns, storage_options=options)
    return paths


def _refuse_filled(folder: Path | str, storage_options: Mapping[str, Any]) -> None:
    """Make the folder; refuse one with parquet files, which would be read with the new ones."""
    if isinstance(folder, Path):
        folder.mkdir(parents=True, exist_ok=True)
        filled = any(folder.glob("*.parquet"))
    else:
        check_writable(folder)
        names = _names_at(folder, storage_options, or_none=True)
        filled = any(name.endswith(".parquet") for name in names)
    if filled:
        raise InvalidInputError(f"{folder} holds parquet files already. Choose an empty folder.")


def partition_name(number: int) -> str:
    """Return the name of a file, such that sorting keeps the order of the partitions."""
    return f"part-{number:05d}.parquet"


def _refuse_what_lists_cannot_express(known: PartialLabels) -> None:
    hidden, weights = known.hidden_entries()[0], known.entries().weights
    if len(hidden):
        raise InvalidInputError(
            f"{len(hidden):,} entries are unknown although unlisted labels are absent; lists of "
            "what is present and absent cannot express that. List what is absent instead."
        )
    if (weights != 1).any():
        raise InvalidInputError(
            f"Entries with a weight other than 1 cannot be listed; found {weights.min():g} to "
            f"{weights.max():g}."
        )


def features_column(rows: npt.NDArray[Any]) -> Any:
    """Return a table of numbers as a column of fixed-size lists."""
    import pyarrow as pa

    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    values = pa.array(np.ascontiguousarray(rows).ravel())
    # Lists of numbers that are declared not null are read in half the time.
    number = pa.field("item", values.type, nullable=False)
    return pa.FixedSizeListArray.from_arrays(values, type=pa.list_(number, rows.shape[1]))


def write_table(
    path: Path | str,
    columns: dict[str, Any],
    metadata: dict[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    """Write columns as one row group to a path or URL, atomically."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [
        pa.array(column) if isinstance(column, list) else column for column in columns.values()
    ]
    fields = [
        pa.field(name, array.type, nullable=not pa.types.is_fixed_size_list(array.type))
        for name, array in zip(columns, arrays, strict=True)
    ]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=metadata))
    # Features hardly compress, and decompressing would cost time in every pass.
    how: dict[str, Any] = {"compression": "NONE", "use_dictionary": False}
    how["row_group_size"] = max(1, len(table))
    if isinstance(path, Path):
        with atomic_write(path) as part:
            pq.write_table(table, part, **how)
        return
    # Made in memory: closing a file that fsspec opened for writing would store half of one.
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **how)
    write_whole(path, sink.getvalue().to_pybytes(), storage_options or {})


def _lists(rows: npt.NDArray[np.int64], names: Iterable[Any], n_rows: int) -> Any:
    """Return a list of names for each row, from entries sorted by row."""
    import pyarrow as pa

    ends = np.searchsorted(rows, np.arange(n_rows + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(list(names), type=pa.string()))


@contextmanager
def _readable_errors(path: str) -> Iterator[None]:
    """Turn errors of pyarrow, and of the store of a URL, into messages that name the file."""
    try:
        yield
    except InvalidInputError:
        raise
    except Exception as problem:
        if is_url(path) or _is_of_reading(problem):
            message = f"{path} cannot be read as parquet: {problem}"
            raise InvalidInputError(message) from None
        raise


def _is_of_reading(problem: Exception) -> bool:
    import pyarrow as pa

    return isinstance(problem, OSError | pa.ArrowException)


@contextmanager
def _unchanged(group: RowGroup) -> Iterator[None]:
    """Check before and after reading that the file is still the same."""
    group.check_unchanged()
    yield
    group.check_unchanged()


def _read_columns(group: RowGroup, columns: list[str]) -> Any:
    """Return these columns of a row group, or name one that the file lacks."""
    import pyarrow as pa

    with (
        _readable_errors(group.path),
        _unchanged(group),
        _opened(group.path, group.storage_options) as file,
    ):
        available = file.schema_arrow.names
        missing = [name for name in columns if name not in available]
        if missing:
            raise InvalidInputError(
                f"{group.path} has no column {missing[0]!r}. Its columns are: "
                f"{', '.join(map(repr, available[:20]))}{', ...' if len(available) > 20 else ''}."
            )
        table = file.read_row_group(group.number, columns=columns, use_threads=False)
    # Decoding lists takes several times their size. Unless released, it would count as memory of
    # the worker, and a worker with too little free memory takes no tasks.
    pa.default_memory_pool().release_unused()
    return table


def _read_features(
    group: RowGroup, features: str | tuple[str, ...], width: int, dtype: np.dtype[Any]
) -> Array:
    """Return the features of a row group."""
    if isinstance(features, str):
        rows = _list_column(group, features)
    else:
        table = _read_columns(group, list(features))
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

    column = _read_columns(group, [name]).column(name).combine_chunks()
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


def _read_labels(group: RowGroup, layout: LabelLayout, labels: tuple[str, ...]) -> PartialLabels:
    """Return the labels of a row group."""
    try:
        if layout.columns:
            return _labels_from_columns(group, layout.columns, labels)
        return _labels_from_lists(group, layout, labels)
    except InvalidInputError as problem:
        place = "" if group.path in str(problem) else f"{group}: "
        raise InvalidInputError(f"{place}{problem}") from None


def _labels_from_columns(
    group: RowGroup, columns: tuple[str, ...], labels: tuple[str, ...]
) -> PartialLabels:
    """Read a column of true, false (or 1, 0) and null, which is unknown, for each label."""
    table = _read_columns(group, list(columns))
    states = np.column_stack([table.column(name).to_numpy().astype(object) for name in columns])
    return PartialLabels.from_array(states, labels=labels)


def _labels_from_lists(
    group: RowGroup, layout: LabelLayout, labels: tuple[str, ...]
) -> PartialLabels:
    named = [name for name in (layout.present, layout.absent) if name is not None]
    table = _read_columns(group, named)
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
    """Return the rows and label positions of the entries in a column of lists of names."""
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
    """Return the names in a column of lists, and the row of each; a null list is empty."""
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


def _names_in(group: RowGroup, columns: list[str]) -> frozenset[str]:
    """Return the names that occur in the lists of a row group."""
    table = _read_columns(group, columns)
    names: set[str] = set()
    for column in columns:
        values, _ = _names(group, table.column(column).combine_chunks(), column)
        names.update(values.unique().to_pylist())
    return frozenset(names)
