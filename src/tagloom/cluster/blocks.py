"""A table cut into blocks of rows, each of which a task opens where it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.cluster.running import dask_array, task
from tagloom.errors import InvalidInputError

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
