"""Text files: any usual encoding and line end, with places for messages."""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

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
_HEAD = 65_536


@dataclass(frozen=True)
class Text:
    """The text of a file.

    Attributes
    ----------
    path : Path
    content : str
        Without byte order mark; line ends as in the file, since they may be part of a quoted cell.
    encoding : str
        In words for people.
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
