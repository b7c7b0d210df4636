"""Small copies of the pictures for the report, made once."""

import hashlib
import io
import os
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tagloom.io import atomic_write
from tagloom.progress import progress_bar
from tagloom.vision.pictures import PictureError, decode, decoders_quiet

SIDE = 240
_QUALITY = 72
# Raised whenever the same picture gives another thumbnail than before.
_PROTOCOL = 1
# At most so many thumbnails wait in memory to be written.
_BATCH = 256


def write_thumbnails(
    photos: Path, items: Sequence[str], folder: Path, *, show_progress: bool = False
) -> list[str]:
    """Write ``<two digits>/<digest>.jpg`` for each item, and return the digests.

    The digest is of the picture's name, size and modification time: existing thumbnails are kept,
    so that a second report is quick. The digest is empty where there is no picture to show.
    """
    root = photos.resolve()
    digests = [_content_digest(root, item) for item in items]
    missing = {
        digest: item
        for digest, item in zip(digests, items, strict=True)
        if digest and not thumbnail_path(folder, digest).is_file()
    }
    broken = _make(root, missing, folder, show_progress)
    return ["" if digest in broken else digest for digest in digests]


def thumbnail_path(folder: Path, digest: str) -> Path:
    """Return the path of a thumbnail; folders by two digits stay small enough to browse."""
    return folder / digest[:2] / f"{digest}.jpg"


def _content_digest(root: Path, item: str) -> str:
    """Return a digest that changes with the picture; empty if the file must not be opened.

    As in the search for pictures, links to files are followed and links to folders are not; no
    name leads out of the folder.
    """
    path = root / item
    try:
        inside = path.parent.resolve().is_relative_to(root) and path.name not in ("", "..")
        metadata = path.stat() if inside else None
    except (OSError, ValueError, RuntimeError):
        return ""
    # Opening a pipe would block until something writes to it.
    if metadata is None or not stat.S_ISREG(metadata.st_mode):
        return ""
    content = f"{_PROTOCOL}\0{metadata.st_size}\0{metadata.st_mtime_ns}\0{item}"
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _make(root: Path, missing: dict[str, str], folder: Path, show_progress: bool) -> set[str]:
    """Make thumbnails and return the digests of those that failed."""
    if not missing:
        return set()
    broken = set()
    pending = list(missing)
    with (
        decoders_quiet(),
        ThreadPoolExecutor(os.cpu_count(), "tagloom-thumbnail") as makers,
        progress_bar(len(pending), "Thumbnails", show=show_progress, unit="pictures") as step,
    ):
        make = partial(_thumbnail, root)
        for start in range(0, len(pending), _BATCH):
            batch = pending[start : start + _BATCH]
            made = makers.map(make, (missing[digest] for digest in batch))
            for digest, content in zip(batch, made, strict=True):
                if content is None:
                    broken.add(digest)
                else:
                    path = thumbnail_path(folder, digest)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with atomic_write(path) as part:
                        part.write_bytes(content)
                step()
    return broken


def _thumbnail(root: Path, item: str) -> bytes | None:
    """Return a JPEG whose longest side is at most `SIDE`; None if the file holds no picture."""
    try:
        # Half the side is enough to request: the decoder keeps twice as much.
        picture = decode((root / item).read_bytes(), needed=SIDE // 2)
    except (PictureError, OSError):
        return None
    picture.thumbnail((SIDE, SIDE))
    stream = io.BytesIO()
    # Metadata of the original, such as EXIF, is not copied.
    picture.save(stream, format="JPEG", quality=_QUALITY, optimize=True)
    return stream.getvalue()
