"""Values of tags in the first directory of a TIFF, classic or big."""

import struct
from collections.abc import Collection, Iterator
from typing import IO, NamedTuple

from tagloom.errors import InvalidInputError

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
