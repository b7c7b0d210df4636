"""Wide CSV: one row for each picture, one column for each tag."""

from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats import base
from tagloom.formats.tables.csv import (
    NO_PICTURE,
    PICTURE,
    SPLIT,
    STATES,
    UNCERTAIN,
    UNCERTAIN_CELL,
    Table,
    bad_state,
    find_picture_column,
    has_form,
    plain,
    state_of,
    table_format,
)
from tagloom.labels import State

TITLE = "wide CSV"
# Looking up a member of an enumeration is slow, and this happens for every cell.
_PRESENT, _UNKNOWN = State.PRESENT, State.UNKNOWN


def read_wide_csv(path: str | Path) -> base.Reading:
    """Read a table of pictures and tags with 1 (present), 0 (absent) or nothing (unknown).

    -1 means uncertain, and is unknown. Columns in which no cell is a state (`Age`, `split`) are
    not used, as long as there are others.
    """
    table = Table.read(Path(path))
    builder = base.AnnotationBuilder()
    picture = add_wide(table, builder)
    details = table.details(picture=picture)
    return builder.finish(table.path, TITLE, lists_absences=True, **details)


FORMAT = table_format(
    "wide-csv",
    TITLE,
    "a table with a column image and a column of 1, 0 or nothing for each tag",
    has_form("wide"),
    read_wide_csv,
)


def add_wide(
    table: Table, builder: base.AnnotationBuilder, excluded: frozenset[int] = frozenset()
) -> int:
    """Add the annotations of a table; return the column of pictures."""
    picture = find_picture_column(table.header, excluded)
    table.text.warn_of_guess(builder)
    columns, unused = _tag_columns(table, {picture, *excluded})
    table.warn_of_unused(builder, unused)
    counter = base.WarningCounter()
    tags = [(column, table.header[column]) for column in columns]
    builder.tags.update(dict.fromkeys(tag for _, tag in tags))
    for row, cells in enumerate(table.rows):
        image = base.picture_name(cells[picture])
        if image:
            builder.images.setdefault(image)
            _add_row(table, row, image, tags, builder, counter)
        else:
            counter.add(table.where(row), NO_PICTURE)
    counter.add_to(builder)
    return picture


def _add_row(
    table: Table,
    row: int,
    image: str,
    tags: list[tuple[int, str]],
    builder: base.AnnotationBuilder,
    counter: base.WarningCounter,
) -> None:
    cells, where = table.rows[row], table.where(row)
    for column, tag in tags:
        cell = cells[column]
        state = STATES.get(cell)
        if state is None:
            state = state_of(cell)
        if state is None:
            raise bad_state(table.where(row, column), cell)
        if state is UNCERTAIN:
            builder.leave_undecided(image, tag)
            counter.add(where, UNCERTAIN_CELL)
        elif state is not _UNKNOWN:
            builder.add(base.Annotation(image, tag, state is _PRESENT), where)


def _tag_columns(table: Table, excluded: set[int]) -> tuple[list[int], list[int]]:
    """Return the columns of tags, and the columns that are not about tags."""
    columns: list[int] = []
    unused: list[int] = []
    unnamed: list[int] = []
    for place, name in enumerate(table.header):
        if place in excluded:
            continue
        if not name and not table.is_blank(place):
            unnamed.append(place)
        elif name:
            (columns if _holds_states(table, place) else unused).append(place)
    _check_unnamed(table, unnamed)
    if not columns:
        columns = [place for place in unused if plain(table.header[place]) not in SPLIT]
        unused = [place for place in unused if place not in columns]
    if not columns:
        raise InvalidInputError(
            f"{table.head}: expected columns of tags beside the pictures; there is no "
            f"column of labels in {', '.join(map(repr, table.header))}. Add a column for each tag."
        )
    return columns, [*unnamed, *unused]


def _holds_states(table: Table, place: int) -> bool:
    """Return whether a cell of the column is a known state, or all of them are unknown."""
    blank = True
    for cells in table.rows:
        state = state_of(cells[place])
        if state is not None and state is not _UNKNOWN:
            return True
        blank = blank and state is not None
    return blank


def _check_unnamed(table: Table, unnamed: list[int]) -> None:
    """Accept an unnamed first column: some programs write row numbers there."""
    named = any(plain(name) in PICTURE for name in table.header)
    if unnamed and not (named and unnamed == [0]):
        raise InvalidInputError(
            f"{table.head}, column {unnamed[0] + 1}: columns need different names, found "
            "an empty name. Name the column or remove it."
        )
