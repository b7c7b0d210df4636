"""Which character stands between the cells of a table, and between the tags of a cell."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from tagloom.formats.columns import KNOWN, plain
from tagloom.vision.signatures import named_format

SEPARATORS = (",", ";", "\t", "|")
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_INSIDE = (";", "|", ",")
_DECLARED = re.compile(r"sep=([,;\t|])(?:\r\n|\r|\n|$)", re.IGNORECASE)
_SAMPLE_ROWS = 50
_SAMPLE_CHARACTERS = 65_536


class BrokenRowError(Exception):
    """A row that is no CSV, with the line on which it begins."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def csv_rows(content: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row with the number of the line on which it begins."""
    # Spaces behind a separator are layout: a quoted cell may follow them. A tab may separate.
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
    """Return what a first line `sep=;`, as spreadsheets write it, says, and where the rest is."""
    found = _DECLARED.match(content)
    return (found.group(1), found.end()) if found else (None, 0)


def sniffed_separator(content: str) -> str:
    r"""Return the separator under which header and first rows look most like a table.

    >>> sniffed_separator("file_name;tags\na.jpg;sea,sky\nb.jpg;sand,sea,sun\n")
    ';'
    """
    scores = {separator: _score(sample_rows(content, separator)) for separator in SEPARATORS}
    return max(SEPARATORS, key=lambda separator: scores[separator])


def sample_rows(content: str, separator: str) -> list[list[str]]:
    """Return the first rows that are not blank, as far as they can be read."""
    rows: list[list[str]] = []
    try:
        for _, row in csv_rows(content[:_SAMPLE_CHARACTERS], separator):
            if any(cell.strip() for cell in row):
                rows.append(row)
            if len(rows) == _SAMPLE_ROWS:
                break
    except BrokenRowError:
        pass  # What is broken is said with its place when the whole file is read.
    return rows


def _score(rows: Sequence[Sequence[str]]) -> tuple[float, ...]:
    """Order candidates: known names in the header, rows as wide as it, and how wide it is."""
    if not rows or len(rows[0]) < 2:
        return (0.0,)
    known = sum(plain(cell) in KNOWN for cell in rows[0])
    pictures = all(named_format(row[0].strip()) is not None for row in rows)
    alike = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
    return (1.0, known + pictures, alike, len(rows[0]))


def separator_of_tags(cells: Iterable[str]) -> str | None:
    """Return what stands between the tags: that of `;`, `|` and `,` which most cells hold."""
    counts = dict.fromkeys(_INSIDE, 0)
    for cell in cells:
        for separator in _INSIDE:
            counts[separator] += separator in cell
    best = max(_INSIDE, key=lambda separator: counts[separator])
    return best if counts[best] else None
