"""Small pieces of a page; whatever comes from outside is escaped here."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape


class Markup(str):
    """Text that is HTML already; everything else is escaped."""

    __slots__ = ()


def markup(value: object) -> str:
    """Return HTML for a value: as it is if it is `Markup`, else escaped.

    >>> markup("a < b"), markup(Markup("<b>"))
    ('a &lt; b', '<b>')
    """
    return str(value) if isinstance(value, Markup) else escape(str(value))


def paragraph(text: object, kind: str = "") -> Markup:
    """Return a paragraph."""
    return Markup(f"<p{_class(kind)}>{markup(text)}</p>")


def listing(lines: Iterable[object]) -> Markup:
    """Return a list with a point for each line."""
    return Markup("<ul>" + "".join(f"<li>{markup(line)}</li>" for line in lines) + "</ul>")


def section(title: str, *parts: Markup) -> Markup:
    """Return a titled section; nothing where it has no content."""
    content = "\n".join(part for part in parts if part)
    if not content:
        return Markup("")
    return Markup(f"<section><h2>{escape(title)}</h2>\n{content}\n</section>")


def heading(title: str) -> Markup:
    """Return a heading within a section."""
    return Markup(f"<h3>{escape(title)}</h3>")


def metadata(pairs: Mapping[str, object]) -> Markup:
    """Return names and values below each other."""
    rows = (f"<dt>{escape(name)}</dt><dd>{markup(value)}</dd>" for name, value in pairs.items())
    return Markup(f"<dl>{''.join(rows)}</dl>")


def folded(title: str, content: Markup) -> Markup:
    """Return content that is unfolded on demand; nothing where there is none."""
    if not content:
        return Markup("")
    return Markup(f"<details><summary>{escape(title)}</summary>{content}</details>")


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    caption: str = "",
    words: Sequence[int] = (0,),
    best: Iterable[tuple[int, int]] = (),
) -> Markup:
    """Return a table that scrolls by itself on narrow screens.

    Parameters
    ----------
    columns, rows
        Titles and cells.
    caption : str
        Stands below.
    words : sequence of int
        Columns that hold words and are set flush left; numbers are set flush right.
    best : iterable of (row, column)
        Cells to emphasise.
    """
    marked = set(best)
    head = "".join(
        f'<th scope="col"{_class("words" if place in words else "")}>{escape(title)}</th>'
        for place, title in enumerate(columns)
    )
    body = "\n".join(_row(number, row, words, marked) for number, row in enumerate(rows))
    # Outside of what scrolls: a caption must not be cut off where the table is.
    below = paragraph(caption, "note") if caption else ""
    return Markup(
        f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>{below}"
    )


def _row(
    number: int, row: Sequence[object], words: Sequence[int], marked: set[tuple[int, int]]
) -> str:
    cells = []
    for place, value in enumerate(row):
        kinds = ["words"] if place in words else []
        kinds += ["best"] if (number, place) in marked else []
        cells.append(f"<td{_class(' '.join(kinds))}>{markup(value)}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
