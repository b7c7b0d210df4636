"""One progress bar for all long-running work: shown in terminals, silent in pipes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    total: int, description: str, *, show: bool = True, unit: str | None = None
) -> Iterator[Callable[[], None]]:
    """Yield a function that advances the bar by one step; nothing is drawn outside a terminal.

    With a `unit`, such as "pictures", the bar also shows the rate per second.
    """
    if not show:
        yield _do_nothing
        return
    # Importing rich takes a tenth of a second: do it only if a bar is shown.
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
    """Stand in for the step function when no bar is shown."""
