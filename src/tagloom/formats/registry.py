"""All formats that can be read.

To add a format, write one file with a reader and a `FORMAT` that describes it, such as
`interchange/fiftyone.py`, and add one line to `FORMATS` below. Nothing else needs to know of it:
`read_tags`, the option `--format` and the error for unknown sources go by this list.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats.base import Format, Reading
from tagloom.formats.interchange import coco, fiftyone, label_studio, voc
from tagloom.formats.metadata import embedded, folders, sidecars
from tagloom.formats.tables import jsonl, long, tag_lists, wide
from tagloom.validation import check_choice

# The first format that detects a path reads it: strict formats come before lenient ones.
FORMATS: list[Format] = [
    coco.FORMAT,
    fiftyone.FORMAT,
    label_studio.FORMAT,
    voc.FORMAT,
    jsonl.FORMAT,
    tag_lists.FORMAT,
    long.FORMAT,
    tag_lists.BARE_FORMAT,
    wide.FORMAT,
    folders.KEYWORDS_FORMAT,
    sidecars.FORMAT,
    embedded.FORMAT,
    folders.FORMAT,
]


def read_tags(
    source: str | os.PathLike[str],
    *,
    pictures: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002 - the name a user looks for
) -> Reading:
    """Read the annotations in a file or folder.

    Parameters
    ----------
    source
        A file or folder in any known format; the format is detected from its content.
    pictures
        The folder of the pictures, for formats that need it.
    format
        The key of a format, to skip detection.

    Returns
    -------
    Reading
        The annotations, the detected format, and warnings about the input.
    """
    path = Path(source)
    if not path.exists():
        raise InvalidInputError(
            f"{path} does not exist. Expected a file or folder with tags: check its name."
        )
    chosen = detect_format(path) if format is None else _format_named(format)
    with _garbage_collection_paused():
        return chosen.read(path, None if pictures is None else Path(pictures))


def detect_format(path: Path) -> Format:
    """Return the first format that fits a path."""
    for one in FORMATS:
        if one.detect(path):
            return one
    expected = "; ".join(f"{one.key} ({one.expected})" for one in FORMATS)
    raise InvalidInputError(
        f"{path}: found no tags in any known format{_beginning(path)}. Expected one of: "
        f"{expected}. If it is one of them, force it with --format KEY (format=KEY in Python)."
    )


def _beginning(path: Path) -> str:
    if path.is_dir():
        return " in this folder"
    with path.open("rb") as stream:
        start = stream.read(60)
    return f"; it begins with {start!r}" if start else "; it is empty"


def _format_named(key: str) -> Format:
    check_choice("format", key, tuple(one.key for one in FORMATS))
    return next(one for one in FORMATS if one.key == key)


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Skip the search for reference cycles: readers make millions of small objects, and none."""
    was_running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_running:
            gc.enable()
