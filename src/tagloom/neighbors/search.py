"""One door to all ways of searching."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.neighbors.approximate import approximate_neighbors
from tagloom.neighbors.exact import (
    Floats,
    Matrix,
    Neighbors,
    Positions,
    blocks,
    exact_among_themselves,
    exact_neighbors,
)
from tagloom.validation import check_choice, is_integer

# §§ duplicates
# Rows that occur more than once are searched once and handed out together.
#
# Without this a thousand equal rows, such as descriptors that are all zero, would each have a
# thousand candidates to choose from.


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
    """Return an integer for each row that is the same for equal rows."""
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


# §§ main search


METRICS = ("euclidean", "cosine")
ALGORITHMS = ("auto", "exact", "approximate")

# From so many comparisons of a query with a row on, the approximate search is the quicker one.
_APPROXIMATE_FROM = 100_000**2
_ROWS_AT_ONCE = 8192


def nearest_neighbors(
    base: npt.ArrayLike,
    n_neighbors: int,
    queries: npt.ArrayLike | None = None,
    *,
    metric: str = "euclidean",
    algorithm: str = "auto",
) -> Neighbors:
    """Find the nearest rows of `base` for each query.

    Parameters
    ----------
    base : array of shape (n_rows, n_features)
    n_neighbors : int
    queries : array of shape (n_queries, n_features), optional
        By default the rows of `base` themselves. Then no row is its own neighbour; an equal row at
        another position may be one.
    metric : {"euclidean", "cosine"}
        The cosine distance is 1 - cos(x, y), and 1 where a row is all zero.
    algorithm : {"auto", "exact", "approximate"}
        "exact" needs time in proportion to queries x rows. "approximate" compares rows that share
        a cell of one of several random partitions, and neighbours' neighbours, until 96 in 100 true
        neighbours are found on a sample. "auto" is exact up to 10^10 comparisons of a query with a
        row, which are those of 100,000 rows among themselves.

    Returns
    -------
    Neighbours
        The same bits whatever the number of threads.

    Examples
    --------
    >>> found = nearest_neighbors([[0.0], [1.0], [1.0], [5.0]], 2)
    >>> found.indices.tolist()
    [[1, 2], [2, 0], [1, 0], [1, 2]]
    """
    check_choice("metric", metric, METRICS)
    check_choice("algorithm", algorithm, ALGORITHMS)
    rows = _checked(base, "base")
    among_themselves = queries is None
    asked = rows if queries is None else _checked_queries(queries, rows)
    if asked.dtype != rows.dtype:
        # Rounded to single precision, a query would be another query.
        rows, asked = rows.astype(np.float64), asked.astype(np.float64)
    _check_number(n_neighbors, len(rows) - among_themselves)
    if metric == "cosine":
        alike = among_themselves and bool(rows.any(axis=1).all())
        rows, given = _unit(rows, 0), asked
        asked = rows if alike else _unit(given, 1)
    # A row finds itself too, if it is among the rows.
    k = int(n_neighbors) + among_themselves
    algorithm = _chosen_algorithm(algorithm, len(rows) * len(asked))
    indices, squares, recall = _searched(rows, asked, k, algorithm)
    if among_themselves:
        indices, squares = _without_self(indices, squares)
    distances = squares / 2 if metric == "cosine" else np.sqrt(squares)
    return Neighbors(indices, distances, recall, algorithm)


def _chosen_algorithm(algorithm: str, n_comparisons: int) -> str:
    if algorithm != "auto":
        return algorithm
    return "approximate" if n_comparisons >= _APPROXIMATE_FROM else "exact"


def _searched(
    rows: Matrix, asked: Matrix, k: int, algorithm: str
) -> tuple[Positions, Floats, float]:
    """Search among rows that differ; equal ones are found together."""
    groups = group_equal_rows(rows, k)
    if groups.all_differ:
        return _SEARCHES[algorithm](rows, asked, k)
    different = rows[groups.first]
    found, squares, recall = _SEARCHES[algorithm](different, asked, min(k, len(different)))
    return *expand(groups, found, squares, k), recall


def _exact(rows: Matrix, asked: Matrix, k: int) -> tuple[Positions, Floats, float]:
    search = exact_among_themselves(rows, k) if asked is rows else exact_neighbors(rows, asked, k)
    return *search, 1.0


_SEARCHES = {"exact": _exact, "approximate": approximate_neighbors}


def _without_self(indices: Positions, squares: Floats) -> tuple[Positions, Floats]:
    """Drop each row's own position, or the last where earlier equal rows crowd it out."""
    own = indices == np.arange(len(indices))[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (len(indices), indices.shape[1] - 1)
    return indices[~own].reshape(shape), squares[~own].reshape(shape)


def _unit(rows: Matrix, side: int) -> Matrix:
    """Scale to length 1; a row of zeros gets an axis of its own, at a right angle to all others.

    On unit rows |x - y|^2 = 2 (1 - cos). The axis differs for base and queries (`side`), so that
    two rows of zeros are unlike too.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    zero = norms == 0
    unit = np.zeros((len(rows), rows.shape[1] + 2), dtype=rows.dtype)
    for part in blocks(len(rows), _ROWS_AT_ONCE):
        unit[part, :-2] = rows[part] / np.where(zero[part], 1.0, norms[part])[:, None]
    unit[zero, side - 2] = 1
    return unit


def _checked(rows: npt.ArrayLike, name: str) -> Matrix:
    table: npt.NDArray[Any] = np.asarray(rows)
    if table.ndim != 2:
        raise InvalidInputError(
            f"The {name} must be a table of numbers, one row for each item; "
            f"found {table.ndim} dimension(s)."
        )
    if table.dtype not in (np.float32, np.float64):
        table = table.astype(np.float64 if table.dtype.kind != "f" else np.float32)
    for part in blocks(len(table), _ROWS_AT_ONCE):
        if not np.isfinite(table[part]).all():
            row, column = np.argwhere(~np.isfinite(table[part]))[0]
            raise InvalidInputError(
                f"The {name} must be finite; found {table[part][row, column]} in row "
                f"{part.start + row}, column {column}."
            )
    return table


def _checked_queries(queries: npt.ArrayLike, rows: Matrix) -> Matrix:
    asked = _checked(queries, "queries")
    if asked.shape[1] != rows.shape[1]:
        raise InvalidInputError(
            f"The queries must have the {rows.shape[1]} columns of the base; "
            f"found {asked.shape[1]}."
        )
    return asked


def _check_number(n_neighbors: int, available: int) -> None:
    if not is_integer(n_neighbors) or not 1 <= n_neighbors <= available:
        raise InvalidInputError(
            f"n_neighbors must be an integer from 1 to {available}, the number of rows that "
            f"can be neighbours; got {n_neighbors!r}."
        )
