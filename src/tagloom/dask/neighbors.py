"""Nearest neighbours of rows in partitions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom import neighbors
from tagloom.dask.blocks import (
    LazyBlock,
    RowBlocks,
    compute,
    constant,
    get_client,
    import_dask,
    load_block,
    persist,
    persist_and_wait,
    register_sizes,
    row_blocks,
    sampled_positions,
    take_rows,
    task,
    tree_sum,
)
from tagloom.errors import InvalidInputError
from tagloom.neighbors import ALGORITHMS, METRICS, Neighbors
from tagloom.neighbors.approximate import Cell, NearestSoFar, ScaledRows, compare_cell
from tagloom.neighbors.exact import refine
from tagloom.neighbors.search import unit_rows
from tagloom.validation import check_choice, is_integer

Array = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# From this many comparisons of a query with a row, "auto" is approximate.
_APPROXIMATE_FROM = 100_000**2
# Cells are searched until this share of the true neighbours is found, on a sample of so many.
_RECALL = 0.96
_N_TRIED = 512
# k-means on the client: no more cells than this, and so many rows for each of them.
_MOST_CELLS = 16_384
_ROWS_PER_CENTRE = 32
_N_LLOYD = 6
_ENTRIES_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Candidates:
    """The nearest rows found so far for each row of a block, nearest first, ties by position.

    `+` joins two searches among different rows.

    Attributes
    ----------
    limit : int
        No more than so many are kept for each row.
    indices : array of shape (n_queries, n_found)
    distances : array of shape (n_queries, n_found)
    products, cosines : arrays of shape (n_queries, n_found)
        x_i'x_j, and the same of unit length. The weights of a graph need them, and only a task that
        holds both rows can compute them.
    """

    limit: int
    indices: Positions
    distances: Floats
    products: Floats
    cosines: Floats

    @classmethod
    def of(
        cls, queries: Array, base: Array, found: Neighbors, at: Positions, limit: int
    ) -> "Candidates":
        """Return what a search in memory found; `at` are the positions of the rows of the base."""
        register_sizes(Candidates)
        products = np.empty(found.indices.shape)
        for column, near in enumerate(found.indices.T):
            products[:, column] = np.einsum("ij,ij->i", queries, base[near], dtype=np.float64)
        cosines = products * (
            _inverse_norms(queries)[:, None] * _inverse_norms(base)[found.indices]
        )
        return cls(limit, at[found.indices], found.distances, products, cosines)

    @property
    def tables(self) -> tuple[Positions, Floats, Floats, Floats]:
        """What is known of each candidate."""
        return self.indices, self.distances, self.products, self.cosines

    def positions(self) -> Positions:
        """Return the rows that are anyone's candidates, each once, ascending."""
        return np.unique(self.indices)

    def __add__(self, other: "Candidates") -> "Candidates":
        pairs = zip(self.tables, other.tables, strict=True)
        tables: list[Any] = [np.hstack(pair) for pair in pairs]
        indices, distances, *_ = tables
        order = np.lexsort((indices, distances), axis=-1)[:, : self.limit]
        nearest: list[Any] = [np.take_along_axis(table, order, axis=1) for table in tables]
        return Candidates(self.limit, *nearest)

    def without_self(self, positions: Positions) -> "Candidates":
        """Drop each row, at these positions, from its own neighbours.

        Where equal rows come before it, the last is dropped.
        """
        own = self.indices == positions[:, None]
        own[~own.any(axis=1), -1] = True
        k = self.limit - 1
        others: list[Any] = [table[~own].reshape(-1, k) for table in self.tables]
        return Candidates(k, *others)

    @classmethod
    def none(cls, n_queries: int, limit: int) -> "Candidates":
        """Return tables without candidates, to be filled by `join`."""
        shape = n_queries, limit
        tables = (np.full(shape, np.inf), np.zeros(shape), np.zeros(shape))
        return cls(limit, np.full(shape, -1), *tables)

    def take(self, queries: slice | Positions) -> "Candidates":
        """Return the candidates of some rows."""
        some: list[Any] = [table[queries] for table in self.tables]
        return Candidates(self.limit, *some)

    def join(self, queries: Positions, found: "Candidates") -> None:
        """Join candidates of some of the rows, in place."""
        both = self.take(queries) + found
        for table, nearest in zip(self.tables, both.tables, strict=True):
            table[queries] = nearest


def _inverse_norms(rows: Array) -> Floats:
    """Return 1 / |x_i|, and 0 for a row of zeros."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return np.asarray(np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0))


@dataclass(frozen=True, eq=False)
class NeighborBlocks:
    """The neighbours of all rows: for each block of rows a task that gives `Candidates`."""

    blocks: tuple[Any, ...]
    sizes: tuple[int, ...]
    n_neighbors: int
    recall: float
    """Share of the true neighbours that were found: 1, or measured on a random sample."""

    @property
    def indices(self) -> Any:
        """Positions of the neighbours as a dask array of shape (n_rows, n_neighbors)."""
        return self._array("indices", np.int64)

    @property
    def distances(self) -> Any:
        """Distances to the neighbours as a dask array of shape (n_rows, n_neighbors)."""
        return self._array("distances", np.float64)

    def _array(self, name: str, dtype: type) -> Any:
        da = import_dask("dask.array")

        return da.concatenate(
            [
                da.from_delayed(task(getattr, block, name), (size, self.n_neighbors), dtype)
                for block, size in zip(self.blocks, self.sizes, strict=True)
            ]
        )


@dataclass(frozen=True)
class Search:
    """What is searched: `limit` rows for each query, among them itself in a self-search."""

    limit: int
    metric: str


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    queries: Any = None,
    *,
    metric: str = "euclidean",
    algorithm: str = "exact",
    random_state: int = 0,
    client: Any = None,
    verbose: bool = False,
) -> NeighborBlocks:
    """Find the nearest rows of X for each query, as `tagloom.neighbors.nearest_neighbors` does.

    The exact search compares all pairs of partitions, one by each task, and each row keeps the
    nearest of all found: no task holds more than two partitions. Time grows with the square of the
    number of rows.

    The approximate search is an inverted file (Jegou, Douze and Schmid 2011): k-means divides the
    rows into cells, about 4 sqrt(n) of them, and a query is compared with the rows of the cells
    whose centres are nearest to it. How many cells, is decided on a random sample of queries, so
    that 96% of their true neighbours are found. Time grows with n sqrt(n).

    Parameters
    ----------
    X : dask array, `ParquetItems` or `RowBlocks`
    n_neighbors : int
    queries : dask array, `ParquetItems` or `RowBlocks`, optional
        By default the rows of X themselves. Then no row is its own neighbour.
    metric : {"euclidean", "cosine"}
    algorithm : {"exact", "approximate", "auto"}
        "auto" is exact up to 10^10 comparisons, as for a self-search of 100,000 rows.
    random_state : int, default=0
        Seed of the cells and of the sample.
    client : distributed.Client, optional
        By default the client that was created last.
    verbose : bool, default=False
        Show a progress bar over the partitions.
    """
    check_choice("metric", metric, METRICS)
    check_choice("algorithm", algorithm, ALGORITHMS)
    rows = row_blocks(X)
    points = rows if queries is None else row_blocks(queries, "queries")
    most = rows.n_rows - (queries is None)
    if not is_integer(n_neighbors) or not 1 <= n_neighbors <= most:
        raise InvalidInputError(
            f"n_neighbors must be an integer from 1 to {most}, the number of rows "
            f"that can be neighbours; got {n_neighbors!r}."
        )
    client, is_self = get_client(client), queries is None
    search = Search(int(n_neighbors) + is_self, metric)
    if algorithm == "auto":
        n_comparisons = rows.n_rows * points.n_rows
        algorithm = "approximate" if n_comparisons >= _APPROXIMATE_FROM else "exact"
    recall = 1.0
    if algorithm == "exact":
        found = _all_pairs(rows, points, search)
    else:
        index = InvertedFile.of(rows, search, random_state, client)
        n_probes, recall = index.n_probes(points, random_state, is_self=is_self)
        found = index.search(points, n_probes)
    if is_self:
        spans = zip(found, rows.starts, rows.sizes, strict=True)
        found = [task(_other_rows, block, start, size) for block, start, size in spans]
    blocks = persist_and_wait(
        client, found, "searching neighbours", verbose=verbose, unit="partitions"
    )
    return NeighborBlocks(tuple(blocks), points.sizes, int(n_neighbors), recall)


def _other_rows(found: Candidates, start: int, size: int) -> Candidates:
    return found.without_self(np.arange(start, start + size))


def _all_pairs(rows: RowBlocks, queries: RowBlocks, search: Search) -> list[Any]:
    """Return the last task of the chain of each block, which searches one block after another.

    In a chain one foreign block is in transit at a time. Each block starts with itself and goes
    round, so that they do not all request the same block at once.
    """
    n_blocks, starts = len(rows.blocks), rows.starts
    chains = []
    for a, own in enumerate(queries.blocks):
        found: Any = None
        for step in range(n_blocks):
            b = (a + step) % n_blocks
            found = task(_search_block, found, own, _used_once(rows.blocks[b]), starts[b], search)
        chains.append(found)
    return chains


def _used_once(block: Any) -> Any:
    """Return a block under a key of its own, for a single task.

    A worker keeps a foreign block as long as any task anywhere needs its key: with a single key for
    all tasks, workers would accumulate every block.
    """
    return block if isinstance(block, LazyBlock) else task(load_block, block)


def _search_block(
    previous: Candidates | None, own: Any, other: Any, start: int, search: Search
) -> Candidates:
    """Return the nearest of the previous candidates and the rows of another block."""
    base = load_block(other)
    found = _search_rows(load_block(own), base, np.arange(start, start + len(base)), search)
    return found if previous is None else previous + found


def _search_rows(queries: Array, base: Array, at: Positions, search: Search) -> Candidates:
    """Search exactly among rows in memory, which are at these positions."""
    k = min(search.limit, len(base))
    found = neighbors.nearest_neighbors(base, k, queries, metric=search.metric, algorithm="exact")
    return Candidates.of(queries, base, found, at, search.limit)


@dataclass(frozen=True, eq=False)
class InvertedFile:
    """Rows in the cells of their nearest centres (Jegou, Douze and Schmid 2011).

    Attributes
    ----------
    rows : RowBlocks
    cells : tuple
        For each block a task for the cells of its rows.
    centres : array of shape (n_cells, n_features)
    counts : array of shape (n_cells,)
        How many rows each cell holds, at least as many as are searched for.
    """

    rows: RowBlocks
    cells: tuple[Any, ...]
    centres: Array
    counts: Positions
    search_for: Search
    client: Any

    @classmethod
    def of(cls, rows: RowBlocks, search: Search, random_state: int, client: Any) -> "InvertedFile":
        """Divide the rows into cells; centres of cells that are too small are left out."""
        n = rows.n_rows
        n_cells = int(min(4 * np.sqrt(n), n / (2 * search.limit), _MOST_CELLS)) or 1
        at = sampled_positions(n, _ROWS_PER_CENTRE * n_cells, random_state)
        sample = _on_sphere(take_rows(client, rows, at), search.metric)
        centres = k_means(sample, n_cells, random_state)
        while True:
            given = constant(centres)
            cells = [task(_cells_of, block, given, search.metric) for block in rows.blocks]
            cells = persist(client, cells)
            tallies = [task(np.bincount, block, None, len(centres)) for block in cells]
            counts = np.asarray(compute(client, tree_sum(tallies)))
            large = counts >= min(search.limit, n)
            if large.all():
                return cls(rows, tuple(cells), centres, counts, search, client)
            centres = centres[large] if large.any() else centres[:1]

    def n_probes(
        self, queries: RowBlocks, random_state: int, *, is_self: bool
    ) -> tuple[int, float]:
        """Return how many cells must be searched for a query, and the recall that this gives.

        The rank of a true neighbour's cell among the cells nearest to a query is the number of
        cells that must be searched to find it. The number is chosen on one half of a sample of
        queries and the recall measured on the other.
        """
        at = sampled_positions(queries.n_rows, 2 * _N_TRIED, random_state + 1)
        tried = take_rows(self.client, queries, at)
        given, search = constant(tried), self.search_for
        blocks = zip(self.rows.blocks, self.rows.starts, strict=True)
        parts = [task(_search_block, None, given, block, start, search) for block, start in blocks]
        truth: Candidates = compute(self.client, tree_sum(parts))
        if is_self and search.limit > 1:
            truth = truth.without_self(at)
        near, inverse = np.unique(truth.indices, return_inverse=True)
        cells = take_rows(self.client, replace(self.rows, blocks=self.cells), near)
        order = nearest_cells(_on_sphere(tried, search.metric, 1), self.centres, len(self.centres))
        rank = np.argsort(order, axis=1)
        needed = np.take_along_axis(rank, cells[inverse.reshape(truth.indices.shape)], axis=1) + 1
        chosen, measured = (needed[::2], needed[1::2]) if len(at) > 1 else (needed, needed)
        n_probes = int(np.quantile(chosen, _RECALL, method="inverted_cdf"))
        return n_probes, float(np.mean(measured <= n_probes))

    def search(self, queries: RowBlocks, n_probes: int) -> list[Any]:
        """Return for each block of queries a task for what is found in the nearest cells.

        Neighbouring cells are put together in as many groups as there are blocks of rows; rows and
        queries are sent to the groups, and candidates back to the blocks of the queries.
        """
        group_of = constant(_groups_of(self.centres, self.counts, len(self.rows.blocks)))
        n_groups = len(self.rows.blocks)
        metric, given = self.search_for.metric, constant(self.centres)
        parts = zip(self.rows.blocks, self.cells, self.rows.starts, strict=True)
        base = [task(_split_rows, *part, group_of, n_groups) for part in parts]
        asked = [
            task(_split_queries, block, given, n_probes, group_of, n_groups, metric)
            for block in queries.blocks
        ]
        pairs = zip(exchange(base, n_groups), exchange(asked, n_groups), strict=True)
        found = [task(_search_group, *pair, self.search_for) for pair in pairs]
        sent_back = exchange(found, len(queries.blocks))
        return [
            task(_joined, parts, size, self.search_for.limit)
            for parts, size in zip(sent_back, queries.sizes, strict=True)
        ]


def k_means(rows: Array, n_cells: int, random_state: int) -> Array:
    """Return centres by Lloyd's (1982) algorithm, from rows drawn at random.

    A few iterations are enough to divide rows evenly. The order of the additions is fixed, unlike
    that of scikit-learn, where it depends on threads.
    """
    rng = np.random.default_rng(random_state)
    centres = rows[np.sort(rng.choice(len(rows), n_cells, replace=False))]
    for _ in range(_N_LLOYD):
        cell = nearest_cells(rows, centres, 1)[:, 0]
        members = sparse.csr_array(
            (np.ones(len(rows)), (cell, np.arange(len(rows)))), shape=(n_cells, len(rows))
        )
        counts = np.bincount(cell, minlength=n_cells)[:, None]
        means = (members @ rows) / np.maximum(counts, 1)
        centres = np.where(counts > 0, means, centres).astype(rows.dtype)
    return np.asarray(centres)


def nearest_cells(rows: Array, centres: Array, n: int) -> Positions:
    """Return the n nearest centres of each row, the nearest first."""
    half_norms = np.einsum("ij,ij->i", centres, centres) / 2
    nearest = np.empty((len(rows), n), dtype=np.int64)
    step = max(1, _ENTRIES_AT_ONCE // len(centres))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        distances = half_norms - rows[part] @ centres.T
        if n == 1:
            nearest[part, 0] = np.argmin(distances, axis=1)
            continue
        near = np.argpartition(distances, n - 1, axis=1)[:, :n]
        order = np.argsort(np.take_along_axis(distances, near, axis=1), axis=1, kind="stable")
        nearest[part] = np.take_along_axis(near, order, axis=1)
    return nearest


def _on_sphere(rows: Array, metric: str, side: int = 0) -> Array:
    """Return rows of unit length for cosine distances, which Euclidean ones then agree with."""
    return rows if metric == "euclidean" else np.asarray(unit_rows(rows, side))


def _cells_of(block: Any, centres: Array, metric: str) -> Positions:
    return nearest_cells(_on_sphere(load_block(block), metric), centres, 1)[:, 0]


def _groups_of(centres: Array, counts: Positions, n_groups: int) -> Positions:
    """Return the group of each cell: neighbouring cells, about as many rows in each group.

    Cells are split in two along the first principal component of their centres, again and again: a
    query then asks cells of few groups.
    """
    groups = np.zeros(len(centres), dtype=np.int64)
    waiting = [(np.arange(len(centres)), 0, n_groups)]
    while waiting:
        cells, first, n = waiting.pop()
        groups[cells] = first
        if n == 1 or len(cells) < 2:
            continue
        centred = centres[cells] - centres[cells].mean(axis=0)
        direction = np.linalg.svd(centred, full_matrices=False)[2][0]
        cells = cells[np.argsort(centred @ direction, kind="stable")]
        share = np.cumsum(counts[cells]) / counts[cells].sum()
        half = n // 2
        at = int(np.clip(np.searchsorted(share, half / n) + 1, 1, len(cells) - 1))
        waiting += [(cells[:at], first, half), (cells[at:], first + half, n - half)]
    return groups


class _Part(NamedTuple):
    """Some rows of a block, where they are in it, and the cells that they lie in or ask."""

    rows: Array
    at: Positions
    cells: Positions


def _split_rows(
    block: Any, cells: Positions, start: int, group_of: Positions, n_groups: int
) -> list[list[_Part]]:
    """Return the rows of each group."""
    rows, groups = load_block(block), group_of[cells]
    chosen = (np.flatnonzero(groups == group) for group in range(n_groups))
    return [[_Part(rows[at], at + start, cells[at])] for at in chosen]


def _split_queries(
    block: Any, centres: Array, n_probes: int, group_of: Positions, n_groups: int, metric: str
) -> list[list[_Part]]:
    """Return the queries that ask cells of each group."""
    rows = load_block(block)
    cells = nearest_cells(_on_sphere(rows, metric, 1), centres, n_probes)
    groups = group_of[cells]
    chosen = (np.flatnonzero((groups == group).any(axis=1)) for group in range(n_groups))
    return [[_Part(rows[at], at, cells[at])] for at in chosen]


def _search_group(
    base: list[_Part], queries: list[_Part], search: Search
) -> list[list[tuple[Positions, Candidates]]]:
    """Search the cells of a group; return what each block of queries gets of it."""
    rows, at, cells = (np.concatenate(parts) for parts in zip(*base, strict=True))
    points, _, asked = (np.concatenate(parts) for parts in zip(*queries, strict=True))
    found = Candidates.none(0, search.limit)
    if len(points):
        on_sphere = _on_sphere(rows, search.metric), _on_sphere(points, search.metric, 1)
        near = _search_cells(*on_sphere, cells, asked, search)
        found = Candidates.of(points, rows, near, at, search.limit)
    ends = np.cumsum([len(part.at) for part in queries])
    return [
        [(part.at, found.take(slice(end - len(part.at), end)))]
        for part, end in zip(queries, ends, strict=True)
    ]


def _search_cells(
    rows: Array, points: Array, cells: Positions, asked: Positions, search: Search
) -> Neighbors:
    """Compare points with the rows of the cells that they ask, and return the nearest of each."""
    scaled = ScaledRows(rows)
    scaled_points = ScaledRows(points, scaled)
    nearest = NearestSoFar(len(points), search.limit)
    n_cells = int(cells.max()) + 1
    members = _grouped(cells, np.arange(len(rows)), n_cells)
    askers = np.repeat(np.arange(len(points)), asked.shape[1])
    asking = _grouped(np.minimum(asked.ravel(), n_cells), askers, n_cells)
    for inside, outside in zip(members, asking, strict=True):
        step = max(1, _ENTRIES_AT_ONCE // max(1, len(inside)))
        for start in range(0, len(outside) if len(inside) else 0, step):
            pair = Cell(inside, outside[start : start + step])
            compare_cell(nearest, scaled, scaled_points, pair)
    i = np.repeat(np.arange(len(points)), search.limit)
    j = nearest.rows.astype(np.int64).ravel()
    indices, squares = refine(rows, points, i, j, search.limit)
    distances = squares / 2 if search.metric == "cosine" else np.sqrt(squares)
    return Neighbors(indices, distances, 1.0, "exact")


def _grouped(cells: Positions, positions: Positions, n_cells: int) -> list[Positions]:
    """Return the positions in each cell; those in cells beyond the last are left out."""
    order = np.argsort(cells, kind="stable")
    ends = np.searchsorted(cells[order], np.arange(n_cells), side="right")
    return np.split(positions[order], ends)[:n_cells]


def _joined(parts: list[tuple[Positions, Candidates]], n_queries: int, limit: int) -> Candidates:
    """Join what the groups found for a block of queries."""
    found = Candidates.none(n_queries, limit)
    for at, some in parts:
        found.join(at, some)
    return found


def exchange(senders: Sequence[Any], n_receivers: int) -> list[Any]:
    """Return for each receiver a task for a list of what all senders have for it, in order.

    A sender is a task for one list for each receiver. With n senders and receivers, parts are sent
    by way of sqrt(n) x sqrt(n) tasks, each for some senders and some receivers: then there are
    n sqrt(n) parts to be sent and not n^2.
    """
    step, width = (ceil(sqrt(n)) for n in (len(senders), n_receivers))
    received: list[Any] = []
    for first in range(0, n_receivers, width):
        some = range(first, min(first + width, n_receivers))
        halfway = [
            task(
                _collect,
                [
                    task(getitem, one, slice(some.start, some.stop))
                    for one in senders[at : at + step]
                ],
            )
            for at in range(0, len(senders), step)
        ]
        received += [
            task(_concatenated, [task(getitem, one, n) for one in halfway])
            for n in range(len(some))
        ]
    return received


def _collect(parts: list[list[list[Any]]]) -> list[list[Any]]:
    """Return for each receiver what several senders have for it."""
    return [_concatenated(list(of_one)) for of_one in zip(*parts, strict=True)]


def _concatenated(lists: list[list[Any]]) -> list[Any]:
    return [one for some in lists for one in some]
