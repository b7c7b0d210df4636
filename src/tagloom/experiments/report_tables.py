"""The other measures of an experiment, and what it cost."""

from typing import TYPE_CHECKING

import numpy as np

from tagloom.experiments.summary_grid import NOTHING
from tagloom.experiments.summary_names import in_order, rate_as_text, title_of
from tagloom.markup import Markup, table

if TYPE_CHECKING:
    import pandas as pd

_MEASURES = {
    "map": "mAP",
    "map_voc11": "mAP, 11 points",
    "map_per_item": "AP per picture",
    "precision_at_5": "precision at 5",
    "recall_at_5": "recall at 5",
    "f1_at_5": "F1 at 5",
}
_COSTS = {
    "search_seconds": "search (s)",
    "fit_seconds": "fit (s)",
    "score_seconds": "score (s)",
}


def table_of_measures(results: "pd.DataFrame") -> Markup:
    """Return every measure by method and rate, means over seeds, of one data set and protocol."""
    measures = [name for name in _MEASURES if name in results.columns]
    with_n_plus = "n_plus_at_5" in results.columns
    rows: list[list[object]] = []
    for method in in_order(results["method"]):
        of_method = results[results["method"] == method]
        for rate, part in of_method.groupby("rate", sort=True):
            means = [_points(float(part[name].mean())) for name in measures]
            n_plus = [f"{part['n_plus_at_5'].mean():.1f}"] if with_n_plus else []
            rows.append([title_of(method), rate_as_text(float(str(rate))), *means, *n_plus])
    titles = [_MEASURES[name] for name in measures] + (["N+"] if with_n_plus else [])
    caption = "Points, means over seeds. N+: labels with recall above 0 at the five best."
    return table(("method", "known", *titles), rows, caption=caption)


def table_of_parameters(results: "pd.DataFrame") -> Markup:
    """Return the parameters that the search chose most often, of one data set and protocol."""
    rows: list[list[object]] = []
    if "parameters" not in results.columns:
        return Markup("")
    for method in in_order(results["method"]):
        of_method = results[results["method"] == method]
        for rate, part in of_method.groupby("rate", sort=True):
            counts = part["parameters"].value_counts(sort=False)
            chosen = str(counts.idxmax()) if len(counts) else NOTHING
            share = f"{counts.max()} of {len(part)}" if len(counts) else NOTHING
            rows.append([title_of(method), rate_as_text(float(str(rate))), share, chosen])
    caption = "The choice made for most seeds, and for how many."
    return table(("method", "known", "seeds", "parameters"), rows, caption=caption, words=(0, 3))


def table_of_costs(results: "pd.DataFrame") -> Markup:
    """Return time and memory of one cell by method."""
    costs = [name for name in _COSTS if name in results.columns]
    rows: list[list[object]] = []
    for method in in_order(results["method"]):
        part = results[results["method"] == method]
        row: list[object] = [title_of(method), len(part)]
        row += [_seconds(float(part[name].median())) for name in costs]
        if "n_trials" in part:
            row.append(f"{part['n_trials'].median():.0f}")
        if "peak_memory_mib" in part:
            most = float(part["peak_memory_mib"].max())
            row.append(f"{most:,.0f}" if np.isfinite(most) else NOTHING)
        rows.append(row)
    columns = ["method", "cells", *(_COSTS[name] for name in costs)]
    columns += ["trials"] if "n_trials" in results.columns else []
    columns += ["memory (MiB)"] if "peak_memory_mib" in results.columns else []
    caption = (
        "Medians over cells. Search: choosing parameters among the trials; fit: once with the "
        "chosen ones; score: all test items. Memory: by how much the process grew at most, the "
        "highest of any cell."
    )
    return table(columns, rows, caption=caption)


def _points(value: float) -> str:
    return f"{100 * value:.1f}" if np.isfinite(value) else NOTHING


def _seconds(value: float) -> str:
    """Write seconds with about three digits.

    >>> _seconds(0.0001), _seconds(0.01234), _seconds(2.345), _seconds(123.4)
    ('< 0.001', '0.012', '2.3', '123')
    """
    if not np.isfinite(value):
        return NOTHING
    if value < 0.001:
        return "< 0.001"
    return f"{value:.3f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"
