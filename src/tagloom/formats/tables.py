"""A CSV file as it is written, with the lines on which its rows stand."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats.gathering import Gathering
from tagloom.formats.separators import (
    NAMES,
    BrokenRowError,
    csv_rows,
    declared_separator,
    sniffed_separator,
)
from tagloom.formats.spellings import tidy_name
from tagloom.formats.text import Text, read_text


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

    def note_unused(self, gathering: Gathering, unused: Sequence[int]) -> None:
        """Remark on columns that say nothing of tags."""
        names = [self.header[column] or "(without a name)" for column in unused]
        if names:
            listed = ", ".join(map(repr, names))
            gathering.note(str(self.path), f"{len(names)} columns were not used: {listed}")

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
