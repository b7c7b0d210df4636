"""The summary of an experiment on a terminal."""

from typing import TYPE_CHECKING

from tagloom.experiments.summary_grid import (
    CAPTION_OF_DIFFERENCES,
    CAPTION_OF_MEANS,
    Grid,
    grid_of_differences,
    grid_of_means,
)
from tagloom.experiments.summary_names import descriptors_only, learners_only

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table


def print_summary(results: "pd.DataFrame", console: "Console | None" = None) -> None:
    """Print mean mAP by method and rate, then our differences to the best baseline.

    Parameters
    ----------
    results : DataFrame
        One row for each (dataset, protocol, method, rate, seed).
    console : rich.console.Console, optional
        Where to print; standard output by default.
    """
    from rich.console import Console

    from tagloom.experiments.summary import paired_differences, summarise

    console = console or Console(highlight=False)
    summary, differences = summarise(results), paired_differences(results)
    for (dataset, protocol), part in summary.groupby(["dataset", "protocol"], sort=False):
        title = f"{dataset}, {protocol}"
        learners, descriptors = learners_only(part), descriptors_only(part)
        if len(learners):
            console.print(_table(title, CAPTION_OF_MEANS, grid_of_means(learners)))
        same = (differences["dataset"] == dataset) & (differences["protocol"] == protocol)
        if same.any():
            grid = grid_of_differences(differences[same])
            console.print(_table(None, CAPTION_OF_DIFFERENCES, grid))
        if len(descriptors):
            grid = grid_of_means(descriptors)
            console.print(_table(f"{title}: descriptors alone", CAPTION_OF_MEANS, grid))


def _table(title: str | None, caption: str, grid: Grid) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # Names come from files: as Text they cannot be taken for markup.
    heading = Text(title, style="bold") if title else None
    table = Table(title=heading, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, column in enumerate(grid.columns):
        table.add_column(Text(column), justify="right" if number else "left", no_wrap=True)
    for row in grid.rows:
        table.add_row(*(Text(entry.text, style="bold" if entry.best else "") for entry in row))
    return table
