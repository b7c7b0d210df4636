"""Merge partial labels with later annotations."""

from collections.abc import Hashable, Sequence

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.labels.partial import PartialLabels
from tagloom.labels.storage import Entries, Flags, Positions

Names = tuple[Hashable, ...]


def add_known(earlier: PartialLabels, later: PartialLabels) -> PartialLabels:
    """Merge two sets of labels; where both list an entry, that of `later` counts.

    Items and labels are matched by name, and those that only `later` has come last. What an
    unlisted entry means holds for the items and labels of each table alone: a label that only
    `later` has is unknown at the items that only `earlier` has.

    Examples
    --------
    >>> earlier = PartialLabels.from_tags({"a.jpg": ["sea"], "b.jpg": []}, unlisted="absent")
    >>> later = PartialLabels.from_tags({"b.jpg": ["sea", "dog"]}, unlisted="unknown")
    >>> add_known(earlier, later).to_array()
    array([[ 1., nan],
           [ 1.,  1.]])
    """
    background = _background(earlier, later)
    labels, items = _union(earlier.labels, later.labels), _all_items(earlier, later)
    shape = (earlier.n_items if items is None else len(items), len(labels))
    # Of repeated entries the first is kept: the later labels come first.
    first, second = _moved(later, labels, items), _moved(earlier, labels, items)
    rows = np.concatenate([first.rows, second.rows])
    columns = np.concatenate([first.columns, second.columns])
    present = np.concatenate([first.present, second.present])
    weights = np.concatenate([first.weights, second.weights])
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
    covered = _in_background(earlier, labels, items, shape)
    covered |= _in_background(later, labels, items, shape)
    covered[rows, columns] = True
    return known.with_hidden(*np.nonzero(~covered))


def _moved(known: PartialLabels, labels: Names, items: Names | None) -> Entries:
    """Return the listed entries at their positions in the union."""
    entries = known.entries()
    rows, columns = _positions(known, labels, items)
    return Entries(rows[entries.rows], columns[entries.columns], entries.present, entries.weights)


def _in_background(
    known: PartialLabels, labels: Names, items: Names | None, shape: tuple[int, int]
) -> Flags:
    """Return the cells of the union at which unlisted means absent in one of the tables."""
    absent = np.zeros(shape, dtype=bool)
    if known.unlisted_weight:
        rows, columns = _positions(known, labels, items)
        absent[np.ix_(rows, columns)] = True
        hidden_rows, hidden_columns = known.hidden_entries()
        absent[rows[hidden_rows], columns[hidden_columns]] = False
    return absent


def _positions(
    known: PartialLabels, labels: Names, items: Names | None
) -> tuple[Positions, Positions]:
    """Return the positions of rows and columns in the union."""
    columns = _named_positions(known.labels, labels)
    if items is None or known.items is None:
        return np.arange(known.n_items), columns
    return _named_positions(known.items, items), columns


def _named_positions(names: Sequence[Hashable], among: Names) -> Positions:
    position = {name: place for place, name in enumerate(among)}
    return np.array([position[name] for name in names], dtype=np.int64)


def _union(one: Names, other: Names) -> Names:
    return tuple(dict.fromkeys((*one, *other)))


def _all_items(earlier: PartialLabels, later: PartialLabels) -> Names | None:
    if earlier.items is not None and later.items is not None:
        return _union(earlier.items, later.items)
    if earlier.n_items != later.n_items:
        raise InvalidInputError(
            "Items are matched by name, or by position if there are equally many: one of the "
            f"tables has unnamed items, and they have {earlier.n_items} and {later.n_items}."
        )
    return earlier.items if later.items is None else later.items


def _background(earlier: PartialLabels, later: PartialLabels) -> float:
    weights = {one.unlisted_weight for one in (earlier, later)} - {0.0}
    if len(weights) > 1:
        raise InvalidInputError(
            "An unlisted tag must mean the same in both: it is absent with weight "
            f"{earlier.unlisted_weight:g} in the earlier labels and {later.unlisted_weight:g} in "
            "the later ones."
        )
    return weights.pop() if weights else 0.0
