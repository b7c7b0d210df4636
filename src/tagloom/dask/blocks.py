"""Blocks of rows and labels on a cluster: how they are read, loaded, computed and summed."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import add, getitem
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError, import_extra
from tagloom.labels import PartialLabels
from tagloom.progress import progress_bar

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

ALL = slice(None)

# Sums added by one task: a tree of this width over a thousand partitions has four levels.
TREE_WIDTH = 8
_LARGE_GRAPH_WARNING = "distributed.admin.large-graph-warning-threshold"
# Partitions are kept where they fill no more than this share of the memory of the workers: sums,
# copies in transit and the interpreters need room as well.
_SHARE_TO_KEEP = 0.4
# Levels of attributes that are searched for arrays to measure an object.
_MAX_DEPTH = 6


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """Consecutive rows of a table, block by block.

    Attributes
    ----------
    blocks : tuple
        Tasks or lazy blocks, none of them empty.
    sizes : tuple of int
        Numbers of rows.
    width : int
        Number of columns.
    dtype : dtype
        float32 or float64.
    """

    blocks: tuple[Any, ...]
    sizes: tuple[int, ...]
    width: int
    dtype: np.dtype[Any]

    @property
    def n_rows(self) -> int:
        """Number of rows in all blocks."""
        return sum(self.sizes)

    @property
    def n_bytes(self) -> int:
        """Bytes of all rows."""
        return self.n_rows * self.width * self.dtype.itemsize

    @property
    def starts(self) -> tuple[int, ...]:
        """Position of the first row of each block."""
        return tuple(int(start) for start in np.cumsum((0, *self.sizes[:-1])))


class LazyBlock:
    """A block that each task loads for itself and forgets when it ends.

    A block that is a task of its own stays in a worker's memory until no task needs it any more.
    Where the blocks do not all fit in the memory of the workers, they are loaded again instead.
    """

    def __init__(self, read: Callable[..., Any], *arguments: Any) -> None:
        self._read = read
        self._arguments = arguments

    def __call__(self) -> Any:
        """Load the block."""
        return self._read(*self._arguments)


def load_block(block: Any) -> Any:
    """Return the contents of a block; to be called inside of tasks."""
    return block() if isinstance(block, LazyBlock) else block


def row_blocks(X: Any, name: str = "X") -> RowBlocks:
    """Return the blocks of a dask array, of `ParquetItems`, or `RowBlocks` as they are."""
    if isinstance(X, RowBlocks):
        return X
    if hasattr(X, "feature_blocks"):
        blocks: RowBlocks = X.feature_blocks()
        return blocks
    return _array_blocks(X, name)


def to_dask_array(X: Any, name: str = "X") -> Any:
    """Return rows as a dask array with one chunk for each block; nothing is loaded yet."""
    da = import_dask("dask.array")
    rows = row_blocks(X, name)
    parts = [
        da.from_delayed(task(load_block, block), (size, rows.width), rows.dtype)
        for block, size in zip(rows.blocks, rows.sizes, strict=True)
    ]
    return da.concatenate(parts)


def sampled_positions(n_rows: int, at_most: int, random_state: int) -> npt.NDArray[np.int64]:
    """Return the positions of some rows, drawn at random, in order; of all if there are fewer."""
    if n_rows <= at_most:
        return np.arange(n_rows)
    rng = np.random.default_rng(random_state)
    return np.sort(rng.choice(n_rows, at_most, replace=False))


def take_rows(client: Any, rows: RowBlocks, positions: npt.NDArray[np.int64]) -> Array:
    """Return rows at these positions, which are ascending, in the memory of the client."""
    bounds = np.searchsorted(positions, [*rows.starts, rows.n_rows])
    parts = [
        task(take, block, positions[low:high] - start)
        for block, start, low, high in zip(
            rows.blocks, rows.starts, bounds[:-1], bounds[1:], strict=True
        )
        if low < high
    ]
    gathered: list[Array] = compute(client, task(list, parts))
    return np.concatenate(gathered)


def take(block: Any, positions: npt.NDArray[np.int64], columns: slice = ALL) -> Array:
    """Return rows of a block; to be called inside of tasks."""
    rows: Array = load_block(block)[positions]
    return rows if columns == ALL else rows[:, columns]


def _array_blocks(X: Any, name: str) -> RowBlocks:
    table = check_dask_array(X, name)
    dtype = table.dtype if table.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    sizes = table.chunks[0]
    chunks = table.to_delayed().ravel()
    starts = np.cumsum((0, *sizes[:-1]))
    blocks = tuple(
        task(_finite_rows, chunk, dtype, name, int(start))
        for chunk, size, start in zip(chunks, sizes, starts, strict=True)
        if size
    )
    return RowBlocks(blocks, tuple(int(size) for size in sizes if size), table.shape[1], dtype)


def check_dask_array(X: Any, name: str) -> Any:
    """Return a dask array of two dimensions, in chunks of whole rows of known number."""
    da = import_dask("dask.array")

    if not isinstance(X, da.Array):
        raise InvalidInputError(
            f"{name} must be a dask array or ParquetItems; found {type(X).__name__}. Use "
            "dask.array.from_array for an array in memory, or a learner of tagloom.models."
        )
    if X.ndim != 2:
        raise InvalidInputError(
            f"{name} must be a table, one row for each item; found {X.ndim} dimension(s)."
        )
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise InvalidInputError(
            f"The chunks of {name} have unknown sizes. Call {name}.compute_chunk_sizes() first."
        )
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _finite_rows(rows: Any, dtype: np.dtype[Any], name: str, start: int) -> Array:
    table: Array = np.ascontiguousarray(rows, dtype=dtype)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise InvalidInputError(
            f"{name} must be finite; found {table[row, column]} in row {start + row}, "
            f"column {column}."
        )
    return table


def import_dask(name: str) -> Any:
    """Import a module of dask or distributed, or say which extra provides it."""
    return import_extra(name, purpose="Working on a cluster", extra="dask")


def get_client(client: Any = None) -> Any:
    """Return the given client, or the one that was created last and is still open."""
    distributed = import_dask("distributed")
    if client is not None:
        return client
    try:
        return distributed.default_client()
    except ValueError:
        raise InvalidInputError(
            "There is no Dask client to run on. Start one, client = distributed.Client(...) with "
            "the address of a scheduler or without one for this machine, or pass client=."
        ) from None


def total_memory(client: Any) -> int | None:
    """Return the memory limit of all workers together; None where one has no limit."""
    limits: list[int] = client.run_on_scheduler(_memory_limits)
    return sum(limits) if limits and all(limits) else None


def _memory_limits(dask_scheduler: Any = None) -> list[int]:
    return [worker.memory_limit for worker in dask_scheduler.workers.values()]


def task(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a task that calls a function with these arguments, other tasks among them."""
    return import_dask("dask").delayed(function)(*arguments)


def constant(value: Any) -> Any:
    """Return a task for a value, which is sent once however many tasks need it."""
    return import_dask("dask").delayed(value, traverse=False)


def tree_sum(terms: Sequence[Any]) -> Any:
    """Return a task that adds the terms in a tree, always in the same order.

    The order depends on the number of terms alone, so the sum has the same bits whichever worker
    computes it and whenever.
    """
    if not terms:
        raise InvalidInputError("There are no rows: every partition is empty.")
    level = list(terms)
    while len(level) > 1:
        starts = range(0, len(level), TREE_WIDTH)
        level = [task(add_all, level[start : start + TREE_WIDTH]) for start in starts]
    return level[0]


def add_all(terms: Iterable[Any]) -> Any:
    """Return the sum of terms, from the first to the last."""
    return reduce(add, terms)


def compute(client: Any, wanted: Any) -> Any:
    """Return the result of a task; what a lost worker held is recomputed."""
    with _large_tasks_allowed():
        future = client.compute(wanted)
    with _cancel_on_error(client, [future]):
        return future.result()


def compute_all(
    client: Any, tasks: Sequence[Any], description: str, *, verbose: bool, unit: str
) -> list[Any]:
    """Return the small results of tasks, with a progress bar."""
    futures = client.compute(list(tasks))
    _wait(client, futures, progress_bar(len(futures), description, show=verbose, unit=unit))
    return list(client.gather(futures))


def persist(client: Any, tasks: Sequence[Any]) -> list[Any]:
    """Compute the tasks and keep the results on the workers; lost results are recomputed.

    No task is tied to a worker: it would wait for ever if that worker was lost.
    """
    with _large_tasks_allowed():
        return list(client.persist(list(tasks)))


def persist_and_wait(
    client: Any, tasks: Sequence[Any], description: str, *, verbose: bool, unit: str
) -> list[Any]:
    """Do what `persist` does and wait for the results, with a progress bar."""
    persisted = persist(client, tasks)
    futures = import_dask("distributed").futures_of(persisted)
    _wait(client, futures, progress_bar(len(futures), description, show=verbose, unit=unit))
    return persisted


def _wait(client: Any, futures: list[Any], bar: AbstractContextManager[Callable[[], None]]) -> None:
    """Advance the bar as futures finish; raise the error of the first that fails."""
    with _cancel_on_error(client, futures), bar as advance:
        for future in import_dask("distributed").as_completed(futures):
            if future.status != "finished":
                future.result()
            advance()


def _large_tasks_allowed() -> AbstractContextManager[Any]:
    """Keep Dask from warning of large tasks.

    M is sent to the workers as a task like others: a value scattered beforehand would be lost with
    the worker that holds it.
    """
    config: AbstractContextManager[Any] = import_dask("dask").config.set(
        {_LARGE_GRAPH_WARNING: "1 PiB"}
    )
    return config


@contextmanager
def _cancel_on_error(client: Any, futures: list[Any]) -> Iterator[None]:
    """Leave no tasks running on the cluster where an error or an interrupt ends the wait."""
    try:
        yield
    except BaseException:
        client.cancel(futures)
        raise


@cache
def register_sizes(*classes: type) -> None:
    """Tell Dask, in this process, how to measure objects of these classes.

    Dask takes an object of an unknown class for a few bytes: it would send partitions around as if
    that cost nothing, and never consider a worker full.
    """
    sizeof = import_dask("dask.sizeof").sizeof
    for kind in classes:
        sizeof.register(kind)(bytes_held)


def bytes_held(thing: object) -> int:
    """Return the bytes of all arrays that an object holds, each counted once.

    >>> bytes_held(PartialLabels.from_array(np.ones((10, 3)))) >= 10 * 3
    True
    """
    arrays = {id(array): array.nbytes for array in _arrays_in(thing, _MAX_DEPTH)}
    return 64 + sum(arrays.values())


def _arrays_in(thing: object, depth: int) -> Iterator[Array]:
    if isinstance(thing, np.ndarray):
        yield thing
    elif depth:
        for part in _parts_of(thing):
            yield from _arrays_in(part, depth - 1)


def _parts_of(thing: object) -> list[object]:
    """Return the attributes or elements of an object that may hold arrays."""
    if isinstance(thing, list | tuple):
        return [] if thing and isinstance(thing[0], str | int) else list(thing)
    if not type(thing).__module__.startswith("tagloom"):
        return []
    slots = [slot for kind in type(thing).__mro__ for slot in getattr(kind, "__slots__", ())]
    held = [getattr(thing, slot) for slot in slots if hasattr(thing, slot)]
    return held + list(getattr(thing, "__dict__", {}).values())


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Blocks of features, and for each of them the `PartialLabels` of the same items."""

    rows: RowBlocks
    known: tuple[Any, ...]
    labels: tuple[Hashable, ...]

    def persisted(self, client: Any) -> "TrainingData":
        """Return the same data in the memory of the workers."""
        # Features and labels of the same items are one task: apart, they could end up on two
        # workers, and one of them would have to be sent.
        both = zip(self.rows.blocks, self.known, strict=True)
        pairs = persist(client, [task(_load_both, block, known) for block, known in both])
        rows = replace(self.rows, blocks=tuple(task(getitem, pair, 0) for pair in pairs))
        return replace(self, rows=rows, known=tuple(task(getitem, pair, 1) for pair in pairs))

    def fits_in_memory(self, client: Any) -> bool:
        """Say whether the features leave enough of the workers' memory free."""
        memory = total_memory(client)
        return memory is None or self.rows.n_bytes <= _SHARE_TO_KEEP * memory


def _load_both(block: Any, known: Any) -> tuple[Array, PartialLabels]:
    register_sizes(PartialLabels)
    return load_block(block), load_block(known)


def read_training_data(X: Any, Y: Any, client: Any) -> TrainingData:
    """Read a dask array with a dask array of 1, 0 and NaN, or `ParquetItems` with their labels."""
    if isinstance(X, TrainingData):
        return X
    rows = row_blocks(X)
    if hasattr(X, "label_blocks"):
        if Y is not None:
            raise InvalidInputError(
                "ParquetItems bring their labels: leave Y out, and name the columns of the labels "
                "with present= and absent=, or label_columns=."
            )
        labels = X.labels(client)
        return TrainingData(rows, X.label_blocks(labels), labels)
    if Y is None:
        raise InvalidInputError("Y is missing: pass a dask array of 1, 0 and NaN (unknown).")
    table = check_dask_array(Y, "Y")
    if table.shape[0] != rows.n_rows:
        raise InvalidInputError(
            f"X and Y must have one row for each item: X has {rows.n_rows} rows, Y has "
            f"{table.shape[0]}."
        )
    chunks = table.rechunk((rows.sizes, -1)).to_delayed().ravel()
    known = tuple(
        task(_read_labels, chunk, start) for chunk, start in zip(chunks, rows.starts, strict=True)
    )
    return TrainingData(rows, known, tuple(range(table.shape[1])))


def _read_labels(table: Array, start: int) -> PartialLabels:
    try:
        return PartialLabels.from_array(table)
    except InvalidInputError:
        # Again with positions in the whole table, for the error message.
        return PartialLabels.from_array(table, items=range(start, start + len(table)))


@dataclass(frozen=True, eq=False)
class DataSummary:
    """What the fit needs to know of all rows before its first pass; summaries can be added."""

    n_items: int
    total: Floats
    """Sum of the rows."""
    squares: Floats
    """Sums of the squares of each column."""
    present: npt.NDArray[np.int64]
    """How many items are known to have each label."""
    absent: npt.NDArray[np.int64]
    """How many items are known not to have it."""

    @classmethod
    def of_block(cls, block: Any, labels: Any) -> "DataSummary":
        """Summarize one block."""
        register_sizes(PartialLabels, DataSummary)
        X, counts = load_block(block), load_block(labels).counts()
        squares = np.einsum("ij,ij->j", X, X, dtype=np.float64)
        total = X.sum(axis=0, dtype=np.float64)
        return cls(len(X), total, squares, counts.present, counts.absent)

    def __add__(self, other: "DataSummary") -> "DataSummary":
        return DataSummary(
            self.n_items + other.n_items,
            self.total + other.total,
            self.squares + other.squares,
            self.present + other.present,
            self.absent + other.absent,
        )

    def in_two_rows(self, labels: tuple[Hashable, ...]) -> PartialLabels:
        """Return labels of two items that are learnable exactly where those of all items are.

        The first item has every label that any item has, the second lacks every label that any
        item is known to lack.
        """
        table = np.full((2, len(labels)), np.nan)
        table[0, self.present > 0] = 1
        table[1, self.absent > 0] = 0
        return PartialLabels.from_array(table, labels=labels)


def summarize(data: TrainingData, client: Any) -> DataSummary:
    """Summarize all rows in one pass."""
    pairs = zip(data.rows.blocks, data.known, strict=True)
    terms = [task(DataSummary.of_block, block, known) for block, known in pairs]
    summary: DataSummary = compute(client, tree_sum(terms))
    return summary
