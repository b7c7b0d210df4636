"""Names of items and labels, and the choice of rows and labels by position or name."""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.errors import InvalidInputError
from tagloom.labels.storage import Positions, TableLike
from tagloom.validation import some_of

_NUMPY_SCALARS = (np.integer, np.floating, np.str_, np.bool_)


@dataclass(frozen=True)
class Names:
    """Names of the labels and, if given, of the items."""

    labels: tuple[Hashable, ...]
    items: tuple[Hashable, ...] | None

    @classmethod
    def checked(
        cls,
        shape: tuple[int, int],
        labels: Iterable[Hashable] | None,
        items: Iterable[Hashable] | None,
    ) -> "Names":
        """Check the names against `shape`; unnamed labels are numbered."""
        n_items, n_labels = shape
        return cls(
            tuple(range(n_labels)) if labels is None else checked_names(labels, "label", n_labels),
            None if items is None else checked_names(items, "item", n_items),
        )

    def row(self, row: int) -> str:
        """Return the place of a row for a message, with the name of its item."""
        return f"row {row}" if self.items is None else f"row {row} (item {self.items[row]!r})"

    def cell(self, row: int, column: int) -> str:
        """Return the place of a cell for a message."""
        return f"{self.row(row)}, column {column} (label {self.labels[column]!r})"

    def same_as(self, other: "Names") -> bool:
        """Return whether the names are equal; unnamed items are named by their positions."""
        if self.labels != other.labels:
            return False
        if self.items is None or other.items is None:
            given = other.items if self.items is None else self.items
            return given is None or given == tuple(range(len(given)))
        return self.items == other.items


def checked_names(
    names: Iterable[Hashable], kind: str, expected: int | None
) -> tuple[Hashable, ...]:
    """Return the names as a tuple of plain Python values, after checking them."""
    if isinstance(names, str | bytes):
        raise InvalidInputError(
            f"The {kind} names must be a list of names, found the single string {names!r}. "
            f"Write [{names!r}] for one name."
        )
    plain = tuple(name.item() if isinstance(name, _NUMPY_SCALARS) else name for name in names)
    if expected is not None and len(plain) != expected:
        raise InvalidInputError(
            f"Expected {expected:,} {kind} names, one for each {kind}, found {len(plain):,}."
        )
    _refuse_missing(plain, kind)
    _refuse_repeated(plain, kind)
    return plain


def _refuse_missing(names: tuple[Hashable, ...], kind: str) -> None:
    for position, name in enumerate(names):
        if is_missing(name):
            raise InvalidInputError(
                f"The {kind} name at position {position} is missing ({name!r}). "
                f"Every {kind} needs a name, or leave all of them out."
            )


def _refuse_repeated(names: tuple[Hashable, ...], kind: str) -> None:
    try:
        if len(set(names)) == len(names):
            return
    except TypeError as error:
        raise InvalidInputError(f"The {kind} names must be hashable: {error}.") from None
    repeated = [name for name, times in Counter(names).items() if times > 1]
    raise InvalidInputError(
        f"The {kind} names must differ, but {len(repeated):,} occur more than once: "
        f"{some_of(repeated)}. Rename or merge them."
    )


def is_missing(value: object) -> bool:
    """Return whether `value` is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def is_hashable(value: object) -> bool:
    """Return whether `value` can be a name; a tuple that holds a list cannot."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def row_positions(rows: ArrayLike | slice, n_items: int) -> Positions:
    """Return the positions that an integer array, a slice or a mask of rows chooses."""
    if isinstance(rows, slice):
        return np.arange(n_items)[rows]
    given = as_array(rows, "The rows")
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iub"):
        raise InvalidInputError(
            "Rows are chosen by a list of positions, a slice or a mask; found type "
            f"{given.dtype} and shape {given.shape}."
        )
    if given.dtype.kind == "b":
        if len(given) != n_items:
            raise InvalidInputError(
                f"A mask of rows needs {n_items:,} values, one for each item; found {len(given):,}."
            )
        return np.flatnonzero(given)
    outside = given[(given < -n_items) | (given >= n_items)]
    if outside.size:
        raise InvalidInputError(f"There is no row {outside[0]} among {n_items:,} items.")
    positions = given.astype(np.int64)
    return np.where(positions < 0, positions + n_items, positions)


def label_positions(wanted: Iterable[Hashable], labels: tuple[Hashable, ...]) -> Positions:
    """Return the positions of the named labels, in the order in which they are named."""
    names = checked_names(wanted, "label", None)
    column = {label: position for position, label in enumerate(labels)}
    unknown = [name for name in names if name not in column]
    if unknown:
        raise InvalidInputError(
            f"There is no label {some_of(unknown)}. Available labels are: {some_of(labels, 10)}."
        )
    return np.array([column[name] for name in names], dtype=np.int64)


def as_array(values: TableLike, what: str) -> NDArray[Any]:
    """Return `values` as an array, masked or not."""
    if isinstance(values, np.ma.MaskedArray):
        return values
    try:
        return np.asarray(values)
    except ValueError:
        raise InvalidInputError(
            f"{what} must be a table whose rows all have the same length; these rows differ."
        ) from None
