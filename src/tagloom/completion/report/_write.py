"""One page, and a folder of thumbnails beside it."""

import base64
import hashlib
import os
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from urllib.parse import quote

from tagloom.completion.report._data import page_data
from tagloom.completion.report._left import left_out
from tagloom.completion.report._reliability import how_sure
from tagloom.completion.report._thumbnails import write_thumbnails
from tagloom.completion.report._words import account, in_short
from tagloom.completion.result import Completed
from tagloom.files import written_whole

# One after the other they make one script.
_SCRIPTS = ("data.js", "pieces.js", "reasons.js", "pictures.js", "tags.js", "lists.js", "views.js")


def write_report(result: Completed, out: Path, *, title: str, show_progress: bool = False) -> Path:
    """Write ``report.html`` and the folder ``thumbnails`` into a folder, which is made if need be.

    The page asks for nothing but its thumbnails and runs no script but its own: its policy names
    the script's and the style's digest. Thumbnails of unchanged pictures are kept from an earlier
    report.

    Parameters
    ----------
    result : Completed
        What to report.
    out : Path
        The folder to write to.
    title : str
        Stands at the head of the page.
    show_progress : bool
        Draw a bar while thumbnails are made.

    Returns
    -------
    Path
        The page.
    """
    out.mkdir(parents=True, exist_ok=True)
    thumbnails = write_thumbnails(
        result.photos, result.items, out / "thumbnails", show_progress=show_progress
    )
    data = page_data(result, thumbnails, _address(result.photos, out))
    script, style = "".join(map(_resource, _SCRIPTS)), _resource("page.css")
    # A template is filled in one pass: what stands in a file name is never taken for a place.
    page = Template(_resource("page.html")).substitute(
        title=escape(title),
        policy=_policy(script, style),
        style=style,
        script=script,
        data=data,
        in_short=in_short(result),
        account=account(result),
        how_sure=how_sure(result),
        left_out=left_out(result),
    )
    path = out / "report.html"
    with written_whole(path) as part:
        # Names that are no text on this system hold lone surrogates, which UTF-8 cannot say.
        part.write_bytes(page.encode("utf-8", "replace"))
    return path


def _resource(name: str) -> str:
    return (files("tagloom.completion.report") / "page" / name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    """Forbid everything but thumbnails, the one script and the one style.

    A page that is opened as a file is its own origin in some browsers only: hence ``file:``.
    """
    return "; ".join(
        (
            "default-src 'none'",
            "img-src 'self' file: data:",
            f"script-src {_digest(script)}",
            f"style-src {_digest(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _address(photos: Path, out: Path) -> str:
    """Return the way from the page to the pictures, so that both may be moved together."""
    try:
        way = Path(os.path.relpath(photos.resolve(), out.resolve()))
    except ValueError:  # on another drive
        return photos.resolve().as_uri()
    # "./" keeps a first folder that holds a colon from being read as a scheme.
    return "./" + quote(way.as_posix(), errors="replace")
