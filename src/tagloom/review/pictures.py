"""Small and middling views of pictures, upright, made when they are asked for."""

import hashlib
import io
import os
import stat
import threading
from contextlib import suppress
from pathlib import Path

from tagloom.errors import UnwritableFileError
from tagloom.io import atomic_write
from tagloom.vision.pictures import (
    HEIC_FORMAT,
    SIGNATURE_LENGTH,
    PictureError,
    decode,
    picture_format,
)

# §§ inside
# Open pictures of the collection, and nothing that lies outside.


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
        metadata = os.fstat(descriptor)
        if not stat.S_ISREG(metadata.st_mode) or metadata.st_size > _LARGEST:
            raise OSError(f"{name} is no file of a picture's size")
        if picture_file(photos, name) != real or not os.path.samestat(metadata, os.stat(real)):
            raise OutsideError(name)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_inside(photos: Path, name: str) -> bytes:
    """Return the content of a picture of the collection."""
    with os.fdopen(opened_inside(photos, name), "rb") as stream:
        return stream.read(_LARGEST)


# §§ main thumbs


SIZES = (160, 320)
VIEW_SIZE = 1600
PLACEHOLDER = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3" role="img">'
    b"<title>This picture cannot be read</title>"
    b'<path fill="#8888" d="M0 0h4v3H0z"/><path fill="none" stroke="#888" stroke-width=".1" '
    b'd="M1 .8h2v1.4H1zM1 2.2l2-1.4"/></svg>'
)
_QUALITY = {160: 80, 320: 80, VIEW_SIZE: 88}
_ORIENTATION_TAG = 0x0112


class Thumbnails:
    """Views of the pictures of a folder; small ones are kept on disk, and may be thrown away."""

    def __init__(self, photos: Path, cache: Path) -> None:
        self._photos, self._cache = photos, cache
        # Every picture that is being decoded lies in memory as a whole.
        self._turn = threading.BoundedSemaphore(max(2, os.cpu_count() or 2))

    def mark(self, name: str, size: int) -> str:
        """Return what tells this view of this file from any other, of another time as well.

        Raises OutsideError for a name that leads out of the folder, OSError where nothing is.
        """
        metadata = picture_file(self._photos, name).stat()
        what = f"{name}\0{metadata.st_mtime_ns}\0{metadata.st_size}\0{size}"
        return hashlib.sha256(what.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def view(self, name: str, size: int, mark: str) -> bytes:
        """Return a JPEG whose sides are at most `size`; PictureError for what is no picture."""
        path = self._cache / mark[:2] / f"{mark}.jpg"
        if size in SIZES:
            with suppress(OSError):
                return path.read_bytes()
        with self._turn:
            made = self._made(name, size)
        if size in SIZES:
            # A full disk makes the page slow, not blind.
            with suppress(OSError, UnwritableFileError):
                path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(path) as part:
                    part.write_bytes(made)
        return made

    def _made(self, name: str, size: int) -> bytes:
        picture = decode(read_inside(self._photos, name), needed=size)
        picture.thumbnail((size, size))
        content = io.BytesIO()
        picture.save(content, "JPEG", quality=_QUALITY[size])
        return content.getvalue()

    def size_of(self, name: str) -> tuple[int, int] | None:
        """Return width and height of the upright picture, from its first bytes."""
        from PIL import Image

        try:
            with os.fdopen(opened_inside(self._photos, name), "rb") as stream:
                kind = picture_format(stream.read(SIGNATURE_LENGTH))
                stream.seek(0)
                # Only the decoder that the first bytes call for is let near the file.
                picture = Image.open(stream, formats=["HEIF" if kind == HEIC_FORMAT else str(kind)])
                width, height = picture.size
                turned = int(picture.getexif().get(_ORIENTATION_TAG, 1)) in (5, 6, 7, 8)
                return (height, width) if turned else (width, height)
        except Exception:  # damaged files make decoders raise nearly everything
            return None


__all__ = ["PLACEHOLDER", "SIZES", "VIEW_SIZE", "PictureError", "Thumbnails"]
