"""Label by label: where ours is best, worst, and differs most from the best baseline."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.experiments.summary import best_baseline
from tagloom.experiments.summary_names import OURS, in_order, rate_as_text, title_of, with_sign
from tagloom.markup import Markup, heading, paragraph, table

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 8


def labels_of_panel(labels: "pd.DataFrame", results: "pd.DataFrame") -> Markup:
    """Compare ours with the best baseline, label by label, at the lowest rate of one panel.

    Parameters
    ----------
    labels, results : DataFrame
        The two tables of an experiment, of one data set and protocol.
    """
    if labels.empty or results.empty:
        return Markup("")
    rate = float(results["rate"].min())
    baseline = best_baseline(results[results["rate"] == rate])
    present = in_order(labels.loc[labels["rate"] == rate, "method"])
    ours = [method for method in present if method in OURS][-1:]
    if not ours or baseline not in present:
        return Markup("")
    compared = _compared(labels[labels["rate"] == rate], ours[0], str(baseline))
    if compared.empty:
        return Markup("")
    titles = title_of(ours[0]), title_of(str(baseline))
    n_left_out = int(labels["label"].nunique()) - len(compared)
    return Markup(_sentence(compared, titles, rate, n_left_out) + _tables(compared, titles))


def _compared(labels: "pd.DataFrame", ours: str, baseline: str) -> "pd.DataFrame":
    """Return AP of both by label, means over the seeds that both have."""
    known = labels.dropna(subset=["ap"])
    counts = known.groupby("label")["n_test_presences"].max()
    by_seed = known.pivot_table(index=["label", "seed"], columns="method", values="ap")
    if ours not in by_seed.columns or baseline not in by_seed.columns:
        return by_seed.iloc[:0]
    means = by_seed[[ours, baseline]].dropna().groupby("label").mean()
    means.columns = ["ours", "baseline"]
    means["difference"] = means["ours"] - means["baseline"]
    means["n"] = counts
    return means.reset_index().sort_values("label", ignore_index=True)


def _sentence(
    compared: "pd.DataFrame", titles: tuple[str, str], rate: float, n_left_out: int
) -> Markup:
    higher = int((compared["difference"] > 0).sum())
    lower = int((compared["difference"] < 0).sum())
    same = len(compared) - higher - lower
    text = (
        f"{rate_as_text(rate)} of the labels known, means over seeds. {titles[0]} against "
        f"{titles[1]}: higher AP on {higher} labels, lower on {lower}, the same on {same}. "
        f"{n_left_out} labels have no test presence, and so no AP."
    )
    return paragraph(text)


def _tables(compared: "pd.DataFrame", titles: tuple[str, str]) -> Markup:
    by_gain = compared.sort_values("difference", ascending=False, kind="stable")
    by_ap = compared.sort_values("ours", ascending=False, kind="stable")
    parts = {
        "Largest gains": by_gain.head(_SHOWN),
        "Largest losses": by_gain.iloc[::-1].head(_SHOWN),
        f"Best labels of {titles[0]}": by_ap.head(_SHOWN),
        f"Worst labels of {titles[0]}": by_ap.iloc[::-1].head(_SHOWN),
    }
    drawn = "".join(
        f"<div>{heading(title)}{_table(part, titles)}</div>" for title, part in parts.items()
    )
    return Markup(f'<div class="columns">{drawn}</div>')


def _table(part: "pd.DataFrame", titles: tuple[str, str]) -> Markup:
    rows = [_row(row) for row in part.to_dict("records")]
    return table(("label", "difference", *titles, "in test"), rows)


def _row(row: "dict[Any, Any]") -> list[object]:
    difference = float(row["difference"])
    kind = "up" if difference > 0 else "down" if difference < 0 else ""
    change = Markup(f'<span class="{kind}">{with_sign(difference)}</span>')
    aps = [f"{100 * row[name]:.1f}" for name in ("ours", "baseline")]
    count = int(row["n"]) if np.isfinite(row["n"]) else "–"
    return [row["label"], change, *aps, count]
