"""Read tags from whatever a user has."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tagloom.checks import check_choice
from tagloom.errors import InvalidInputError
from tagloom.formats.gathering import Reading
from tagloom.formats.registry import FORMATS, Format


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
