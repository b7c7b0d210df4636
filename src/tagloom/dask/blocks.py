"""A table cut into blocks of rows, each of which a task opens where it runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError, import_extra
from tagloom.progress import progress_bar

# §§ running
# Tasks on a cluster: who runs them, in which order sums are taken, what a lost worker costs.


# So many sums are added by one task: a tree of this width over a thousand partitions has four
# levels.
TREE_WIDTH = 8
_SIZE_TO_WARN_OF = "distributed.admin.large-graph-warning-threshold"


def client_or_default(client: Any = None) -> Any:
    """Return the client that was given, or the one that was made last and is still open."""
    distributed = part_of_dask("distributed")
    if client is not None:
        return client
    try:
        return distributed.default_client()
    except ValueError:
        raise InvalidInputError(
            "There is no Dask client to run on. Start one, client = distributed.Client(...) with "
            "the address of a scheduler or without one for this machine, or pass client=."
        ) from None


def task(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a task that calls a function with these arguments, other tasks among them."""
    return part_of_dask("dask").delayed(function)(*arguments)


def constant(value: Any) -> Any:
    """Return a task that gives a value, which is sent along once however many tasks need it."""
    return part_of_dask("dask").delayed(value, traverse=False)


def dask_array() -> Any:
    """Return the module dask.array."""
    return part_of_dask("dask.array")


def part_of_dask(name: str) -> Any:
    """Return a module of dask or distributed, or say which extra brings it."""
    return import_extra(name, purpose="Working on a cluster", extra="dask")


def tree_sum(terms: Sequence[Any]) -> Any:
    """Return a task that adds the terms, always in the same order, a few at a time.

    The order depends on the number of terms alone: of the same terms the sum has the same bits,
    whoever computes them and whenever.
    """
    if not terms:
        raise InvalidInputError("There are no rows: every partition is empty.")
    level = list(terms)
    while len(level) > 1:
        starts = range(0, len(level), TREE_WIDTH)
        level = [task(added, level[start : start + TREE_WIDTH]) for start in starts]
    return level[0]


def added(terms: Iterable[Any]) -> Any:
    """Return the sum of terms that know `+`, from the first to the last."""
    return reduce(add, terms)


def kept(client: Any, tasks: Sequence[Any]) -> list[Any]:
    """Compute the tasks and leave what they give on the workers; what is lost is made again.

    No task is tied to a worker: tied to one that is lost, it would wait for it for ever.
    """
    return list(client.persist(list(tasks)))


def computed(client: Any, wanted: Any) -> Any:
    """Return the result of a task; whatever a lost worker held is made again."""
    # What a pass sends to all workers is a task like others, and no value that was sent out
    # beforehand: such a value is lost with the worker that holds it. Dask warns of the size.
    with part_of_dask("dask").config.set({_SIZE_TO_WARN_OF: "1 PiB"}):
        future = client.compute(wanted)
    with _taken_back_if_broken(client, [future]):
        return future.result()


def all_computed(
    client: Any, tasks: Sequence[Any], description: str, *, show_progress: bool, unit: str
) -> list[Any]:
    """Return the results of tasks that are small, while a bar shows how many are done."""
    futures = client.compute(list(tasks))
    _wait(client, futures, progress_bar(len(futures), description, show=show_progress, unit=unit))
    return list(client.gather(futures))


def shown_while_kept(
    client: Any, tasks: Sequence[Any], description: str, *, show_progress: bool, unit: str
) -> list[Any]:
    """Do as `kept` does, and wait until all is there while a bar shows how much is."""
    placed = kept(client, tasks)
    futures = part_of_dask("distributed").futures_of(placed)
    _wait(client, futures, progress_bar(len(futures), description, show=show_progress, unit=unit))
    return placed


def _wait(client: Any, futures: list[Any], bar: AbstractContextManager[Callable[[], None]]) -> None:
    """Move the bar as futures end, and raise what the first that fails has raised."""
    with _taken_back_if_broken(client, futures), bar as advance:
        for future in part_of_dask("distributed").as_completed(futures):
            if future.status != "finished":
                future.result()
            advance()


def memory_of(client: Any) -> int | None:
    """Return the memory that all workers may use together; None where one has no limit."""
    limits: list[int] = client.run_on_scheduler(_memory_limits)
    return sum(limits) if limits and all(limits) else None


def _memory_limits(dask_scheduler: Any = None) -> list[int]:
    return [worker.memory_limit for worker in dask_scheduler.workers.values()]


@contextmanager
def _taken_back_if_broken(client: Any, futures: list[Any]) -> Iterator[None]:
    """Leave no work behind on the cluster where an error or an interrupt ends the wait for it."""
    try:
        yield
    except BaseException:
        client.cancel(futures)
        raise


# §§ main blocks


Array = npt.NDArray[Any]


class Lazy:
    """A block that is read inside the task that needs it, and forgotten with it.

    A block that is a task of its own stays in a worker's memory until nobody needs it any more;
    where all blocks do not fit in the memory of the workers, such a block is read again instead.
    """

    def __init__(self, read: Callable[..., Any], *arguments: Any) -> None:
        self._read = read
        self._arguments = arguments

    def __call__(self) -> Any:
        """Read the block."""
        return self._read(*self._arguments)


def opened(block: Any) -> Any:
    """Return what a block holds; to be called inside of tasks."""
    return block() if isinstance(block, Lazy) else block


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """Consecutive rows, block by block.

    Attributes
    ----------
    blocks : tuple
        Tasks or `Lazy` blocks, none of them without rows.
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


def row_blocks(X: Any, name: str = "X") -> RowBlocks:
    """Read rows of numbers: a dask array, `ParquetItems`, or `RowBlocks` as they are."""
    if isinstance(X, RowBlocks):
        return X
    if hasattr(X, "feature_blocks"):
        blocks: RowBlocks = X.feature_blocks()
        return blocks
    return _array_blocks(X, name)


def array_of(X: Any, name: str = "X") -> Any:
    """Return rows of numbers as a dask array, one chunk a block; nothing is read yet."""
    da = dask_array()
    rows = row_blocks(X, name)
    parts = [
        da.from_delayed(task(opened, block), (size, rows.width), rows.dtype)
        for block, size in zip(rows.blocks, rows.sizes, strict=True)
    ]
    return da.concatenate(parts)


def _array_blocks(X: Any, name: str) -> RowBlocks:
    table = checked_array(X, name)
    dtype = table.dtype if table.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    sizes = table.chunks[0]
    chunks = table.to_delayed().ravel()
    starts = np.cumsum((0, *sizes[:-1]))
    blocks = tuple(
        task(checked_rows, chunk, dtype, name, int(start))
        for chunk, size, start in zip(chunks, sizes, starts, strict=True)
        if size
    )
    return RowBlocks(blocks, tuple(int(size) for size in sizes if size), table.shape[1], dtype)


def checked_array(X: Any, name: str) -> Any:
    """Return a dask array of two dimensions whose chunks are whole rows of known number."""
    da = dask_array()

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


def checked_rows(rows: Any, dtype: np.dtype[Any], name: str, start: int) -> Array:
    """Return a block as an array of that type, or say which row is not made of numbers."""
    table: Array = np.ascontiguousarray(rows, dtype=dtype)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise InvalidInputError(
            f"{name} must be finite; found {table[row, column]} in row {start + row}, "
            f"column {column}."
        )
    return table
