"""The words of an ARFF line: quoted or plain, with the columns at which they begin."""

import re
from typing import NamedTuple

from tagloom.errors import InvalidInputError

_WORD = re.compile(
    r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,'"{}%][^\s,{}]*)|)\s*""", re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}


class Place(NamedTuple):
    """Where in a file something stands, for messages."""

    path: str
    line: int
    indent: int = 0

    def error(self, column: int, problem: str) -> InvalidInputError:
        """Return the error that names file, line and column (from 1, after the indent)."""
        column += self.indent
        return InvalidInputError(f"{self.path}, line {self.line}, column {column}: {problem}")


class Word(NamedTuple):
    """A value as it is written, the column at which it begins (from 1), and whether in quotes."""

    text: str
    column: int
    quoted: bool

    @property
    def is_missing(self) -> bool:
        """Say whether this is the mark of a missing value."""
        return self.text == "?" and not self.quoted


def take_word(line: str, start: int, place: Place) -> tuple[Word, int]:
    """Read one word from `start` on; return it and where the next thing begins."""
    match = _WORD.match(line, start)
    # The pattern ends in an empty word, so that it always matches.
    if match is None or match.lastindex is None:
        rest = line[start:].lstrip()
        column = len(line) - len(rest) + 1
        if rest[:1] in {"'", '"'}:
            raise place.error(column, "this quotation mark is never closed.")
        found = repr(rest[0]) if rest else "the end of the line"
        raise place.error(column, f"expected a value, found {found}.")
    group = match.lastindex
    text = match[group]
    if group < 3:
        text = _ESCAPED.sub(lambda found: _CONTROLS.get(found[1], found[1]), text)
    column = match.start(group) + (0 if group < 3 else 1)
    return Word(text, column, group < 3), match.end()


def words_between_commas(line: str, place: Place, offset: int = 0) -> list[Word]:
    """Read values that are separated by commas, from `offset` to the end of the line."""
    if not ("'" in line or '"' in line):
        return _plain_words(line, place, offset)
    words, at = [], offset
    while True:
        word, at = take_word(line, at, place)
        words.append(word)
        if at == len(line):
            return words
        if line[at] != ",":
            raise place.error(at + 1, f"expected a comma, found {line[at]!r}.")
        at += 1


def _plain_words(line: str, place: Place, offset: int) -> list[Word]:
    """Do the same for a line without quotation marks, which most lines are, with less effort."""
    words, at = [], offset
    for part in line[offset:].split(","):
        text = part.strip()
        column = at + len(part) - len(part.lstrip()) + 1
        if not text:
            raise place.error(min(column, len(line) + 1), "expected a value, found none.")
        if len(text.split(None, 1)) > 1:
            raise place.error(column, f"expected one value between commas, found {text!r}.")
        words.append(Word(text, column, False))
        at += len(part) + 1
    return words
