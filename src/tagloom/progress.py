"""One progress bar for all long work: shown to people, silent in pipes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    total: int, description: str, *, show: bool = True, unit: str | None = None
) -> Iterator[Callable[[], None]]:
    """Yield a function that moves the bar one step; nothing is drawn where nobody looks.

    With a `unit`, "pictures" say, the bar also tells how many of them are done per second.
    """
    if not show:
        yield _do_nothing
        return
    # rich costs a tenth of a second to import: only those who watch pay for it.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f} {unit}/s" if unit and task.speed else "")

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(description, total=total)
        yield lambda: bar.advance(task)


def _do_nothing() -> None:
    """Stand in for a bar that nobody asked for."""
