"""Wide CSV: one row for each picture, one column for each tag."""

from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats.annotations import Annotation, AnnotationBuilder, Reading, tidy_picture
from tagloom.formats.tables.csv import (
    NO_PICTURE,
    PICTURE,
    SPLIT,
    STATES,
    UNCERTAIN,
    UNCERTAIN_CELLS,
    UNKNOWN,
    Counts,
    State,
    Table,
    bad_state,
    picture_place,
    plain,
    state_of,
)

TITLE = "wide CSV"


def read_wide_csv(path: str | Path) -> Reading:
    """Read a table of pictures and tags with 1 (present), 0 (absent) or nothing (unknown).

    -1 means uncertain, and is unknown. Columns in which no cell is a state (`Age`, `split`) are
    not used, as long as there are others.
    """
    table = Table.read(Path(path))
    builder = AnnotationBuilder()
    picture = gather_wide(table, builder)
    details = table.details(picture=picture)
    return builder.finish(table.path, TITLE, lists_absences=True, **details)


def gather_wide(
    table: Table, builder: AnnotationBuilder, apart: frozenset[int] = frozenset()
) -> int:
    """Collect what a table says; return the place of the column of pictures."""
    picture = picture_place(table.header, apart)
    table.text.note_guess(builder)
    columns, unused = _tag_columns(table, {picture, *apart})
    table.note_unused(builder, unused)
    counts = Counts()
    tags = [(column, table.header[column]) for column in columns]
    builder.tags.update(dict.fromkeys(tag for _, tag in tags))
    for row, cells in enumerate(table.rows):
        where = table.where(row)
        image = tidy_picture(cells[picture])
        if not image:
            counts.add(NO_PICTURE, where)
            continue
        builder.images.setdefault(image)
        _gather_row(table, row, image, tags, builder, counts)
    counts.note(builder)
    return picture


def _gather_row(
    table: Table,
    row: int,
    image: str,
    tags: list[tuple[int, str]],
    builder: AnnotationBuilder,
    counts: Counts,
) -> None:
    cells, where = table.rows[row], table.where(row)
    for column, tag in tags:
        cell = cells[column]
        state = STATES.get(cell)
        if state is None:
            state = _state(table, row, column, cell)
        if state is True or state is False:
            builder.add(Annotation(image, tag, state), where)
        elif state == UNCERTAIN:
            builder.leave_undecided(image, tag)
            counts.add(UNCERTAIN_CELLS, where)


def _state(table: Table, row: int, column: int, cell: str) -> State:
    state = state_of(cell)
    if state is None:
        raise bad_state(table.where(row, column), cell)
    return state


def _tag_columns(table: Table, apart: set[int]) -> tuple[list[int], list[int]]:
    """Return the columns of tags, and those that say nothing of tags."""
    columns: list[int] = []
    unused: list[int] = []
    unnamed: list[int] = []
    for place, name in enumerate(table.header):
        if place in apart:
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
    """Say whether a cell of the column is a state that says something, or none says otherwise."""
    blank = True
    for cells in table.rows:
        state = state_of(cells[place])
        if state is not None and state != UNKNOWN:
            return True
        blank = blank and state is not None
    return blank


def _check_unnamed(table: Table, unnamed: list[int]) -> None:
    """Let pass the numbers of the rows, which some programs write in front without a name."""
    named = any(plain(name) in PICTURE for name in table.header)
    if unnamed and not (named and unnamed == [0]):
        raise InvalidInputError(
            f"{table.head}, column {unnamed[0] + 1}: columns need different names, found "
            "an empty name. Name the column or take it out."
        )
