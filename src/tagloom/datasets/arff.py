"""ARFF files, dense and sparse, as multi-label collections use them.

Errors name file, line and column.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.formats.text import read_utf8

_WORD = re.compile(
    r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,'"{}%][^\s,{}]*)|)\s*""", re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_NUMERIC = {"numeric", "real", "integer"}
_Row = npt.NDArray[np.float64]


class Place(NamedTuple):
    """A line of a file, for messages."""

    path: str
    line: int
    indent: int = 0

    def error(self, column: int, problem: str) -> InvalidInputError:
        """Return the error with file, line and column (from 1, after the indent)."""
        column += self.indent
        return InvalidInputError(f"{self.path}, line {self.line}, column {column}: {problem}")


class Word(NamedTuple):
    """A value, the column at which it begins (from 1), and whether it was in quotes."""

    text: str
    column: int
    quoted: bool

    @property
    def is_missing(self) -> bool:
        """Return whether this is a missing value."""
        return self.text == "?" and not self.quoted


@dataclass(frozen=True)
class Attribute:
    """A column: numbers, or one of `values` where there are any."""

    name: str
    values: tuple[str, ...] = ()
    code: dict[str, int] = field(default_factory=dict, compare=False)

    @property
    def is_nominal(self) -> bool:
        """Return whether the attribute has a list of values."""
        return bool(self.values)


@dataclass(frozen=True, eq=False)
class ArffTable:
    """The content of an ARFF file.

    Attributes
    ----------
    attributes
        The columns.
    values
        Numbers, or positions in the list of an attribute's values; NaN where missing.
    lines
        The line of each row in the file.
    """

    attributes: tuple[Attribute, ...]
    values: npt.NDArray[np.float64]
    lines: list[int]


def read_arff(path: Path) -> ArffTable:
    """Read an ARFF file.

    Values are separated by commas; names and values may be in single or double quotation marks,
    with a backslash before a mark inside them. Lines that begin with % are comments. A sparse row
    is in braces, `{3 1.5, 7 yes}`, with attributes counted from 0; unlisted attributes are 0, or
    the *first* value of an attribute with a list of values. `?` is a missing value.
    """
    lines = _lines(path)
    attributes = _read_header(lines, path)
    rows, numbers = [], []
    for place, line in lines:
        read = _sparse_row if line.startswith("{") else _dense_row
        rows.append(read(line, attributes, place))
        numbers.append(place.line)
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(attributes))
    return ArffTable(tuple(attributes), values, numbers)


def _lines(path: Path) -> Iterator[tuple[Place, str]]:
    text = read_utf8(path).replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip()
        if content and not content.startswith("%"):
            yield Place(str(path), number, len(line) - len(line.lstrip())), content


def _read_header(lines: Iterator[tuple[Place, str]], path: Path) -> list[Attribute]:
    attributes: list[Attribute] = []
    for place, line in lines:
        keyword = _keyword_of(line)
        if keyword == "@data":
            return _checked(attributes, place)
        if keyword == "@attribute":
            attributes.append(_read_attribute(line, place))
        elif keyword != "@relation":
            raise place.error(1, f"expected @relation, @attribute or @data, found {line[:30]!r}.")
    raise InvalidInputError(f"{path} has no line @data: it is truncated, or not an ARFF file.")


def _checked(attributes: list[Attribute], place: Place) -> list[Attribute]:
    seen: set[str] = set()
    for attribute in attributes:
        if attribute.name in seen:
            raise place.error(1, f"two attributes above are called {attribute.name!r}.")
        seen.add(attribute.name)
    if not attributes:
        raise place.error(1, "there is no attribute before @data.")
    return attributes


def _keyword_of(line: str) -> str:
    """Return the keyword at the beginning of a line, in lower case; empty if there is none.

    >>> _keyword_of("@ATTRIBUTE x numeric")
    '@attribute'
    """
    match = re.match(r"@[A-Za-z]+(?=\s|$|['\"{])", line)
    return match[0].lower() if match else ""


def _read_attribute(line: str, place: Place) -> Attribute:
    """Read a line `@attribute name type`."""
    name, at = _take_word(line, len("@attribute"), place)
    kind = line[at:].strip()
    column = at + len(line[at:]) - len(line[at:].lstrip()) + 1
    if kind.startswith("{"):
        return _nominal(name.text, line.rstrip(), column, place)
    if kind.lower() in _NUMERIC:
        return Attribute(name.text)
    raise place.error(
        column,
        f"the attribute {name.text!r} is of the type {kind!r}; expected numeric, real, integer or "
        "a list of values in braces. Remove the attribute or turn it into numbers.",
    )


def _nominal(name: str, line: str, column: int, place: Place) -> Attribute:
    if not line.endswith("}"):
        raise place.error(column, "the list of values in braces is never closed.")
    values = [word.text for word in _words_between_commas(line[:-1], place, offset=column)]
    repeated = sorted({value for value in values if values.count(value) > 1})
    if repeated:
        raise place.error(column, f"the attribute {name!r} has the value {repeated[0]!r} twice.")
    return Attribute(name, tuple(values), {value: code for code, value in enumerate(values)})


def _dense_row(line: str, attributes: Sequence[Attribute], place: Place) -> _Row:
    words = _words_between_commas(line, place)
    if len(words) != len(attributes):
        at = words[min(len(attributes), len(words) - 1)].column
        raise place.error(at, f"expected {len(attributes)} values, found {len(words)}.")
    pairs = zip(words, attributes, strict=True)
    return np.array([_value(word, attribute, place) for word, attribute in pairs])


def _sparse_row(line: str, attributes: Sequence[Attribute], place: Place) -> _Row:
    row = np.zeros(len(attributes))
    if not line.endswith("}"):
        raise place.error(len(line), "the sparse row is never closed: expected '}'.")
    body, at, given = line[:-1], 1, set()
    if not body[1:].strip():
        return row
    while True:
        word, at = _take_word(body, at, place)
        index = int(word.text) if word.text.isascii() and word.text.isdigit() else -1
        if not 0 <= index < len(attributes) or index in given:
            raise place.error(
                word.column,
                f"expected the number of an attribute from 0 to {len(attributes) - 1}, each once, "
                f"found {word.text!r}.",
            )
        given.add(index)
        value, at = _take_word(body, at, place)
        row[index] = _value(value, attributes[index], place)
        if at == len(body):
            return row
        if body[at] != ",":
            raise place.error(at + 1, f"expected a comma, found {body[at]!r}.")
        at += 1


def _value(word: Word, attribute: Attribute, place: Place) -> float:
    if word.is_missing:
        return float("nan")
    if attribute.is_nominal:
        code = attribute.code.get(word.text)
        if code is not None:
            return float(code)
        listed = ", ".join(map(repr, attribute.values[:6]))
        raise place.error(
            word.column,
            f"{attribute.name!r} must be one of {listed}; found {word.text!r}.",
        )
    try:
        number = float(word.text) if "_" not in word.text else float("nan")
    except ValueError:
        number = float("nan")
    if not math.isfinite(number):
        raise place.error(
            word.column, f"{attribute.name!r} must be a finite number; found {word.text!r}."
        )
    return number


def _take_word(line: str, start: int, place: Place) -> tuple[Word, int]:
    """Read one word from `start` on; return it and where the next thing begins."""
    match = _WORD.match(line, start)
    # The pattern also matches an empty word, so it always matches.
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


def _words_between_commas(line: str, place: Place, offset: int = 0) -> list[Word]:
    """Read values separated by commas, from `offset` to the end of the line."""
    if not ("'" in line or '"' in line):
        return _plain_words(line, place, offset)
    words, at = [], offset
    while True:
        word, at = _take_word(line, at, place)
        words.append(word)
        if at == len(line):
            return words
        if line[at] != ",":
            raise place.error(at + 1, f"expected a comma, found {line[at]!r}.")
        at += 1


def _plain_words(line: str, place: Place, offset: int) -> list[Word]:
    """Do the same, faster, for a line without quotation marks: most lines have none."""
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
