"""Feedback on the suggestions of a run: decisions of a review, and annotations learned by updates.

`tagloom review` and `tagloom update` keep what people say in a journal in the folder of the run:
every decision with its time and the state before it, in batches that can be undone. Here the
journal is only read; `tagloom.completion.journal` writes it.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tagloom.completion.folder import RECORD, is_edited
from tagloom.completion.outputs import (
    ANNOTATE_NEXT,
    MODEL,
    SUGGESTIONS,
    SUSPECTED_ERRORS,
    read_record,
)
from tagloom.completion.suggestions import (
    TagState,
    read_queries,
    read_suggestions,
    read_suspected_errors,
)
from tagloom.errors import InvalidInputError, TagloomError, UnwritableFileError
from tagloom.formats import Annotation, Annotations
from tagloom.formats.base import picture_name
from tagloom.formats.tables.long import answer_of
from tagloom.labels import PartialLabels, State
from tagloom.validation import some_of

FILE = "review.sqlite"
PROTOCOL = 1
PRESENT = frozenset({"accepted", "added", "confirmed"})
"""Decisions by which a picture has the tag."""
ABSENT = frozenset({"rejected", "removed"})
"""Decisions by which it does not."""
IN_EFFECT = """
    SELECT image, tag, after FROM decisions JOIN batches ON batches.id = decisions.batch
    WHERE batches.undone = 0 ORDER BY decisions.id
"""
UPDATE = "update"
"""How the name of the client begins where `tagloom update` wrote a batch."""

DAMAGED = (sqlite3.Error, ValueError, TypeError)
"""What a damaged journal raises: a database may hold any value in any cell, and no text at all."""

_NOT_ANSWERS = frozenset(state.text for state in TagState if state != TagState.KNOWN)
# Journals of earlier versions lack some tables.
_HAS_TABLE = "SELECT count(*) FROM sqlite_master WHERE name = ?"

Place = tuple[str, str]
"""The names of a picture and a tag."""


def decided(out: Path) -> Annotations:
    """Return what the review of a run has confirmed (present) and rejected (absent).

    `undecided` are entries that were decided when the run was last updated and have been undone
    since: whatever the model holds of them is withdrawn. There is nothing without a review.
    """
    path = out / FILE
    if not path.exists():
        return Annotations.of([])
    read_files = files_read(read_record(out))
    with reading(path) as journal:
        decisions = {**before_learning(journal, read_files), **in_effect(journal)}
    return Annotations.of(
        (
            Annotation(*place, present)
            for place, present in decisions.items()
            if present is not None
        ),
        undecided=[place for place, present in decisions.items() if present is None],
    )


def answers_in_tables(out: Path) -> dict[Place, bool]:
    """Return what people have written into the tables of a run: True for present.

    Only a table that was edited since it was written can hold answers. Of several on one entry the
    last counts.
    """
    readers = {
        SUGGESTIONS: read_suggestions,
        SUSPECTED_ERRORS: read_suspected_errors,
        ANNOTATE_NEXT: read_queries,
    }
    answers: dict[Place, bool] = {}
    for file, read in readers.items():
        if not is_edited(out / file):
            continue
        for row in read(out / file):
            if row.state in _NOT_ANSWERS:
                continue
            state, confidence = answer_of(row.state, "", f"{out / file}, line {row.line}")
            if state is not State.UNKNOWN and confidence is None:
                answers[picture_name(row.image), row.tag] = state is State.PRESENT
    return answers


def in_effect(journal: sqlite3.Connection) -> dict[Place, bool]:
    """Return all decisions in effect: True for present, False for absent."""
    last = {(name(image), name(tag)): after for image, tag, after in journal.execute(IN_EFFECT)}
    return {place: after in PRESENT for place, after in last.items() if after in PRESENT | ABSENT}


def before_learning(
    journal: sqlite3.Connection, read_files: Iterable[str]
) -> dict[Place, bool | None]:
    """Return the annotations, before the review, of the entries that a run has learned from it.

    Decisions are learned from a file, which its digest identifies in the journal.
    """
    rows = [
        row
        for digest in read_files
        for row in journal.execute(
            "SELECT image, tag, before FROM learned WHERE file = ?", (digest,)
        )
    ]
    return {
        (name(image), name(tag)): None if before is None else bool(before)
        for image, tag, before in rows
    }


def chosen_threshold(journal: sqlite3.Connection, run: str) -> float | None:
    """Return the threshold that a review has chosen for the suggestions of a run, if any."""
    if not journal.execute(_HAS_TABLE, ("thresholds",)).fetchone()[0]:
        return None
    found = journal.execute("SELECT threshold FROM thresholds WHERE run = ?", (run,)).fetchone()
    return None if found is None else float(found[0])


def threshold_of(out: Path) -> float | None:
    """Return the threshold that the review of a run has chosen; None for the run's own."""
    if not (out / FILE).exists():
        return None
    with reading(out / FILE) as journal:
        return chosen_threshold(journal, str(read_record(out).get("digest")))


def checked_entries(out: Path) -> set[Place]:
    """Return the entries of all samples that were drawn to check the suggestions of a run."""
    if not (out / FILE).exists():
        return set()
    with reading(out / FILE) as journal:
        if not journal.execute(_HAS_TABLE, ("check_entries",)).fetchone()[0]:
            return set()
        rows = journal.execute("SELECT image, tag FROM check_entries").fetchall()
    return {(name(image), name(tag)) for image, tag in rows}


def files_read(record: Mapping[str, Any]) -> list[str]:
    """Return the digests of the tag files and answers that a run has read, from its record."""
    inputs = record.get("inputs") or {}
    answers = [inputs["answers"]] if inputs.get("answers") else []
    return sorted(map(str, [*(inputs.get("tags") or {}).values(), *answers]))


def stored(text: str) -> str | bytes:
    """Return a name as the journal can hold it: file names need not be Unicode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def name(value: str | bytes) -> str:
    """Return the name that `stored` has turned into a value; any other value is a TypeError."""
    if not isinstance(value, str | bytes):
        raise TypeError(f"{value!r} stands where a name should be")
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a journal for reading, even while the review page writes to it."""
    try:
        journal = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=10)
        try:
            check_protocol(journal, path)
            yield journal
        finally:
            journal.close()
    except TagloomError:
        raise
    except DAMAGED as problem:
        raise unreadable(path, problem) from None


def check_protocol(journal: sqlite3.Connection, path: Path) -> None:
    """Refuse a journal of another version, whose words may have other meanings."""
    protocol = int(journal.execute("PRAGMA user_version").fetchone()[0])
    if protocol != PROTOCOL:
        raise InvalidInputError(
            f"{path} is not a journal of decisions that this version can read: expected protocol "
            f"{PROTOCOL}, found {protocol}. Use the version of tagloom that wrote it."
        )


def unreadable(path: Path, problem: Exception) -> InvalidInputError:
    """Return the error for a journal that cannot be read."""
    return InvalidInputError(
        f"{path} cannot be read as a journal of decisions: {problem}. Restore it from a copy, or "
        "move it away to continue without the decisions."
    )


def check_feedback_kept(out: Path, known: PartialLabels, undecided: Collection[Place]) -> None:
    """Refuse to replace a run by one that lacks the feedback which the run has learned since.

    A new run would not learn from it. Decisions of a review wait in the journal to be learned, and
    contradictory tags, which are left undecided, have been reported already.
    """
    given = as_mapping(known)
    lost = sorted(
        (image, tag)
        for (image, tag), present in _learned_feedback(out, known).items()
        if given.get((image, tag)) != present and (image, tag) not in undecided
    )
    if lost:
        listed = some_of([f"{tag} of {image}" for image, tag in lost], 3)
        raise UnwritableFileError(
            f"{out} has learned {len(lost):,} annotations by `tagloom update` that the tags of "
            f"this run do not hold ({listed}): they would be lost. Write them out with `tagloom "
            f"export {out} --to csv --file known.csv` and add --tags known.csv, or choose another "
            "folder for the results."
        )


def _learned_feedback(out: Path, known: PartialLabels) -> dict[Place, bool]:
    """Return the feedback on pictures that still exist; nothing for a folder without a model."""
    if not ((out / MODEL).exists() and (out / RECORD).exists()):
        return {}
    try:
        given, reviewed = _feedback_of_model(out), _reviewed(out)
    except TagloomError:
        return {}
    there = set(map(str, known.items or ()))
    return {
        place: present
        for place, present in as_mapping(given).items()
        if place[0] in there and place not in reviewed
    }


def _reviewed(out: Path) -> set[Place]:
    """Return the entries that were last decided, or undone, on the review page."""
    if not (out / FILE).exists():
        return set()
    with reading(out / FILE) as journal:
        rows = journal.execute(
            "SELECT image, tag, undone, batches.client FROM decisions "
            "JOIN batches ON batches.id = decisions.batch ORDER BY decisions.id"
        ).fetchall()
    last = {
        (name(image), name(tag)): bool(undone) or not str(client).startswith(UPDATE)
        for image, tag, undone, client in rows
    }
    return {place for place, by_review in last.items() if by_review}


def as_mapping(known: PartialLabels) -> dict[Place, bool]:
    """Return the listed annotations by the names of their pictures and tags."""
    entries, items = known.entries(), known.items or ()
    return {
        (str(items[row]), str(known.labels[column])): present
        for row, column, present in zip(
            entries.rows.tolist(), entries.columns.tolist(), entries.present.tolist(), strict=True
        )
    }


def _feedback_of_model(out: Path) -> PartialLabels:
    # Imported late: a review only reads what people have answered.
    from tagloom.completion.model import CompletionModel

    return CompletionModel.load(out / MODEL).feedback
