"""Nearest neighbours: the search that descriptors and graphs share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.neighbors.approximate import approximate_neighbors
from tagloom.neighbors.exact import (
    Floats,
    Matrix,
    Positions,
    blocks,
    exact_neighbors,
    exact_self_search,
    other_than_self,
)
from tagloom.validation import check_choice, is_integer

METRICS = ("euclidean", "cosine")
ALGORITHMS = ("auto", "exact", "approximate")

# From this many comparisons of a query with a row the approximate search is faster; but it divides
# all rows into cells, which fewer queries than this share of them do not make up for.
_APPROXIMATE_FROM = 100_000**2
_QUERIES_PER_ROW = 0.25
_ROWS_AT_ONCE = 8192
_ENTRIES_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest rows of each query, nearest first, ties by position.

    Attributes
    ----------
    indices : array of int64, shape (n_queries, n_neighbors)
    distances : array of float64, shape (n_queries, n_neighbors)
        In the metric of the search.
    recall : float
        Share of the true neighbours that were found: 1 for an exact search, else measured against
        the exact search on a random sample of the queries.
    algorithm : str
        "exact" or "approximate".
    """

    indices: Positions
    distances: Floats
    recall: float
    algorithm: str


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
        "exact" takes time proportional to queries x rows. "approximate" compares rows that share
        a cell of one of several random partitions, and neighbours of neighbours, until 96% of the
        true neighbours are found on a sample. "auto" is exact up to 10^10 comparisons of a query
        with a row, as for a self-search of 100,000 rows, and for fewer queries than a quarter of
        the rows.

    Returns
    -------
    Neighbors
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
    is_self_search = queries is None
    points = rows if queries is None else _checked_queries(queries, rows)
    if points.dtype != rows.dtype:
        # Rounding queries to single precision could change their neighbours.
        rows, points = rows.astype(np.float64), points.astype(np.float64)
    _check_n_neighbors(n_neighbors, len(rows) - is_self_search)
    if metric == "cosine":
        no_zeros = is_self_search and bool(rows.any(axis=1).all())
        rows, given = unit_rows(rows, 0), points
        points = rows if no_zeros else unit_rows(given, 1)
    # In a self-search each row finds itself, too.
    k = int(n_neighbors) + is_self_search
    if algorithm == "auto":
        are_many = len(rows) * len(points) >= _APPROXIMATE_FROM
        pays = len(points) >= _QUERIES_PER_ROW * len(rows)
        algorithm = "approximate" if are_many and pays else "exact"
    indices, squares, recall = _search_distinct(rows, points, k, algorithm)
    if is_self_search:
        kept = other_than_self(indices, np.arange(len(indices)))
        shape = (len(indices), k - 1)
        indices, squares = indices[kept].reshape(shape), squares[kept].reshape(shape)
    distances = squares / 2 if metric == "cosine" else np.sqrt(squares)
    return Neighbors(indices, distances, recall, algorithm)


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
    points = _checked(queries, "queries")
    if points.shape[1] != rows.shape[1]:
        raise InvalidInputError(
            f"The queries must have the {rows.shape[1]} columns of the base; "
            f"found {points.shape[1]}."
        )
    return points


def _check_n_neighbors(n_neighbors: int, available: int) -> None:
    if not is_integer(n_neighbors) or not 1 <= n_neighbors <= available:
        raise InvalidInputError(
            f"n_neighbors must be an integer from 1 to {available}, the number of rows that "
            f"can be neighbours; got {n_neighbors!r}."
        )


def unit_rows(rows: Matrix, side: int) -> Matrix:
    """Scale rows to length 1, so that |x - y|^2 = 2 (1 - cos).

    A row of zeros is placed on an axis of its own, orthogonal to all other rows; the axis differs
    for base and queries (`side`), so that two rows of zeros have distance 1 as well.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    zero = norms == 0
    unit = np.zeros((len(rows), rows.shape[1] + 2), dtype=rows.dtype)
    for part in blocks(len(rows), _ROWS_AT_ONCE):
        unit[part, :-2] = rows[part] / np.where(zero[part], 1.0, norms[part])[:, None]
    unit[zero, side - 2] = 1
    return unit


def _search_distinct(
    rows: Matrix, queries: Matrix, k: int, algorithm: str
) -> tuple[Positions, Floats, float]:
    """Search among distinct rows, and return all duplicates of what is found.

    Otherwise a thousand equal rows, such as descriptors that are all zero, would each have a
    thousand candidates to choose from.
    """
    search = _exact if algorithm == "exact" else approximate_neighbors
    groups = _group_equal_rows(rows, k)
    if groups.all_distinct:
        return search(rows, queries, k)
    distinct = rows[groups.first]
    found, squares, recall = search(distinct, queries, min(k, len(distinct)))
    return *_expand(groups, found, squares, k), recall


def _exact(rows: Matrix, queries: Matrix, k: int) -> tuple[Positions, Floats, float]:
    result = exact_self_search(rows, k) if queries is rows else exact_neighbors(rows, queries, k)
    return *result, 1.0


@dataclass(frozen=True, eq=False)
class DuplicateGroups:
    """Groups of equal rows.

    Attributes
    ----------
    first : array of shape (n_groups,)
        The first row of each group.
    members : array of shape (n_groups, size of the largest group)
        The rows of each group in order, padded with -1.
    """

    first: Positions
    members: Positions

    @property
    def all_distinct(self) -> bool:
        """Whether no row occurs twice."""
        return bool(self.members.shape[1] <= 1)


def _group_equal_rows(rows: Matrix, most: int) -> DuplicateGroups:
    """Group equal rows, keeping no more than the first `most` of each group."""
    _, first, group = np.unique(_hashes(rows), return_index=True, return_inverse=True)
    if not _all_equal(rows, first[group]):
        # A hash collision: compare the rows themselves.
        _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        group = group.ravel()
    in_order = np.argsort(first)
    group = np.argsort(in_order)[group]
    return DuplicateGroups(first[in_order], _members(group, len(first), most))


def _expand(
    groups: DuplicateGroups, found: Positions, squares: Floats, k: int
) -> tuple[Positions, Floats]:
    """Replace groups by their members and return the k nearest rows, ties by position."""
    indices = np.empty((len(found), k), dtype=np.int64)
    expanded = np.empty((len(found), k))
    width = found.shape[1] * groups.members.shape[1]
    step = max(1, _ENTRIES_AT_ONCE // width)
    for part in blocks(len(found), step):
        members = groups.members[found[part]]
        distance = np.where(members >= 0, squares[part, :, None], np.inf)
        members, distance = members.reshape(-1, width), distance.reshape(-1, width)
        order = np.lexsort((members, distance), axis=-1)[:, :k]
        indices[part] = np.take_along_axis(members, order, axis=1)
        expanded[part] = np.take_along_axis(distance, order, axis=1)
    return indices, expanded


def _all_equal(rows: Matrix, others: Positions) -> bool:
    """Return whether each row equals the row at its other position (mostly its own)."""
    moved = np.flatnonzero(others != np.arange(len(rows)))
    parts = blocks(len(moved), _rows_at_once(rows))
    return all(np.array_equal(rows[moved[part]], rows[others[moved[part]]]) for part in parts)


def _hashes(rows: Matrix) -> Positions:
    """Return a hash of each row, the same for equal rows."""
    generator = np.random.default_rng(0)
    factors: npt.NDArray[np.uint64] = generator.integers(1, 1 << 63, rows.shape[1], np.uint64)
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for part in blocks(len(rows), _rows_at_once(rows)):
        hashes[part] = _block_hashes(rows[part], factors)
    return hashes.view(np.int64)


def _rows_at_once(rows: Matrix) -> int:
    return max(1, _ENTRIES_AT_ONCE // max(1, int(rows.shape[1])))


def _block_hashes(rows: Matrix, factors: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    # Adding 0 turns -0.0 into 0.0, which is equal to it but has other bits.
    words = np.ascontiguousarray(rows + rows.dtype.type(0)).view(f"u{rows.dtype.itemsize}")
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for column, factor in enumerate(factors):
        # The shift mixes high bits downwards, which products alone would not do.
        word = words[:, column].astype(np.uint64)
        hashes = (hashes ^ word) * (factor | np.uint64(1))
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _members(group: Positions, n_groups: int, most: int) -> Positions:
    sizes = np.bincount(group, minlength=n_groups)
    members = np.full((n_groups, min(most, int(sizes.max(initial=0)))), -1, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    place = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    kept = place < most
    members[group[order][kept], place[kept]] = order[kept]
    return members


def neighbor_table(values: npt.NDArray[Any], indices: Positions, n_rows: int) -> sparse.csr_array:
    """Return a sparse table of one row per query, with the values at its neighbours' positions.

    >>> neighbor_table(np.array([[0.5, 2.0]]), np.array([[3, 1]]), 4).toarray()
    array([[0. , 2. , 0. , 0.5]])
    """
    n_queries, k = indices.shape
    indptr = np.arange(0, n_queries * k + 1, k)
    # Copies, because the table is sorted in place.
    parts = (values.flatten(), indices.flatten(), indptr)
    table = sparse.csr_array(parts, shape=(n_queries, n_rows))
    table.eliminate_zeros()
    table.sort_indices()
    return table
