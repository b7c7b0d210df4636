"""Which form a table has: tag lists with or without a header, long, or wide."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tagloom.formats.base import Format, Reading
from tagloom.formats.metadata.folders import warn_of_keywords
from tagloom.formats.tables.columns import PICTURE, TAG, TAGS, find_column, plain, state_of
from tagloom.formats.tables.csv import (
    SEPARATORS,
    declared_separator,
    sample_rows,
    sniff_separator,
)
from tagloom.formats.text import Text, read_head
from tagloom.vision.pictures import named_format

_FILES = ("metadata.jsonl", "metadata.csv", "labels.csv", "tags.csv")
_NOT_CSV = ("{", "[", "<")


def table_format(
    key: str,
    title: str,
    expected: str,
    detect: Callable[[Text], bool],
    read: Callable[[Path], Reading],
) -> Format:
    """Describe a format of tables: a file, or a folder with a file of a usual name."""

    def detect_path(path: Path) -> bool:
        table = _table_in(path)
        text = None if table is None else read_head(table)
        return text is not None and detect(text)

    def read_path(path: Path, pictures: Path | None) -> Reading:
        table = _table_in(path) or path
        reading = read(table)
        if path.is_dir():
            reading.warnings.extend(warn_of_keywords(path, table))
        return reading

    return Format(key, title, expected, detect_path, read_path)


def _table_in(path: Path) -> Path | None:
    """Return the file itself, or the first file in a folder with a usual name of tables."""
    if path.is_dir():
        return next((path / name for name in _FILES if (path / name).is_file()), None)
    return path if path.is_file() else None


def has_form(form: str) -> Callable[[Text], bool]:
    """Return a function that detects tables of this form."""
    return lambda text: table_form(text) == form


def table_form(text: Text) -> str | None:
    """Return "tags", "long", "wide" or "bare" (tags without header); None if it is no table."""
    if text.content.lstrip().startswith(_NOT_CSV):
        return None
    declared, start = declared_separator(text.content)
    content = text.content[start:]
    separator = declared or sniff_separator(content)
    rows = sample_rows(content, separator)
    if not rows or len(rows[0]) < 2:
        return None
    if all(cell is None for cell in ambiguous_cells(rows, separator)):
        return "bare"
    form = form_of_header(rows[0])
    if form != "wide":
        return form
    return "wide" if _looks_wide(rows) else None


def form_of_header(header: Sequence[str]) -> str:
    """Return the form of a table by its header: "tags", "long" or "wide".

    >>> form_of_header(["file_name", "tags"]), form_of_header(["image", "tag"])
    ('tags', 'long')
    >>> form_of_header(["image", "sea", "sky"])
    'wide'
    """
    if find_column(header, TAGS) is not None:
        return "tags"
    return "wide" if find_column(header, TAG) is None else "long"


def _looks_wide(rows: list[list[str]]) -> bool:
    """Return whether the columns may be tags: a column names pictures, or all cells are states."""
    named = any(plain(name) in PICTURE for name in rows[0])
    body = [cell for row in rows[1:] for cell in row[1:]]
    return named or (bool(body) and all(state_of(cell) is not None for cell in body))


def ambiguous_cells(rows: list[list[str]], separator: str) -> Iterator[int | None]:
    """Yield for each row the first cell that may be something else than a picture and its tags.

    None where the row can only be a picture followed by its tags, without a header.
    """
    others = [other for other in SEPARATORS if other != separator]
    clear: set[str] = {""}
    for row in rows:
        ambiguous = 0 if named_format(row[0].strip()) is None else None
        for place, cell in enumerate(row[1:], 1):
            if cell in clear or ambiguous is not None:
                continue
            if _may_be_state(cell) or any(other in cell for other in others):
                ambiguous = place
            else:
                clear.add(cell)
        yield ambiguous


def _may_be_state(cell: str) -> bool:
    return bool(cell.strip()) and (state_of(cell) is not None or _is_number(cell))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
