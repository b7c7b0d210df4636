"""Keywords inside picture files: XMP and IPTC. Pictures are read only, and never decoded."""

import os
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from tagloom.errors import InvalidInputError
from tagloom.formats.annotations import Annotation, AnnotationBuilder, Reading
from tagloom.formats.metadata.sidecars import chosen
from tagloom.formats.metadata.xmp import clean, illegal_character, read_packet
from tagloom.vision import find_pictures
from tagloom.vision.pictures import SIGNATURE_LENGTH, picture_format

# §§ iptc
# Keywords of the older kind: IPTC-IIM records, alone or inside Photoshop's resources.


_RESOURCE_IPTC = 0x0404
_CHARSET, _KEYWORD = (1, 90), (2, 25)
_UTF8 = b"\x1b%G"
LONGEST_KEYWORD = 64
"""A keyword has at most so many bytes; longer ones have been cut by whoever wrote them."""


def photoshop_iptc(data: bytes) -> bytes:
    """Return the IPTC record among Photoshop's resources, empty if there is none."""
    at, records = 0, []
    while data[at : at + 4] == b"8BIM" and at + 12 <= len(data):
        kind = int.from_bytes(data[at + 4 : at + 6], "big")
        # The name is padded so that it is, with the byte of its length, an even number of bytes.
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
    """Return the keywords (2:25), decoded as the record says (1:90).

    Where it does not say: as UTF-8 if they are, else as Latin-1.
    """
    keywords, charset = [], b""
    for dataset, value in _datasets(record):
        if dataset == _CHARSET:
            charset = value
        elif dataset == _KEYWORD:
            keywords.append(value)
    unsaid = "latin-1"
    if charset == _UTF8:
        return [value.decode("utf-8", "replace").strip("\0") for value in keywords]
    try:
        b"\n".join(keywords).decode("utf-8")
        unsaid = "utf-8"
    except UnicodeDecodeError:
        pass
    return [value.decode(unsaid).strip("\0") for value in keywords]


def _datasets(record: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    at = 0
    while at + 5 <= len(record) and record[at] == 0x1C:
        dataset = (record[at + 1], record[at + 2])
        length = int.from_bytes(record[at + 3 : at + 5], "big")
        at += 5
        if length & 0x8000:
            # An extended dataset: the low bits say how many bytes the length takes.
            digits = length & 0x7FFF
            if digits > 4:
                return
            length = int.from_bytes(record[at : at + digits], "big")
            at += digits
        if at + length > len(record):
            return
        yield dataset, record[at : at + length]
        at += length


# §§ tiff_blocks
# Values of tags in the first directory of a TIFF, classic or big.


_TYPE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 6: 1, 7: 1, 8: 2, 9: 4}


class _Layout(NamedTuple):
    order: str
    number: str
    """How many entries a directory has."""
    entry: str
    """Tag, type, number of values."""
    offset: str
    """Where something lies; values that fit into it stand in its place."""


def tiff_values(
    stream: IO[bytes], tags: Collection[int], largest: int
) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of the given tags, at most `largest` each; the stream is a TIFF's."""
    stream.seek(0)
    layout, first = _opening(stream.read(16))
    for tag, size, offset in _entries(stream, layout, first):
        if tag not in tags:
            continue
        if size > largest:
            raise InvalidInputError(f"tag {tag} of the TIFF claims {size} bytes")
        stream.seek(offset)
        data = stream.read(size)
        if len(data) < size:
            raise EOFError(f"tag {tag} ends after the file")
        yield tag, data


def _opening(start: bytes) -> tuple[_Layout, int]:
    order = "<" if start[:2] == b"II" else ">"
    if struct.unpack_from(order + "H", start, 2)[0] == 43:
        return _Layout(order, "Q", "HHQ", "Q"), struct.unpack_from(order + "Q", start, 8)[0]
    return _Layout(order, "H", "HHI", "I"), struct.unpack_from(order + "I", start, 4)[0]


def _entries(stream: IO[bytes], layout: _Layout, first: int) -> Iterator[tuple[int, int, int]]:
    """Yield tag, size in bytes and place of each value."""
    head = struct.Struct(layout.order + layout.entry)
    place = struct.Struct(layout.order + layout.offset)
    count = struct.Struct(layout.order + layout.number)
    _seek(stream, first)
    (number,) = count.unpack(stream.read(count.size))
    if number > 0xFFFF:
        raise InvalidInputError(f"the TIFF claims {number} tags")
    directory = stream.read(number * (head.size + place.size))
    for at in range(0, len(directory), head.size + place.size):
        tag, kind, values = head.unpack_from(directory, at)
        size = values * _TYPE_SIZES.get(kind, 0)
        offset = first + count.size + at + head.size
        if size > place.size:
            (offset,) = place.unpack_from(directory, at + head.size)
        if offset < 2**63:
            yield tag, size, offset


def _seek(stream: IO[bytes], offset: int) -> None:
    if offset >= 2**63:
        raise InvalidInputError("the TIFF's first directory is out of reach")
    stream.seek(offset)


# §§ picture_blocks
# The blocks of a picture file that may hold keywords, found without reading its pixels.


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


# §§ main embedded


def read_embedded(folder: str | os.PathLike[str], pictures: Iterable[str] | None = None) -> Reading:
    """Read the tags that JPEG, PNG, TIFF and WebP files hold in themselves.

    A damaged file gets a remark, and keeps what could be read of it.

    Parameters
    ----------
    folder : path
    pictures : iterable of str, optional
        Names relative to the folder; all pictures in it by default.
    """
    root = Path(folder)
    builder = AnnotationBuilder()
    for image in chosen(find_pictures(root), pictures):
        builder.images.setdefault(image)
        tags, problems = embedded_tags(root / image)
        for tag in tags:
            builder.add(Annotation(image, tag), image)
        for problem in problems:
            builder.note(image, problem)
    return builder.finish(root, "keywords in pictures", lists_absences=False)


def has_embedded(folder: str | os.PathLike[str], sample: int = 200) -> bool:
    """Tell whether any of some pictures, spread over the whole folder, holds keywords."""
    root = Path(folder)
    pictures = find_pictures(root).pictures
    step = max(1, -(-len(pictures) // max(1, sample)))
    return any(embedded_tags(root / image)[0] for image in pictures[::step])


def embedded_tags(path: Path) -> tuple[list[str], list[str]]:
    """Return the tags in one picture file, each once, and what could not be read."""
    try:
        with path.open("rb") as stream:
            blocks = picture_blocks(stream)
    except OSError as problem:
        return [], [f"keywords not read: {problem}"]
    tags: dict[str, None] = {}
    problems = [f"keywords may be missing: {blocks.problem}"] if blocks.problem else []
    for packet in blocks.xmp:
        try:
            tags |= dict.fromkeys(read_packet(packet, "its XMP").tags())
        except InvalidInputError as problem:
            problems.append(f"keywords not read: {problem}")
    for record in blocks.iptc:
        for keyword in iptc_keywords(record):
            if illegal_character(keyword) is not None:
                problems.append(f"the IPTC keyword {keyword!r} holds control characters: left out")
            elif clean(keyword) and not _is_cut(keyword, tags):
                tags.setdefault(clean(keyword))
    return list(tags), problems


def _is_cut(keyword: str, tags: Iterable[str]) -> bool:
    """Tell whether a keyword is the start of a longer tag that IPTC has no room for."""
    if len(keyword.encode("utf-8")) < LONGEST_KEYWORD - 3:
        return False
    return any(tag != keyword and tag.startswith(keyword) for tag in tags)
