"""Open pictures of the collection, and nothing that lies outside."""

import os
import stat
from pathlib import Path

_LARGEST = 1 << 29


class OutsideError(Exception):
    """A name that leads out of the collection."""


def picture_file(photos: Path, name: str) -> Path:
    """Return where a picture really lies, with all links resolved.

    Raises
    ------
    OutsideError
        If that is not in the folder of the collection.
    OSError
        If it does not lie anywhere.
    """
    try:
        real = (photos / name).resolve(strict=True)
    except (ValueError, RuntimeError):
        raise OutsideError(name) from None
    if not real.is_relative_to(photos.resolve()):
        raise OutsideError(name)
    return real


def opened_inside(photos: Path, name: str) -> int:
    """Open a picture of the collection to read, and return its descriptor.

    The way is looked up once more after the file was opened, so that a link that took its place in
    between is noticed.
    """
    real = picture_file(photos, name)
    # Opening a pipe would wait for somebody to write to it.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(real, flags | getattr(os, "O_BINARY", 0))
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST:
            raise OSError(f"{name} is no file of a picture's size")
        if picture_file(photos, name) != real or not os.path.samestat(facts, os.stat(real)):
            raise OutsideError(name)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_inside(photos: Path, name: str) -> bytes:
    """Return the content of a picture of the collection."""
    with os.fdopen(opened_inside(photos, name), "rb") as stream:
        return stream.read(_LARGEST)
