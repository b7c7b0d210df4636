"""Our differences to the best baseline, in words, in tables and as intervals on one scale."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.experiments.summary_grid import NOTHING
from tagloom.experiments.summary_names import rate_as_text, title_of, with_sign
from tagloom.markup import Markup, heading, paragraph, table

if TYPE_CHECKING:
    import pandas as pd

CAPTION = (
    "Points of mAP above the best baseline of that rate (the one of highest mean), paired by seed. "
    "95% t intervals over seeds: they speak of other draws of the known labels, not of other test "
    "items, and each stands for itself (no correction for several comparisons)."
)
RULE = (
    "Above and below mean that the 95% interval of the paired difference in mAP lies on that side "
    "of 0; not told apart means that it contains 0."
)
_WIDTH, _HEIGHT, _MARGIN = 128.0, 16.0, 5.0


def verdicts(differences: "pd.DataFrame") -> list[str]:
    """Say for each of our methods at how many rates it is above, below or not told apart."""
    lines = []
    for method, part in differences.groupby("method", sort=False):
        counts = {
            "above": int((part["low"] > 0).sum()),
            "below": int((part["high"] < 0).sum()),
            "not told apart from": int(((part["low"] <= 0) & (part["high"] >= 0)).sum()),
            "with too few seeds to compare with": int(part["low"].isna().sum()),
        }
        said = ", ".join(f"{what} it at {count}" for what, count in counts.items() if count)
        rates = "1 rate" if len(part) == 1 else f"{len(part)} rates"
        lines.append(f"{title_of(str(method))} against the best baseline, {rates}: {said}.")
    return lines


def tables_of_differences(differences: "pd.DataFrame") -> Markup:
    """Return a table for each of our methods, its intervals drawn on the scale of all."""
    ends = differences[["mean", "low", "high"]].to_numpy(dtype=float)
    finite = [0.0, *ends[np.isfinite(ends)].tolist()]
    scale = min(finite), max(finite)
    columns = ("known", "difference", "95% interval", "", "best baseline", "n")
    drawn = []
    for method, part in differences.groupby("method", sort=False):
        rows = [_row(row, scale) for row in part.to_dict("records")]
        title = heading(f"{title_of(str(method))} against the best baseline")
        drawn.append(title + table(columns, rows, words=(0, 3, 4)))
    return Markup("".join(drawn) + paragraph(CAPTION, "note"))


def _row(row: "dict[Any, Any]", scale: tuple[float, float]) -> list[object]:
    mean, low, high = (float(row[name]) for name in ("mean", "low", "high"))
    return [
        rate_as_text(row["rate"]),
        with_sign(mean) if np.isfinite(mean) else NOTHING,
        f"[{with_sign(low)}, {with_sign(high)}]" if np.isfinite(low) else NOTHING,
        _drawn(mean, low, high, scale),
        title_of(row["baseline"]),
        int(row["n"]),
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
