"""Tell pictures from other files by their first bytes and by their names."""

from pathlib import PurePath

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
    """Name the format of a file that begins with these bytes, None if it is no picture.

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
    # Two letters say little, so the reserved zeros of the header are asked for as well.
    if start[:2] == b"BM" and len(start) >= 10 and start[6:10] == b"\x00\x00\x00\x00":
        return "BMP"
    return None


def named_format(name: str) -> str | None:
    """Name the format that a file's ending promises, None if it promises no picture.

    >>> named_format("holiday/IMG_1.JPG")
    'JPEG'
    """
    return _SUFFIXES.get(PurePath(name).suffix.lower())
