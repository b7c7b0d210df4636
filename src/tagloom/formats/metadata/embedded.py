"""Keywords inside picture files: XMP and IPTC-IIM.

Pictures are only read, and never decoded: the blocks of a file are walked by their sizes, with
bounds on what is read, so that a damaged or hostile file costs little.
"""

import io
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from tagloom.errors import InvalidInputError
from tagloom.formats.base import Annotation, AnnotationBuilder, Format, Reading, normalize_name
from tagloom.formats.metadata.sidecars import select_pictures
from tagloom.formats.metadata.xmp import read_packet
from tagloom.formats.text import illegal_character
from tagloom.vision import find_pictures
from tagloom.vision.pictures import HEIC_FORMAT, SIGNATURE_LENGTH, picture_format

TITLE = "keywords in pictures"
_LARGEST_BLOCK = 16 * 2**20
_LARGEST_INDEX = 2**20
_JPEG_STARTS = {
    0xE1: ("xmp", b"http://ns.adobe.com/xap/1.0/\0"),
    0xED: ("photoshop", b"Photoshop 3.0\0"),
}
_PNG_XMP = b"XML:com.adobe.xmp\0"
_TIFF_NAMES = {700: "xmp", 33723: "iptc"}
_TIFF_TYPE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 6: 1, 7: 1, 8: 2, 9: 4}
_RESOURCE_IPTC = 0x0404
_CHARSET, _KEYWORD = (1, 90), (2, 25)
_UTF8 = b"\x1b%G"
# IPTC keywords have at most so many bytes; programs cut longer ones.
_LONGEST_KEYWORD = 64


def read_embedded(folder: str | os.PathLike[str], pictures: Iterable[str] | None = None) -> Reading:
    """Read the keywords in JPEG, PNG, TIFF, WebP and HEIC files.

    A damaged file gives a warning, and the keywords before the damage. The parameters are those of
    `read_sidecars`.
    """
    root = Path(folder)
    builder = AnnotationBuilder()
    for image in select_pictures(find_pictures(root), pictures):
        builder.images.setdefault(image)
        tags, problems = embedded_tags(root / image)
        for tag, confidence in tags.items():
            builder.add(Annotation(image, tag, confidence=confidence), image)
        for problem in problems:
            builder.warn(image, problem)
    return builder.finish(root, TITLE, lists_absences=False)


def has_embedded(folder: str | os.PathLike[str], sample: int = 200) -> bool:
    """Return whether any of `sample` pictures, spread over the folder, holds keywords."""
    root = Path(folder)
    pictures = find_pictures(root).pictures
    step = max(1, -(-len(pictures) // max(1, sample)))
    return any(embedded_tags(root / image)[0] for image in pictures[::step])


FORMAT = Format.of_folder(
    "embedded",
    TITLE,
    "a folder of pictures that hold keywords (XMP dc:subject or IPTC)",
    has_embedded,
    read_embedded,
)


def embedded_tags(path: Path) -> tuple[dict[str, float | None], list[str]]:
    """Return the keywords of one picture, and what could not be read.

    Each keyword comes with the probability of a suggestion that is marked as such, None for others.
    """
    try:
        with path.open("rb") as stream:
            blocks = picture_blocks(stream)
    except OSError as problem:
        return {}, [f"keywords not read: {problem}"]
    tags: dict[str, float | None] = {}
    problems = [f"keywords may be missing: {blocks.problem}"] if blocks.problem else []
    for data in blocks.xmp:
        try:
            packet = read_packet(data, "its XMP")
        except InvalidInputError as problem:
            problems.append(f"keywords not read: {problem}")
            continue
        suggested = packet.suggested()
        tags |= {tag: suggested.get(tag) for tag in packet.tags()}
    for record in blocks.iptc:
        for keyword in iptc_keywords(record):
            if illegal_character(keyword) is not None:
                problems.append(f"the IPTC keyword {keyword!r} holds control characters: left out")
            elif normalize_name(keyword) and not is_cut(keyword, tags):
                tags.setdefault(normalize_name(keyword))
    return tags, problems


def is_cut(keyword: str, tags: Iterable[str]) -> bool:
    """Return whether a keyword is the start of a longer tag that IPTC has no room for."""
    if len(keyword.encode("utf-8")) < _LONGEST_KEYWORD - 3:
        return False
    return any(tag != keyword and tag.startswith(keyword) for tag in tags)


@dataclass
class Blocks:
    """The XMP packets and IPTC records of a picture, and what kept others from being read."""

    xmp: list[bytes] = field(default_factory=list)
    iptc: list[bytes] = field(default_factory=list)
    problem: str = ""


def picture_blocks(stream: IO[bytes]) -> Blocks:
    """Return the blocks of a JPEG, PNG, TIFF, WebP or HEIC, none for other files.

    A truncated or malformed file gives the blocks before the damage.
    """
    kind = picture_format(stream.read(SIGNATURE_LENGTH)) or ""
    blocks = Blocks()
    resources: list[bytes] = []
    total = 0
    try:
        for name, data in _READERS.get(kind, _nothing)(stream):
            total += len(data)
            if total > _LARGEST_BLOCK:
                raise InvalidInputError(f"the {kind} holds too many blocks of keywords")
            {"xmp": blocks.xmp, "iptc": blocks.iptc, "photoshop": resources}[name].append(data)
    except InvalidInputError as problem:
        blocks.problem = str(problem)
    except (struct.error, zlib.error, EOFError) as problem:
        blocks.problem = f"the {kind} is damaged or truncated ({problem})"
    # Resources that are too large for one segment continue in the next.
    record = photoshop_iptc(b"".join(resources))
    if record:
        blocks.iptc.append(record)
    return blocks


def _nothing(_: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    return iter(())


def _jpeg(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    for marker, size in _jpeg_segments(stream):
        after = stream.tell() + size
        name, start = _JPEG_STARTS.get(marker, ("", b""))
        # Extended XMP, which starts otherwise, holds large data such as depth maps, not keywords.
        if name and size > len(start) and _exactly(stream, len(start)) == start:
            yield name, _exactly(stream, size - len(start))
        stream.seek(after)


def _jpeg_segments(stream: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Yield marker and size of each segment before the pixels, the stream at its first byte."""
    stream.seek(2)
    while True:
        first = _exactly(stream, 2)
        if first[0] != 0xFF:
            raise InvalidInputError(f"the JPEG has no marker at byte {stream.tell() - 2}")
        marker = first[1]
        while marker == 0xFF:
            marker = _exactly(stream, 1)[0]
        if marker in (0xD9, 0xDA):
            return
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:
            continue
        (size,) = struct.unpack(">H", _exactly(stream, 2))
        if size < 2:
            raise InvalidInputError(f"the JPEG has a segment of {size} bytes")
        yield marker, size - 2


def _png(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    stream.seek(8)
    while True:
        size, kind = struct.unpack(">I4s", _exactly(stream, 8))
        if kind == b"IEND":
            return
        after = stream.tell() + size + 4
        may_be = kind == b"iTXt" and size > len(_PNG_XMP)
        if may_be and _exactly(stream, len(_PNG_XMP)) == _PNG_XMP:
            yield "xmp", _png_packet(_exactly(stream, size - len(_PNG_XMP)))
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
    decompressor = zlib.decompressobj()
    packet = decompressor.decompress(text, _LARGEST_BLOCK)
    if not decompressor.eof:
        raise InvalidInputError("an iTXt is truncated, or too large when decompressed")
    return packet


def _webp(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    stream.seek(4)
    end = 8 + struct.unpack("<I", _exactly(stream, 4))[0]
    stream.seek(12)
    while stream.tell() + 8 <= end:
        kind, size = struct.unpack("<4sI", _exactly(stream, 8))
        after = stream.tell() + size + size % 2
        if kind == b"XMP ":
            yield "xmp", _exactly(stream, size)
        stream.seek(after)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    """Read `size` bytes; refuse more than a block may have, or a file that ends before."""
    if size > _LARGEST_BLOCK:
        raise InvalidInputError(f"a block of keywords claims {size} bytes")
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the file ends too early")
    return data


class _TiffLayout(NamedTuple):
    order: str
    number: str
    """Number of entries of a directory."""
    entry: str
    """Tag, type, number of values."""
    offset: str
    """Position of a value; values that fit are stored in its place."""


def _tiff(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the blocks in the first directory of a TIFF, classic or BigTIFF."""
    stream.seek(0)
    layout, first = _tiff_header(stream.read(16))
    for tag, size, offset in _tiff_entries(stream, layout, first):
        if tag in _TIFF_NAMES:
            stream.seek(offset)
            yield _TIFF_NAMES[tag], _exactly(stream, size)


def _tiff_header(start: bytes) -> tuple[_TiffLayout, int]:
    order = "<" if start[:2] == b"II" else ">"
    if struct.unpack_from(order + "H", start, 2)[0] == 43:
        return _TiffLayout(order, "Q", "HHQ", "Q"), struct.unpack_from(order + "Q", start, 8)[0]
    return _TiffLayout(order, "H", "HHI", "I"), struct.unpack_from(order + "I", start, 4)[0]


def _tiff_entries(
    stream: IO[bytes], layout: _TiffLayout, first: int
) -> Iterator[tuple[int, int, int]]:
    """Yield tag, size in bytes and position of each value."""
    head = struct.Struct(layout.order + layout.entry)
    place = struct.Struct(layout.order + layout.offset)
    count = struct.Struct(layout.order + layout.number)
    if first >= 2**63:
        raise InvalidInputError("the TIFF's first directory is beyond the end of any file")
    stream.seek(first)
    (number,) = count.unpack(stream.read(count.size))
    if number > 0xFFFF:
        raise InvalidInputError(f"the TIFF claims {number} tags")
    directory = stream.read(number * (head.size + place.size))
    for at in range(0, len(directory), head.size + place.size):
        tag, kind, values = head.unpack_from(directory, at)
        size = values * _TIFF_TYPE_SIZES.get(kind, 0)
        offset = first + count.size + at + head.size
        if size > place.size:
            (offset,) = place.unpack_from(directory, at + head.size)
        if offset < 2**63:
            yield tag, size, offset


def _heic(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the XMP items of a HEIF file (ISO 23008-12): named in `iinf`, located by `iloc`."""
    stream.seek(0)
    meta = next((body for kind, body in _top_boxes(stream) if kind == b"meta"), b"")
    # The first four bytes of a full box are its version and flags.
    parts = dict(_boxes(meta[4:]))
    wanted = _xmp_items(parts.get(b"iinf", b""))
    for item, in_idat, extents in _item_extents(parts.get(b"iloc", b"")):
        if item not in wanted:
            continue
        data = b""
        for offset, length in extents:
            if in_idat:
                data += parts.get(b"idat", b"")[offset : offset + length]
            elif offset < 2**63:
                stream.seek(offset)
                data += _exactly(stream, length)
            if len(data) > _LARGEST_BLOCK:
                raise InvalidInputError("an XMP item is too large")
        yield "xmp", data


def _top_boxes(stream: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind of each box of a file, with the content of `meta`."""
    while head := stream.read(8):
        size, kind = struct.unpack(">I4s", head)
        used = 8
        if size == 1:
            (size,) = struct.unpack(">Q", _exactly(stream, 8))
            used = 16
        if kind == b"meta":
            yield kind, stream.read(_LARGEST_BLOCK) if not size else _exactly(stream, size - used)
            return
        if size < used or size >= 2**63:
            return
        stream.seek(size - used, os.SEEK_CUR)


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and content of the boxes in a box."""
    at = 0
    while at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        if size < 8:
            return
        yield kind, data[at + 8 : at + size]
        at += size


def _xmp_items(iinf: bytes) -> set[int]:
    """Return the numbers of the items that are XMP."""
    items = set()
    for kind, body in _boxes(iinf[6 if iinf[:1] == b"\0" else 8 :]):
        if kind != b"infe" or len(body) < 12 or body[0] not in (2, 3):
            continue
        width = 2 if body[0] == 2 else 4
        kind, named = body[6 + width : 10 + width], body[10 + width :].split(b"\0")
        if kind == b"mime" and named[1:2] == [b"application/rdf+xml"]:
            items.add(int.from_bytes(body[4 : 4 + width], "big"))
    return items


def _item_extents(iloc: bytes) -> Iterator[tuple[int, bool, list[tuple[int, int]]]]:
    """Yield an item's number, whether it is in `idat`, and offset and length of its parts."""
    if not 8 <= len(iloc) <= _LARGEST_INDEX:
        return
    body = io.BytesIO(iloc)

    def number(width: int) -> int:
        return int.from_bytes(_exactly(body, width), "big")

    version, _, sizes = number(1), number(3), number(2)
    offset_size, length_size, base_size = sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15
    index_size = sizes & 15 if version else 0
    if not (offset_size and length_size):
        return
    for _ in range(number(2 if version < 2 else 4)):
        item = number(2 if version < 2 else 4)
        method = number(2) & 15 if version else 0
        number(2)
        base = number(base_size)
        extents = []
        for _ in range(number(2)):
            number(index_size)
            offset = base + number(offset_size)
            extents.append((offset, number(length_size)))
        if method in (0, 1):
            yield item, method == 1, extents


_READERS = {"JPEG": _jpeg, "PNG": _png, "TIFF": _tiff, "WEBP": _webp, HEIC_FORMAT: _heic}


def photoshop_iptc(data: bytes) -> bytes:
    """Return the IPTC record in Photoshop's resources; empty if there is none."""
    at, records = 0, []
    while data[at : at + 4] == b"8BIM" and at + 12 <= len(data):
        kind = int.from_bytes(data[at + 4 : at + 6], "big")
        # The name is padded to an even number of bytes, with the byte of its length.
        name_length = data[at + 6] + 1
        at += 6 + name_length + name_length % 2
        if at + 4 > len(data):
            break
        (size,) = struct.unpack_from(">I", data, at)
        if kind == _RESOURCE_IPTC:
            records.append(data[at + 4 : at + 4 + size])
        at += 4 + size + size % 2
    return b"".join(records)


def iptc_keywords(record: bytes) -> list[str]:
    """Return the keywords (2:25) in the declared encoding (1:90).

    Without a declaration they are read as UTF-8 if they are, else as Latin-1.
    """
    keywords, charset = [], b""
    for dataset, value in _datasets(record):
        if dataset == _CHARSET:
            charset = value
        elif dataset == _KEYWORD:
            keywords.append(value)
    guessed = "latin-1"
    if charset == _UTF8:
        return [value.decode("utf-8", "replace").strip("\0") for value in keywords]
    try:
        b"\n".join(keywords).decode("utf-8")
        guessed = "utf-8"
    except UnicodeDecodeError:
        pass
    return [value.decode(guessed).strip("\0") for value in keywords]


def _datasets(record: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    at = 0
    while at + 5 <= len(record) and record[at] == 0x1C:
        dataset = (record[at + 1], record[at + 2])
        length = int.from_bytes(record[at + 3 : at + 5], "big")
        at += 5
        if length & 0x8000:
            # An extended dataset: the low bits are the number of bytes of the length.
            digits = length & 0x7FFF
            if digits > 4:
                return
            length = int.from_bytes(record[at : at + digits], "big")
            at += digits
        if at + length > len(record):
            return
        yield dataset, record[at : at + length]
        at += length
