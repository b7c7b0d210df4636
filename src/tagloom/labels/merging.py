"""Join what was known with what has been said since."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.labels.partial import PartialLabels
from tagloom.labels.storage import Flags, Positions

Names = tuple[Hashable, ...]


def add_known(before: PartialLabels, more: PartialLabels) -> PartialLabels:
    """Return what both say; where both list an entry, `more` has the last word.

    Items and labels are matched by name, and those that only `more` has come last. What an unlisted
    tag means holds where it was said, for the items and labels of the one or the other: a label
    that came later is unknown of the items that nobody has looked at since.

    Examples
    --------
    >>> before = PartialLabels.from_tags({"a.jpg": ["sea"], "b.jpg": []}, unlisted="absent")
    >>> more = PartialLabels.from_tags({"b.jpg": ["sea", "dog"]}, unlisted="unknown")
    >>> add_known(before, more).to_array()
    array([[ 1., nan],
           [ 1.,  1.]])
    """
    background = _background(before, more)
    labels, items = _union(before.labels, more.labels), _all_items(before, more)
    shape = (before.n_items if items is None else len(items), len(labels))
    moved = [_moved(one, labels, items) for one in (before, more)]
    # The first of equal keys stays, so that what was said last must come first.
    rows, columns, present, weights = (
        np.concatenate([entries[place] for entries in reversed(moved)]) for place in range(4)
    )
    kept = np.unique(rows * shape[1] + columns, return_index=True)[1]
    known = PartialLabels.from_entries(
        rows[kept],
        columns[kept],
        present[kept],
        shape=shape,
        weights=weights[kept],
        labels=labels,
        items=items,
        unlisted_weight=background,
    )
    if not background:
        return known
    silent = ~_presumed(before, labels, items, shape) & ~_presumed(more, labels, items, shape)
    silent[rows, columns] = False
    return known.with_hidden(*np.nonzero(silent))


class _Moved(NamedTuple):
    rows: Positions
    columns: Positions
    present: Flags
    weights: "np.ndarray[tuple[int], np.dtype[np.float64]]"


def _moved(known: PartialLabels, labels: Names, items: Names | None) -> _Moved:
    """Return the listed entries at their places in the larger table."""
    entries = known.entries()
    rows, columns = _places(known, labels, items)
    return _Moved(rows[entries.rows], columns[entries.columns], entries.present, entries.weights)


def _presumed(
    known: PartialLabels, labels: Names, items: Names | None, shape: tuple[int, int]
) -> Flags:
    """Say of which cells of the larger table something is presumed where nothing is listed."""
    presumed = np.zeros(shape, dtype=bool)
    if known.unlisted_weight:
        rows, columns = _places(known, labels, items)
        presumed[np.ix_(rows, columns)] = True
        hidden_rows, hidden_columns = known.hidden_entries()
        presumed[rows[hidden_rows], columns[hidden_columns]] = False
    return presumed


def _places(
    known: PartialLabels, labels: Names, items: Names | None
) -> tuple[Positions, Positions]:
    columns = _positions(known.labels, labels)
    if items is None or known.items is None:
        return np.arange(known.n_items), columns
    return _positions(known.items, items), columns


def _positions(names: Sequence[Hashable], among: Names) -> Positions:
    place = {name: position for position, name in enumerate(among)}
    return np.array([place[name] for name in names], dtype=np.int64)


def _union(names: Names, more: Names) -> Names:
    return tuple(dict.fromkeys((*names, *more)))


def _all_items(before: PartialLabels, more: PartialLabels) -> Names | None:
    if before.items is not None and more.items is not None:
        return _union(before.items, more.items)
    if before.n_items != more.n_items:
        raise InvalidInputError(
            "Items can only be matched by name, or by position where there are as many: one of the "
            f"tables has no names of items, and they have {before.n_items} and {more.n_items}."
        )
    return before.items if more.items is None else more.items


def _background(before: PartialLabels, more: PartialLabels) -> float:
    weights = {one.unlisted_weight for one in (before, more)} - {0.0}
    if len(weights) > 1:
        raise InvalidInputError(
            "An unlisted tag must mean the same in both: it is absent with weight "
            f"{before.unlisted_weight:g} in what was known and {more.unlisted_weight:g} in what is "
            "added."
        )
    return weights.pop() if weights else 0.0
