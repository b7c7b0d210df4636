"""Arrays in memory as a folder of parquet files."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.checks import check_same_items, check_whole
from tagloom.errors import InvalidInputError
from tagloom.files import written_whole
from tagloom.labels import PartialLabels, as_partial_labels


def write_parquet(
    folder: str | os.PathLike[str],
    X: npt.ArrayLike,
    Y: Any,
    *,
    items: Sequence[str] | None = None,
    rows_per_file: int = 65536,
) -> list[Path]:
    """Write features and labels as files that `ParquetItems` reads; each is whole or not there.

    The columns are ``features`` (fixed-size list of float32 or float64), ``present`` and ``absent``
    (lists of names) and, where names of items are given, ``item``. What Y presumes of unlisted
    labels is not written: say it to `ParquetItems`.

    Parameters
    ----------
    folder : path
        Made if it does not exist; it must hold no parquet files yet.
    X : array of shape (n_items, n_features)
    Y : PartialLabels, DataFrame or array of 1, 0 and NaN
        Labels are written by name; those without names by their number.
    items : sequence of str, optional
    rows_per_file : int, default=65536
        One row group each: what one task works on.

    Returns
    -------
    list of Path
    """
    check_whole("rows_per_file", rows_per_file, at_least=1)
    rows, known = np.asarray(X), as_partial_labels(Y)
    check_same_items(len(rows), known.n_items)
    _refuse_what_lists_cannot_say(known)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    if any(target.glob("*.parquet")):
        raise InvalidInputError(f"{target} holds parquet files already. Choose an empty folder.")
    names = np.array([str(label) for label in known.labels], dtype=object)
    paths = []
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
        paths.append(target / f"part-{number:05d}.parquet")
        write_table(paths[-1], columns)
    return paths


def _refuse_what_lists_cannot_say(known: PartialLabels) -> None:
    hidden, weights = known.hidden_entries()[0], known.entries().weights
    if len(hidden):
        raise InvalidInputError(
            f"{len(hidden):,} entries are unknown although unlisted labels are absent; lists of "
            "what is present and absent cannot say that. List what is absent instead."
        )
    if (weights != 1).any():
        raise InvalidInputError(
            f"Entries with a weight other than 1 cannot be listed; found {weights.min():g} to "
            f"{weights.max():g}."
        )


def features_column(rows: npt.NDArray[Any]) -> Any:
    """Return a table of numbers as a column of lists of one length."""
    import pyarrow as pa

    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    values = pa.array(np.ascontiguousarray(rows).ravel())
    # Lists of numbers that cannot be null are read in half the time.
    number = pa.field("item", values.type, nullable=False)
    return pa.FixedSizeListArray.from_arrays(values, type=pa.list_(number, rows.shape[1]))


def write_table(
    path: Path, columns: dict[str, Any], metadata: dict[str, str] | None = None
) -> None:
    """Write columns as one row group, whole or not at all."""
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
    with written_whole(path) as part:
        # Features look like noise to a compressor, and would cost time at every pass.
        pq.write_table(
            table, part, row_group_size=max(1, len(table)), compression="NONE", use_dictionary=False
        )


def _lists(rows: npt.NDArray[np.int64], names: Iterable[Any], n_rows: int) -> Any:
    """Return a list of names for each row, from entries sorted by row."""
    import pyarrow as pa

    ends = np.searchsorted(rows, np.arange(n_rows + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(list(names), type=pa.string()))
