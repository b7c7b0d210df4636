"""Nearest neighbours of rows in partitions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom import neighbors
from tagloom.dask.blocks import (
    LazyBlock,
    RowBlocks,
    get_client,
    import_dask,
    load_block,
    persist_and_wait,
    register_sizes,
    row_blocks,
    task,
)
from tagloom.errors import InvalidInputError
from tagloom.neighbors import ALGORITHMS, METRICS, Neighbors
from tagloom.validation import check_choice, is_integer

Array = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The nearest rows found so far for each row of a block, nearest first, ties by position.

    `+` joins two searches among different rows.

    Attributes
    ----------
    indices : array of shape (n_queries, n_found)
    distances : array of shape (n_queries, n_found)
    products, cosines : arrays of shape (n_queries, n_found)
        x_i'x_j, and the same of unit length. The weights of a graph need them, and only a task that
        holds both rows can compute them.
    limit : int
        No more than so many are kept.
    """

    indices: Positions
    distances: Floats
    products: Floats
    cosines: Floats
    limit: int

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
        return cls(at[found.indices], found.distances, products, cosines, limit)

    @property
    def tables(self) -> tuple[Positions, Floats, Floats, Floats]:
        """What is known of each candidate."""
        return self.indices, self.distances, self.products, self.cosines

    def __add__(self, other: "Candidates") -> "Candidates":
        pairs = zip(self.tables, other.tables, strict=True)
        tables: list[Any] = [np.hstack(pair) for pair in pairs]
        indices, distances, *_ = tables
        order = np.lexsort((indices, distances), axis=-1)[:, : self.limit]
        nearest: list[Any] = [np.take_along_axis(table, order, axis=1) for table in tables]
        return Candidates(*nearest, limit=self.limit)

    def without_self(self, start: int) -> "Candidates":
        """Drop each row from its own neighbours, or the last where equal rows come before it."""
        own = self.indices == np.arange(start, start + len(self.indices))[:, None]
        own[~own.any(axis=1), -1] = True
        k = self.limit - 1
        others: list[Any] = [table[~own].reshape(-1, k) for table in self.tables]
        return Candidates(*others, limit=k)


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
class _Search:
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

    Every pair of partitions is searched by one task, and each row keeps the nearest of all found:
    no task holds more than two partitions. Time grows with the square of the number of rows.

    Parameters
    ----------
    X : dask array, `ParquetItems` or `RowBlocks`
    n_neighbors : int
    queries : dask array, `ParquetItems` or `RowBlocks`, optional
        By default the rows of X themselves. Then no row is its own neighbour.
    metric : {"euclidean", "cosine"}
    algorithm : {"exact", "approximate", "auto"}
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
    search = _Search(int(n_neighbors) + (queries is None), metric)
    found = _all_pairs(rows, points, search)
    if queries is None:
        found = [
            task(Candidates.without_self, block, start)
            for block, start in zip(found, rows.starts, strict=True)
        ]
    blocks = persist_and_wait(
        get_client(client), found, "searching neighbours", verbose=verbose, unit="partitions"
    )
    return NeighborBlocks(tuple(blocks), points.sizes, int(n_neighbors))


def _all_pairs(rows: RowBlocks, queries: RowBlocks, search: _Search) -> list[Any]:
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
    previous: Candidates | None, own: Any, other: Any, start: int, search: _Search
) -> Candidates:
    """Return the nearest of the previous candidates and the rows of another block."""
    base = load_block(other)
    found = _search_rows(load_block(own), base, np.arange(start, start + len(base)), search)
    return found if previous is None else previous + found


def _search_rows(queries: Array, base: Array, at: Positions, search: _Search) -> Candidates:
    """Search exactly among rows in memory, which are at these positions."""
    k = min(search.limit, len(base))
    found = neighbors.nearest_neighbors(base, k, queries, metric=search.metric, algorithm="exact")
    return Candidates.of(queries, base, found, at, search.limit)
