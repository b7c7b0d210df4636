"""Feature-only sets in Mulan's form (ARFF and XML), or as arrays in a `.npz` file."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.datasets.base import (
    Dataset,
    Layout,
    note_of_draw,
    numbers_only,
    read_npz,
    read_text,
    rows_of_words,
    seeded_split,
    walk_xml,
)
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.validation import some_of

# §§ arff_fields
# The words of an ARFF line: quoted or plain, with the columns at which they begin.


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


# §§ arff_header
# The header of an ARFF file: the names and kinds of the attributes.


_NUMERIC = {"numeric", "real", "integer"}


@dataclass(frozen=True)
class Attribute:
    """A column: numbers, or one of `values` where there are any."""

    name: str
    values: tuple[str, ...] = ()
    code: dict[str, int] = field(default_factory=dict, compare=False)

    @property
    def is_nominal(self) -> bool:
        """Say whether the values are names."""
        return bool(self.values)


def read_attribute(line: str, place: Place) -> Attribute:
    """Read a line `@attribute name type`."""
    name, at = take_word(line, len("@attribute"), place)
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
    values = [word.text for word in words_between_commas(line[:-1], place, offset=column)]
    repeated = sorted({value for value in values if values.count(value) > 1})
    if repeated:
        raise place.error(column, f"the attribute {name!r} has the value {repeated[0]!r} twice.")
    return Attribute(name, tuple(values), {value: code for code, value in enumerate(values)})


def keyword_of(line: str) -> str:
    """Return the keyword at the beginning of a line, in small letters; empty where there is none.

    >>> keyword_of("@ATTRIBUTE x numeric")
    '@attribute'
    """
    match = re.match(r"@[A-Za-z]+(?=\s|$|['\"{])", line)
    return match[0].lower() if match else ""


# §§ arff
# ARFF files, dense and sparse, as multi-label collections use them.


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


# §§ mulan_tables
# From the columns of an ARFF file to features and labels.


_Column = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """Features, labels (NaN where unknown), the side of each row if it is said, and names."""

    X: npt.NDArray[np.generic]
    Y: npt.NDArray[np.float64]
    labels: Sequence[str]
    side: Sequence[str] | None = None
    attributes: Sequence[Attribute] = ()


def read_table(path: Path, labels: Sequence[str]) -> Table:
    """Read an ARFF file in which `labels` are attributes of 0 and 1; the others are features."""
    table = read_arff(path)
    column = {attribute.name: place for place, attribute in enumerate(table.attributes)}
    lost = [label for label in labels if label not in column]
    if lost:
        raise InvalidInputError(
            f"{path} has no attribute for {len(lost)} of the labels: {some_of(lost)}."
        )
    chosen = set(labels)
    features = [a for a in table.attributes if a.name not in chosen]
    columns = [_feature_columns(table, column[a.name], path) for a in features]
    empty = np.zeros((len(table.lines), 0))
    Y = [_label_column(table, column[label], path) for label in labels]
    X = np.hstack([empty, *columns])
    return Table(X, np.column_stack([empty, *Y]), list(labels), attributes=features)


def _label_column(table: ArffTable, place: int, path: Path) -> _Column:
    """Return 1, 0 and NaN (`?`)."""
    attribute, values = table.attributes[place], table.values[:, place]
    if attribute.is_nominal:
        numbers = _as_numbers(attribute)
        if numbers is None or not set(numbers) <= {0.0, 1.0}:
            raise InvalidInputError(
                f"{path}: the label {attribute.name!r} must be 0 or 1; its values are "
                f"{some_of(attribute.values)}."
            )
        values = _looked_up(values, numbers)
    wrong = np.flatnonzero(~(np.isnan(values) | (values == 0) | (values == 1)))
    if wrong.size:
        raise InvalidInputError(
            f"{path}, line {table.lines[wrong[0]]}: the label {attribute.name!r} must be 0, 1 or "
            f"?; found {values[wrong[0]]:g}."
        )
    return values


def _feature_columns(table: ArffTable, place: int, path: Path) -> _Column:
    attribute, values = table.attributes[place], table.values[:, place]
    missing = np.flatnonzero(np.isnan(values))
    if missing.size:
        raise InvalidInputError(
            f"{path}, line {table.lines[missing[0]]}: the feature {attribute.name!r} is missing, "
            f"as in {missing.size} rows. Expected a value: only labels may be unknown. Fill it in "
            "or remove the attribute."
        )
    if not attribute.is_nominal:
        return values[:, np.newaxis]
    numbers = _as_numbers(attribute)
    if numbers is not None:
        return _looked_up(values, numbers)[:, np.newaxis]
    return np.asarray(values[:, np.newaxis] == np.arange(len(attribute.values)), dtype=np.float64)


def _as_numbers(attribute: Attribute) -> list[float] | None:
    try:
        numbers = [float(value) for value in attribute.values]
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _looked_up(codes: _Column, numbers: Sequence[float]) -> _Column:
    result = np.full(len(codes), np.nan)
    known = ~np.isnan(codes)
    result[known] = np.asarray(numbers)[codes[known].astype(np.int64)]
    return result


# §§ main mulan


_LAYOUT = Layout(
    "A set in Mulan's form",
    "<name>.xml with the labels and <name>-train.arff and <name>-test.arff, or <name>.arff; or as "
    "one .npz file with X and Y",
    "on the data page of the Mulan project",
)


def load_mulan(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    test_share: float = 0.25,
    random_state: int = 0,
) -> Dataset:
    """Load a set of numbers: features and labels, without pictures.

    Parameters
    ----------
    path
        A `.npz` file; a folder with one `.xml` file; or the path of `<name>`, `<name>.arff` or
        `<name>-train.arff`. `<name>` and a folder take the published split where there is one,
        `<name>.arff` is the whole set.
    labels
        The XML file that names the labels; by default `<name>.xml`.
    test_share, random_state
        How a split is drawn where the files have none.

    Notes
    -----
    A `.npz` file holds `X` and `Y` (1, 0 and, for unknown, NaN), and optionally `labels` (names)
    and `split` ("train" or "test" for each row). In ARFF files `?` makes a label unknown; a
    missing feature is refused. A feature with a list of values becomes its number where all of
    them are numbers, and else one column of 0 and 1 for each value.
    """
    source = Path(path)
    if source.suffix == ".npz":
        name, table = source.stem, _read_npz(_LAYOUT.file(source))
    else:
        files = _files_of(source, None if labels is None else Path(labels))
        name, table = files.name, _read_arff(files)
    items = [str(row) for row in range(len(table.Y))]
    truth = PartialLabels.from_array(table.Y, labels=table.labels, items=items)
    features = numbers_only(items, table.X, str(source))
    # A split that puts all rows on one side is none; one of other words is refused, not redrawn.
    if table.side is not None and len(set(table.side)) > 1:
        training, test = rows_of_words(table.side, str(source))
        return Dataset(name, truth, training, test, features=features)
    training, test = seeded_split(truth, test_share, random_state)
    note = note_of_draw(training, test, random_state)
    return Dataset(name, truth, training, test, features=features, notes=[note])


def _read_npz(path: Path) -> Table:
    arrays = read_npz(path, ("X", "Y"))
    X, Y = arrays["X"], arrays["Y"]
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
        raise InvalidInputError(
            f"{path}: X and Y must be matrices with one row for each item; found shapes {X.shape} "
            f"and {Y.shape}."
        )
    if "labels" in arrays:
        labels = [str(label) for label in arrays["labels"].ravel()]
    else:
        labels = [f"label {number}" for number in range(1, Y.shape[1] + 1)]
    if len(labels) != Y.shape[1]:
        raise InvalidInputError(
            f"{path}: expected a name for each of the {Y.shape[1]} columns of Y, found "
            f"{len(labels)} labels."
        )
    side = [str(word) for word in arrays["split"].ravel()] if "split" in arrays else None
    if side is not None and len(side) != len(X):
        raise InvalidInputError(
            f"{path}: expected a word of split for each of the {len(X)} rows, found {len(side)}."
        )
    return Table(X, _checked(Y, path), labels, side)


def _checked(Y: npt.NDArray[np.generic], path: Path) -> npt.NDArray[np.float64]:
    if Y.dtype.kind not in "biuf":
        raise InvalidInputError(f"{path}: Y must hold 1, 0 and NaN, found {Y.dtype}.")
    return Y.astype(np.float64)


@dataclass(frozen=True)
class _Files:
    name: str
    xml: Path
    tables: tuple[tuple[str | None, Path], ...]


def _files_of(source: Path, xml: Path | None) -> _Files:
    """Find the files that belong to what was given."""
    if source.is_dir():
        found = sorted(source.glob("*.xml")) if xml is None else [xml]
        if len(found) != 1:
            raise _LAYOUT.missing(f"One .xml file in {source} (there are {len(found)})")
        source = source / found[0].stem
    whole = source.suffix == ".arff"
    stem = source.with_suffix("") if whole else source
    for ending in ("-train", "-test"):
        if stem.name.endswith(ending):
            stem, whole = stem.with_name(stem.name.removesuffix(ending)), False
    base = str(stem)
    xml = _LAYOUT.file(Path(f"{base}.xml") if xml is None else xml)
    pair = (("train", Path(f"{base}-train.arff")), ("test", Path(f"{base}-test.arff")))
    if not whole and any(path.is_file() for _, path in pair):
        for _, path in pair:
            _LAYOUT.file(path)
        return _Files(stem.name, xml, pair)
    return _Files(stem.name, xml, ((None, _LAYOUT.file(Path(f"{base}.arff"))),))


def _read_arff(files: _Files) -> Table:
    labels = _label_names(files.xml)
    parts = [(side, read_table(path, labels)) for side, path in files.tables]
    for _, part in parts:
        if part.attributes != parts[0][1].attributes:
            raise InvalidInputError(
                f"{files.tables[1][1]} has other features than {files.tables[0][1]}. Expected the "
                "same attributes, of the same types, in the same order."
            )
    side = [word for word, part in parts for _ in range(len(part.Y)) if word is not None]
    X = np.vstack([part.X for _, part in parts])
    return Table(X, np.vstack([part.Y for _, part in parts]), labels, side or None)


def _label_names(path: Path) -> list[str]:
    names: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name.rpartition(" ")[2] == "label":
            if "name" not in attributes:
                raise InvalidInputError(f"{path}: expected <label name=...>, found no name.")
            names.append(attributes["name"])

    walk_xml(path, start, lambda *_: None)
    if not names:
        raise InvalidInputError(f"{path} names no label: expected elements <label name=...>.")
    return names
