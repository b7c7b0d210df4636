"""A CSV file as it is written, with the lines on which its rows stand."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats.annotations import AnnotationBuilder, tidy_name
from tagloom.formats.tables.text import Text, read_text
from tagloom.vision.pictures import named_format

# §§ columns
# What the columns of a table, or the keys of a JSON line, are called.


PICTURE = (
    "image",
    "file_name",
    "filename",
    "file",
    "path",
    "item",
    "imageid",
    "image_id",
    "image_name",
    "image_path",
    "file_path",
    "filepath",
    "picture",
    "photo",
)
TAG = ("tag", "label", "labelname", "label_name", "keyword")
TAGS = ("tags", "labels", "keywords")
STATE = ("present", "state", "value", "confidence")
PROBABILITY = ("probability", "confidence")
SPLIT = ("split",)
KNOWN = frozenset((*PICTURE, *TAG, *TAGS, *STATE, *PROBABILITY, *SPLIT))


def plain(name: str) -> str:
    """Return a name as it is compared: whatever its case, `File Name` is `file_name`."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def place_of(header: Sequence[str], names: Iterable[str], apart: Iterable[int] = ()) -> int | None:
    """Return the place of the column with the first of these names that there is.

    >>> place_of(["ImageID", "LabelName", "Confidence"], TAG)
    1
    """
    left_out = set(apart)
    places: dict[str, int] = {}
    for place, name in enumerate(header):
        if place not in left_out:
            places.setdefault(plain(name), place)
    return next((places[name] for name in names if name in places), None)


def picture_place(header: Sequence[str], apart: Iterable[int] = ()) -> int:
    """Return the place of the column of pictures: the first with such a name, or the first."""
    left_out = set(apart)
    free = [place for place in range(len(header)) if place not in left_out]
    named = [place for place in free if plain(header[place]) in PICTURE]
    return (named or free or [0])[0]


def form_of(header: Sequence[str]) -> str:
    """Tell the form of a table by its header: "tags", "long" or "wide".

    >>> form_of(["file_name", "tags"]), form_of(["image", "tag"]), form_of(["image", "sea", "sky"])
    ('tags', 'long', 'wide')
    """
    if place_of(header, TAGS) is not None:
        return "tags"
    return "wide" if place_of(header, TAG) is None else "long"


# §§ separators
# Which character stands between the cells of a table, and between the tags of a cell.


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


# §§ main tables


@dataclass(frozen=True)
class Table:
    """Rows of cells; blank rows are left out.

    Attributes
    ----------
    text : Text
        Where it comes from.
    separator : str
    header : list of str
        Empty for a table without header.
    rows : list of list of str
        Cells as written, but for spaces behind a separator.
    lines : list of int
        The line of the file on which each row begins.
    header_line : int
        The line on which the header stands.
    """

    text: Text
    separator: str
    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    header_line: int = 1

    @classmethod
    def read(cls, path: Path, *, header: bool = True) -> "Table":
        """Read a file whose separator is found out; rows may differ in width without a header."""
        table = cls.parsed(read_text(path))
        if not header:
            return table
        titled = cls(
            table.text,
            table.separator,
            [tidy_name(name) for name in table.rows[0]],
            table.rows[1:],
            table.lines[1:],
            table.lines[0],
        )
        titled._check()
        return titled

    @classmethod
    def parsed(cls, text: Text) -> "Table":
        """Part a text into rows and cells."""
        separator, start = declared_separator(text.content)
        content = text.content[start:]
        separator = separator or sniffed_separator(content)
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

    @property
    def path(self) -> Path:
        """The file."""
        return self.text.path

    @property
    def head(self) -> str:
        """Say where the header is."""
        return f"{self.path}, line {self.header_line}"

    def where(self, row: int, column: int | None = None) -> str:
        """Say where a row or a cell is."""
        place = f"{self.path}, line {self.lines[row]}"
        if column is None:
            return place
        name = repr(self.header[column]) if self.header else str(column + 1)
        return f"{place}, column {name}"

    def details(self, **columns: int | None) -> dict[str, str]:
        """Say how the file was read, and which column was taken for what."""
        taken = {what: self.header[at] for what, at in columns.items() if at is not None}
        named = {"columns": ", ".join(f"{what}: {name}" for what, name in taken.items())}
        return {
            "encoding": self.text.encoding,
            "separator": NAMES[self.separator],
            **(named if taken else {}),
        }

    def is_blank(self, column: int) -> bool:
        """Say whether nothing stands in any cell of a column."""
        return not any(row[column].strip() for row in self.rows)

    def note_unused(self, builder: AnnotationBuilder, unused: Sequence[int]) -> None:
        """Warn of columns that say nothing of tags."""
        names = [self.header[column] or "(without a name)" for column in unused]
        if names:
            listed = ", ".join(map(repr, names))
            builder.note(str(self.path), f"{len(names)} columns were not used: {listed}")

    def _check(self) -> None:
        named = [name for name in self.header if name]
        repeated = sorted({name for name in named if named.count(name) > 1})
        if repeated:
            raise InvalidInputError(
                f"{self.head}, column {repeated[0]!r}: columns need different names, found "
                f"{repeated[0]!r} twice. Rename one or take it out."
            )
        width = len(self.header)
        for number, row in enumerate(self.rows):
            if len(row) != width:
                raise InvalidInputError(
                    f"{self.where(number)}: expected {width} cells as in the header, found "
                    f"{len(row)}. Cells that hold a {NAMES[self.separator]} must stand in "
                    "quotation marks."
                )


def _broken(text: Text, line: int, problem: BrokenRowError) -> InvalidInputError:
    """Point at the last quotation mark of the line: the one that is not closed, as a rule."""
    lines = text.lines()
    column = lines[line - 1].rfind('"') + 1 if line <= len(lines) else 1
    return InvalidInputError(
        f"{text.path}, line {line}, column {max(column, 1)}: expected cells in which each "
        f"quotation mark is closed and a quotation mark inside is doubled, found otherwise "
        f"({problem}). Mend the row that begins there."
    )


# §§ states
# How cells say present, absent, unknown, and how sure a machine is.


_PRESENT = ("1", "1.0", "present", "yes", "true")
_ABSENT = ("0", "0.0", "absent", "no", "false")
_UNKNOWN = ("", "unknown", "nan", "na", "n/a", "null", "none", "?")
_UNCERTAIN = ("-1", "-1.0", "uncertain")
UNCERTAIN = "uncertain"
UNKNOWN = "unknown"
State = bool | str
"""True (present), False (absent), UNKNOWN, or UNCERTAIN: unknown because somebody could not tell"""

STATES: dict[str, State] = {
    **dict.fromkeys(_PRESENT, True),
    **dict.fromkeys(_ABSENT, False),
    **dict.fromkeys(_UNKNOWN, UNKNOWN),
    **dict.fromkeys(_UNCERTAIN, UNCERTAIN),
}
_EXPECTED = "expected 1 (present), 0 (absent) or, for unknown, nothing"


def state_of(cell: str) -> State | None:
    """Return what a cell says; None if it is no state.

    >>> state_of("1"), state_of("No "), state_of(""), state_of("-1"), state_of("2")
    (True, False, 'unknown', 'uncertain', None)
    """
    known = STATES.get(cell)
    return STATES.get(cell.strip().lower()) if known is None else known


def probability_of(cell: str) -> float | None:
    """Return the number in [0, 1] that a cell says; None if it says none.

    Spreadsheets write a comma where the language of the system does.

    >>> probability_of("0.25"), probability_of("0,25"), probability_of("2")
    (0.25, 0.25, None)
    """
    try:
        number = float(cell.replace(",", "."))
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None


def bad_state(where: str, found: str, also: str = "") -> InvalidInputError:
    """Return the error for a cell that is no state."""
    return InvalidInputError(
        f"{where}: {_EXPECTED}{also}; found {found!r}. Change the cell, or take the column out if "
        "it says nothing of tags."
    )


def bad_probability(where: str, found: str) -> InvalidInputError:
    """Return the error for a cell that is no probability."""
    return InvalidInputError(
        f"{where}: expected a machine's probability from 0 to 1, or nothing where a person says "
        f"it; found {found!r}. Change the cell or leave it blank."
    )


# §§ counting
# Things that are odd in the same way many times: one remark with a count and a first place.


class Counts:
    """Counts oddities of a source while it is read."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def add(self, what: str, where: str) -> None:
        """Count one more, at a place."""
        self._counts[what] = self._counts.get(what, 0) + 1
        self._first.setdefault(what, where)

    def note(self, builder: AnnotationBuilder) -> None:
        """Warn of all that was counted."""
        for what, number in self._counts.items():
            builder.note(f"{self._first[what]} (the first)", f"{number:,} {what}")


NO_PICTURE = "rows name no picture: left out"
NO_TAG = "tags are blank: left out"
UNCERTAIN_CELLS = "cells say -1 (uncertain): read as unknown"
