"""CSV tables: separators and rows, names of columns, states in cells, and the form of a table.

A table has one of four forms: tag lists with or without a header, long, or wide.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tagloom.errors import InvalidInputError
from tagloom.formats.base import AnnotationBuilder, Format, Reading, normalize_name
from tagloom.formats.metadata.folders import warn_of_keywords
from tagloom.formats.text import Text, read_head, read_text
from tagloom.labels import State
from tagloom.vision.pictures import named_format

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
STATE = ("present", "state", "value", "confidence", "answer")
PROBABILITY = ("probability", "confidence")
SPLIT = ("split",)
KNOWN = frozenset((*PICTURE, *TAG, *TAGS, *STATE, *PROBABILITY, *SPLIT))

NO_PICTURE = "a row names no picture: left out"
NO_TAG = "a tag is blank: left out"
UNCERTAIN_CELL = "a cell is -1 (uncertain): read as unknown"

SEPARATORS = (",", ";", "\t", "|")
SEPARATOR_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_TAG_SEPARATORS = (";", "|", ",")
_DECLARED = re.compile(r"sep=([,;\t|])(?:\r\n|\r|\n|$)", re.IGNORECASE)
_DEFUSED = re.compile("'+[=+\\-@\t\r\n]")
_FIRST = frozenset("'=+-@\t\r\n")
_FORMULA = re.compile("'*[=+\\-@\t\r\n]")
_SAMPLE_ROWS = 50
_SAMPLE_CHARACTERS = 65_536


def plain(name: str) -> str:
    """Return the name of a column for comparison: `File Name` is `file_name`."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def find_column(
    header: Sequence[str], names: Iterable[str], excluded: Iterable[int] = ()
) -> int | None:
    """Return the column with the first of these names that occurs; None if none does.

    >>> find_column(["ImageID", "LabelName", "Confidence"], TAG)
    1
    """
    left_out = set(excluded)
    places: dict[str, int] = {}
    for place, name in enumerate(header):
        if place not in left_out:
            places.setdefault(plain(name), place)
    return next((places[name] for name in names if name in places), None)


def find_picture_column(header: Sequence[str], excluded: Iterable[int] = ()) -> int:
    """Return the first column that is named like pictures, else the first column."""
    left_out = set(excluded)
    free = [place for place in range(len(header)) if place not in left_out]
    named = [place for place in free if plain(header[place]) in PICTURE]
    return (named or free or [0])[0]


UNCERTAIN: Literal["uncertain"] = "uncertain"
CellState = State | Literal["uncertain"]
"""A state; UNCERTAIN is unknown because an annotator could not tell."""

STATES: dict[str, CellState] = {
    **dict.fromkeys(("1", "1.0", "present", "yes", "true"), State.PRESENT),
    **dict.fromkeys(("0", "0.0", "absent", "no", "false"), State.ABSENT),
    **dict.fromkeys(("", "unknown", "nan", "na", "n/a", "null", "none", "?"), State.UNKNOWN),
    **dict.fromkeys(("-1", "-1.0", "uncertain"), UNCERTAIN),
}


def state_of(cell: str) -> CellState | None:
    """Return the state that a cell spells; None if it is none.

    >>> state_of("1") is State.PRESENT, state_of("No ") is State.ABSENT, state_of("-1")
    (True, True, 'uncertain')
    >>> state_of("") is State.UNKNOWN, state_of("2")
    (True, None)
    """
    known = STATES.get(cell)
    return STATES.get(cell.strip().lower()) if known is None else known


def probability_of(cell: str) -> float | None:
    """Return the number in [0, 1] that a cell spells, with a decimal point or comma; else None.

    >>> probability_of("0.25"), probability_of("0,25"), probability_of("2")
    (0.25, 0.25, None)
    """
    try:
        number = float(cell.replace(",", "."))
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None


def bad_state(where: str, found: str, also: str = "") -> InvalidInputError:
    """Return the error for a cell that is not a state."""
    return InvalidInputError(
        f"{where}: expected 1 (present), 0 (absent) or, for unknown, nothing{also}; found "
        f"{found!r}. Change the cell, or remove the column if it is not about tags."
    )


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


def defuse(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: with an apostrophe before it.

    A spreadsheet may run what begins with = + - or @, also behind a tab or a line end (OWASP, "CSV
    Injection"). Apostrophes before such a character get one more, so that `undefuse` is exact.

    >>> [defuse(cell) for cell in ("sea", "=1+1", "'=1+1", "'tis")]
    ['sea', "'=1+1", "''=1+1", "'tis"]
    """
    return f"'{cell}" if cell[:1] in _FIRST and _FORMULA.match(cell) else cell


def undefuse(cell: str) -> str:
    """Return the cell that `defuse` was given.

    >>> [undefuse(cell) for cell in ("sea", "'=1+1", "''=1+1", "'tis")]
    ['sea', '=1+1', "'=1+1", "'tis"]
    """
    return cell[1:] if _DEFUSED.match(cell) else cell


def csv_rows(content: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row, no cell defused, with the number of the line on which it begins."""
    has_defused = _DEFUSED.search(content) is not None
    # Spaces behind a separator are layout, and a quoted cell may follow them.
    reader = csv.reader(
        io.StringIO(content, newline=""), delimiter=separator, strict=True, skipinitialspace=True
    )
    line = 1
    try:
        for row in reader:
            yield line, [undefuse(cell) for cell in row] if has_defused else row
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


_FILES = ("metadata.jsonl", "metadata.csv", "labels.csv", "tags.csv")
_NOT_CSV = ("{", "[", "<")


def table_format(
    key: str,
    title: str,
    expected: str,
    detect: Callable[[Text], bool],
    read: Callable[[Path], Reading],
) -> Format:
    """Describe a format of tables: a file, or a folder with a file of a usual name."""

    def detect_path(path: Path) -> bool:
        table = _table_in(path)
        text = None if table is None else read_head(table)
        return text is not None and detect(text)

    def read_path(path: Path, pictures: Path | None) -> Reading:
        table = _table_in(path) or path
        reading = read(table)
        if path.is_dir():
            reading.warnings.extend(warn_of_keywords(path, table))
        return reading

    return Format(key, title, expected, detect_path, read_path)


def _table_in(path: Path) -> Path | None:
    """Return the file itself, or the first file in a folder with a usual name of tables."""
    if path.is_dir():
        return next((path / name for name in _FILES if (path / name).is_file()), None)
    return path if path.is_file() else None


def has_form(form: str) -> Callable[[Text], bool]:
    """Return a function that detects tables of this form."""
    return lambda text: table_form(text) == form


def table_form(text: Text) -> str | None:
    """Return "tags", "long", "wide" or "bare" (tags without header); None if it is no table."""
    if text.content.lstrip().startswith(_NOT_CSV):
        return None
    declared, start = declared_separator(text.content)
    content = text.content[start:]
    separator = declared or sniff_separator(content)
    rows = sample_rows(content, separator)
    if not rows or len(rows[0]) < 2:
        return None
    if all(cell is None for cell in ambiguous_cells(rows, separator)):
        return "bare"
    form = form_of_header(rows[0])
    if form != "wide":
        return form
    return "wide" if _looks_wide(rows) else None


def form_of_header(header: Sequence[str]) -> str:
    """Return the form of a table by its header: "tags", "long" or "wide".

    >>> form_of_header(["file_name", "tags"]), form_of_header(["image", "tag"])
    ('tags', 'long')
    >>> form_of_header(["image", "sea", "sky"])
    'wide'
    """
    if find_column(header, TAGS) is not None:
        return "tags"
    return "wide" if find_column(header, TAG) is None else "long"


def _looks_wide(rows: list[list[str]]) -> bool:
    """Return whether the columns may be tags: a column names pictures, or all cells are states."""
    named = any(plain(name) in PICTURE for name in rows[0])
    body = [cell for row in rows[1:] for cell in row[1:]]
    return named or (bool(body) and all(state_of(cell) is not None for cell in body))


def ambiguous_cells(rows: list[list[str]], separator: str) -> Iterator[int | None]:
    """Yield for each row the first cell that may be something else than a picture and its tags.

    None where the row can only be a picture followed by its tags, without a header.
    """
    others = [other for other in SEPARATORS if other != separator]
    clear: set[str] = {""}
    for row in rows:
        ambiguous = 0 if named_format(row[0].strip()) is None else None
        for place, cell in enumerate(row[1:], 1):
            if cell in clear or ambiguous is not None:
                continue
            if _may_be_state(cell) or any(other in cell for other in others):
                ambiguous = place
            else:
                clear.add(cell)
        yield ambiguous


def _may_be_state(cell: str) -> bool:
    return bool(cell.strip()) and (state_of(cell) is not None or _is_number(cell))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
