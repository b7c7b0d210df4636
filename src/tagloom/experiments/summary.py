"""What the cells of an experiment say together: means, spreads, paired differences."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.experiments.summary_names import OURS, in_order, learners_only
from tagloom.experiments.summary_print import print_summary

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["best_baseline", "paired_differences", "print_summary", "summarise"]

_PANEL = ["dataset", "protocol"]
_CONFIDENCE = 0.95


def summarise(results: "pd.DataFrame", metric: str = "map") -> "pd.DataFrame":
    """Return mean, standard deviation and number of seeds for each method and rate.

    Parameters
    ----------
    results : DataFrame
        One row for each (dataset, protocol, method, rate, seed).
    metric : str, default "map"
        The column that is summarised.

    Returns
    -------
    DataFrame
        Columns dataset, protocol, method, rate, mean, sd (over seeds, with n - 1; NaN for one
        seed) and n; methods in the order of the tables. A cell whose metric is undefined is left
        out and not counted in n.
    """
    _check_columns(results, [*_PANEL, "method", "rate", "seed", metric])
    grouped = results.groupby([*_PANEL, "method", "rate"], sort=False)[metric]
    summary = grouped.agg(mean="mean", sd="std", n="count").reset_index()
    return _in_order_of_tables(summary)


def paired_differences(
    results: "pd.DataFrame", ours: Iterable[str] | None = None, metric: str = "map"
) -> "pd.DataFrame":
    """Return how far each of our methods is from the best baseline at each rate.

    The best baseline is the one of highest mean at that rate: chosen after the fact, it is the
    hardest to beat. Differences d_s are taken between cells of the same seed s, which see the same
    labels; with n of them, their mean and standard deviation give Student's interval

        mean(d) ± t_{0.975, n - 1} sd(d) / √n,

    which speaks of other draws of the known labels and not of other test items.

    Parameters
    ----------
    results : DataFrame
        One row for each (dataset, protocol, method, rate, seed).
    ours : iterable of str, optional
        Names of our methods; by default those that the list of methods marks so.
    metric : str, default "map"
        The column that is compared.

    Returns
    -------
    DataFrame
        Columns dataset, protocol, method, baseline, rate, mean, low, high, n; low and high are NaN
        where fewer than two seeds have both cells.
    """
    import pandas as pd

    chosen = list(OURS if ours is None else ours)
    _check_columns(results, [*_PANEL, "method", "rate", "seed", metric])
    rows: list[dict[str, Any]] = []
    compared = learners_only(results)
    for (dataset, protocol, rate), cells in compared.groupby([*_PANEL, "rate"], sort=True):
        where = {"dataset": dataset, "protocol": protocol, "rate": rate}
        rows += [where | row for row in _differences_at_rate(cells, chosen, metric)]
    columns = [*_PANEL, "method", "baseline", "rate", "mean", "low", "high", "n"]
    return _in_order_of_tables(pd.DataFrame(rows, columns=columns))


def best_baseline(
    cells: "pd.DataFrame", ours: Iterable[str] | None = None, metric: str = "map"
) -> str | None:
    """Return the baseline of highest mean among these cells; None where there is none."""
    chosen = list(OURS if ours is None else ours)
    baselines = learners_only(cells)
    means = baselines[~baselines["method"].isin(chosen)].groupby("method")[metric].mean().dropna()
    return str(means.idxmax()) if len(means) else None


def _differences_at_rate(
    cells: "pd.DataFrame", ours: Sequence[str], metric: str
) -> list[dict[str, Any]]:
    baseline = best_baseline(cells, ours, metric)
    if baseline is None:
        return []
    by_seed = cells.pivot_table(index="seed", columns="method", values=metric)
    rows = []
    for method in in_order(ours):
        if method in by_seed.columns:
            difference = (by_seed[method] - by_seed[baseline]).dropna().to_numpy(dtype=np.float64)
            rows.append({"method": method, "baseline": baseline} | _interval(difference))
    return rows


def _interval(differences: "np.ndarray[Any, np.dtype[np.float64]]") -> dict[str, Any]:
    n = len(differences)
    if n == 0:
        return {"mean": np.nan, "low": np.nan, "high": np.nan, "n": 0}
    mean = float(differences.mean())
    if n == 1:
        return {"mean": mean, "low": np.nan, "high": np.nan, "n": 1}
    from scipy.stats import t

    error = float(differences.std(ddof=1)) / np.sqrt(n)
    half = float(t.ppf((1 + _CONFIDENCE) / 2, n - 1)) * error
    return {"mean": mean, "low": mean - half, "high": mean + half, "n": n}


def _in_order_of_tables(table: "pd.DataFrame") -> "pd.DataFrame":
    place = {name: number for number, name in enumerate(in_order(table["method"]))}
    sorted_table = table.assign(place=table["method"].map(place)).sort_values(
        [*_PANEL, "place", "rate"], kind="stable", ignore_index=True
    )
    return sorted_table.drop(columns="place")


def _check_columns(results: "pd.DataFrame", needed: Sequence[str]) -> None:
    missing = [name for name in needed if name not in results.columns]
    if missing:
        raise InvalidInputError(
            f"A table of results needs the columns {', '.join(needed)}; "
            f"missing: {', '.join(missing)}."
        )
