"""Text and XML from untrusted sources, in any usual encoding, with places for messages.

XML is read as a tree; entities are never declared nor expanded, for they make a small file grow
without bound ("billion laughs") or read other files. XMP packets are the one kind of XML that is
not read here: they are edited in place, byte by byte, by `tagloom.formats.metadata.xmp`.
"""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from tagloom.errors import InvalidInputError
from tagloom.formats.base import AnnotationBuilder

_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16 (little end first)"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16 (big end first)"),
)
GUESSED = "Windows-1252"
_LINE_END = re.compile(r"\r\n|\r|\n")
# No text that somebody typed holds these; nearly every file that is not text does.
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD = 65_536
_PEEK = 16_384


@dataclass(frozen=True)
class Text:
    """The text of a file, without byte order mark, and its encoding in words for people.

    Line ends are as in the file, since they may be part of a quoted cell.
    """

    path: Path
    content: str
    encoding: str

    def place(self, position: int) -> str:
        """Return file, line and column of a character."""
        before = self.content[:position]
        ends = list(_LINE_END.finditer(before))
        start = ends[-1].end() if ends else 0
        return f"{self.path}, line {len(ends) + 1}, column {position - start + 1}"

    def lines(self) -> list[str]:
        """Return the lines without their ends."""
        return _LINE_END.split(self.content)

    def warn_of_guess(self, builder: AnnotationBuilder) -> None:
        """Warn that the encoding was guessed, if it was."""
        if self.encoding == GUESSED:
            builder.warn(
                str(self.path),
                f"the text is not UTF-8: it was read as {GUESSED}. Look at letters with accents, "
                "and save the file as UTF-8 if they are wrong",
            )


def read_text(path: Path) -> Text:
    """Return the text of a file in UTF-8, UTF-16 with a byte order mark, or else Windows-1252."""
    text = _decoded(path, read_bytes(path), final=True)
    found = text.content.find("\0")
    if found >= 0:
        raise _binary(text.place(found), "a NUL character")
    if not text.content.strip():
        raise InvalidInputError(
            f"{path} is empty. Expected lines of text with pictures and tags: check that the right "
            "file was given."
        )
    return text


def read_head(path: Path) -> Text | None:
    """Return the first whole lines of a text file for a quick look; None if it is not text."""
    try:
        with path.open("rb") as stream:
            data = stream.read(_HEAD + 1)
        text = _decoded(path, data[:_HEAD], final=len(data) <= _HEAD)
    except (OSError, InvalidInputError):
        return None
    content = text.content
    if "\0" in content or not content.strip():
        return None
    if len(data) > _HEAD:
        whole = max(content.rfind("\n"), content.rfind("\r")) + 1
        content = content[:whole] or content
    return Text(path, content, text.encoding)


def peek(path: Path) -> str:
    """Return the beginning of a file as UTF-8, to detect its format; empty if unreadable."""
    try:
        with path.open("rb") as stream:
            return stream.read(_PEEK).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "ignore")
    except (OSError, ValueError):
        return ""


def _decoded(path: Path, data: bytes, *, final: bool) -> Text:
    for mark, codec, name in _MARKS:
        if data.startswith(mark):
            return _decoded_as(path, data[len(mark) :], codec, name, final)
    try:
        content = codecs.getincrementaldecoder("utf-8")().decode(data, final)
    except UnicodeDecodeError:
        text = _decoded_as(path, data, "cp1252", GUESSED, final)
        control = _CONTROL.search(text.content)
        if control:
            found = f"the control character {ord(control.group()):#04x}"
            raise _binary(text.place(control.start()), found) from None
        return text
    return Text(path, content, "UTF-8")


def _decoded_as(path: Path, data: bytes, codec: str, name: str, final: bool) -> Text:
    try:
        return Text(path, codecs.getincrementaldecoder(codec)().decode(data, final), name)
    except UnicodeDecodeError as problem:
        before = Text(path, data[: problem.start].decode(codec, errors="ignore"), name)
        raise InvalidInputError(
            f"{before.place(len(before.content))}: expected text in UTF-8 (or {name}), found the "
            f"byte {data[problem.start]:#04x}, which stands for no character there. Save the file "
            "as UTF-8."
        ) from problem


def _binary(place: str, found: str) -> InvalidInputError:
    return InvalidInputError(
        f"{place}: expected text, found {found}. This is a file of another kind (a picture, a "
        "spreadsheet), or UTF-16 without its byte order mark: export it as CSV in UTF-8."
    )


def read_utf8(path: Path) -> str:
    """Return the text of a UTF-8 file without its byte order mark; refuse other encodings."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        raise InvalidInputError(
            f"{path}, line {line}: expected text in UTF-8, found the byte "
            f"{problem.object[problem.start]:#04x}. Save the file as UTF-8."
        ) from problem


def numbered_lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines of a UTF-8 file that are not blank, stripped, with their numbers from 1."""
    lines = _LINE_END.split(read_utf8(path))
    return [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]


def read_bytes(path: Path) -> bytes:
    """Return the content of a file."""
    try:
        return path.read_bytes()
    except OSError as problem:
        cause = problem.strerror or type(problem).__name__
        raise InvalidInputError(f"{path} cannot be read: {cause}.") from problem


def read_xml(path: Path, *, allow_doctype: bool = False) -> ElementTree.Element:
    """Return the root of an XML file.

    Parameters
    ----------
    path
        The file.
    allow_doctype
        Accept a document type, as SVG drawings have one, as long as it declares no entities.
    """
    tree = ElementTree.TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True

    def on_start(name: str, attributes: dict[str, str]) -> None:
        tree.start(_qualified(name), {_qualified(key): attributes[key] for key in attributes})

    def on_doctype(*_: object) -> None:
        raise InvalidInputError(
            f"{path} declares a document type, through which entities could be expanded. Remove "
            "the DOCTYPE."
        )

    def on_entity(*_: object) -> None:
        raise InvalidInputError(f"{path} declares entities, which are not expanded here.")

    parser.StartElementHandler = on_start
    parser.EndElementHandler = lambda name: tree.end(_qualified(name))
    parser.CharacterDataHandler = tree.data
    parser.EntityDeclHandler = on_entity
    if not allow_doctype:
        parser.StartDoctypeDeclHandler = on_doctype
    try:
        parser.Parse(read_bytes(path), True)
    except expat.ExpatError as problem:
        raise malformed(str(path), problem) from problem
    except (ValueError, LookupError) as problem:
        if isinstance(problem, InvalidInputError):
            raise
        raise InvalidInputError(f"{path} cannot be read as XML: {problem}.") from problem
    return tree.close()


def _qualified(name: str) -> str:
    """Return a name as ElementTree writes it: `{namespace}local`."""
    return f"{{{name}" if "}" in name else name


def malformed(
    where: str, problem: expat.ExpatError, expected: str = "an XML file"
) -> InvalidInputError:
    """Return the error for what is not XML, with its place."""
    return InvalidInputError(
        f"{where}, line {problem.lineno}, column {problem.offset + 1}: malformed XML, "
        f"{expat.ErrorString(problem.code)}. Expected {expected}."
    )


def illegal_character(text: str) -> str | None:
    """Return the first character that XML cannot hold; None if there is none."""
    found = _ILLEGAL.search(text)
    return found[0] if found else None
