"""Checks of arguments, each with an error that says what was expected and what was found; tables.

Data frames of any library are known by what they can do: pandas, polars and pyarrow, none imported.
A pandas frame names its rows; tables of polars and pyarrow have named columns alone.
"""

import numbers
from collections.abc import Hashable, Iterable
from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError


def is_integer(given: Any) -> bool:
    """Return whether this is an integer; True and False are not."""
    return isinstance(given, numbers.Integral) and not isinstance(given, bool | np.bool_)


def check_integer(name: str, given: Any, *, at_least: int) -> None:
    """Require an integer of at least `at_least`."""
    if not is_integer(given) or given < at_least:
        raise InvalidInputError(f"{name} must be an integer of at least {at_least}; got {given!r}.")


def check_number(
    name: str, given: Any, *, low: float, high: float = np.inf, inclusive: bool = True
) -> None:
    """Require a finite number from `low` (itself allowed if `inclusive`) to `high`."""
    is_number = isinstance(given, numbers.Real) and not isinstance(given, bool | np.bool_)
    in_range = is_number and given <= high and (given >= low if inclusive else given > low)
    if not in_range or not np.isfinite(given):
        bracket = "[" if inclusive else "("
        raise InvalidInputError(
            f"{name} must be a finite number in {bracket}{low:g}, {high:g}]; got {given!r}."
        )


def check_below_one(name: str, given: Any) -> None:
    """Require a number in [0, 1)."""
    check_number(name, given, low=0, high=1)
    if given == 1:
        raise InvalidInputError(f"{name} must be a number in [0, 1); got {given!r}.")


def check_n_jobs(name: str, given: Any) -> None:
    """Require an integer other than 0, or None."""
    if given is not None and (not is_integer(given) or given == 0):
        raise InvalidInputError(f"{name} must be an integer other than 0, or None; got {given!r}.")


def check_n_components(name: str, given: Any) -> None:
    """Require scikit-learn's `n_components`: a number, a share of the variance, or None (all)."""
    if given is None or (is_integer(given) and given >= 1):
        return
    if not isinstance(given, float | np.floating) or not 0 < given < 1:
        raise InvalidInputError(
            f"{name} must be an integer of at least 1, a share of the variance in (0, 1), or None "
            f"for all components; got {given!r}."
        )


def check_flag(name: str, given: Any) -> None:
    """Require True or False."""
    if not isinstance(given, bool | np.bool_):
        raise InvalidInputError(f"{name} must be True or False; got {given!r}.")


def check_choice(name: str, given: Any, choices: tuple[Any, ...]) -> None:
    """Require one of the choices."""
    if not isinstance(given, str | None) or given not in choices:
        listed = ", ".join(map(repr, choices))
        raise InvalidInputError(f"{name} must be one of {listed}; got {given!r}.")


def in_main_memory(given: Any, name: str) -> Any:
    """Return an array of another library (torch, jax, ...) as one of numpy; all else as it is.

    What lies in main memory is shared, not copied.
    """
    if isinstance(given, np.ndarray | np.generic) or not hasattr(given, "__dlpack__"):
        return given
    try:
        return np.from_dlpack(given)
    except (BufferError, RuntimeError, TypeError, ValueError) as problem:
        raise InvalidInputError(
            f"{name} is an array of {type(given).__module__.partition('.')[0]} that numpy cannot "
            f"read ({problem}). Pass it in main memory and without gradients, for example "
            f"{name}.detach().cpu()."
        ) from None


def largest_feature(dtype: npt.DTypeLike) -> float:
    """Return the largest feature that learners compute with: beyond, products of squares overflow.

    >>> largest_feature("float32"), largest_feature("float64")
    (1e+30, 1e+70)
    """
    return 1e30 if np.dtype(dtype) == np.float32 else 1e70


def check_magnitude(X: npt.NDArray[Any]) -> None:
    """Refuse features that are too large to compute with: all results would be wrong."""
    largest = max(abs(float(X.max(initial=0))), abs(float(X.min(initial=0))))
    if largest > largest_feature(X.dtype):
        raise InvalidInputError(
            f"The features are too large: the largest is {largest:.3g}, and at most "
            f"{largest_feature(X.dtype):g} can be computed with in {X.dtype}. Scale them, for "
            "example by sklearn.preprocessing.StandardScaler."
        )


def check_same_items(n_rows: int, n_items: int) -> None:
    """Require labels for as many items as there are rows."""
    if n_rows != n_items:
        raise InvalidInputError(
            f"X and Y must have one row for each item: X has {n_rows} rows, Y has {n_items}."
        )


def some_of(names: Iterable[object], limit: int = 5) -> str:
    """Return the first few names, and the number of further ones, for a message."""
    listed = list(names)
    shown = ", ".join(map(repr, listed[:limit]))
    more = f" and {len(listed) - limit:,} more" if len(listed) > limit else ""
    return shown + more if listed else "none"


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


def table_values(table: Any) -> npt.NDArray[Any]:
    """Return a table of polars or pyarrow as floats, null as NaN; as objects if some are not."""
    given = table.get_columns() if hasattr(table, "get_columns") else table.columns
    columns = [np.asarray(column.to_numpy()) for column in given]
    numbers = all(column.dtype.kind in "biuf" for column in columns)
    values = np.empty((len(table), len(columns)), dtype=np.float64 if numbers else object)
    for j, column in enumerate(columns):
        values[:, j] = column
    return values


def named_like(given: Any, values: npt.NDArray[Any], names: Iterable[Hashable]) -> Any:
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
