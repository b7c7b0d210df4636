"""Mean average precision against the share of labels known: a line for each method."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.experiments.figures._labels import spread_out
from tagloom.experiments.figures._style import FAINT, legible, line_of, new_figure
from tagloom.experiments.summary import summarise
from tagloom.experiments.summary_names import title_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_WIDTH, _PANEL_HEIGHT, _PANELS_PER_ROW = 5.6, 3.9, 2


def curves(results: "pd.DataFrame") -> "Figure":
    """Draw a panel for each data set and protocol; bands are one standard deviation over seeds."""
    panels = list(summarise(results).groupby(["dataset", "protocol"], sort=False))
    n_columns = min(len(panels), _PANELS_PER_ROW)
    n_rows = -(-len(panels) // n_columns)
    figure = new_figure(_PANEL_WIDTH * n_columns, _PANEL_HEIGHT * n_rows + 0.25)
    grid = figure.subplots(n_rows, n_columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for axes, ((dataset, protocol), part) in zip(grid.flat, panels, strict=False):
        _panel(axes, part, f"{dataset} · {protocol}")
    figure.supxlabel(_footnote(results), x=0.008, ha="left", color=FAINT, fontsize=8)
    return figure


def _panel(axes: "Axes", summary: "pd.DataFrame", title: str) -> None:
    ends: dict[str, tuple[float, float]] = {}
    for method, part in summary.groupby("method", sort=False):
        ends[str(method)] = _line(axes, str(method), part)
    axes.set_title(title, pad=10)
    axes.set_ylabel("mAP (%)")
    axes.set_xlabel("labels known")
    rates = np.sort(summary["rate"].unique())
    if len(rates) <= 10:
        axes.set_xticks(100 * rates)
    axes.xaxis.set_major_formatter("{x:g}%")
    axes.margins(x=0.03, y=0.06)
    _name_lines(axes, ends)


def _line(axes: "Axes", method: str, part: "pd.DataFrame") -> tuple[float, float]:
    """Draw a method and return where its line ends."""
    style = line_of(method)
    x = 100 * part["rate"].to_numpy(dtype=float)
    mean = 100 * part["mean"].to_numpy(dtype=float)
    spread = 100 * part["sd"].fillna(0.0).to_numpy(dtype=float)
    band = mean - spread, mean + spread
    axes.fill_between(x, *band, color=style.colour, alpha=0.15, lw=0, zorder=1)
    axes.plot(
        x,
        mean,
        color=style.colour,
        lw=style.width,
        marker=style.marker,
        ms=4.5 if style.width < 2 else 5.5,
        mec="white",
        mew=0.7,
        # Heavier lines, which are ours, lie above the others.
        zorder=1 + style.width,
    )
    return float(x[-1]), float(mean[-1])


def _name_lines(axes: "Axes", ends: dict[str, tuple[float, float]]) -> None:
    """Write each method's title beside the end of its line, pushed apart where ends are close."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    right = max((x for x, _ in ends.values()), default=0.0)
    names = [name for name, (_, y) in ends.items() if np.isfinite(y)]
    places = spread_out([ends[name][1] for name in names], 0.058 * (high - low))
    for name, place in zip(names, places, strict=True):
        style = line_of(name)
        leader: dict[str, Any] = {"arrowstyle": "-", "color": style.colour, "lw": 0.7, "alpha": 0.7}
        axes.annotate(
            title_of(name),
            xy=ends[name],
            xytext=(_right_of(axes, right), place),
            color=legible(style.colour),
            fontsize=8.8,
            fontweight="bold" if style.width > 2 else "normal",
            va="center",
            annotation_clip=False,
            arrowprops=leader | {"shrinkA": 1, "shrinkB": 5, "relpos": (0, 0.5)},
        )


def _right_of(axes: "Axes", x: float) -> float:
    low, high = axes.get_xlim()
    return x + 0.07 * (high - low)


def _footnote(results: "pd.DataFrame") -> str:
    counts = sorted(set(summarise(results)["n"]))
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    noun = "seed" if counts == [1] else "seeds"
    band = "" if counts == [1] else "; bands: ± one standard deviation"
    return f"Mean over {seeds} {noun}{band}."
