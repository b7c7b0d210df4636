"""One progress bar for all long work: shown to people, silent in pipes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    total: int, description: str, *, show: bool = True
) -> Iterator[Callable[[], None]]:
    """Yield a function that moves the bar one step; nothing is drawn where nobody looks."""
    if not show:
        yield _do_nothing
        return
    # rich costs a tenth of a second to import: only those who watch pay for it.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(description, total=total)
        yield lambda: bar.advance(task)


def _do_nothing() -> None:
    """Stand in for a bar that nobody asked for."""
