"""How far the probabilities can be trusted: a drawing and a sentence that reads it."""

import math
from collections.abc import Sequence

from tagloom.completion.quality import Bin, calibration_error
from tagloom.completion.report._words import counted
from tagloom.completion.result import Completed
from tagloom.markup import Markup, folded, paragraph, table

# Entries of a bin below which its share is left to chance, and of all bins to be read at all.
_ENOUGH_IN_BIN, _ENOUGH = 20, 50
# Most entries are surely absent; how good the promises are shows in the others.
_LIKELY = 0.2
_SIZE, _MARGIN, _LARGEST = 300, 46, 11


def how_sure(result: Completed) -> Markup:
    """Return the reliability of the probabilities as drawing, sentence and table."""
    bins = result.bins
    if not bins:
        return paragraph("No entry could be hidden from the learner, so nothing was measured.")
    rows = [
        (
            f"{one.low:.0%} to {one.high:.0%}",
            f"{one.n:,}",
            f"{one.promised:.1%}",
            f"{one.came_true:.1%}",
        )
        for one in bins
    ]
    figures = table(("Probability", "Entries", "Promised", "Came true"), rows)
    share = ""
    if result.completeness < 1:
        share = paragraph(
            "Nobody listed what is absent. What came true is therefore estimated: the share that "
            f"had been given, divided by the {result.completeness:.0%} of tags that people give.",
            "note",
        )
    words = paragraph(reading(bins), "lead")
    beside = f"<div>{words}{share}{folded('The figures', figures)}</div>"
    return Markup(f'<div class="beside"><figure>{drawing(bins)}</figure>{beside}</div>')


def reading(bins: Sequence[Bin]) -> str:
    """Say in a sentence or two what the drawing shows, or that it shows nothing yet."""
    likely = [one for one in bins if one.low >= _LIKELY - 1e-9]
    n = sum(one.n for one in likely)
    if n < _ENOUGH:
        return (
            f"Only {counted(n, 'hidden entry has', 'hidden entries have')} a probability of "
            f"{_LIKELY:.0%} or more: too few to say how far the probabilities can be trusted."
        )
    error = calibration_error(list(likely))
    largest = max(likely, key=lambda one: (one.n * one.promised, one.low))
    return (
        f"Of {counted(n, 'hidden entry', 'hidden entries')} with a probability of {_LIKELY:.0%} "
        f"or more, promise and truth differ by {100 * error:.0f} percentage points on average. "
        f"Where about {largest.promised:.0%} was promised, {largest.came_true:.0%} came true."
    )


def drawing(bins: Sequence[Bin]) -> Markup:
    """Draw what came true against what was promised as SVG, each circle's area by its entries."""
    side = _SIZE + 2 * _MARGIN
    ticks = "".join(_tick(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0))
    most = max((one.n for one in bins), default=1)
    circles = "".join(_circle(one, most) for one in bins)
    return Markup(
        f'<svg class="reliability" viewBox="0 0 {side} {side}" role="img" '
        'aria-label="What came true against what was promised">'
        f'{ticks}<line class="diagonal" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>'
        f"{circles}"
        f'<text class="axis" x="{_x(0.5)}" y="{side - 4}" text-anchor="middle">promised</text>'
        f'<text class="axis" x="{_x(0) - 38}" y="{_y(1) - 20}">came true</text></svg>'
    )


def _tick(share: float) -> str:
    x, y = _x(share), _y(share)
    return (
        f'<line class="grid" x1="{x}" y1="{_y(0)}" x2="{x}" y2="{_y(1)}"/>'
        f'<line class="grid" x1="{_x(0)}" y1="{y}" x2="{_x(1)}" y2="{y}"/>'
        f'<text x="{x}" y="{_y(0) + 24}" text-anchor="middle">{100 * share:.0f}%</text>'
        f'<text x="{_x(0) - 13}" y="{y + 4}" text-anchor="end">{100 * share:.0f}%</text>'
    )


def _circle(one: Bin, most: int) -> str:
    """Draw a bin: hollow where it holds too few entries to mean much."""
    # The surely absent outnumber the rest by far: areas grow with the root of the number.
    radius = max(4.0, _LARGEST * math.sqrt(math.sqrt(one.n / most)))
    kind = "bin" if one.n >= _ENOUGH_IN_BIN else "bin few"
    entries = counted(one.n, "entry", "entries")
    return (
        f'<circle class="{kind}" cx="{_x(one.promised)}" cy="{_y(one.came_true)}" '
        f'r="{radius:.1f}"><title>{entries}: {one.promised:.0%} promised, '
        f"{one.came_true:.0%} came true</title></circle>"
    )


def _x(share: float) -> float:
    return round(_MARGIN + _SIZE * share, 1)


def _y(share: float) -> float:
    return round(_MARGIN + _SIZE * (1 - share), 1)
