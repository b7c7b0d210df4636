"""Long CSV: one row for each picture and tag, with present, absent or a machine's probability."""

from collections.abc import Iterator, Sequence
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
    NO_PICTURE,
    NO_TAG,
    PROBABILITY,
    STATE,
    TAG,
    UNCERTAIN,
    UNCERTAIN_CELLS,
    UNKNOWN,
    Counts,
    State,
    Table,
    bad_probability,
    bad_state,
    picture_place,
    place_of,
    plain,
    probability_of,
    state_of,
)

# §§ own_tables
# Tables of ours that come back: suggestions and questions to which a person has answered.
#
# There a probability stands in nearly every row, also in those that a person has decided: the state
# alone says who speaks.


KNOWN = "known"
SUGGESTED = "suggested"
DOUBTFUL_KNOWN = "doubtful-known"
DOUBTFUL_ABSENT = "doubtful-absent"
_WORDS: dict[str, State] = {KNOWN: True, DOUBTFUL_KNOWN: True, DOUBTFUL_ABSENT: False}
_COLUMNS = {"image", "tag", "probability", "state"}
_ONLY_OURS = {"rank", "worth"}


def is_ours(header: Sequence[str]) -> bool:
    """Say whether a header is that of our suggestions or questions.

    >>> is_ours(["image", "tag", "probability", "rank", "state"]), is_ours(["image", "tag", "rank"])
    (True, False)
    """
    names = set(map(plain, header))
    return names >= _COLUMNS and bool(names & _ONLY_OURS)


def own_places(header: Sequence[str]) -> set[int]:
    """Return the places of columns that only our tables have, and that say nothing of tags."""
    if not is_ours(header):
        return set()
    return {place for place, name in enumerate(header) if plain(name) in _ONLY_OURS}


def answered(state: str, probability: str, where: str) -> tuple[State, float | None]:
    """Return what a row says, and our confidence where no person says it.

    A suggestion that nobody has decided, and a question without an answer, are ours.

    >>> answered("known", "0.8799", "line 2"), answered("suggested", "0.8799", "line 3")
    ((True, None), (True, 0.8799))
    """
    word = state.strip().lower()
    said = _WORDS.get(word, state_of(word))
    if word == SUGGESTED or said == UNKNOWN:
        confidence = probability_of(probability)
        return (UNKNOWN, None) if confidence is None else (True, confidence)
    if said is None:
        raise InvalidInputError(
            f"{where}: expected known (or present, yes, 1) where the tag is right, absent (or no, "
            f"0) where it is wrong, {SUGGESTED} or nothing where it is open; found {state!r}. "
            "Change the cell."
        )
    return said, None


# §§ main table_long


TITLE = "long CSV"


@dataclass(frozen=True)
class LongColumns:
    """Places of the columns; a table without `state` lists presences only."""

    picture: int
    tag: int
    state: int | None
    probability: int | None

    @classmethod
    def of(cls, table: Table) -> "LongColumns":
        """Find the columns by their names."""
        tag = place_of(table.header, TAG)
        if tag is None:
            raise InvalidInputError(
                f"{table.head}: expected a column 'tag' or 'label', found "
                f"{', '.join(map(repr, table.header))}. Name the column of tags, or say that the "
                "table has another form."
            )
        state = place_of(table.header, STATE, [tag])
        probability = place_of(table.header, PROBABILITY, [tag, *_given(state)])
        picture = picture_place(table.header, [tag, *_given(state), *_given(probability)])
        if picture in {tag, state, probability}:
            raise InvalidInputError(
                f"{table.head}: expected a column 'image' beside the tags, found "
                f"{', '.join(map(repr, table.header))}. Add one that names the pictures."
            )
        return cls(picture, tag, state, probability)

    @property
    def used(self) -> set[int]:
        """All places."""
        return {self.picture, self.tag, *_given(self.state), *_given(self.probability)}


def read_long_csv(path: str | Path) -> Reading:
    """Read a table such as `image,tag,state` or Open Images' `ImageID,LabelName,Confidence`.

    States are 1, 0, present, absent, yes, no, true, false; nothing is unknown, and so is -1. A
    state between 0 and 1, or a number in the column `probability`, is a machine's. Without a
    column of states every row says that the tag is present. Our own suggestions and questions are
    known by their columns: there the state says who speaks, whatever the probability.
    """
    table = Table.read(Path(path))
    builder = AnnotationBuilder()
    columns = gather_long(table, builder)
    details = table.details(**vars(columns))
    return builder.finish(table.path, TITLE, lists_absences=columns.state is not None, **details)


def gather_long(
    table: Table, builder: AnnotationBuilder, apart: frozenset[int] = frozenset()
) -> LongColumns:
    """Collect what a table says; columns that are neither used nor `apart` are remarked on."""
    columns = LongColumns.of(table)
    counts, spellings = Counts(), Spellings()
    table.text.note_guess(builder)
    unused = sorted(set(range(len(table.header))) - columns.used - apart - own_places(table.header))
    table.note_unused(builder, [place for place in unused if not table.is_blank(place)])
    for where, one, state in _said(table, columns, spellings):
        if not one.image or not one.tag:
            _take_half(builder, one, state, counts, where)
        elif state in {UNKNOWN, UNCERTAIN}:
            builder.leave_undecided(one.image, one.tag)
            if state == UNCERTAIN:
                counts.add(UNCERTAIN_CELLS, where)
        else:
            builder.add(one, where)
    spellings.note(builder, str(table.path))
    counts.note(builder)
    return columns


def _said(
    table: Table, columns: LongColumns, spellings: Spellings
) -> Iterator[tuple[str, Annotation, State]]:
    name = str(table.path)
    state_in = _own_state if is_ours(table.header) else _state
    for row, (cells, line) in enumerate(zip(table.rows, table.lines, strict=True)):
        state, confidence = state_in(table, row, columns)
        image, tag = tidy_picture(cells[columns.picture]), spellings.tidy(cells[columns.tag])
        yield f"{name}, line {line}", Annotation(image, tag, state is True, confidence), state


def _own_state(table: Table, row: int, columns: LongColumns) -> tuple[State, float | None]:
    state, probability = (
        "" if place is None else table.rows[row][place]
        for place in (columns.state, columns.probability)
    )
    return answered(state, probability, table.where(row, columns.state))


def _state(table: Table, row: int, columns: LongColumns) -> tuple[State, float | None]:
    """Return the state of a row and a machine's confidence in it."""
    cells = table.rows[row]
    probability = "" if columns.probability is None else cells[columns.probability].strip()
    state: State | None = True if columns.state is None else state_of(cells[columns.state])
    if probability:
        confidence = probability_of(probability)
        if confidence is None:
            raise bad_probability(table.where(row, columns.probability), probability)
        # A machine that gives its probability and no state speaks of a presence.
        state = True if state == UNKNOWN else state
        return _checked(table, row, columns, state), confidence
    if state is None and columns.state is not None:
        confidence = probability_of(cells[columns.state])
        if confidence is not None:
            certain = confidence in {0.0, 1.0}
            return confidence > 0, None if certain else confidence
    return _checked(table, row, columns, state), None


def _checked(table: Table, row: int, columns: LongColumns, state: State | None) -> State:
    if state is None and columns.state is not None:
        place = columns.state
        also = ", or a machine's probability between 0 and 1"
        raise bad_state(table.where(row, place), table.rows[row][place], also)
    return UNKNOWN if state is None else state


def _take_half(
    builder: AnnotationBuilder, one: Annotation, state: State, counts: Counts, where: str
) -> None:
    """Take a row that lacks picture or tag: alone, it only names one."""
    if one.image:
        builder.images.setdefault(one.image)
    if one.tag:
        builder.tags.setdefault(one.tag)
    if state != UNKNOWN:
        counts.add(NO_TAG if one.image else NO_PICTURE, where)


def _given(place: int | None) -> list[int]:
    return [] if place is None else [place]
