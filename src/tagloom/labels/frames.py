"""Data frames of any library, by what they can do: pandas, polars and pyarrow, none imported.

A pandas frame names its rows; tables of polars and pyarrow have named columns alone. What is
answered about a table is a table of the same library.
"""

from collections.abc import Hashable, Iterable
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray


class FrameLike(Protocol):
    """A data frame, without importing pandas."""

    @property
    def index(self) -> Any:
        """Names of the rows."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""

    def to_numpy(self, *args: Any, **kwargs: Any) -> Any:
        """Return the values as an array."""


def is_frame(value: object) -> TypeGuard[FrameLike]:
    """Return whether `value` looks like a data frame of pandas."""
    return all(hasattr(value, name) for name in ("columns", "index", "to_numpy"))


def is_column_table(value: object) -> bool:
    """Return whether `value` looks like a table of polars or pyarrow: columns without an index."""
    return hasattr(value, "get_columns") or all(
        hasattr(value, name) for name in ("column_names", "columns", "to_pydict")
    )


def column_names(table: Any) -> list[str]:
    """Return the names of the columns of a table of polars or pyarrow."""
    return list(table.columns if hasattr(table, "get_columns") else table.column_names)


def table_values(table: Any) -> NDArray[Any]:
    """Return a table of polars or pyarrow as floats, null as NaN; as objects if some are not."""
    given = table.get_columns() if hasattr(table, "get_columns") else table.columns
    columns = [np.asarray(column.to_numpy()) for column in given]
    numbers = all(column.dtype.kind in "biuf" for column in columns)
    values = np.empty((len(table), len(columns)), dtype=np.float64 if numbers else object)
    for j, column in enumerate(columns):
        values[:, j] = column
    return values


def named_like(given: Any, values: NDArray[Any], names: Iterable[Hashable]) -> Any:
    """Return values with named columns in the library of `given`; plain where that is no table."""
    if is_frame(given):
        import pandas as pd

        columns = pd.Index(list(names), tupleize_cols=False)
        return pd.DataFrame(values, index=given.index, columns=columns)
    if not is_column_table(given):
        return values
    by_name = {str(name): values[:, j] for j, name in enumerate(names)}
    kind: Any = type(given)
    return kind(by_name) if hasattr(given, "get_columns") else kind.from_pydict(by_name)
