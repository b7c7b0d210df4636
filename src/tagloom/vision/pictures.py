"""Pictures in files: recognising, decoding and finding them.

Decoding follows the same rules everywhere:

- the orientation in its EXIF data is applied;
- transparent pixels are blended with white;
- 16-bit values are scaled to 8 bits, 32-bit ones stretched from their minimum to their maximum;
- of an animation, a burst or a document with pages, the first picture is used;
- colour profiles are not applied.
"""

import io
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError, TagloomError, first_line, import_extra
from tagloom.io import natural_order

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 89_478_485
MAX_FILE_BYTES = 2**30
# Pixels that are converted at a time; wider types would need many times the memory of the picture.
_PIXELS_AT_ONCE = 1 << 20
# Raised whenever a file is decoded to other pixels than before.
DECODING_PROTOCOL = 1
_ORIENTATION_TAG = 0x0112
# A JPEG may be decoded at 1/2, 1/4 or 1/8 of its size. It is, if what remains has at least this
# many times the pixels per side that are needed; the rule depends on the picture alone.
_SPARE_DETAIL = 2
HEIC_FORMAT = "HEIC"
SIGNATURE_LENGTH = 16
_STARTS = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"II+\x00", "TIFF"),
    (b"MM\x00+", "TIFF"),
)
_HEIC_BRANDS = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1")
_SUFFIXES = {
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".jpe": "JPEG",
    ".jfif": "JPEG",
    ".png": "PNG",
    ".apng": "PNG",
    ".webp": "WEBP",
    ".gif": "GIF",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".bmp": "BMP",
    ".heic": HEIC_FORMAT,
    ".heif": HEIC_FORMAT,
}


def picture_format(start: bytes) -> str | None:
    """Return the format of a file that begins with these bytes, None if it is not a picture.

    >>> picture_format(b"GIF89a...")
    'GIF'
    """
    for signature, kind in _STARTS:
        if start.startswith(signature):
            return kind
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "WEBP"
    if start[4:8] == b"ftyp" and start[8:12] in _HEIC_BRANDS:
        return HEIC_FORMAT
    # Two letters prove little, so the reserved zeros of the header are checked as well.
    if start[:2] == b"BM" and len(start) >= 10 and start[6:10] == b"\x00\x00\x00\x00":
        return "BMP"
    return None


def named_format(name: str) -> str | None:
    """Return the format that a file's suffix stands for, None if it is not that of a picture.

    >>> named_format("holiday/IMG_1.JPG")
    'JPEG'
    """
    return _SUFFIXES.get(PurePath(name).suffix.lower())


class PictureError(TagloomError, ValueError):
    """A file that cannot be decoded; the message is the reason."""


def read_picture(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file, which is never read beyond its size.

    Raises PictureError for a file that is empty, too large or not a regular file; OSError where it
    cannot be opened.
    """
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as stream:
        return read_opened(stream)


def read_opened(stream: IO[bytes]) -> bytes:
    """Return the content of an open file, under the rules of `read_picture`."""
    status = os.fstat(stream.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise PictureError("it is not a regular file")
    size = status.st_size
    if size > MAX_FILE_BYTES:
        raise PictureError(f"the file has {size:,} bytes, more than {MAX_FILE_BYTES:,}")
    # Files of the kernel, in /proc, have size 0; some would block, others never end.
    content = stream.read(size) if size else b""
    if not content:
        raise PictureError("the file is empty")
    return content


def decode(content: bytes, *, needed: int | None = None, max_pixels: int = MAX_PIXELS) -> "Image":
    """Decode the bytes of a file to an upright RGB picture.

    Parameters
    ----------
    content
        The whole file.
    needed
        Length that the shorter side has to keep. A JPEG that is far larger is decoded at a
        fraction of its size, which is several times as fast. None decodes in full.
    max_pixels
        Larger pictures are refused before any pixel is decoded.

    Raises
    ------
    PictureError
        If the bytes are not a picture, or a damaged or too large one.
    """
    if not content:
        raise PictureError("the file is empty")
    try:
        return _decode(content, needed, max_pixels)
    except (PictureError, KeyboardInterrupt):
        raise
    except MemoryError as problem:
        raise PictureError("there is not enough memory to decode it") from problem
    except Exception as problem:  # damaged files make decoders raise nearly anything
        raise PictureError(_reason(problem, content)) from problem


@contextmanager
def decoders_quiet() -> Iterator[None]:
    """Silence the decoders' warnings about odd files; real problems become reasons."""
    image = import_extra("PIL.Image", purpose="Reading pictures")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        warnings.simplefilter("error", image.DecompressionBombWarning)
        yield


def _decode(content: bytes, needed: int | None, max_pixels: int) -> "Image":
    image = import_extra("PIL.Image", purpose="Reading pictures")
    kind = picture_format(content)
    if kind is None:
        raise PictureError("it is not a picture of a known format")
    if kind == HEIC_FORMAT and not _heic_ready():
        raise PictureError("HEIC needs an extra: pip install 'tagloom[heic]'")
    # Only the decoder that matches the first bytes may open the file.
    decoder = "HEIF" if kind == HEIC_FORMAT else kind
    with image.open(io.BytesIO(content), formats=[decoder]) as opened:
        width, height = opened.size
        if width * height > max_pixels:
            raise PictureError(
                f"it has {width} x {height} pixels, more than the limit of {max_pixels:,}"
            )
        if needed is not None and kind == "JPEG":
            _skip_detail(opened, needed)
        opened.load()
        converted, orientation = as_rgb(opened), _orientation(opened)
    del opened  # and its pixels, before they are turned
    return _upright(converted, orientation)


def _skip_detail(opened: "Image", needed: int) -> None:
    """Let the JPEG decoder skip detail that would be averaged away anyway."""
    shorter = min(opened.size)
    wanted = needed * _SPARE_DETAIL
    if shorter >= 2 * wanted:
        scale = shorter / wanted
        opened.draft(None, (int(opened.width / scale), int(opened.height / scale)))


def as_rgb(picture: "Image") -> "Image":
    """Convert a picture of any mode to RGB by the rules of this module.

    Besides the picture and the result it needs memory for a strip of rows.
    """
    if picture.mode.startswith("I;16"):
        # 65535 / 257 is 255: white stays white, and nothing is clipped.
        return _in_strips(picture, lambda strip: _shades(_values(strip) / 257))
    if picture.mode in ("I", "F"):
        extremes = [(v.min(), v.max()) for v in map(_values, _strips(picture))]
        low, high = min(one[0] for one in extremes), max(one[1] for one in extremes)
        span = high - low if high > low else 1.0
        return _in_strips(picture, lambda strip: _shades((_values(strip) - low) / span * 255))
    if picture.has_transparency_data:
        return _in_strips(picture, _on_white)
    if picture.mode == "RGB":
        return picture
    return _in_strips(picture, lambda strip: strip.convert("RGB"))


def _in_strips(picture: "Image", convert: Callable[["Image"], "Image"]) -> "Image":
    """Return an RGB picture, converted strip by strip."""
    from PIL import Image

    result, top = Image.new("RGB", picture.size), 0
    for strip in _strips(picture):
        result.paste(convert(strip), (0, top))
        top += strip.height
    return result


def _strips(picture: "Image") -> Iterator["Image"]:
    """Yield the picture from top to bottom, some rows at a time."""
    step = max(1, _PIXELS_AT_ONCE // max(1, picture.width))
    for top in range(0, picture.height, step):
        yield picture.crop((0, top, picture.width, min(top + step, picture.height)))


def _values(strip: "Image") -> NDArray[np.float64]:
    values = np.asarray(strip).astype(np.float64)
    return np.where(np.isfinite(values), values, 0.0)


def _shades(values: NDArray[np.float64]) -> "Image":
    from PIL import Image

    return Image.fromarray(np.rint(values).astype(np.uint8))


def _on_white(strip: "Image") -> "Image":
    from PIL import Image

    layer = strip.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")


def _orientation(opened: "Image") -> int:
    try:
        return int(opened.getexif().get(_ORIENTATION_TAG, 1))
    except Exception:  # EXIF data are often damaged in intact pictures
        return 1


def _upright(picture: "Image", orientation: int) -> "Image":
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return picture.transpose(turns[orientation]) if orientation in turns else picture


@cache
def _heic_ready() -> bool:
    try:
        from pillow_heif import register_heif_opener
    except ImportError:
        return False
    register_heif_opener()
    return True


def _reason(problem: Exception, content: bytes) -> str:
    kind = picture_format(content)
    if type(problem).__name__.startswith("DecompressionBomb"):
        return f"it has more pixels than the limit of {MAX_PIXELS:,}"
    if type(problem).__name__ == "UnidentifiedImageError":
        return f"it is a {kind} that is damaged or of a kind that cannot be decoded"
    detail = first_line(problem)
    if "truncated" in detail.lower():
        return f"it is a {kind} that is cut short"
    return f"it is a damaged {kind} ({type(problem).__name__}: {detail})"


@dataclass(frozen=True)
class Skipped:
    """A file or folder that was left out, and why."""

    item: str
    reason: str


@dataclass(frozen=True)
class Found:
    """The contents of a folder; every entry is in exactly one of the three lists."""

    pictures: list[str] = field(default_factory=list)
    """Files that are pictures by their name or by their first bytes."""
    others: list[str] = field(default_factory=list)
    """Other files."""
    skipped: list[Skipped] = field(default_factory=list)
    """What could not be read."""


def find_pictures(folder: str | os.PathLike[str]) -> Found:
    """Search a folder and all folders in it.

    Items are paths relative to the folder, with forward slashes, in natural order: 2.jpg is before
    10.jpg. Links to files are followed, links to folders are not: they may form cycles.
    """
    root = Path(folder)
    if not root.is_dir():
        state = "is not a folder" if root.exists() else "does not exist"
        raise InvalidInputError(f"{root} {state}. Expected a folder with pictures.")
    found = Found()
    for item, entry in _walk(str(root), "", found.skipped):
        _sort_in(found, item, entry)
    found.pictures.sort(key=natural_order)
    found.others.sort(key=natural_order)
    found.skipped.sort(key=lambda skipped: natural_order(skipped.item))
    return found


def _walk(folder: str, prefix: str, skipped: list[Skipped]) -> Iterator[tuple[str, str]]:
    """Yield item and path of everything that is not a folder, without recursion."""
    pending = [(folder, prefix)]
    while pending:
        here, prefix = pending.pop()
        try:
            with os.scandir(here) as entries:
                listed = list(entries)
        except OSError as problem:
            skipped.append(Skipped(prefix or ".", f"the folder cannot be read: {_cause(problem)}"))
            continue
        for entry in listed:
            item = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, item + "/"))
            else:
                yield item, entry.path


def _sort_in(found: Found, item: str, path: str) -> None:
    try:
        status = os.stat(path)
        kind = status.st_mode
        if stat.S_ISDIR(kind):
            reason = "it is a link to a folder; links to folders are not followed"
            found.skipped.append(Skipped(item, reason))
        elif not stat.S_ISREG(kind):
            # Opening a pipe would block until something is written to it.
            found.skipped.append(Skipped(item, "it is not a regular file"))
        elif status.st_size == 0 and os.path.islink(path):
            # Files of the kernel, in /proc, claim to be empty; reading one may block.
            found.skipped.append(Skipped(item, "the file is empty"))
        elif _looks_like_picture(item, path):
            found.pictures.append(item)
        else:
            found.others.append(item)
    except OSError as problem:
        found.skipped.append(Skipped(item, f"it cannot be read: {_cause(problem)}"))


def _looks_like_picture(item: str, path: str) -> bool:
    if named_format(item) is not None:
        return True
    with open(path, "rb") as stream:
        return picture_format(stream.read(SIGNATURE_LENGTH)) is not None


def _cause(problem: OSError) -> str:
    return problem.strerror or type(problem).__name__
