"""Pictures in figures: small, upright, and a grey card where one cannot be read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tagloom.datasets.base import Dataset
from tagloom.experiments.figures._style import FAINT, RIGHT, UNKNOWN, WRONG
from tagloom.labels import State
from tagloom.vision.extras import import_extra
from tagloom.vision.pictures import PictureError, decode

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIDE = 320
_SIGNS = {
    int(State.PRESENT): ("✓", RIGHT),
    int(State.ABSENT): ("✗", WRONG),
    int(State.UNKNOWN): ("?", UNKNOWN),
}
_LONGEST_NAME = 24


def show_picture(axes: "Axes", path: Path) -> None:
    """Fill a 4:3 panel with a picture, whole, above the start of the lines below it."""
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set(xlim=(0, 4), ylim=(3, 0))
    pixels = _thumbnail(path)
    if pixels is None:
        axes.fill_between([0, 4], 0, 3, color="#eceff1", lw=0)
        axes.text(2, 1.5, "cannot be read", ha="center", va="center", color=FAINT, fontsize=8)
        return
    height, width = pixels.shape[:2]
    scale = min(4 / width, 3 / height)
    extent = (0, width * scale, 3, 3 - height * scale)
    axes.imshow(pixels, extent=extent, interpolation="antialiased")
    axes.set(xlim=(0, 4), ylim=(3, 0))


def sign_of(state: int) -> tuple[str, str]:
    """Return the sign and the colour of a suggested label: right, wrong, or nobody knows."""
    return _SIGNS[int(state)]


def write_lines(axes: "Axes", lines: list[tuple[str, str, str]], n_lines: int) -> None:
    """Write (sign, label, colour) below each other from the top, as if there were `n_lines`."""
    axes.set_axis_off()
    axes.set(xlim=(0, 4), ylim=(n_lines, 0))
    for place, (sign, label, colour) in enumerate(lines):
        look: dict[str, Any] = {"color": colour, "va": "center", "fontsize": 8.5}
        axes.text(0.05, place + 0.5, sign, fontweight="bold", **look)
        axes.text(0.42, place + 0.5, shortened(label), **look)


def shortened(label: str, longest: int = _LONGEST_NAME) -> str:
    """Cut a long name at its end.

    >>> shortened("swimming-pool", 9)
    'swimming…'
    """
    return label if len(label) <= longest else label[: longest - 1] + "…"


def row_of_item(dataset: Dataset) -> dict[str, int]:
    """Return where each item stands."""
    return {item: row for row, item in enumerate(dataset.items)}


def _thumbnail(path: Path) -> npt.NDArray[np.uint8] | None:
    import_extra("PIL.Image", purpose="Drawing pictures")
    try:
        picture = decode(path.read_bytes(), needed=_SIDE)
    except (OSError, PictureError):
        return None
    picture.thumbnail((_SIDE, _SIDE))
    return np.asarray(picture)
