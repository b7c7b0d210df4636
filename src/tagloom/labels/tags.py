"""Parse lists of tags, which hold presences only, into partial labels."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.labels.parsing import Names, Parsed, checked_names, is_hashable, is_missing, is_weight
from tagloom.labels.storage import (
    PRESENT,
    Cells,
    Positions,
    cell_keys,
    cell_positions,
    store_cells,
)
from tagloom.validation import is_column_table, is_frame, some_of


def read_tags(tags: Any, unlisted: object, labels: Iterable[Hashable] | None) -> Parsed:
    """Read lists of tags; a mapping names the items."""
    background = unlisted_weight(unlisted)
    given = _TagLists.of(tags)
    label_names = given.sorted_names() if labels is None else checked_names(labels, "label", None)
    shape = (len(given.lengths), len(label_names))
    names = Names.checked(shape, label_names, given.items)
    rows = np.repeat(np.arange(shape[0]), np.asarray(given.lengths, dtype=np.int64))
    keys = np.unique(cell_keys(rows, given.columns(names), shape[1]))
    codes = np.full(len(keys), PRESENT, dtype=np.int8)
    cells = Cells(*cell_positions(keys, shape[1]), codes, None)
    return Parsed(store_cells(cells, shape, background), names)


def unlisted_weight(unlisted: object) -> float:
    """Return the weight with which an unlisted tag is absent; 0 where it is unknown."""
    if isinstance(unlisted, str) and unlisted in {"unknown", "absent"}:
        return 1.0 if unlisted == "absent" else 0.0
    if is_weight(unlisted):
        return float(cast(float, unlisted))
    found = "It was not given." if unlisted is None else f"Got {unlisted!r} instead."
    raise InvalidInputError(
        '`unlisted` is the meaning of a tag that is not listed: "unknown" (not annotated), '
        '"absent" (the lists are complete), or a weight in (0, 1] (absent with that weight). '
        f"{found}"
    )


@dataclass(frozen=True)
class _TagLists:
    """All tags in one list, and the number of tags of each item."""

    items: Sequence[Hashable] | None
    flat: list[Hashable]
    lengths: list[int]

    @classmethod
    def of(cls, tags: Any) -> "_TagLists":
        if is_frame(tags) or is_column_table(tags):
            raise InvalidInputError(
                "Expected lists of tags, found a whole data frame: pass the column that holds "
                'them, such as frame["tags"].'
            )
        if isinstance(tags, str | bytes) or not isinstance(tags, Iterable):
            raise InvalidInputError(
                f"Expected a list of tags for each item, or a mapping from items to their tags; "
                f"found {tags!r}."
            )
        items, lists = _split(tags)
        flat: list[Hashable] = []
        lengths = []
        for position, given in enumerate(lists):
            own = _tag_list(given, position if items is None else items[position])
            flat.extend(own)
            lengths.append(len(own))
        return cls(items, flat, lengths)

    def sorted_names(self) -> list[Hashable]:
        try:
            names = set(self.flat)
        except TypeError:
            self._raise_for_first(lambda tag: not is_hashable(tag))
            raise
        if any(map(is_missing, names)):
            self._raise_for_first(is_missing)
        try:
            return sorted(names)  # type: ignore[type-var]
        except TypeError:
            raise InvalidInputError(
                "The tags are of different types and have no common order: give `labels`."
            ) from None

    def columns(self, names: Names) -> Positions:
        column = {label: position for position, label in enumerate(names.labels)}
        try:
            return np.fromiter((column[tag] for tag in self.flat), np.int64, len(self.flat))
        except (KeyError, TypeError):
            known = frozenset(column)
            self._raise_for_first(lambda tag: not is_hashable(tag) or tag not in known, names)
            raise

    def _raise_for_first(self, wrong: Callable[[object], bool], names: Names | None = None) -> None:
        places = [place for place, tag in enumerate(self.flat) if wrong(tag)]
        row = int(np.searchsorted(np.cumsum(self.lengths), places[0], side="right"))
        item = f"item {row}" if self.items is None else f"item {self.items[row]!r}"
        expected = (
            "a tag must be a name"
            if names is None
            else f"it is not among the given labels: {some_of(names.labels)}"
        )
        raise InvalidInputError(
            f"The tag {self.flat[places[0]]!r} of {item} cannot be used: {expected}. "
            f"{len(places):,} tags are concerned. Correct them or add them to `labels`."
        )


def _split(tags: Any) -> tuple[Sequence[Hashable] | None, list[Any]]:
    if isinstance(tags, Mapping):
        return list(tags.keys()), list(tags.values())
    if hasattr(tags, "to_pylist"):
        # A column of pyarrow: iterating over it would give its own scalars instead of strings.
        return None, tags.to_pylist()
    if hasattr(tags, "index") and hasattr(tags, "to_numpy"):
        # A pandas Series: iterating over it would lose the names of the items.
        return list(tags.index), list(tags)
    return None, list(tags)


def _tag_list(given: Any, item: Hashable) -> list[Hashable]:
    if isinstance(given, str | bytes):
        raise InvalidInputError(
            f"Item {item!r} has the single string {given!r} where a list of tags is expected. "
            f"Write [{given!r}] for one tag, or split the string."
        )
    if not isinstance(given, Iterable):
        raise InvalidInputError(
            f"Item {item!r} has {given!r} where a list of tags is expected. "
            "Write [] for an item without tags."
        )
    return list(given)
