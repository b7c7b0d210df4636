"""Test pictures with their labels of highest score, each marked right or wrong."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tagloom.datasets.base import Dataset
from tagloom.experiments.figures._pictures import row_of_item, show_picture, sign_of, write_lines
from tagloom.experiments.figures._style import MISSED, RIGHT, UNKNOWN, WRONG, new_figure
from tagloom.labels import State

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PICTURES_PER_ROW = 6
_MOST_MISSED = 3
_WIDTH, _PICTURE_HEIGHT, _LINE_HEIGHT = 1.85, 1.4, 0.185
Line = tuple[str, str, str]


def examples_figure(
    dataset: Dataset, examples: Sequence[Mapping[str, Any]], title: str
) -> "Figure | None":
    """Draw the pictures of a data set with what a method says of them; None if it has none.

    Present labels that are not among the highest follow after a "+".
    """
    where = row_of_item(dataset)
    shown = [example for example in examples if example["item"] in where]
    if dataset.folder is None or not shown:
        return None
    texts = [_lines(dataset, where[example["item"]], example["top"]) for example in shown]
    n_lines = max(map(len, texts))
    n_columns = min(_PICTURES_PER_ROW, len(shown))
    n_rows = -(-len(shown) // n_columns)
    height = n_rows * (_PICTURE_HEIGHT + _LINE_HEIGHT * n_lines + 0.12) + 0.55
    figure = new_figure(_WIDTH * n_columns, height)
    ratios = [_PICTURE_HEIGHT, _LINE_HEIGHT * n_lines + 0.12] * n_rows
    grid = figure.subplots(2 * n_rows, n_columns, squeeze=False, height_ratios=ratios)
    for axes in grid.flat:
        axes.set_axis_off()
    for number, (example, lines) in enumerate(zip(shown, texts, strict=True)):
        row, column = divmod(number, n_columns)
        show_picture(grid[2 * row, column], dataset.picture(where[example["item"]]))
        write_lines(grid[2 * row + 1, column], lines, n_lines)
    figure.suptitle(title, x=0.008, ha="left", fontweight="bold", fontsize=10.5)
    _write_key(figure, any(sign == "?" for lines in texts for sign, _, _ in lines))
    return figure


def _lines(dataset: Dataset, row: int, top: Sequence[Sequence[Any]]) -> list[Line]:
    """Return sign, label and colour of what is suggested, then of what is missed."""
    states = dataset.truth.block(row, row + 1)[0][0]
    named = {
        str(label): int(state) for label, state in zip(dataset.truth.labels, states, strict=True)
    }
    suggested = [str(label) for label, _ in top]
    lines = []
    for label in suggested:
        sign, colour = sign_of(named.get(label, int(State.UNKNOWN)))
        lines.append((sign, label, colour))
    missed = [
        label
        for label, state in named.items()
        if state == int(State.PRESENT) and label not in suggested
    ]
    lines += [("+", label, MISSED) for label in missed[:_MOST_MISSED]]
    if len(missed) > _MOST_MISSED:
        lines.append(("+", f"{len(missed) - _MOST_MISSED} more", MISSED))
    return lines


def _write_key(figure: "Figure", with_unknown: bool) -> None:
    entries = [
        ("✓ right", RIGHT),
        ("✗ wrong", WRONG),
        ("+ present, not suggested", MISSED),
        *([("? truth unknown", UNKNOWN)] if with_unknown else []),
    ]
    from matplotlib.patches import Patch

    handles = [Patch(facecolor="none", edgecolor="none", label=text) for text, _ in entries]
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=len(entries),
        frameon=False,
        handlelength=0,
        handletextpad=0,
        fontsize=8.5,
        labelcolor=[colour for _, colour in entries],
    )
