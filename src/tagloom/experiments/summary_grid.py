"""Summaries as grids of text: the same for a terminal and for a page."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.experiments.summary_names import rate_as_text, title_of, with_sign

if TYPE_CHECKING:
    import pandas as pd

CAPTION_OF_MEANS = "mAP in points: mean ± standard deviation over seeds; highest mean in bold"
CAPTION_OF_DIFFERENCES = (
    "points of mAP above the best baseline of that rate, paired by seed: "
    "mean [95% t interval], n seeds"
)
NOTHING = "–"


@dataclass(frozen=True)
class Entry:
    """A cell of a grid; `best` asks for emphasis."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Grid:
    """Column titles and rows of entries, the first column naming the row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]


def grid_of_means(summary: "pd.DataFrame") -> Grid:
    """Lay out a part of `summarise` that has one data set and protocol: methods by rates."""
    rates = sorted(summary["rate"].unique())
    best = summary.groupby("rate")["mean"].max()
    rows = []
    for method, part in summary.groupby("method", sort=False):
        spread = {
            rate: (mean, sd)
            for rate, mean, sd in zip(part["rate"], part["mean"], part["sd"], strict=True)
        }
        entries = [Entry(title_of(str(method)))]
        for rate in rates:
            mean, sd = spread.get(rate, (np.nan, np.nan))
            entries.append(Entry(mean_and_spread(mean, sd), best=bool(mean == best[rate])))
        rows.append(tuple(entries))
    return Grid(("labels known", *map(rate_as_text, rates)), tuple(rows))


def grid_of_differences(differences: "pd.DataFrame") -> Grid:
    """Lay out a part of `paired_differences` of one data set and protocol: rates by methods."""
    methods = list(dict.fromkeys(differences["method"]))
    rows = []
    for rate, part in differences.groupby("rate", sort=True):
        columns = [part[name] for name in ("mean", "low", "high", "n")]
        texts = {
            method: interval_as_text(*values)
            for method, values in zip(part["method"], zip(*columns, strict=True), strict=True)
        }
        names = rate_as_text(float(str(rate))), title_of(str(part["baseline"].iloc[0]))
        found = [texts.get(method, NOTHING) for method in methods]
        rows.append(tuple(Entry(text) for text in (*names, *found)))
    titles = (title_of(method) for method in methods)
    return Grid(("known", "best baseline", *titles), tuple(rows))


def mean_and_spread(mean: float, sd: float) -> str:
    """Write points of mAP; without a spread where one seed alone was run.

    >>> mean_and_spread(0.351, 0.004), mean_and_spread(0.351, float("nan"))
    ('35.1 ± 0.4', '35.1')
    """
    if np.isnan(mean):
        return NOTHING
    return f"{100 * mean:.1f}" if np.isnan(sd) else f"{100 * mean:.1f} ± {100 * sd:.1f}"


def interval_as_text(mean: float, low: float, high: float, n: int) -> str:
    """Write a difference in points of mAP and its interval.

    >>> interval_as_text(0.012, 0.005, 0.019, 5)
    '+1.2 [+0.5, +1.9], n=5'
    >>> interval_as_text(-0.012, float("nan"), float("nan"), 1)
    '−1.2, n=1'
    """
    if np.isnan(mean):
        return NOTHING
    interval = "" if np.isnan(low) else f" [{with_sign(low)}, {with_sign(high)}]"
    return f"{with_sign(mean)}{interval}, n={n}"
