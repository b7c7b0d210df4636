"""ARFF files, dense and sparse, as multi-label collections use them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tagloom.datasets._arff_fields import Place, Word, take_word, words_between_commas
from tagloom.datasets._arff_header import Attribute, keyword_of, read_attribute
from tagloom.datasets._texts import read_text
from tagloom.errors import InvalidInputError

_Row = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ArffTable:
    """The content of an ARFF file.

    Attributes
    ----------
    attributes
        The columns.
    values
        Numbers, or places in the list of an attribute's values; NaN where missing.
    lines
        The line of the file on which each row stands.
    """

    attributes: tuple[Attribute, ...]
    values: npt.NDArray[np.float64]
    lines: list[int]


def read_arff(path: Path) -> ArffTable:
    """Read an ARFF file.

    Values stand between commas; names and values may be in single or double quotation marks, with
    a backslash before a mark inside them. Lines that begin with % are comments. A sparse row is in
    braces, `{3 1.5, 7 yes}`: places counted from 0; what it does not list is 0, or the *first*
    value of an attribute with a list of values. `?` is a missing value.
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
    text = read_text(path).replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(text.split("\n"), 1):
        # Leading blanks are kept out of the line, for keywords and braces to stand first.
        content = line.strip()
        if content and not content.startswith("%"):
            yield Place(str(path), number, len(line) - len(line.lstrip())), content


def _read_header(lines: Iterator[tuple[Place, str]], path: Path) -> list[Attribute]:
    attributes: list[Attribute] = []
    for place, line in lines:
        keyword = keyword_of(line)
        if keyword == "@data":
            return _different(attributes, place)
        if keyword == "@attribute":
            attributes.append(read_attribute(line, place))
        elif keyword != "@relation":
            raise place.error(1, f"expected @relation, @attribute or @data, found {line[:30]!r}.")
    raise InvalidInputError(f"{path} has no line @data: it is cut off, or no ARFF file.")


def _different(attributes: list[Attribute], place: Place) -> list[Attribute]:
    seen: set[str] = set()
    for attribute in attributes:
        if attribute.name in seen:
            raise place.error(1, f"two attributes above are called {attribute.name!r}.")
        seen.add(attribute.name)
    if not attributes:
        raise place.error(1, "no attribute stands before @data.")
    return attributes


def _dense_row(line: str, attributes: Sequence[Attribute], place: Place) -> _Row:
    words = words_between_commas(line, place)
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
        word, at = take_word(body, at, place)
        index = int(word.text) if word.text.isascii() and word.text.isdigit() else -1
        if not 0 <= index < len(attributes) or index in given:
            raise place.error(
                word.column,
                f"expected the place of an attribute from 0 to {len(attributes) - 1}, each once, "
                f"found {word.text!r}.",
            )
        given.add(index)
        value, at = take_word(body, at, place)
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
    if not np.isfinite(number):
        raise place.error(
            word.column, f"{attribute.name!r} must be a finite number; found {word.text!r}."
        )
    return number
