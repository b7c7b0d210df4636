"""One progress bar for all long-running work: shown in terminals, silent in pipes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FOLLOWING: ContextVar[int] = ContextVar("_FOLLOWING", default=0)


@contextmanager
def followed_by(n_steps: int) -> Iterator[None]:
    """Let the bars inside the block know that steps follow, each as long as one of theirs.

    They then show the time that all of it is expected to take, not only that of their own steps.
    """
    token = _FOLLOWING.set(n_steps)
    try:
        yield
    finally:
        _FOLLOWING.reset(token)


def total_text(remaining: float | None, per_step: float | None, n_following: int) -> str:
    """Return the estimate of the time until all is done.

    >>> total_text(30.0, 10.0, 9)
    '(all: 2 min left)'
    """
    if remaining is None or per_step is None or not n_following:
        return ""
    seconds = remaining + n_following * per_step
    left = f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"
    return f"(all: {left} left)"


@contextmanager
def progress_bar(
    total: int, description: str, *, show: bool = True, unit: str | None = None
) -> Iterator[Callable[[], None]]:
    """Yield a function that advances the bar by one step; nothing is drawn outside a terminal.

    With a `unit`, such as "pictures", the bar also shows the rate per second, and within
    `followed_by` the time until the steps after it are done.
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

    n_following = _FOLLOWING.get()

    class TotalColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            per_step = 1 / task.speed if task.speed else None
            return Text(total_text(task.time_remaining, per_step, n_following))

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TotalColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(description, total=total)
        yield lambda: bar.advance(task)


def _do_nothing() -> None:
    """Stand in for the step function when no bar is shown."""
