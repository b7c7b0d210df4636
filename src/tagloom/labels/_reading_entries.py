"""Single known entries, given by their positions."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagloom.errors import InvalidInputError
from tagloom.labels._cells import Cells, cell_keys
from tagloom.labels._names import Names
from tagloom.labels._reading import Parts
from tagloom.labels._store import store_cells
from tagloom.labels._types import Codes, Positions, State
from tagloom.labels._values import as_array, entry_weights, is_weight

_SHOWN = 3


def read_entries(
    rows: ArrayLike,
    columns: ArrayLike,
    present: ArrayLike,
    shape: tuple[int, int],
    weights: ArrayLike | None,
    labels: Iterable[Hashable] | None,
    items: Iterable[Hashable] | None,
    unlisted_weight: float,
) -> Parts:
    """Read entries in any order; what is given twice must be given alike."""
    shape = checked_shape(shape)
    names = Names.checked(shape, labels, items)
    background = _checked_background(unlisted_weight)
    r, c = checked_positions(rows, columns, shape)
    codes = _checked_present(present, len(r))
    cells = Cells(r, c, codes, entry_weights(weights, r, c, names)).sorted(shape[1])
    return Parts(store_cells(_merged(cells, names), shape, background), names)


def _checked_background(weight: float) -> float:
    if is_weight(weight) or (weight == 0 and weight is not False):
        return float(weight)
    raise InvalidInputError(
        "`unlisted_weight` must be 0 (what is not listed is unknown) or a weight in (0, 1] "
        f"(it is absent with that weight). Got {weight!r} instead."
    )


def checked_shape(shape: Any) -> tuple[int, int]:
    """Return the shape of a table whose cells can be numbered."""
    if (
        not isinstance(shape, tuple | list)
        or len(shape) != 2
        or not all(isinstance(size, int | np.integer) and size >= 0 for size in shape)
    ):
        raise InvalidInputError(
            f"`shape` must be two numbers, (items, labels). Got {shape!r} instead."
        )
    n_items, n_labels = int(shape[0]), int(shape[1])
    if n_labels > np.iinfo(np.int32).max or n_items * n_labels > np.iinfo(np.int64).max:
        raise InvalidInputError(f"A table of {n_items:,} x {n_labels:,} is too large.")
    return n_items, n_labels


def checked_positions(
    rows: ArrayLike, columns: ArrayLike, shape: tuple[int, int]
) -> tuple[Positions, Positions]:
    """Return positions of cells, or name the first that lies outside the table."""
    pair = []
    for kind, given, size in (("row", rows, shape[0]), ("column", columns, shape[1])):
        positions = as_array(given, f"The {kind}s")
        if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
            raise InvalidInputError(
                f"The {kind}s must be a list of whole numbers; found type {positions.dtype} "
                f"and shape {positions.shape}."
            )
        outside = np.flatnonzero((positions < 0) | (positions >= size))
        if len(outside):
            raise InvalidInputError(
                f"Entry {outside[0]} has {kind} {positions[outside[0]]}, but the {kind}s of this "
                f"table go from 0 to {size - 1}; {len(outside):,} entries lie outside."
            )
        pair.append(positions.astype(np.int64))
    if len(pair[0]) != len(pair[1]):
        raise InvalidInputError(
            f"Every entry needs a row and a column; found {len(pair[0]):,} rows and "
            f"{len(pair[1]):,} columns."
        )
    return pair[0], pair[1]


def _checked_present(present: ArrayLike, n_entries: int) -> Codes:
    given = as_array(present, "`present`")
    if given.shape not in {(), (n_entries,)}:
        raise InvalidInputError(
            f"Expected {n_entries:,} values in `present`, one for each entry; "
            f"found shape {given.shape}."
        )
    bad = np.flatnonzero((given != 0) & (given != 1))
    if len(bad):
        raise InvalidInputError(
            f"`present` must be True or False (1 or 0); found {given.ravel()[bad[0]]!r} for entry "
            f"{bad[0]}, and {len(bad):,} such values in all. Leave unknown entries out; over an "
            "absent background, hide them with with_hidden."
        )
    return np.broadcast_to(given.astype(np.int8), (n_entries,))


def _merged(cells: Cells, names: Names) -> Cells:
    keys = cell_keys(cells.rows, cells.columns, len(names.labels))
    repeated = np.zeros(len(keys), dtype=bool)
    repeated[1:] = keys[1:] == keys[:-1]
    if not repeated.any():
        return cells
    weights = cells.full_weights()
    differs = cells.codes[1:] != cells.codes[:-1]
    differs |= weights[1:] != weights[:-1]
    _refuse_contradictions(np.flatnonzero(repeated[1:] & differs), keys, cells, names)
    return cells.pick(~repeated)


def _refuse_contradictions(at: Positions, keys: Positions, cells: Cells, names: Names) -> None:
    if not len(at):
        return
    at = at[np.unique(keys[at], return_index=True)[1]]
    weights = cells.full_weights()

    def said(entry: int) -> str:
        return f"{State(cells.codes[entry]).name.lower()} (weight {weights[entry]:g})"

    shown = [
        f"{names.cell(int(cells.rows[i]), int(cells.columns[i]))} is {said(i)} and {said(i + 1)}"
        for i in at[:_SHOWN]
    ]
    raise InvalidInputError(
        f"{len(at):,} entries are given more than once and contradict themselves: "
        f"{'; '.join(shown)}{'; ...' if len(at) > _SHOWN else ''}. Decide which one holds."
    )
