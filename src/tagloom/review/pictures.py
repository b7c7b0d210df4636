"""Thumbnails and screen-sized versions of the pictures, made on request.

Only files inside the folder of the collection are ever opened.
"""

import hashlib
import io
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tagloom.errors import UnwritableFileError
from tagloom.io import atomic_write
from tagloom.vision.pictures import (
    HEIC_FORMAT,
    SIGNATURE_LENGTH,
    PictureError,
    decode,
    picture_format,
    read_opened,
)

__all__ = [
    "PLACEHOLDER",
    "SIZES",
    "VIEW_SIZE",
    "ZOOM_SIZE",
    "OutsideError",
    "PictureError",
    "Thumbnails",
]

SIZES = (160, 320)
VIEW_SIZE = 1600
ZOOM_SIZE = 4096
PLACEHOLDER = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3" role="img">'
    b"<title>This picture cannot be read</title>"
    b'<path fill="#8888" d="M0 0h4v3H0z"/><path fill="none" stroke="#888" stroke-width=".1" '
    b'd="M1 .8h2v1.4H1zM1 2.2l2-1.4"/></svg>'
)
_QUALITY = {160: 80, 320: 80, VIEW_SIZE: 88, ZOOM_SIZE: 90}
_ORIENTATION_TAG = 0x0112
_MAX_BYTES = 1 << 29
_MARK_LENGTH = 12


class OutsideError(Exception):
    """A name that leads out of the folder of the collection."""


class Thumbnails:
    """Downscaled, upright pictures of a folder; thumbnails are cached on disk."""

    def __init__(self, photos: Path, cache: Path) -> None:
        self._photos, self._cache = photos, cache
        # Each picture that is being decoded is held in memory in full.
        self._decoders = threading.BoundedSemaphore(max(2, os.cpu_count() or 2))

    def digest(self, name: str, size: int) -> str:
        """Return a digest of the name, modification time and size of a file, and of `size`.

        Raises OutsideError for a name that leads out of the folder, OSError for a missing file.
        """
        return _digest(name, picture_file(self._photos, name).stat(), size)[:32]

    def marks(self, names: Iterable[str]) -> list[str]:
        """Return a short mark of the content of each picture, which its address carries.

        Another picture under the same number has another address: no browser confuses them. A
        picture that is missing has no mark.
        """
        return [self._mark(name) for name in names]

    def _mark(self, name: str) -> str:
        try:
            status = os.stat(self._photos / name)
        except (OSError, ValueError):
            return ""
        return _digest(name, status)[:_MARK_LENGTH]

    def jpeg(self, name: str, size: int, digest: str) -> bytes:
        """Return a JPEG whose sides are at most `size`; PictureError if it cannot be decoded."""
        path = self._cache / digest[:2] / f"{digest}.jpg"
        if size in SIZES:
            with suppress(OSError):
                return self._cached(path)
        with self._decoders:
            made = self._downscaled(name, size)
        if size in SIZES:
            # With a full disk the page is slower, and still works.
            with suppress(OSError, UnwritableFileError):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._refuse_links(path)
                with atomic_write(path) as part:
                    part.write_bytes(made)
        return made

    def _cached(self, path: Path) -> bytes:
        """Return a thumbnail from the cache; a link that somebody put there is not followed."""
        self._refuse_links(path)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"{path} is not a regular file")
            return stream.read()

    def _refuse_links(self, path: Path) -> None:
        if any(place.is_symlink() for place in (self._cache, path.parent, path)):
            raise OSError(f"{path} leads through a link")

    def _downscaled(self, name: str, size: int) -> bytes:
        picture = decode(read_inside(self._photos, name), needed=size)
        picture.thumbnail((size, size))
        content = io.BytesIO()
        picture.save(content, "JPEG", quality=_QUALITY[size])
        return content.getvalue()

    def size_of(self, name: str) -> tuple[int, int] | None:
        """Return the width and height of the upright picture; None if it cannot be read."""
        try:
            with opened_picture(self._photos, name) as picture:
                width, height = picture.size
                turned = int(picture.getexif().get(_ORIENTATION_TAG, 1)) in (5, 6, 7, 8)
                return (height, width) if turned else (width, height)
        except Exception:  # damaged files make decoders raise nearly everything
            return None


def _digest(name: str, status: os.stat_result, *more: int) -> str:
    key = "\0".join(map(str, (name, status.st_mtime_ns, status.st_size, *more)))
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def picture_file(photos: Path, name: str) -> Path:
    """Return the real path of a picture, with all links resolved.

    Raises
    ------
    OutsideError
        If it is not inside the folder of the collection.
    OSError
        If there is no such file.
    """
    try:
        real = (photos / name).resolve(strict=True)
    except (ValueError, RuntimeError):
        raise OutsideError(name) from None
    if not real.is_relative_to(photos.resolve()):
        raise OutsideError(name)
    return real


def open_inside(photos: Path, name: str) -> int:
    """Open a picture of the collection for reading, and return its descriptor.

    The path is resolved again after opening, to notice a file that was replaced by a link.
    """
    real = picture_file(photos, name)
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(real, flags | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
            raise OSError(f"{name} is not a regular file of at most {_MAX_BYTES:,} bytes")
        if picture_file(photos, name) != real or not os.path.samestat(status, os.stat(real)):
            raise OutsideError(name)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def opened_picture(photos: Path, name: str) -> Iterator[Any]:
    """Yield a picture of the collection as Pillow opens it: its header is read, no pixel yet."""
    from PIL import Image

    with os.fdopen(open_inside(photos, name), "rb") as stream:
        kind = picture_format(stream.read(SIGNATURE_LENGTH))
        stream.seek(0)
        # Pillow may only use the decoder that the signature calls for.
        yield Image.open(stream, formats=["HEIF" if kind == HEIC_FORMAT else str(kind)])


def read_inside(photos: Path, name: str) -> bytes:
    """Return the content of a picture of the collection."""
    with os.fdopen(open_inside(photos, name), "rb") as stream:
        return read_opened(stream)
