"""Test pictures beside the training pictures that look most like them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tagloom.datasets.base import Dataset, Rows
from tagloom.experiments.figures._pictures import show_picture, write_lines
from tagloom.experiments.figures._style import FAINT, INK, RIGHT, new_figure
from tagloom.labels import State

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NEIGHBOURS, _QUERIES, _MOST_LABELS = 5, 4, 5
_WIDTH, _ROW_HEIGHT = 1.85, 2.35


def neighbours_figure(dataset: Dataset, rows: Sequence[int] | None = None) -> "Figure | None":
    """Draw test pictures with their nearest training pictures and the labels of all.

    Parameters
    ----------
    dataset : Dataset
        With pictures and features; None is returned for any other.
    rows : sequence of int, optional
        Rows of the test pictures; by default a few at equal distances.
    """
    queries = _chosen(dataset, rows)
    k = min(_NEIGHBOURS, len(dataset.training))
    if dataset.folder is None or dataset.features is None or not len(queries) or k == 0:
        return None
    nearest = _nearest(dataset, queries, k)
    figure = new_figure(_WIDTH * (k + 1) + 0.3, _ROW_HEIGHT * len(queries) + 0.6)
    ratios = [1.4, 0.95] * len(queries)
    grid = figure.subplots(2 * len(queries), k + 1, squeeze=False, height_ratios=ratios)
    for place, query in enumerate(queries.tolist()):
        own = _labels_of(dataset, query)
        for column, row in enumerate([query, *nearest[place].tolist()]):
            pair = grid[2 * place, column], grid[2 * place + 1, column]
            _draw(pair, dataset, row, own if column else None)
    grid[0, 0].set_title("test picture")
    grid[0, 1].set_title("nearest training pictures, nearest first")
    note = "✓ label shared with the test picture. Nearest by cosine of the visual descriptors."
    figure.supxlabel(note, x=0.008, ha="left", color=FAINT, fontsize=8)
    return figure


def _chosen(dataset: Dataset, rows: Sequence[int] | None) -> Rows:
    if rows is not None:
        return np.asarray(rows[:_QUERIES], dtype=np.int64)
    places = np.linspace(0, len(dataset.test) - 1, min(_QUERIES, len(dataset.test)))
    return dataset.test[places.astype(np.int64)]


def _nearest(dataset: Dataset, queries: Rows, k: int) -> Rows:
    from tagloom.neighbours import nearest_neighbours

    assert dataset.features is not None
    visual = dataset.features.visual
    found = nearest_neighbours(visual[dataset.training], k, visual[queries], metric="cosine")
    return dataset.training[found.indices]


def _labels_of(dataset: Dataset, row: int) -> list[str]:
    states = dataset.truth.block(row, row + 1)[0][0]
    return [str(dataset.truth.labels[j]) for j in np.flatnonzero(states == int(State.PRESENT))]


def _draw(
    pair: "tuple[Axes, Axes]", dataset: Dataset, row: int, shared_with: Sequence[str] | None
) -> None:
    """Draw a picture over its labels; those shared with the test picture come first."""
    show_picture(pair[0], dataset.picture(row))
    labels = _labels_of(dataset, row)
    if shared_with is None:
        lines = [("", label, INK) for label in labels]
    else:
        shared = [("✓", label, RIGHT) for label in labels if label in shared_with]
        lines = [*shared, *(("", label, FAINT) for label in labels if label not in shared_with)]
    if len(lines) > _MOST_LABELS:
        hidden = len(lines) - _MOST_LABELS + 1
        lines = [*lines[: _MOST_LABELS - 1], ("", f"{hidden} more", FAINT)]
    write_lines(pair[1], lines, _MOST_LABELS)
