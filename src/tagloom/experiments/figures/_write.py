"""All figures of an experiment, written to one folder."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.datasets.base import Dataset
from tagloom.errors import UnwritableFileError
from tagloom.experiments.figures._curves import curves
from tagloom.experiments.figures._examples import examples_figure
from tagloom.experiments.figures._neighbours import neighbours_figure
from tagloom.experiments.figures._pictures import row_of_item
from tagloom.experiments.figures._style import house_style, save
from tagloom.experiments.summary import best_baseline
from tagloom.experiments.summary_names import (
    OURS,
    descriptors_only,
    in_order,
    learners_only,
    rate_as_text,
    title_of,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Examples = Mapping[str, Sequence[Mapping[str, Any]]]


def write_figures(
    folder: Path,
    results: "pd.DataFrame",
    dataset: Dataset | None = None,
    examples: Examples | None = None,
) -> list[Path]:
    """Write every figure that the material allows, each as PNG and SVG.

    Parameters
    ----------
    folder : Path
        Where they go; it is made if it is missing.
    results : DataFrame
        One row for each (dataset, protocol, method, rate, seed).
    dataset : Dataset, optional
        With pictures it gives examples, with features also visual neighbours.
    examples : mapping, optional
        For each method {"item": ..., "top": [[label, score], ...]} of a few test pictures.

    Returns
    -------
    list of Path
        `map`, `descriptors`, `examples-<method>` (ours and the best baseline) and `neighbours`,
        as far as they could be drawn.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFileError(f"The folder {folder} cannot be made: {error}.") from None
    with house_style():
        figures = _figures(results, dataset, examples or {})
        return [path for name, figure in figures for path in save(figure, folder, name)]


def _figures(
    results: "pd.DataFrame", dataset: Dataset | None, examples: Examples
) -> "Iterator[tuple[str, Figure]]":
    for name, part in (
        ("map", learners_only(results)),
        ("descriptors", descriptors_only(results)),
    ):
        if len(part):
            yield name, curves(part)
    if dataset is None:
        return
    for method in _methods_to_show(results, examples):
        title = f"{title_of(method)}, {_lowest_rate(results)} of the labels known"
        drawn = examples_figure(dataset, examples[method], title)
        if drawn is not None:
            yield f"examples-{method}", drawn
    drawn = neighbours_figure(dataset, _rows_of_examples(dataset, examples))
    if drawn is not None:
        yield "neighbours", drawn


def _methods_to_show(results: "pd.DataFrame", examples: Examples) -> list[str]:
    """Show the last of ours and the baseline that was best at the rate of the examples."""
    ours = [method for method in in_order(examples) if method in OURS][-1:]
    lowest = results[results["rate"] == results["rate"].min()]
    baseline = best_baseline(lowest)
    return [*ours, *([baseline] if baseline is not None and baseline in examples else [])]


def _lowest_rate(results: "pd.DataFrame") -> str:
    return rate_as_text(float(results["rate"].min()))


def _rows_of_examples(dataset: Dataset, examples: Examples) -> list[int] | None:
    """Let the neighbours be those of pictures that the reader has just seen."""
    where = row_of_item(dataset)
    for shown in examples.values():
        return [where[one["item"]] for one in shown if one["item"] in where] or None
    return None
