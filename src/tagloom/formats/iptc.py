"""Keywords of the older kind: IPTC-IIM records, alone or inside Photoshop's resources."""

import struct
from collections.abc import Iterator

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
