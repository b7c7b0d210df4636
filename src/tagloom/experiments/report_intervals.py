"""Our differences to the best baseline, in words, in a table and as intervals on one scale."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.experiments.report_html import Markup, table
from tagloom.experiments.summary_grid import NOTHING
from tagloom.experiments.summary_names import rate_as_text, title_of, with_sign

if TYPE_CHECKING:
    import pandas as pd

CAPTION = (
    "Points of mAP above the best baseline of that rate (the one of highest mean), paired by seed. "
    "95% t intervals over seeds: they speak of other draws of the known labels, not of other test "
    "items, and each stands for itself (no correction for several comparisons)."
)
_WIDTH, _HEIGHT, _MARGIN = 176.0, 16.0, 6.0


def verdicts(differences: "pd.DataFrame") -> list[str]:
    """Say for each of our methods at how many rates it is above, below or not told apart."""
    lines = []
    for method, part in differences.groupby("method", sort=False):
        title, n_rates = title_of(str(method)), len(part)
        above, below = int((part["low"] > 0).sum()), int((part["high"] < 0).sum())
        open_ = int(((part["low"] <= 0) & (part["high"] >= 0)).sum())
        untested = n_rates - above - below - open_
        lines.append(
            f"{title}: of {n_rates} {'rate' if n_rates == 1 else 'rates'}, the 95% interval of its "
            f"difference to the best baseline lies above 0 at {above}, below 0 at {below} and "
            f"contains 0 at {open_}"
            + (f"; at {untested} there are too few seeds for one." if untested else ".")
        )
    return lines


def table_of_differences(differences: "pd.DataFrame") -> Markup:
    """Return a row for each method and rate, with its interval drawn on the scale of all."""
    ends = differences[["mean", "low", "high"]].to_numpy(dtype=float)
    ends = ends[np.isfinite(ends)]
    scale = min(0.0, *ends), max(0.0, *ends) if len(ends) else 0.0
    columns = ("method", "known", "best baseline", "difference", "95% interval", "n", "")
    rows = [_row(row, scale) for row in differences.to_dict("records")]
    return table(columns, rows, caption=CAPTION, words=(0, 2, 6))


def _row(row: "dict[Any, Any]", scale: tuple[float, float]) -> list[object]:
    mean, low, high = (float(row[name]) for name in ("mean", "low", "high"))
    has_interval = np.isfinite(low)
    return [
        title_of(row["method"]),
        rate_as_text(row["rate"]),
        title_of(row["baseline"]),
        with_sign(mean) if np.isfinite(mean) else NOTHING,
        f"[{with_sign(low)}, {with_sign(high)}]" if has_interval else NOTHING,
        int(row["n"]),
        _drawn(mean, low, high, scale),
    ]


def _drawn(mean: float, low: float, high: float, scale: tuple[float, float]) -> Markup:
    """Draw an interval, its mean and the place of 0."""
    if not np.isfinite(mean):
        return Markup("")
    least, most = scale
    unit = (_WIDTH - 2 * _MARGIN) / ((most - least) or 1.0)

    def place(value: float) -> str:
        return f"{_MARGIN + (value - least) * unit:.1f}"

    kind = "up" if low > 0 else "down" if high < 0 else "open"
    middle = _HEIGHT / 2
    span = (
        f'<line class="span" x1="{place(low)}" x2="{place(high)}" y1="{middle}" y2="{middle}"/>'
        if np.isfinite(low)
        else ""
    )
    return Markup(
        f'<svg class="interval {kind}" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" aria-hidden="true">'
        f'<line class="zero" x1="{place(0)}" x2="{place(0)}" y1="-3" y2="{_HEIGHT + 3:g}"/>{span}'
        f'<circle class="mean" cx="{place(mean)}" cy="{middle}" r="3.5"/></svg>'
    )
