"""Rows taken some at a time."""

from collections.abc import Iterator


def blocks(n_rows: int, step: int) -> Iterator[slice]:
    """Yield slices that together cover so many rows."""
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
