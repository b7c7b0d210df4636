"""CSV files: finding the separator, and rows with the lines on which they begin."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats.base import AnnotationBuilder, normalize_name
from tagloom.formats.tables.columns import KNOWN, plain
from tagloom.formats.text import Text, read_text
from tagloom.vision.pictures import named_format

SEPARATORS = (",", ";", "\t", "|")
SEPARATOR_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_TAG_SEPARATORS = (";", "|", ",")
_DECLARED = re.compile(r"sep=([,;\t|])(?:\r\n|\r|\n|$)", re.IGNORECASE)
_SAMPLE_ROWS = 50
_SAMPLE_CHARACTERS = 65_536


@dataclass(frozen=True)
class Table:
    """Rows of cells; blank rows are left out.

    Attributes
    ----------
    text : Text
        The file.
    separator : str
    header : list of str
        Empty for a table without header.
    rows : list of list of str
        Cells as written, but for spaces behind a separator.
    lines : list of int
        The line of the file on which each row begins.
    header_line : int
        The line of the header.
    """

    text: Text
    separator: str
    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    header_line: int = 1

    @classmethod
    def read(cls, path: Path, *, header: bool = True) -> "Table":
        """Read a file and find its separator; without a header, rows may differ in width."""
        table = cls._parse(read_text(path))
        if not header:
            return table
        titled = cls(
            table.text,
            table.separator,
            [normalize_name(name) for name in table.rows[0]],
            table.rows[1:],
            table.lines[1:],
            table.lines[0],
        )
        titled._check()
        return titled

    @classmethod
    def _parse(cls, text: Text) -> "Table":
        separator, start = declared_separator(text.content)
        content = text.content[start:]
        separator = separator or sniff_separator(content)
        skipped = 1 if start else 0
        rows, lines = [], []
        try:
            for line, row in csv_rows(content, separator):
                if any(map(str.strip, row)):
                    rows.append(row)
                    lines.append(line + skipped)
        except BrokenRowError as problem:
            raise _broken(text, problem.line + skipped, problem) from problem
        if not rows:
            raise InvalidInputError(
                f"{text.path} is empty but for separators. Expected rows of pictures and tags: "
                "check that the right file was given."
            )
        return cls(text, separator, [], rows, lines)

    def _check(self) -> None:
        named = [name for name in self.header if name]
        repeated = sorted({name for name in named if named.count(name) > 1})
        if repeated:
            raise InvalidInputError(
                f"{self.head}, column {repeated[0]!r}: columns need different names, found "
                f"{repeated[0]!r} twice. Rename or remove one."
            )
        width = len(self.header)
        for number, row in enumerate(self.rows):
            if len(row) != width:
                raise InvalidInputError(
                    f"{self.where(number)}: expected {width} cells as in the header, found "
                    f"{len(row)}. Cells that hold a {SEPARATOR_NAMES[self.separator]} must be in "
                    "quotation marks."
                )

    @property
    def path(self) -> Path:
        """The file."""
        return self.text.path

    @property
    def head(self) -> str:
        """File and line of the header, for messages."""
        return f"{self.path}, line {self.header_line}"

    def where(self, row: int, column: int | None = None) -> str:
        """Return file, line and column of a row or cell, for messages."""
        place = f"{self.path}, line {self.lines[row]}"
        if column is None:
            return place
        name = repr(self.header[column]) if self.header else str(column + 1)
        return f"{place}, column {name}"

    def details(self, **columns: int | None) -> dict[str, str]:
        """Return how the file was read, for people; `columns` are those that were used."""
        used = {what: self.header[at] for what, at in columns.items() if at is not None}
        named = {"columns": ", ".join(f"{what}: {name}" for what, name in used.items())}
        return {
            "encoding": self.text.encoding,
            "separator": SEPARATOR_NAMES[self.separator],
            **(named if used else {}),
        }

    def is_blank(self, column: int) -> bool:
        """Return whether all cells of a column are blank."""
        return not any(row[column].strip() for row in self.rows)

    def warn_of_unused(self, builder: AnnotationBuilder, unused: Sequence[int]) -> None:
        """Warn of columns that were not used."""
        names = [self.header[column] or "(without a name)" for column in unused]
        if names:
            listed = ", ".join(map(repr, names))
            builder.warn(str(self.path), f"{len(names)} columns were not used: {listed}")


def _broken(text: Text, line: int, problem: "BrokenRowError") -> InvalidInputError:
    """Point at the last quotation mark of the line: usually the one that is not closed."""
    lines = text.lines()
    column = lines[line - 1].rfind('"') + 1 if line <= len(lines) else 1
    return InvalidInputError(
        f"{text.path}, line {line}, column {max(column, 1)}: expected cells in which each "
        f"quotation mark is closed and a quotation mark inside is doubled, found otherwise "
        f"({problem}). Correct the row that begins there."
    )


class BrokenRowError(Exception):
    """A row that is not CSV, with the line on which it begins."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def csv_rows(content: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row with the number of the line on which it begins."""
    # Spaces behind a separator are layout, and a quoted cell may follow them.
    reader = csv.reader(
        io.StringIO(content, newline=""), delimiter=separator, strict=True, skipinitialspace=True
    )
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as problem:
        raise BrokenRowError(line, str(problem)) from problem


def declared_separator(content: str) -> tuple[str | None, int]:
    """Return the separator of a first line `sep=;`, as spreadsheets write it, and its length."""
    found = _DECLARED.match(content)
    return (found.group(1), found.end()) if found else (None, 0)


def sniff_separator(content: str) -> str:
    r"""Return the separator under which header and first rows look most like a table.

    >>> sniff_separator("file_name;tags\na.jpg;sea,sky\nb.jpg;sand,sea,sun\n")
    ';'
    """
    scores = {separator: _score(sample_rows(content, separator)) for separator in SEPARATORS}
    return max(SEPARATORS, key=lambda separator: scores[separator])


def _score(rows: Sequence[Sequence[str]]) -> tuple[float, ...]:
    """Rank a separator: known names in the header, rows as wide as it, then its width."""
    if not rows or len(rows[0]) < 2:
        return (0.0,)
    known = sum(plain(cell) in KNOWN for cell in rows[0])
    pictures = all(named_format(row[0].strip()) is not None for row in rows)
    alike = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
    return (1.0, known + pictures, alike, len(rows[0]))


def sample_rows(content: str, separator: str) -> list[list[str]]:
    """Return the first rows that are not blank, up to the first that cannot be read."""
    rows: list[list[str]] = []
    try:
        for _, row in csv_rows(content[:_SAMPLE_CHARACTERS], separator):
            if any(cell.strip() for cell in row):
                rows.append(row)
            if len(rows) == _SAMPLE_ROWS:
                break
    except BrokenRowError:
        pass  # Reading the whole file reports it, with its place.
    return rows


def sniff_tag_separator(cells: Iterable[str]) -> str | None:
    """Return which of `;`, `|` and `,` most cells hold between tags; None if none does."""
    counts = dict.fromkeys(_TAG_SEPARATORS, 0)
    for cell in cells:
        for separator in _TAG_SEPARATORS:
            counts[separator] += separator in cell
    best = max(_TAG_SEPARATORS, key=lambda separator: counts[separator])
    return best if counts[best] else None
