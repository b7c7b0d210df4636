"""Names of items and labels: checked once, then used to say where something is wrong."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tagloom.errors import InvalidInputError

_PLAIN = (np.integer, np.floating, np.str_, np.bool_)
_SHOWN = 5


def is_missing(value: object) -> bool:
    """Say whether `value` is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def is_hashable(value: object) -> bool:
    """Say whether `value` can be a name; a tuple that holds a list only looks as if it could."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def listed(names: Sequence[object], shown: int = _SHOWN) -> str:
    """Write the first few names and say how many more there are."""
    text = ", ".join(repr(name) for name in names[:shown])
    more = len(names) - shown
    return f"{text} and {more:,} more" if more > 0 else text


def checked_names(
    names: Iterable[Hashable], kind: str, expected: int | None
) -> tuple[Hashable, ...]:
    """Return `names` as a tuple of plain Python values, or say what is wrong with them."""
    if isinstance(names, str | bytes):
        raise InvalidInputError(
            f"The {kind} names must be a list of names, found the single string {names!r}. "
            f"Write [{names!r}] for one name."
        )
    plain = tuple(name.item() if isinstance(name, _PLAIN) else name for name in names)
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
        f"{listed(repeated)}. Rename or merge them."
    )


@dataclass(frozen=True)
class Names:
    """Names of the labels and, where they have any, of the items."""

    labels: tuple[Hashable, ...]
    items: tuple[Hashable, ...] | None

    @classmethod
    def checked(
        cls,
        shape: tuple[int, int],
        labels: Iterable[Hashable] | None,
        items: Iterable[Hashable] | None,
    ) -> "Names":
        """Check the names against `shape`; labels without names are numbered."""
        n_items, n_labels = shape
        return cls(
            tuple(range(n_labels)) if labels is None else checked_names(labels, "label", n_labels),
            None if items is None else checked_names(items, "item", n_items),
        )

    def row(self, row: int) -> str:
        """Say which row, with the item's name where it has one."""
        return f"row {row}" if self.items is None else f"row {row} (item {self.items[row]!r})"

    def cell(self, row: int, column: int) -> str:
        """Say which cell, for a message."""
        return f"{self.row(row)}, column {column} (label {self.labels[column]!r})"

    def same_as(self, other: "Names") -> bool:
        """Compare; items without names are named by their positions."""
        if self.labels != other.labels:
            return False
        if self.items is None or other.items is None:
            given = other.items if self.items is None else self.items
            return given is None or given == tuple(range(len(given)))
        return self.items == other.items
