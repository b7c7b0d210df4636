"""Tag-list CSV: one row for each picture, with all its tags in one cell or in one cell each."""

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats.annotations import (
    Annotation,
    AnnotationBuilder,
    Reading,
    Spellings,
    tidy_picture,
)
from tagloom.formats.tables.csv import (
    NAMES,
    NO_PICTURE,
    NO_TAG,
    SEPARATORS,
    TAGS,
    Counts,
    Table,
    picture_place,
    place_of,
    separator_of_tags,
    state_of,
)
from tagloom.vision.pictures import named_format

TITLE = "tag-list CSV"
BARE_TITLE = "tag-list CSV without header"
_LISTS = "lists in brackets"
_ALONE = "nothing: one tag in each cell"


def read_tag_list_csv(path: str | Path, *, separator: str | None = None) -> Reading:
    """Read a table such as `file_name,tags`, where a cell holds all tags of a picture.

    Between the tags stands `;`, `|` or `,`, whichever most cells hold, or what `separator` says;
    or each cell is a list in brackets, `["sea","sky"]`. Only presences are listed: what an
    unlisted tag means, only the owner of the file can say.
    """
    table = Table.read(Path(path))
    builder = AnnotationBuilder()
    columns, between = gather_tag_lists(table, builder, separator)
    details = {**table.details(**vars(columns)), "between tags": NAMES.get(between, between)}
    return builder.finish(table.path, TITLE, lists_absences=False, **details)


@dataclass(frozen=True)
class TagColumns:
    """Places of the columns."""

    picture: int
    tags: int

    @classmethod
    def of(cls, table: Table, apart: frozenset[int] = frozenset()) -> "TagColumns":
        """Find the columns by their names."""
        tags = place_of(table.header, TAGS, apart)
        picture = None if tags is None else picture_place(table.header, {tags, *apart})
        if tags is None or picture is None or picture == tags:
            raise InvalidInputError(
                f"{table.head}: expected the columns 'file_name' and 'tags', found "
                f"{', '.join(map(repr, table.header))}. Name the columns of pictures and of tags."
            )
        return cls(picture, tags)


def gather_tag_lists(
    table: Table,
    builder: AnnotationBuilder,
    separator: str | None = None,
    apart: frozenset[int] = frozenset(),
) -> tuple[TagColumns, str]:
    """Collect what a table says; return where it stands, and what stands between the tags."""
    columns = TagColumns.of(table, apart)
    table.text.note_guess(builder)
    others = set(range(len(table.header))) - {columns.picture, columns.tags} - apart
    table.note_unused(builder, [at for at in sorted(others) if not table.is_blank(at)])
    between = separator or _between(table, columns.tags)
    rows = [
        (cells[columns.picture], _parted(table, row, columns.tags, between))
        for row, cells in enumerate(table.rows)
    ]
    _gather(table, rows, builder)
    return columns, between


def read_bare_tag_list_csv(path: str | Path) -> Reading:
    """Read rows `a.jpg,sea,sky` without a header, each as long as the picture has tags."""
    table = Table.read(Path(path), header=False)
    _check_bare(table)
    builder = AnnotationBuilder()
    table.text.note_guess(builder)
    rows = [(cells[0], [tag for tag in cells[1:] if tag.strip()]) for cells in table.rows]
    _gather(table, rows, builder)
    return builder.finish(table.path, BARE_TITLE, lists_absences=False, **table.details())


def is_bare(rows: list[list[str]], separator: str) -> bool:
    """Say whether rows can mean nothing but a picture and its tags, without any header."""
    return bool(rows) and all(cell is None for cell in _doubts(rows, separator))


def _doubts(rows: list[list[str]], separator: str) -> Iterator[int | None]:
    """Yield for each row the place of the cell that leaves it open to another reading."""
    others = [other for other in SEPARATORS if other != separator]
    clear: set[str] = {""}
    for row in rows:
        doubt = 0 if named_format(row[0].strip()) is None else None
        for place, cell in enumerate(row[1:], 1):
            if cell in clear or doubt is not None:
                continue
            if _may_be_state(cell) or any(other in cell for other in others):
                doubt = place
            else:
                clear.add(cell)
        yield doubt


def _may_be_state(cell: str) -> bool:
    return bool(cell.strip()) and (state_of(cell) is not None or _is_number(cell))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _check_bare(table: Table) -> None:
    for row, place in enumerate(_doubts(table.rows, table.separator)):
        if place is not None:
            raise InvalidInputError(
                f"{table.where(row, place)}: without a header, expected a picture's file name and "
                f"then its tags; found {table.rows[row][place]!r}, which could be something else. "
                "Add a header such as 'file_name,tags' or 'image,tag,state'."
            )


def _gather(table: Table, rows: list[tuple[str, list[str]]], builder: AnnotationBuilder) -> None:
    counts, spellings = Counts(), Spellings()
    for row, (name, tags) in enumerate(rows):
        image, where = tidy_picture(name), table.where(row)
        if not image:
            counts.add(NO_PICTURE, where)
            continue
        builder.images.setdefault(image)
        for written in tags:
            tag = spellings.tidy(written.strip())
            if tag:
                builder.add(Annotation(image, tag), where)
            else:
                counts.add(NO_TAG, where)
    spellings.note(builder, str(table.path))
    counts.note(builder)


def _between(table: Table, column: int) -> str:
    cells = [cells[column].strip() for cells in table.rows if cells[column].strip()]
    if cells and all(cell.startswith("[") and cell.endswith("]") for cell in cells):
        return _LISTS
    return separator_of_tags(cells) or _ALONE


def _parted(table: Table, row: int, column: int, between: str) -> list[str]:
    cell = table.rows[row][column].strip()
    if not cell:
        return []
    if between == _LISTS:
        return _listed(table, row, column, cell)
    if between == _ALONE:
        return [cell]
    # A separator at the end, as some programs write it, announces no blank tag.
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
