"""All formats that can be read; a new one is one more line."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats.annotations import Reading
from tagloom.formats.interchange.coco import is_coco, read_coco
from tagloom.formats.interchange.fiftyone import is_fiftyone, read_fiftyone
from tagloom.formats.interchange.label_studio import is_label_studio, read_label_studio
from tagloom.formats.interchange.voc import is_voc, read_voc
from tagloom.formats.metadata.embedded import has_embedded, read_embedded
from tagloom.formats.metadata.folders import TITLE as BOTH_TITLE
from tagloom.formats.metadata.folders import (
    has_both,
    has_folders,
    not_read_with_a_table,
    read_both,
    read_folders,
)
from tagloom.formats.metadata.sidecars import has_sidecars, read_sidecars
from tagloom.formats.tables import jsonl, long, tag_lists, wide
from tagloom.formats.tables.csv import (
    PICTURE,
    declared_separator,
    form_of,
    plain,
    sample_rows,
    sniffed_separator,
    state_of,
)
from tagloom.formats.tables.jsonl import parsed_object, picture_key
from tagloom.formats.tables.tag_lists import is_bare
from tagloom.formats.tables.text import Text, first_text
from tagloom.validation import check_choice

# §§ table_forms
# Tell tables and JSON lines apart by their first lines.


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


# §§ main registry


@dataclass(frozen=True)
class Format:
    """A format that can be recognised and read.

    Parameters
    ----------
    key
        How a user names it, as in `--format long-csv`.
    title
        How it is called in `Reading.format`.
    expected
        What it looks like, for the message that nothing was recognised.
    recognise
        Says by a cheap look at names and first bytes whether a path is of this format. It never
        raises.
    read
        Takes the path and the folder of the pictures, which may be None.
    """

    key: str
    title: str
    expected: str
    recognise: Callable[[Path], bool]
    read: Callable[[Path, Path | None], Reading]


def _of_table(reader: Callable[[Path], Reading]) -> Callable[[Path, Path | None], Reading]:
    def read(path: Path, pictures: Path | None) -> Reading:
        table = table_in(path) or path
        reading = reader(table)
        if path.is_dir():
            reading.warnings.extend(not_read_with_a_table(path, table))
        return reading

    return read


def _of_folder(
    tells: Callable[[Path], bool], reader: Callable[[Path], Reading]
) -> tuple[Callable[[Path], bool], Callable[[Path, Path | None], Reading]]:
    """Return how to recognise and read what stands in a folder of pictures itself."""

    def recognise(path: Path) -> bool:
        return path.is_dir() and tells(path)

    def read(path: Path, pictures: Path | None) -> Reading:
        return reader(path)

    return recognise, read


# The first format that recognises a path reads it: those that look closer stand before those that
# take nearly anything.
FORMATS: list[Format] = [
    Format(
        "coco",
        "COCO json",
        'an object with "images", "annotations" and "categories"',
        is_coco,
        read_coco,
    ),
    Format(
        "fiftyone",
        "FiftyOne labels.json",
        'an object with "classes" and "labels", or a folder with such a labels.json',
        is_fiftyone,
        read_fiftyone,
    ),
    Format(
        "label-studio",
        "Label Studio export",
        'a list of tasks with "data" and "annotations" or "predictions"',
        is_label_studio,
        read_label_studio,
    ),
    Format(
        "voc",
        "PASCAL VOC",
        "a folder with ImageSets/Main or Annotations",
        is_voc,
        read_voc,
    ),
    Format(
        "jsonl",
        jsonl.TITLE,
        'lines such as {"file_name": "a.jpg", "tags": ["sea"]}',
        is_jsonl,
        _of_table(jsonl.read_jsonl),
    ),
    Format(
        "tag-list-csv",
        tag_lists.TITLE,
        "a table with the columns file_name and tags",
        is_form("tags"),
        _of_table(tag_lists.read_tag_list_csv),
    ),
    Format(
        "long-csv",
        long.TITLE,
        "a table with the columns image, tag and, if it lists absences, state",
        is_form("long"),
        _of_table(long.read_long_csv),
    ),
    Format(
        "bare-tag-list-csv",
        tag_lists.BARE_TITLE,
        "rows a.jpg,sea,sky without a header",
        is_form("bare"),
        _of_table(tag_lists.read_bare_tag_list_csv),
    ),
    Format(
        "wide-csv",
        wide.TITLE,
        "a table with a column image and a column of 1, 0 or nothing for each tag",
        is_form("wide"),
        _of_table(wide.read_wide_csv),
    ),
    Format(
        "keywords",
        BOTH_TITLE,
        "a folder of pictures with keywords in both places",
        *_of_folder(has_both, read_both),
    ),
    Format(
        "xmp",
        "XMP sidecars",
        "a folder of pictures with files such as a.jpg.xmp beside them",
        *_of_folder(has_sidecars, read_sidecars),
    ),
    Format(
        "embedded",
        "keywords in pictures",
        "a folder of pictures that hold keywords (XMP dc:subject or IPTC)",
        *_of_folder(has_embedded, read_embedded),
    ),
    Format(
        "folders",
        "folder names",
        "a folder whose folders are named by what their pictures show",
        *_of_folder(has_folders, read_folders),
    ),
]


# §§ recognise
# Read tags from whatever a user has.


def read_tags(
    source: str | os.PathLike[str],
    *,
    pictures: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002 - the name a user looks for
) -> Reading:
    """Read what a file or folder says of pictures and tags.

    Parameters
    ----------
    source
        A file or folder of any format that is known; which one is found out by looking.
    pictures
        The folder of the pictures, for formats that need it.
    format
        The key of a format, to read the source as that and no other.

    Returns
    -------
    Reading
        What is said, the format in words, and an account of all that is odd.
    """
    path = Path(source)
    if not path.exists():
        raise InvalidInputError(
            f"{path} does not exist. Expected a file or folder with tags: check its name."
        )
    chosen = recognised(path) if format is None else _named(format)
    with _collector_paused():
        return chosen.read(path, None if pictures is None else Path(pictures))


def recognised(path: Path) -> Format:
    """Return the first format that recognises a path."""
    for one in FORMATS:
        if one.recognise(path):
            return one
    expected = "; ".join(f"{one.key} ({one.expected})" for one in FORMATS)
    raise InvalidInputError(
        f"{path}: found no tags in any format that is known{_first_line(path)}. Expected one of: "
        f"{expected}. If it is one of them, force it with --format KEY (format=KEY in Python)."
    )


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Spare the search for cycles: reading makes millions of small objects, none of them in one."""
    was_running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_running:
            gc.enable()


def _named(key: str) -> Format:
    check_choice("format", key, tuple(one.key for one in FORMATS))
    return next(one for one in FORMATS if one.key == key)


def _first_line(path: Path) -> str:
    if path.is_dir():
        return " in this folder"
    with path.open("rb") as stream:
        start = stream.read(60)
    return f"; it begins with {start!r}" if start else "; it is empty"
