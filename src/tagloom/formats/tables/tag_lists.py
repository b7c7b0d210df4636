"""Tag-list CSV: one row for each picture, with all its tags in one cell or in one cell each."""

import ast
import json
from dataclasses import dataclass
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats import base
from tagloom.formats.tables.csv import (
    NO_PICTURE,
    NO_TAG,
    SEPARATOR_NAMES,
    TAGS,
    Table,
    ambiguous_cells,
    find_column,
    find_picture_column,
    has_form,
    sniff_tag_separator,
    table_format,
)

TITLE = "tag-list CSV"
BARE_TITLE = "tag-list CSV without header"
_LISTS = "lists in brackets"
_ONE_TAG = "nothing: one tag in each cell"


def read_tag_list_csv(path: str | Path, *, separator: str | None = None) -> base.Reading:
    """Read a table such as `file_name,tags`, where a cell holds all tags of a picture.

    Tags are separated by `;`, `|` or `,`, whichever most cells hold, or by `separator`; or each
    cell is a list in brackets, `["sea","sky"]`. Only presences are listed: what an unlisted tag
    means, only the owner of the file knows.
    """
    table = Table.read(Path(path))
    builder = base.AnnotationBuilder()
    columns, between = add_tag_lists(table, builder, separator)
    details = {
        **table.details(**vars(columns)),
        "between tags": SEPARATOR_NAMES.get(between, between),
    }
    return builder.finish(table.path, TITLE, lists_absences=False, **details)


def read_bare_tag_list_csv(path: str | Path) -> base.Reading:
    """Read rows `a.jpg,sea,sky` without a header, each as long as the picture has tags."""
    table = Table.read(Path(path), header=False)
    for row, place in enumerate(ambiguous_cells(table.rows, table.separator)):
        if place is not None:
            raise InvalidInputError(
                f"{table.where(row, place)}: without a header, expected a picture's file name and "
                f"then its tags; found {table.rows[row][place]!r}, which could be something else. "
                "Add a header such as 'file_name,tags' or 'image,tag,state'."
            )
    builder = base.AnnotationBuilder()
    table.text.warn_of_guess(builder)
    rows = [(cells[0], [tag for tag in cells[1:] if tag.strip()]) for cells in table.rows]
    _add_rows(table, rows, builder)
    return builder.finish(table.path, BARE_TITLE, lists_absences=False, **table.details())


FORMAT = table_format(
    "tag-list-csv",
    TITLE,
    "a table with the columns file_name and tags",
    has_form("tags"),
    read_tag_list_csv,
)
BARE_FORMAT = table_format(
    "bare-tag-list-csv",
    BARE_TITLE,
    "rows a.jpg,sea,sky without a header",
    has_form("bare"),
    read_bare_tag_list_csv,
)


@dataclass(frozen=True)
class TagColumns:
    """Positions of the columns."""

    picture: int
    tags: int

    @classmethod
    def of(cls, table: Table, excluded: frozenset[int] = frozenset()) -> "TagColumns":
        """Find the columns by their names."""
        tags = find_column(table.header, TAGS, excluded)
        picture = None if tags is None else find_picture_column(table.header, {tags, *excluded})
        if tags is None or picture is None or picture == tags:
            raise InvalidInputError(
                f"{table.head}: expected the columns 'file_name' and 'tags', found "
                f"{', '.join(map(repr, table.header))}. Name the columns of pictures and of tags."
            )
        return cls(picture, tags)


def add_tag_lists(
    table: Table,
    builder: base.AnnotationBuilder,
    separator: str | None = None,
    excluded: frozenset[int] = frozenset(),
) -> tuple[TagColumns, str]:
    """Add the annotations of a table; return its columns, and what separates the tags."""
    columns = TagColumns.of(table, excluded)
    table.text.warn_of_guess(builder)
    others = set(range(len(table.header))) - {columns.picture, columns.tags} - excluded
    table.warn_of_unused(builder, [at for at in sorted(others) if not table.is_blank(at)])
    between = separator or _sniff_separator(table, columns.tags)
    rows = [
        (cells[columns.picture], _split(table, row, columns.tags, between))
        for row, cells in enumerate(table.rows)
    ]
    _add_rows(table, rows, builder)
    return columns, between


def _sniff_separator(table: Table, column: int) -> str:
    cells = [cells[column].strip() for cells in table.rows if cells[column].strip()]
    if cells and all(cell.startswith("[") and cell.endswith("]") for cell in cells):
        return _LISTS
    return sniff_tag_separator(cells) or _ONE_TAG


def _split(table: Table, row: int, column: int, between: str) -> list[str]:
    cell = table.rows[row][column].strip()
    if not cell:
        return []
    if between == _LISTS:
        return _listed(table, row, column, cell)
    if between == _ONE_TAG:
        return [cell]
    # Some programs write a separator at the end, which is followed by no tag.
    return cell.removesuffix(between).split(between)


def _listed(table: Table, row: int, column: int, cell: str) -> list[str]:
    """Return the tags of a JSON list, or of a list as Python prints it."""
    for parse in (json.loads, ast.literal_eval):
        try:
            given = parse(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(given, list) and all(isinstance(tag, str) for tag in given):
            return given
    raise InvalidInputError(
        f'{table.where(row, column)}: expected a list of tags such as ["sea","sky"], found '
        f"{cell[:80]!r}. Close its quotation marks and brackets."
    )


def _add_rows(
    table: Table, rows: list[tuple[str, list[str]]], builder: base.AnnotationBuilder
) -> None:
    counter, names = base.WarningCounter(), base.TagNames()
    for row, (name, tags) in enumerate(rows):
        image, where = base.picture_name(name), table.where(row)
        if not image:
            counter.add(where, NO_PICTURE)
            continue
        builder.images.setdefault(image)
        for written in tags:
            tag = names.normalize(written.strip())
            if tag:
                builder.add(base.Annotation(image, tag), where)
            else:
                counter.add(where, NO_TAG)
    names.add_to(builder, str(table.path))
    counter.add_to(builder)
