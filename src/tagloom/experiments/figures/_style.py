"""How every figure looks and is saved."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tagloom.files import written_whole
from tagloom.vision.extras import import_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, FAINT, GRID = "#1d2730", "#66727c", "#e3e7ea"
# Right, wrong, missed and unknown: told apart by sign and by brightness, too.
RIGHT, WRONG, MISSED, UNKNOWN = "#00694b", "#c1440e", "#0a5f9e", "#66727c"
_DPI = 160
_RC: dict[str, Any] = {
    "svg.hashsalt": "tagloom",
    "svg.fonttype": "path",
    "font.family": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "ytick.major.size": 0,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


class Line(NamedTuple):
    """How a method is drawn wherever it is drawn."""

    colour: str
    marker: str
    width: float = 1.6


# After Okabe and Ito; no two neighbours in brightness share a marker. Ours are warm and heavy.
_LINES = {
    "least-squares": Line("#7a7a7a", "o"),
    "binary-relevance": Line("#56b4e9", "s"),
    "maxide": Line("#0072b2", "D"),
    "fasttag": Line("#cc79a7", "v"),
    "neighbours": Line("#009e73", "^"),
    "propagation": Line("#5e3c99", "P"),
    "apg-graph-paper": Line("#e69f00", "o", 2.2),
    "apg-graph": Line("#d55e00", "o", 2.8),
    "descriptor-global": Line("#0072b2", "D", 2.0),
    "descriptor-local": Line("#009e73", "^", 2.0),
    "descriptor-both": Line("#d55e00", "o", 2.8),
}
_OTHER = Line("#000000", "x")


def line_of(method: str) -> Line:
    """Return how a method is drawn."""
    return _LINES.get(method, _OTHER)


def legible(colour: str) -> str:
    """Return a darker shade for words, which are thinner than lines.

    >>> legible("#56b4e9")
    '#4993bd'
    """
    pairs = zip(_channels(colour), _channels(INK), strict=True)
    return "#" + "".join(f"{round(0.77 * shade + 0.23 * ink):02x}" for shade, ink in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure that no window system knows of."""
    figure = import_extra("matplotlib.figure", purpose="Drawing figures", extra="figures")
    made: Figure = figure.Figure(figsize=(width, height), layout="constrained")
    return made


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the same style whatever the user's own settings are."""
    matplotlib = import_extra("matplotlib", purpose="Drawing figures", extra="figures")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield


def save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG; the same figure gives the same bytes."""
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    for path in paths:
        kind = path.suffix[1:]
        # Neither the date nor the version of the drawing library belongs to the figure.
        metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
        with written_whole(path) as part, warnings.catch_warnings():
            # Labels may be in any script; a sign the font lacks is drawn as a box.
            warnings.filterwarnings("ignore", message="Glyph")
            figure.savefig(part, format=kind, dpi=_DPI, metadata=metadata)
    return paths
