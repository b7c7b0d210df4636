"""Answers that a run has learned from, and that must not be lost to the next one."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tagloom.completion.model import CompletionModel
from tagloom.completion.options import NAME, read_record
from tagloom.completion.outputs import MODEL
from tagloom.errors import InvalidInputError, TagloomError, UnwritableFileError
from tagloom.formats import Annotation, Annotations
from tagloom.labels import PartialLabels
from tagloom.validation import some_of

# §§ decisions
# What a person has decided in a review of a run, as `tagloom review` keeps it in its folder.
#
# Here it is only read, so that exporters need not know of the web page. The file is a journal:
# every decision with its time and the state before, in batches of which each may be undone.


FILE = "review.sqlite"
PROTOCOL = 1
PRESENT = frozenset({"accepted", "added", "confirmed"})
"""States after which a picture has the tag, by a person's word."""
ABSENT = frozenset({"rejected", "removed"})
"""States after which it has it not."""
IN_EFFECT = """
    SELECT image, tag, after FROM decisions JOIN batches ON batches.id = decisions.batch
    WHERE batches.undone = 0 ORDER BY decisions.id
"""

Place = tuple[str, str]


def decided(out: Path) -> Annotations:
    """Return what reviewing a run has confirmed (present) and denied (absent).

    `undecided` are entries that were decided when the run last learned and were taken back since:
    whatever the model holds of them, nobody says it any more. Without a review nothing is said.
    """
    path = out / FILE
    if not path.exists():
        return Annotations.of([])
    read_files = files_read(read_record(out))
    with reading(path) as journal:
        said = before_learning(journal, read_files) | in_effect(journal)
    return Annotations.of(
        (Annotation(*place, present) for place, present in said.items() if present is not None),
        undecided=[place for place, present in said.items() if present is None],
    )


def in_effect(journal: sqlite3.Connection) -> dict[Place, bool | None]:
    """Return all that is decided: True for present, False for absent."""
    last = {(name(image), name(tag)): after for image, tag, after in journal.execute(IN_EFFECT)}
    return {place: after in PRESENT for place, after in last.items() if after in PRESENT | ABSENT}


def before_learning(
    journal: sqlite3.Connection, read_files: Iterable[str]
) -> dict[Place, bool | None]:
    """Return what was said, before the review, of the entries that a run has learned from it.

    Decisions are learned from a file, by whose digest they are known here.
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


def files_read(record: Mapping[str, Any]) -> list[str]:
    """Return the digests of the files with tags that a run has read, by its record."""
    tags = (record.get("inputs") or {}).get("tags") or {}
    return sorted(map(str, tags.values()))


def stored(text: str) -> str | bytes:
    """Return a name as the journal can hold it: those of files need not be Unicode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def name(value: str | bytes) -> str:
    """Return the name of which `stored` made a value."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a journal to read, also while a page is writing to it."""
    try:
        journal = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=10)
        try:
            check_protocol(journal, path)
            yield journal
        finally:
            journal.close()
    except sqlite3.Error as problem:
        raise unreadable(path, problem) from None


def check_protocol(journal: sqlite3.Connection, path: Path) -> None:
    """Refuse a journal of a later version, which may mean other things by the same words."""
    protocol = int(journal.execute("PRAGMA user_version").fetchone()[0])
    if protocol != PROTOCOL:
        raise InvalidInputError(
            f"{path} is no record of decisions that this version can read: expected protocol "
            f"{PROTOCOL}, found {protocol}. Use the version of tagloom that wrote it."
        )


def unreadable(path: Path, problem: Exception) -> InvalidInputError:
    """Return the error for a journal that cannot be read."""
    return InvalidInputError(
        f"{path} cannot be read as a record of decisions: {problem}. Restore it from a copy, or "
        "move it away to go on without what was decided."
    )


# §§ main keeping


def check_answers_kept(out: Path, said: PartialLabels, undecided: Collection[Place]) -> None:
    """Refuse to replace a run by one that does not know the answers it was given since.

    Answers may stand in no other file: those that were written into a table of the run are not in
    the one that took its place. What was decided in a review is in its own journal, and of what the
    tags leave undecided, because they say both, people are told anyway.
    """
    told = _statements(said)
    lost = sorted(
        (image, tag)
        for (image, tag), present in _answers(out, said).items()
        if told.get((image, tag)) != present and (image, tag) not in undecided
    )
    if lost:
        listed = some_of([f"{tag} of {image}" for image, tag in lost], 3)
        raise UnwritableFileError(
            f"{out} has learned {len(lost):,} answers by `tagloom update` that the tags of this "
            f"run do not hold ({listed}): they would be lost. Write them out with `tagloom export "
            f"{out} --to csv --only-known --file known.csv` and add --tags known.csv, or choose "
            "another folder for the results."
        )


def _answers(out: Path, said: PartialLabels) -> dict[Place, bool]:
    """Return what was answered of pictures that are there; a folder without a model has nothing."""
    if not ((out / MODEL).exists() and (out / NAME).exists()):
        return {}
    try:
        given, reviewed = CompletionModel.load(out / MODEL).later, decided(out)
    except TagloomError:
        return {}
    there = set(map(str, said.items or ()))
    in_journal = {(one.image, one.tag) for one in reviewed} | reviewed.undecided
    return {
        place: present
        for place, present in _statements(given).items()
        if place[0] in there and place not in in_journal
    }


def _statements(said: PartialLabels) -> dict[Place, bool]:
    entries, items = said.entries(), said.items or ()
    return {
        (str(items[row]), str(said.labels[column])): present
        for row, column, present in zip(
            entries.rows.tolist(), entries.columns.tolist(), entries.present.tolist(), strict=True
        )
    }
