"""The blocks of a picture file that may hold keywords, found without reading its pixels."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from tagloom.errors import InvalidInputError
from tagloom.formats.iptc import photoshop_iptc
from tagloom.formats.tiff_blocks import tiff_values
from tagloom.vision.signatures import SIGNATURE_LENGTH, picture_format

LARGEST_BLOCK = 16 * 2**20
_JPEG_STARTS = {
    0xE1: ("xmp", b"http://ns.adobe.com/xap/1.0/\0"),
    0xED: ("photoshop", b"Photoshop 3.0\0"),
}
_PNG_XMP = b"XML:com.adobe.xmp\0"
_TIFF_NAMES = {700: "xmp", 33723: "iptc"}


@dataclass
class Blocks:
    """What a picture holds: XMP packets, IPTC records, and why there may be more of them."""

    xmp: list[bytes] = field(default_factory=list)
    iptc: list[bytes] = field(default_factory=list)
    problem: str = ""


def picture_blocks(stream: IO[bytes]) -> Blocks:
    """Return the blocks of a JPEG, PNG, TIFF or WebP, none for other files.

    A file that is cut short, or says something impossible, yields what comes before that.
    """
    kind = picture_format(stream.read(SIGNATURE_LENGTH)) or ""
    blocks = Blocks()
    resources: list[bytes] = []
    total = 0
    try:
        for name, data in _READERS.get(kind, _nothing)(stream):
            total += len(data)
            if total > LARGEST_BLOCK:
                raise InvalidInputError(f"the {kind} holds too many blocks of keywords")
            {"xmp": blocks.xmp, "iptc": blocks.iptc, "photoshop": resources}[name].append(data)
    except InvalidInputError as problem:
        blocks.problem = str(problem)
    except (struct.error, zlib.error, EOFError) as problem:
        blocks.problem = f"the {kind} is damaged or cut short ({problem})"
    # Resources that are too large for one segment go on in the next.
    record = photoshop_iptc(b"".join(resources))
    if record:
        blocks.iptc.append(record)
    return blocks


def exactly(stream: IO[bytes], size: int) -> bytes:
    """Read so many bytes, neither more than a block may have nor fewer than were asked for."""
    if size > LARGEST_BLOCK:
        raise InvalidInputError(f"a block of keywords claims {size} bytes")
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the file ends too early")
    return data


def _nothing(_: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    return iter(())


def _tiff(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    for tag, data in tiff_values(stream, _TIFF_NAMES, LARGEST_BLOCK):
        yield _TIFF_NAMES[tag], data


def _jpeg(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    for marker, size in _jpeg_segments(stream):
        after = stream.tell() + size
        name, start = _JPEG_STARTS.get(marker, ("", b""))
        # Extended XMP, which starts otherwise, holds what has no room: depth maps, not keywords.
        if name and size > len(start) and exactly(stream, len(start)) == start:
            yield name, exactly(stream, size - len(start))
        stream.seek(after)


def _jpeg_segments(stream: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Yield marker and size of each segment before the pixels, the stream at its first byte."""
    stream.seek(2)
    while True:
        first = exactly(stream, 2)
        if first[0] != 0xFF:
            raise InvalidInputError(f"the JPEG has no marker at byte {stream.tell() - 2}")
        marker = first[1]
        while marker == 0xFF:
            marker = exactly(stream, 1)[0]
        if marker in (0xD9, 0xDA):
            return
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:
            continue
        (size,) = struct.unpack(">H", exactly(stream, 2))
        if size < 2:
            raise InvalidInputError(f"the JPEG has a segment of {size} bytes")
        yield marker, size - 2


def _png(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    stream.seek(8)
    while True:
        size, kind = struct.unpack(">I4s", exactly(stream, 8))
        if kind == b"IEND":
            return
        after = stream.tell() + size + 4
        may_be = kind == b"iTXt" and size > len(_PNG_XMP)
        if may_be and exactly(stream, len(_PNG_XMP)) == _PNG_XMP:
            yield "xmp", _png_packet(exactly(stream, size - len(_PNG_XMP)))
        stream.seek(after)


def _png_packet(data: bytes) -> bytes:
    """Return the text of an iTXt: compression, method, language, translated keyword, text."""
    if len(data) < 4:
        raise EOFError("an iTXt is too short")
    compressed = data[0]
    _, _, rest = data[2:].partition(b"\0")
    _, _, text = rest.partition(b"\0")
    if not compressed:
        return text
    unpacker = zlib.decompressobj()
    packet = unpacker.decompress(text, LARGEST_BLOCK)
    if not unpacker.eof:
        raise InvalidInputError("an iTXt is cut short, or too large when unpacked")
    return packet


def _webp(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    stream.seek(4)
    end = 8 + struct.unpack("<I", exactly(stream, 4))[0]
    stream.seek(12)
    while stream.tell() + 8 <= end:
        kind, size = struct.unpack("<4sI", exactly(stream, 8))
        after = stream.tell() + size + size % 2
        if kind == b"XMP ":
            yield "xmp", exactly(stream, size)
        stream.seek(after)


_READERS = {"JPEG": _jpeg, "PNG": _png, "TIFF": _tiff, "WEBP": _webp}
