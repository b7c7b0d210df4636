"""From the bytes of a file to an upright RGB picture, or to the reason why not.

What a picture looks like is decided here once and for all:

- the orientation in its EXIF data is applied;
- transparency lies on white;
- 16-bit values are scaled to 8 bits, 32-bit ones stretched from their least to their greatest;
- of an animation, a burst or a document with pages, the first picture counts;
- colour profiles are not applied.
"""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import TagloomError
from tagloom.vision.extras import import_extra
from tagloom.vision.signatures import HEIC_FORMAT, picture_format

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 89_478_485
# Raised whenever the same file comes to give other pixels.
DECODING_PROTOCOL = 1
_ORIENTATION_TAG = 0x0112
# A JPEG may be decoded at 1/2, 1/4 or 1/8 of its size. It is, if what remains has at least this
# many times the pixels per side that are needed; the rule looks at nothing but the picture.
_SPARE_DETAIL = 2


class PictureError(TagloomError, ValueError):
    """A file that gives no picture; the message is the reason."""


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
        Larger pictures are refused before any of their pixels is unpacked.

    Raises
    ------
    PictureError
        If the bytes are no picture, a damaged one or too large a one.
    """
    if not content:
        raise PictureError("the file is empty")
    try:
        return _decode(content, needed, max_pixels)
    except (PictureError, KeyboardInterrupt):
        raise
    except MemoryError as problem:
        raise PictureError("there is not enough memory to decode it") from problem
    except Exception as problem:  # damaged files make decoders raise nearly everything
        raise PictureError(_reason(problem, content)) from problem


@contextmanager
def decoders_quiet() -> Iterator[None]:
    """Keep the decoders' remarks on odd files off the screen; what matters becomes a reason."""
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
    # Only the decoder that the first bytes call for is let near the file.
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
        return _upright(as_rgb(opened), _orientation(opened))


def _skip_detail(opened: "Image", needed: int) -> None:
    """Let the JPEG decoder leave out detail that would be averaged away anyway."""
    shorter = min(opened.size)
    wanted = needed * _SPARE_DETAIL
    if shorter >= 2 * wanted:
        scale = shorter / wanted
        opened.draft(None, (int(opened.width / scale), int(opened.height / scale)))


def as_rgb(picture: "Image") -> "Image":
    """Bring a picture of any mode to RGB as the module's docstring says."""
    from PIL import Image

    if picture.mode.startswith("I;16"):
        # 65535 / 257 is 255: white stays white, and nothing is cut off.
        shades = np.asarray(picture).astype(np.float64) / 257
        return Image.fromarray(np.rint(shades).astype(np.uint8)).convert("RGB")
    if picture.mode in ("I", "F"):
        return _stretched(picture)
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        ground = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(ground, layer).convert("RGB")
    return picture if picture.mode == "RGB" else picture.convert("RGB")


def _stretched(picture: "Image") -> "Image":
    from PIL import Image

    values = np.asarray(picture).astype(np.float64)
    values = np.where(np.isfinite(values), values, 0.0)
    least, greatest = values.min(), values.max()
    span = greatest - least if greatest > least else 1.0
    shades = np.rint((values - least) / span * 255)
    return Image.fromarray(shades.astype(np.uint8)).convert("RGB")


def _orientation(opened: "Image") -> int:
    try:
        return int(opened.getexif().get(_ORIENTATION_TAG, 1))
    except Exception:  # EXIF data are often damaged where the picture is fine
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
    detail = str(problem).strip().split("\n")[0]
    if "truncated" in detail.lower():
        return f"it is a {kind} that is cut short"
    return f"it is a damaged {kind} ({type(problem).__name__}: {detail})"
