"""Pieces of the page of an experiment: summaries as tables, figures that are part of the page."""

import base64
import io
import re
from html import escape
from pathlib import Path

from tagloom.experiments.summary_grid import Grid
from tagloom.markup import Markup, table

_WIDEST_PICTURE = 1500


def table_of_grid(grid: Grid, caption: str) -> Markup:
    """Return a summary as a table, its best entries emphasised."""
    rows = [[entry.text for entry in row] for row in grid.rows]
    best = [
        (number, place)
        for number, row in enumerate(grid.rows)
        for place, entry in enumerate(row)
        if entry.best
    ]
    return table(grid.columns, rows, caption=caption, best=best)


def figure(path: Path, caption: str, *, pictures: bool) -> Markup:
    """Return a figure that is part of the page: lines as SVG, pictures as a JPEG."""
    kind, content = _jpeg(path) if pictures else ("svg+xml", path.read_bytes())
    source = f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
    look = "pictures" if pictures else "lines"
    size = "" if pictures else _fitting(content)
    return Markup(
        f'<figure class="{look}" tabindex="0"><img class="{look}"{size} alt="{escape(caption)}" '
        f'src="{source}"><figcaption>{escape(caption)}</figcaption></figure>'
    )


def _fitting(drawing: bytes) -> str:
    """Let a drawing grow and shrink with the page only as far as its letters stay letters."""
    width = re.search(rb'<svg[^>]* width="([0-9.]+)pt"', drawing)
    if width is None:
        return ""
    points = float(width[1])
    return f' style="min-width:{0.8 * points:.0f}px;max-width:{1.6 * points:.0f}px"'


def _jpeg(path: Path) -> tuple[str, bytes]:
    from PIL import Image

    with Image.open(path) as opened:
        picture = opened.convert("RGB")
    picture.thumbnail((_WIDEST_PICTURE, _WIDEST_PICTURE * 3))
    stream = io.BytesIO()
    picture.save(stream, format="JPEG", quality=80, optimize=True)
    return "jpeg", stream.getvalue()
