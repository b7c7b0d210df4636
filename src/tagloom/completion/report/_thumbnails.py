"""Small copies of the pictures, made once."""

import hashlib
import io
import os
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tagloom.files import written_whole
from tagloom.progress import progress_bar
from tagloom.vision.pictures import PictureError, decode, decoders_quiet

SIDE = 240
_QUALITY = 72
# Raised whenever the same picture comes to give another thumbnail.
_PROTOCOL = 1
# As many thumbnails at most wait in memory for being written.
_BATCH = 256


def write_thumbnails(
    photos: Path, items: Sequence[str], folder: Path, *, show_progress: bool = False
) -> list[str]:
    """Write ``<two digits>/<digest>.jpg`` for each item, and return the digests.

    The digest is of the picture's name, size and time of change: a file of that name is kept, so
    that a second report is quick. The digest is empty where there is no picture to show.
    """
    root = photos.resolve()
    digests = [_digest(root, item) for item in items]
    missing = {
        digest: item
        for digest, item in zip(digests, items, strict=True)
        if digest and not thumbnail_path(folder, digest).is_file()
    }
    broken = _make(root, missing, folder, show_progress)
    return ["" if digest in broken else digest for digest in digests]


def thumbnail_path(folder: Path, digest: str) -> Path:
    """Return where a thumbnail lies; two digits make folders that no file manager chokes on."""
    return folder / digest[:2] / f"{digest}.jpg"


def _digest(root: Path, item: str) -> str:
    """Name a picture by what tells that it is unchanged; nothing if it is not to be looked at.

    As in the search for pictures, links to files are followed and links to folders are not; no
    name leads out of the folder.
    """
    path = root / item
    try:
        inside = path.parent.resolve().is_relative_to(root) and path.name not in ("", "..")
        facts = path.stat() if inside else None
    except (OSError, ValueError, RuntimeError):
        return ""
    # Opening a pipe would wait for somebody to write to it.
    if facts is None or not stat.S_ISREG(facts.st_mode):
        return ""
    said = f"{_PROTOCOL}\0{facts.st_size}\0{facts.st_mtime_ns}\0{item}"
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _make(root: Path, missing: dict[str, str], folder: Path, show_progress: bool) -> set[str]:
    """Make thumbnails and return the digests of those that could not be made."""
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
                    _write(thumbnail_path(folder, digest), content)
                step()
    return broken


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as part:
        part.write_bytes(content)


def _thumbnail(root: Path, item: str) -> bytes | None:
    """Return a JPEG whose longest side is `SIDE` at most; None if the file gives no picture."""
    try:
        # Half the side is enough to ask for: the decoder keeps twice as much.
        picture = decode((root / item).read_bytes(), needed=SIDE // 2)
    except (PictureError, OSError):
        return None
    picture.thumbnail((SIDE, SIDE))
    stream = io.BytesIO()
    # Nothing else of the original, its EXIF data say, goes into the copy.
    picture.save(stream, format="JPEG", quality=_QUALITY, optimize=True)
    return stream.getvalue()
