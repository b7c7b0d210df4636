"""Tell tables and JSON lines apart by their first lines."""

from collections.abc import Callable
from pathlib import Path

from tagloom.formats.columns import PICTURE, form_of, plain
from tagloom.formats.jsonl import parsed_object, picture_key
from tagloom.formats.separators import declared_separator, sample_rows, sniffed_separator
from tagloom.formats.states import state_of
from tagloom.formats.table_tags import is_bare
from tagloom.formats.text import Text, first_text

_IN_FOLDER = ("metadata.jsonl", "metadata.csv", "labels.csv", "tags.csv")
_JSONL_ENDINGS = (".jsonl", ".ndjson")
_NO_TABLE = ("{", "[", "<")


def table_in(path: Path) -> Path | None:
    """Return the file itself, or the first in a folder that is called as tables of labels are."""
    if path.is_dir():
        return next((path / name for name in _IN_FOLDER if (path / name).is_file()), None)
    return path if path.is_file() else None


def is_jsonl(path: Path) -> bool:
    """Say whether the first line is a JSON object that names a picture."""
    text = _first_text(path)
    if text is None:
        return False
    first = next(line for line in text.lines() if line.strip())
    try:
        return picture_key(parsed_object(first)) is not None
    except (ValueError, RecursionError):
        # A broken line is better told with its place, by the reader, than not recognised.
        return text.path.suffix.lower() in _JSONL_ENDINGS


def is_form(form: str) -> Callable[[Path], bool]:
    """Return a function that says whether a path is a table of this form."""

    def recognise(path: Path) -> bool:
        text = _first_text(path)
        return text is not None and table_form(text) == form

    return recognise


def table_form(text: Text) -> str | None:
    """Return "tags", "long", "wide" or "bare" (without header); None for what looks like none."""
    if text.content.lstrip().startswith(_NO_TABLE):
        return None
    declared, start = declared_separator(text.content)
    content = text.content[start:]
    separator = declared or sniffed_separator(content)
    rows = sample_rows(content, separator)
    if not rows or len(rows[0]) < 2:
        return None
    if is_bare(rows, separator):
        return "bare"
    form = form_of(rows[0])
    if form != "wide":
        return form
    return "wide" if _looks_wide(rows) else None


def _looks_wide(rows: list[list[str]]) -> bool:
    """Say whether a header that names no tags may name them all."""
    named = any(plain(name) in PICTURE for name in rows[0])
    body = [cell for row in rows[1:] for cell in row[1:]]
    return named or (bool(body) and all(state_of(cell) is not None for cell in body))


def _first_text(path: Path) -> Text | None:
    table = table_in(path)
    return None if table is None else first_text(table)
