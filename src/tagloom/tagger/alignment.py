"""Bring what is known into the order of the pictures."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels


class Aligned(NamedTuple):
    """What is known, one row for each picture, and what did not fit."""

    known: PartialLabels
    without_picture: list[Hashable]
    """Items of which something is said but of which there is no picture."""
    without_labels: list[str]
    """Pictures of which nothing is said: all their labels are unknown."""


def align(known: PartialLabels, items: Sequence[str]) -> Aligned:
    """Match the items of `known` to the pictures by name, or by position where it has no names.

    A picture that `known` does not mention is wholly unknown, also where tags that are not listed
    are presumed absent: nobody has looked at it.
    """
    if known.items is None or _are_positions(known.items):
        if known.n_items != len(items):
            raise InvalidInputError(
                f"The labels have no names of items, so there must be one row for each of the "
                f"{len(items)} pictures; got {known.n_items} rows."
            )
        return Aligned(known, [], [])
    row_of_item = {name: row for row, name in enumerate(items)}
    new_row = np.array([row_of_item.get(str(name), -1) for name in known.items], dtype=np.int64)
    if known.n_items and (new_row < 0).all():
        raise InvalidInputError(
            f"None of the {known.n_items} labelled items is among the {len(items)} pictures. "
            f"Labelled are {some_of(known.items, 3)}; pictures are {some_of(items, 3)}. "
            "Names must be paths relative to the folder of pictures, with forward slashes."
        )
    mentioned = np.zeros(len(items), dtype=bool)
    mentioned[new_row[new_row >= 0]] = True
    lost = [name for name, row in zip(known.items, new_row, strict=True) if row < 0]
    silent = [name for name, seen in zip(items, mentioned, strict=True) if not seen]
    return Aligned(_moved(known, new_row, items, mentioned), lost, silent)


def _moved(
    known: PartialLabels,
    new_row: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    items: Sequence[str],
    mentioned: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
) -> PartialLabels:
    entries = known.entries()
    rows = new_row[entries.rows]
    kept = rows >= 0
    moved = PartialLabels.from_entries(
        rows[kept],
        entries.columns[kept],
        entries.present[kept],
        shape=(len(items), known.n_labels),
        weights=entries.weights[kept],
        labels=known.labels,
        items=items,
        unlisted_weight=known.unlisted_weight,
    )
    if not known.unlisted_weight:
        return moved
    hidden_rows, hidden_columns = known.hidden_entries()
    hidden_rows = new_row[hidden_rows]
    still = hidden_rows >= 0
    unseen = np.flatnonzero(~mentioned)
    all_columns = np.arange(known.n_labels)
    return moved.with_hidden(
        np.concatenate([hidden_rows[still], np.repeat(unseen, known.n_labels)]),
        np.concatenate([hidden_columns[still], np.tile(all_columns, len(unseen))]),
    )


def _are_positions(names: Sequence[Hashable]) -> bool:
    """Say whether the names are 0, 1, 2, ..., which is what a table without names has."""
    return all(name == row and not isinstance(name, str) for row, name in enumerate(names))
