"""The text of XMP packets: its encoding, what a tag may hold, how it is escaped."""

import codecs
import re
import unicodedata
from typing import NamedTuple

from tagloom.errors import InvalidInputError

_DECLARED = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    "\t": "&#9;",
    "\n": "&#10;",
    # Bare, it would be read as a line feed.
    "\r": "&#13;",
}


class PacketText(NamedTuple):
    """A packet as UTF-8, and what leads back to the bytes it was.

    Attributes
    ----------
    body : bytes
        UTF-8 without a byte order mark.
    codec : str
        The encoding of the original.
    mark : bytes
        The byte order mark of the original, or nothing.
    """

    body: bytes
    codec: str
    mark: bytes

    def restored(self, body: bytes) -> bytes:
        """Return another body in the encoding of the original."""
        if self.codec == "utf-8":
            return self.mark + body
        return self.mark + body.decode("utf-8").encode(self.codec)


def packet_text(data: bytes, where: str) -> PacketText:
    """Decode a packet of UTF-8 or UTF-16, with or without a byte order mark; refuse all else."""
    codec, mark = _encoding(data, where)
    try:
        body = data[len(mark) :].decode(codec).encode("utf-8")
    except UnicodeDecodeError as problem:
        line = data[: len(mark) + problem.start].count(b"\n") + 1
        raise InvalidInputError(
            f"{where}, line {line}: byte {len(mark) + problem.start} is not {codec.upper()}. "
            "XMP is UTF-8 or UTF-16; save the file as one of these."
        ) from problem
    declared = _DECLARED.match(body)
    name = declared[1].decode("ascii") if declared else "utf-8"
    if not name.lower().replace("-", "").startswith(("utf8", "utf16")):
        raise InvalidInputError(
            f"{where}, line 1: the encoding is said to be {name}. "
            "Expected UTF-8 or UTF-16; save the file as one of these."
        )
    return PacketText(body, codec, mark)


def _encoding(data: bytes, where: str) -> tuple[str, bytes]:
    # The mark of UTF-32 begins with that of UTF-16.
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, b"<\0\0\0", b"\0\0\0<")):
        raise InvalidInputError(
            f"{where} is UTF-32. Expected UTF-8 or UTF-16; save the file as one of these."
        )
    for codec, mark in (
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
    ):
        if data.startswith(mark):
            return codec, mark
    unmarked = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
    return unmarked.get(data[:2], "utf-8"), b""


def clean(text: str) -> str:
    """Return the form in which tags are compared: composed (NFC), no blanks at either end.

    Letters keep their case: "Nice" and "nice" are two tags.

    >>> clean(" cafe\u0301 ") == "café"
    True
    """
    return unicodedata.normalize("NFC", text).strip()


def illegal_character(text: str) -> str | None:
    """Return the first character that no XML can hold, None if there is none."""
    found = _ILLEGAL.search(text)
    return found[0] if found else None


def writable(tag: str) -> str:
    """Return the clean form of a tag that is to be written; refuse what XML cannot hold."""
    illegal = illegal_character(tag)
    if illegal is not None:
        raise InvalidInputError(
            f"The tag {tag!r} holds the character {illegal!r}, which XML cannot hold. "
            "Rename the tag."
        )
    cleaned = clean(tag)
    if not cleaned:
        raise InvalidInputError(f"The tag {tag!r} is empty. A tag needs at least one character.")
    return cleaned


def escaped(text: str) -> str:
    """Return text as it may stand between two XML tags.

    >>> escaped("rock & roll")
    'rock &amp; roll'
    """
    return "".join(_ESCAPES.get(character, character) for character in text)
