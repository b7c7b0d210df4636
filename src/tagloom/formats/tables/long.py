"""Long CSV: one row for each picture and tag, with a state or a machine's probability."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats import base
from tagloom.formats.tables.csv import (
    NO_PICTURE,
    NO_TAG,
    PROBABILITY,
    STATE,
    TAG,
    UNCERTAIN,
    UNCERTAIN_CELL,
    CellState,
    Table,
    bad_state,
    find_column,
    find_picture_column,
    has_form,
    plain,
    probability_of,
    state_of,
    table_format,
)
from tagloom.labels import State

TITLE = "long CSV"
_SUGGESTED = "suggested"
_OWN_STATES: dict[str, CellState] = {
    "known": State.PRESENT,
    "doubtful-known": State.PRESENT,
    "doubtful-absent": State.ABSENT,
}
_OWN_COLUMNS = {"image", "tag", "probability", "state"}
_ONLY_OURS = {"rank", "error_probability", "acquisition_score"}
# Looking up a member of an enumeration is slow, and this happens for every row.
_PRESENT, _ABSENT, _UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN


def read_long_csv(path: str | Path) -> base.Reading:
    """Read a table such as `image,tag,state` or Open Images' `ImageID,LabelName,Confidence`.

    States are 1, 0, present, absent, yes, no, true, false; an empty cell is unknown, and so is -1.
    A state between 0 and 1, or a number in the column `probability`, is a machine's. Without a
    column of states every row is a presence. The tables that `tagloom complete` writes are known
    by their columns: there the state alone tells a person's annotation from a suggestion.
    """
    table = Table.read(Path(path))
    builder = base.AnnotationBuilder()
    columns = add_long(table, builder)
    details = table.details(**vars(columns))
    return builder.finish(table.path, TITLE, lists_absences=columns.state is not None, **details)


FORMAT = table_format(
    "long-csv",
    TITLE,
    "a table with the columns image, tag and, if it lists absences, state",
    has_form("long"),
    read_long_csv,
)


@dataclass(frozen=True)
class LongColumns:
    """Positions of the columns; a table without `state` lists presences only."""

    picture: int
    tag: int
    state: int | None
    probability: int | None

    @classmethod
    def of(cls, table: Table) -> "LongColumns":
        """Find the columns by their names."""
        tag = find_column(table.header, TAG)
        if tag is None:
            raise InvalidInputError(
                f"{table.head}: expected a column 'tag' or 'label', found "
                f"{', '.join(map(repr, table.header))}. Rename the column of tags, or choose "
                "another form of table."
            )
        state = find_column(table.header, STATE, [tag])
        probability = find_column(table.header, PROBABILITY, [tag, *_given(state)])
        picture = find_picture_column(table.header, [tag, *_given(state), *_given(probability)])
        if picture in {tag, state, probability}:
            raise InvalidInputError(
                f"{table.head}: expected a column 'image' beside the tags, found "
                f"{', '.join(map(repr, table.header))}. Add one that names the pictures."
            )
        return cls(picture, tag, state, probability)

    @property
    def used(self) -> set[int]:
        """All positions."""
        return {self.picture, self.tag, *_given(self.state), *_given(self.probability)}


def _given(place: int | None) -> list[int]:
    return [] if place is None else [place]


def add_long(
    table: Table, builder: base.AnnotationBuilder, excluded: frozenset[int] = frozenset()
) -> LongColumns:
    """Add the annotations of a table; warn of columns that are neither used nor `excluded`."""
    columns = LongColumns.of(table)
    counter, names = base.WarningCounter(), base.TagNames()
    table.text.warn_of_guess(builder)
    used = columns.used | excluded | _own_places(table.header)
    unused = sorted(set(range(len(table.header))) - used)
    table.warn_of_unused(builder, [place for place in unused if not table.is_blank(place)])
    for where, one, state in _rows(table, columns, names):
        if not one.image or not one.tag:
            _add_name(builder, one, state, counter, where)
        elif state is _UNKNOWN or state is UNCERTAIN:
            builder.leave_undecided(one.image, one.tag)
            if state is UNCERTAIN:
                counter.add(where, UNCERTAIN_CELL)
        else:
            builder.add(one, where)
    names.add_to(builder, str(table.path))
    counter.add_to(builder)
    return columns


def _rows(
    table: Table, columns: LongColumns, names: base.TagNames
) -> Iterator[tuple[str, base.Annotation, CellState]]:
    """Yield the place, the annotation and the state of each row."""
    path = str(table.path)
    state_in = _own_state if is_ours(table.header) else _state
    for row, (cells, line) in enumerate(zip(table.rows, table.lines, strict=True)):
        state, confidence = state_in(table, row, columns)
        image = base.picture_name(cells[columns.picture])
        tag = names.normalize(cells[columns.tag])
        one = base.Annotation(image, tag, state is _PRESENT, confidence)
        yield f"{path}, line {line}", one, state


def _state(table: Table, row: int, columns: LongColumns) -> tuple[CellState, float | None]:
    """Return the state of a row and a machine's confidence in it."""
    cells = table.rows[row]
    probability = "" if columns.probability is None else cells[columns.probability].strip()
    state = _PRESENT if columns.state is None else state_of(cells[columns.state])
    if probability:
        confidence = probability_of(probability)
        if confidence is None:
            raise InvalidInputError(
                f"{table.where(row, columns.probability)}: expected a machine's probability from "
                f"0 to 1, or nothing for a person's annotation; found {probability!r}. Change the "
                "cell or leave it blank."
            )
        # A probability without a state is that of a presence.
        state = _PRESENT if state is _UNKNOWN else state
        return _checked(table, row, columns, state), confidence
    if state is None and columns.state is not None:
        confidence = probability_of(cells[columns.state])
        if confidence is not None:
            certain = confidence in {0.0, 1.0}
            present = _PRESENT if confidence > 0 else _ABSENT
            return present, None if certain else confidence
    return _checked(table, row, columns, state), None


def _checked(table: Table, row: int, columns: LongColumns, state: CellState | None) -> CellState:
    if state is None and columns.state is not None:
        place = columns.state
        also = ", or a machine's probability between 0 and 1"
        raise bad_state(table.where(row, place), table.rows[row][place], also)
    return _UNKNOWN if state is None else state


def _add_name(
    builder: base.AnnotationBuilder,
    one: base.Annotation,
    state: CellState,
    counter: base.WarningCounter,
    where: str,
) -> None:
    """Add the picture or the tag of a row that lacks the other."""
    if one.image:
        builder.images.setdefault(one.image)
    if one.tag:
        builder.tags.setdefault(one.tag)
    if state is not _UNKNOWN:
        counter.add(where, NO_TAG if one.image else NO_PICTURE)


def is_ours(header: Sequence[str]) -> bool:
    """Return whether a table is one that `tagloom complete` wrote for people to answer in.

    There a probability is in nearly every row, also in those that a person has decided: only the
    state tells whether a person has.

    >>> is_ours(["image", "tag", "probability", "rank", "state"]), is_ours(["image", "tag", "rank"])
    (True, False)
    """
    names = set(map(plain, header))
    return names >= _OWN_COLUMNS and bool(names & _ONLY_OURS)


def _own_places(header: Sequence[str]) -> set[int]:
    """Return the columns that only our tables have and that are not about tags."""
    if not is_ours(header):
        return set()
    return {place for place, name in enumerate(header) if plain(name) in _ONLY_OURS}


def _own_state(table: Table, row: int, columns: LongColumns) -> tuple[CellState, float | None]:
    state, probability = (
        "" if place is None else table.rows[row][place]
        for place in (columns.state, columns.probability)
    )
    return answer_of(state, probability, table.where(row, columns.state))


def answer_of(state: str, probability: str, where: str) -> tuple[CellState, float | None]:
    """Return the state of a row of ours, and our confidence where nobody has decided.

    >>> answer_of("known", "0.8799", "line 2") == (State.PRESENT, None)
    True
    >>> answer_of("suggested", "0.8799", "line 3") == (State.PRESENT, 0.8799)
    True
    """
    word = state.strip().lower()
    answer = _OWN_STATES.get(word, state_of(word))
    if word == _SUGGESTED or answer is _UNKNOWN:
        confidence = probability_of(probability)
        return (_UNKNOWN, None) if confidence is None else (_PRESENT, confidence)
    if answer is None:
        raise InvalidInputError(
            f"{where}: expected known (or present, yes, 1) where the tag is right, absent (or no, "
            f"0) where it is wrong, {_SUGGESTED} or nothing where it is undecided; found "
            f"{state!r}. Change the cell."
        )
    return answer, None
