"""Three forms of tables of labels: long, wide, and lists of tags."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tagloom.checks import some_of
from tagloom.datasets._tags import Unlisted, truth_of_tags
from tagloom.datasets._texts import read_text
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels

_STATES = {"1": True, "0": False}
_ITEM_NAMES = ("file_name", "image", "imageid", "item")


@dataclass(frozen=True)
class CsvTable:
    """A table as it is written: the lines of the file on which its rows stand are kept."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    @classmethod
    def read(cls, path: Path) -> "CsvTable":
        """Read a CSV file with a header."""
        reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
        rows, lines = [], []
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    rows.append([cell.strip() for cell in row])
                    lines.append(reader.line_num)
        except csv.Error as problem:
            raise InvalidInputError(f"{path}, line {reader.line_num}: {problem}.") from problem
        if not rows:
            raise InvalidInputError(f"{path} is empty. Expected a header and rows of labels.")
        table = cls(path, rows[0], rows[1:], lines[1:])
        table._check()
        return table

    def _check(self) -> None:
        repeated = sorted({name for name in self.header if self.header.count(name) > 1})
        if repeated or "" in self.header:
            found = f"{repeated[0]!r} twice" if repeated else "an empty name"
            raise InvalidInputError(f"{self.path}: columns need different names, found {found}.")
        for row, line in zip(self.rows, self.lines, strict=True):
            if len(row) != len(self.header):
                raise InvalidInputError(
                    f"{self.path}, line {line}: expected {len(self.header)} cells as in the "
                    f"header, found {len(row)}."
                )

    def place(self, *names: str) -> int | None:
        """Return the place of the first column with one of these names, whatever their case."""
        low = [name.lower() for name in self.header]
        return next((low.index(name) for name in names if name in low), None)

    @property
    def item_place(self) -> int:
        """Place of the column that names the pictures."""
        return self.place(*_ITEM_NAMES) or 0

    def where(self, row: int, column: int) -> str:
        """Say where a cell is."""
        return f"{self.path}, line {self.lines[row]}, column {self.header[column]!r}"

    def items(self) -> list[str]:
        """Return the names of the pictures in the order in which they first occur."""
        for row, cells in enumerate(self.rows):
            parts = cells[self.item_place].replace("\\", "/").split("/")
            if not cells[self.item_place] or ".." in parts or parts[0] == "":
                raise InvalidInputError(
                    f"{self.where(row, self.item_place)}: expected a picture's path inside the "
                    f"folder, found {cells[self.item_place]!r}."
                )
        return list(dict.fromkeys(cells[self.item_place] for cells in self.rows))

    def renamed(self, name: Mapping[str, str]) -> "CsvTable":
        """Return the table with other names of its pictures."""
        at = self.item_place
        rows = [[*cells[:at], name[cells[at]], *cells[at + 1 :]] for cells in self.rows]
        return replace(self, rows=rows)


def form_of(table: CsvTable) -> str:
    """Tell the form by the header: a column `tags`, a column of labels, or neither."""
    if table.place("tags") is not None:
        return "tags"
    return "wide" if table.place("label", "labelname") is None else "long"


def read_form(table: CsvTable, form: str, unlisted: Unlisted, separator: str) -> PartialLabels:
    """Read the labels of a table."""
    if form == "tags":
        return _tags(table, unlisted, separator)
    readers: dict[str, Callable[[CsvTable], PartialLabels]] = {"long": _long, "wide": _wide}
    return readers[form](table)


def _state(table: CsvTable, row: int, column: int) -> bool:
    text = table.rows[row][column]
    if text not in _STATES:
        raise InvalidInputError(
            f"{table.where(row, column)}: expected 1 (present), 0 (absent) or, for unknown, "
            f"nothing; found {text!r}."
        )
    return _STATES[text]


def _needed(table: CsvTable, *names: str) -> int:
    place = table.place(*names)
    if place is None:
        raise InvalidInputError(
            f"{table.path} has no column {' or '.join(map(repr, names))}; it has "
            f"{some_of(table.header)}."
        )
    return place


def _long(table: CsvTable) -> PartialLabels:
    label, value = (
        _needed(table, "label", "labelname"),
        _needed(table, "present", "confidence", "value"),
    )
    known: dict[tuple[str, str], tuple[bool, int]] = {}
    for row, cells in enumerate(table.rows):
        if not cells[value]:
            continue
        state = _state(table, row, value)
        first = known.setdefault((cells[table.item_place], cells[label]), (state, row))
        if first[0] != state:
            raise InvalidInputError(
                f"{table.where(row, value)}: {cells[label]!r} of {cells[table.item_place]!r} "
                f"contradicts line {table.lines[first[1]]}."
            )
    items, labels = table.items(), sorted({cells[label] for cells in table.rows})
    place = {item: row for row, item in enumerate(items)}
    column = {name: number for number, name in enumerate(labels)}
    return PartialLabels.from_entries(
        np.array([place[item] for item, _ in known], dtype=np.int64),
        np.array([column[name] for _, name in known], dtype=np.int64),
        np.array([state for state, _ in known.values()], dtype=bool),
        shape=(len(items), len(labels)),
        labels=labels,
        items=items,
    )


def _once(table: CsvTable) -> list[str]:
    items = table.items()
    if len(items) < len(table.rows):
        seen: set[str] = set()
        for row, cells in enumerate(table.rows):
            if cells[table.item_place] in seen:
                raise InvalidInputError(
                    f"{table.where(row, table.item_place)}: {cells[table.item_place]!r} stands in "
                    "an earlier row as well. Expected one row for each picture."
                )
            seen.add(cells[table.item_place])
    return items


def _wide(table: CsvTable) -> PartialLabels:
    apart = {table.item_place, table.place("split")}
    columns = [place for place in range(len(table.header)) if place not in apart]
    if not columns:
        raise InvalidInputError(f"{table.path} has no column of labels beside {table.header}.")
    values = [
        [float(_state(table, row, c)) if cells[c] else np.nan for c in columns]
        for row, cells in enumerate(table.rows)
    ]
    return PartialLabels.from_array(
        np.array(values).reshape(len(table.rows), len(columns)),
        labels=[table.header[column] for column in columns],
        items=_once(table),
    )


def _tags(table: CsvTable, unlisted: Unlisted, separator: str) -> PartialLabels:
    column = _needed(table, "tags")
    lists: Sequence[list[str]] = [
        [tag.strip() for tag in cells[column].split(separator) if tag.strip()]
        for cells in table.rows
    ]
    return truth_of_tags(dict(zip(_once(table), lists, strict=True)), unlisted)
