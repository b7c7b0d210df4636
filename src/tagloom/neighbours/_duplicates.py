"""Rows that occur more than once are searched once and handed out together.

Without this a thousand equal rows, such as descriptors that are all zero, would each have a
thousand candidates to choose from.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagloom.neighbours._blocks import blocks
from tagloom.neighbours._result import Floats, Matrix, Positions

_ENTRIES_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Groups:
    """Equal rows: `first` of each group, and `members` in order, a row each, padded with -1."""

    first: Positions
    members: Positions

    @property
    def all_differ(self) -> bool:
        """Whether no row occurs twice."""
        return bool(self.members.shape[1] <= 1)


def group_equal_rows(rows: Matrix, most: int) -> Groups:
    """Find rows that are equal, keeping no more than the first `most` of each group."""
    _, first, group = np.unique(_keys(rows), return_index=True, return_inverse=True)
    if not _all_equal(rows, first[group]):
        # Two different rows have the same key, which chance allows once in ages.
        _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        group = group.ravel()
    in_order = np.argsort(first)
    group = np.argsort(in_order)[group]
    return Groups(first[in_order], _members(group, len(first), most))


def expand(groups: Groups, found: Positions, squares: Floats, k: int) -> tuple[Positions, Floats]:
    """Replace groups by their members and return the k nearest, ties by position."""
    indices = np.empty((len(found), k), dtype=np.int64)
    expanded = np.empty((len(found), k))
    width = found.shape[1] * groups.members.shape[1]
    step = max(1, _ENTRIES_AT_ONCE // width)
    for start in range(0, len(found), step):
        part = slice(start, start + step)
        members = groups.members[found[part]]
        distance = np.where(members >= 0, squares[part, :, None], np.inf)
        members, distance = members.reshape(-1, width), distance.reshape(-1, width)
        order = np.lexsort((members, distance), axis=-1)[:, :k]
        indices[part] = np.take_along_axis(members, order, axis=1)
        expanded[part] = np.take_along_axis(distance, order, axis=1)
    return indices, expanded


def _all_equal(rows: Matrix, others: Positions) -> bool:
    """Say whether each row equals the one at the other position, which mostly is its own."""
    moved = np.flatnonzero(others != np.arange(len(rows)))
    parts = blocks(len(moved), _rows_at_once(rows))
    return all(np.array_equal(rows[moved[part]], rows[others[moved[part]]]) for part in parts)


def _keys(rows: Matrix) -> Positions:
    """Return a whole number for each row that is the same for equal rows."""
    generator = np.random.default_rng(0)
    factors: npt.NDArray[np.uint64] = generator.integers(1, 1 << 63, rows.shape[1], np.uint64)
    keys = np.zeros(len(rows), dtype=np.uint64)
    for part in blocks(len(rows), _rows_at_once(rows)):
        keys[part] = _block_keys(rows[part], factors)
    return keys.view(np.int64)


def _rows_at_once(rows: Matrix) -> int:
    return max(1, _ENTRIES_AT_ONCE // max(1, int(rows.shape[1])))


def _block_keys(rows: Matrix, factors: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    # Adding 0 makes one zero of the two that floating point has.
    words = np.ascontiguousarray(rows + rows.dtype.type(0)).view(f"u{rows.dtype.itemsize}")
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column, factor in enumerate(factors):
        # The shift lets high bits count: the products alone would not mix them downwards.
        word = words[:, column].astype(np.uint64)
        keys = (keys ^ word) * (factor | np.uint64(1))
        keys ^= keys >> np.uint64(29)
    return keys


def _members(group: Positions, n_groups: int, most: int) -> Positions:
    sizes = np.bincount(group, minlength=n_groups)
    members = np.full((n_groups, min(most, int(sizes.max(initial=0)))), -1, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    place = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    kept = place < most
    members[group[order][kept], place[kept]] = order[kept]
    return members
