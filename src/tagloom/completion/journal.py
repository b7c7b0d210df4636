"""The journal of what people say about the suggestions of a run, apart from all that is computed.

Decisions on the review page and answers that `tagloom update` is given are durable before anything
else is done with them.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tagloom.completion.feedback import (
    ABSENT,
    DAMAGED,
    FILE,
    IN_EFFECT,
    PRESENT,
    PROTOCOL,
    UPDATE,
    Place,
    before_learning,
    check_protocol,
    chosen_threshold,
    decided,
    files_read,
    in_effect,
    name,
    stored,
    unreadable,
)
from tagloom.completion.folder import RECORD, exclusive_lock
from tagloom.completion.outputs import digest_of, read_record, take_snapshot
from tagloom.errors import TagloomError, UnwritableFileError
from tagloom.io import parse_json

__all__ = [
    "Answers",
    "Batch",
    "Change",
    "CheckedEntry",
    "Journal",
    "StoredCheck",
    "TagChange",
    "decided",
    "storing_answers",
]

# undone: 0 in effect, 1 undone and can be redone, 2 undone and superseded by a later decision.
_SCHEMA = f"""
    CREATE TABLE IF NOT EXISTS batches(
        id INTEGER PRIMARY KEY, time TEXT NOT NULL, client TEXT NOT NULL,
        undone INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE IF NOT EXISTS decisions(
        id INTEGER PRIMARY KEY, batch INTEGER NOT NULL REFERENCES batches(id),
        time TEXT NOT NULL, client TEXT NOT NULL, image TEXT NOT NULL, tag TEXT NOT NULL,
        before TEXT NOT NULL, after TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS decisions_of_batch ON decisions(batch);
    CREATE TABLE IF NOT EXISTS tag_decisions(
        batch INTEGER PRIMARY KEY REFERENCES batches(id), text TEXT NOT NULL,
        entries TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS learned(
        file TEXT NOT NULL, image TEXT NOT NULL, tag TEXT NOT NULL, before INTEGER);
    CREATE TABLE IF NOT EXISTS thresholds(run TEXT PRIMARY KEY, threshold REAL NOT NULL);
    CREATE TABLE IF NOT EXISTS checks(
        id INTEGER PRIMARY KEY, time TEXT NOT NULL, run TEXT NOT NULL, summary TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS check_entries(
        "check" INTEGER NOT NULL REFERENCES checks(id), place INTEGER NOT NULL,
        image TEXT NOT NULL, tag TEXT NOT NULL, suggested INTEGER NOT NULL,
        probability REAL NOT NULL, stratum_size INTEGER NOT NULL,
        unsure INTEGER NOT NULL DEFAULT 0, PRIMARY KEY("check", place));
    PRAGMA user_version = {PROTOCOL};
"""
# A locked journal must not hold up the page for long.
_PATIENCE_SECONDS = 1.0
_KNOWN_WORDS = {None: "open", True: "known", False: "absent"}
# By whether the tag is present, and whether it was known to be before.
_DECIDED_WORDS = {
    (True, True): "confirmed",
    (True, False): "accepted",
    (False, True): "removed",
    (False, False): "rejected",
}
_LAST_DONE = "SELECT max(id) FROM batches WHERE undone = 0"
_LAST_UNDONE = "SELECT min(id) FROM batches WHERE undone = 1"


class Change(NamedTuple):
    """One decision by names, with the journal words of the states before and after."""

    image: str
    tag: str
    before: str
    after: str


class TagChange(NamedTuple):
    """A decision about tags: in words, and the entries of the vocabulary before and after it."""

    text: str
    entries: dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None]]


class Batch(NamedTuple):
    """Decisions that were made together and are undone together."""

    id: int
    changes: list[Change]
    tag_change: TagChange | None = None


class CheckedEntry(NamedTuple):
    """An entry of a sample to check, by names; "don't know" is the answer that no decision is."""

    image: str
    tag: str
    is_suggested: bool
    probability: float
    stratum_size: int
    unsure: bool = False


class StoredCheck(NamedTuple):
    """A sample to check, with the numbers of `tagloom.completion.check.Check`."""

    id: int
    summary: dict[str, Any]
    entries: list[CheckedEntry]


class Journal:
    """The journal of a review; only one process at a time may open it.

    Decisions are committed with `synchronous=FULL` before a method returns, so that they survive
    a killed process and a power cut.
    """

    def __init__(self, out: Path) -> None:
        self.path = out / FILE
        self._lock = threading.Lock()
        self._guard = exclusive_lock(
            out / ".review.lock",
            lambda: f"{out} is open in another `tagloom review`. Continue there, or stop it first.",
        )
        try:
            self._open()
        except BaseException:
            self._guard.close()
            raise

    def _open(self) -> None:
        try:
            self._db = sqlite3.connect(
                self.path, check_same_thread=False, isolation_level=None, timeout=_PATIENCE_SECONDS
            )
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise
        except TagloomError:
            raise
        except DAMAGED as problem:
            raise unreadable(self.path, problem) from None

    def _prepare(self) -> None:
        if self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            check_protocol(self._db, self.path)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        self._opened = os.stat(self.path)

    def close(self) -> None:
        """Close the journal; every decision is already on disk."""
        with self._lock:
            self._db.close()
            self._guard.close()

    def add(
        self, client: str, changes: Sequence[Change], tag_change: TagChange | None = None
    ) -> int:
        """Write decisions as one batch and return its number; nothing can be redone after it."""
        with self._transaction():
            now = _now()
            self._db.execute("UPDATE batches SET undone = 2 WHERE undone = 1")
            made = self._db.execute(
                "INSERT INTO batches(time, client) VALUES (?, ?)", (now, client)
            )
            batch = int(made.lastrowid or 0)
            self._db.executemany(
                "INSERT INTO decisions(batch, time, client, image, tag, before, after) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    (batch, now, client, stored(one.image), stored(one.tag), one.before, one.after)
                    for one in changes
                ),
            )
            if tag_change is not None:
                row = (batch, tag_change.text, json.dumps(tag_change.entries))
                self._db.execute("INSERT INTO tag_decisions VALUES (?, ?, ?)", row)
        return batch

    def knows(self, client: str) -> bool:
        """Return whether this client has ever decided anything, undone or not."""
        with self._lock:
            found = self._db.execute("SELECT 1 FROM batches WHERE client = ? LIMIT 1", (client,))
            return found.fetchone() is not None

    def undo(self) -> Batch | None:
        """Undo the latest batch in effect, whichever tab made it."""
        return self._switch(_LAST_DONE, 1)

    def redo(self) -> Batch | None:
        """Redo the batch that was undone last, unless something was decided since."""
        return self._switch(_LAST_UNDONE, 0)

    def to_undo(self) -> Batch | None:
        """Return the batch that `undo` would undo."""
        with self._lock:
            return self._batch(_LAST_DONE)

    def to_redo(self) -> Batch | None:
        """Return the batch that `redo` would redo."""
        with self._lock:
            return self._batch(_LAST_UNDONE)

    def _switch(self, which: str, undone: int) -> Batch | None:
        with self._transaction():
            batch = self._batch(which)
            if batch is not None:
                self._db.execute("UPDATE batches SET undone = ? WHERE id = ?", (undone, batch.id))
        return batch

    def _batch(self, which: str) -> Batch | None:
        batch = self._db.execute(which).fetchone()[0]
        if batch is None:
            return None
        rows = self._db.execute(
            "SELECT image, tag, before, after FROM decisions WHERE batch = ? ORDER BY id", (batch,)
        ).fetchall()
        about_tags = self._db.execute(
            "SELECT text, entries FROM tag_decisions WHERE batch = ?", (batch,)
        ).fetchone()
        return Batch(
            batch,
            [Change(name(i), name(t), before, after) for i, t, before, after in rows],
            None if about_tags is None else TagChange(about_tags[0], json.loads(about_tags[1])),
        )

    def current(self) -> dict[Place, str]:
        """Return the last state, as a journal word, of every entry with a decision in effect."""
        try:
            with self._lock:
                rows = self._db.execute(IN_EFFECT).fetchall()
            return {(name(image), name(tag)): str(after) for image, tag, after in rows}
        except DAMAGED as problem:
            raise unreadable(self.path, problem) from None

    def answers(self) -> dict[Place, bool]:
        """Return all decisions in effect: True for present."""
        with self._lock:
            return in_effect(self._db)

    def labels_before_learning(self, read_files: Iterable[str]) -> dict[Place, bool | None]:
        """Return the labels from before the review of entries learned from these files."""
        with self._lock:
            return before_learning(self._db, read_files)

    def add_learned(self, file: str, entries: Mapping[Place, bool | None]) -> None:
        """Note the entries in a file of decisions, by its digest, with their labels before."""
        rows = [
            (file, stored(image), stored(tag), None if before is None else int(before))
            for (image, tag), before in entries.items()
        ]
        with self._transaction():
            self._db.execute("DELETE FROM learned WHERE file = ?", (file,))
            self._db.executemany("INSERT INTO learned VALUES (?, ?, ?, ?)", rows)

    def keep_learned(self, file: str) -> None:
        """Forget all files of decisions but the one that the run has learned from."""
        with self._transaction():
            self._db.execute("DELETE FROM learned WHERE file <> ?", (file,))

    def threshold(self, run: str) -> float | None:
        """Return the threshold that was chosen for the suggestions of a run, if any."""
        with self._lock:
            return chosen_threshold(self._db, run)

    def set_threshold(self, run: str, threshold: float | None) -> None:
        """Note the threshold for the suggestions of a run; None for the run's own."""
        with self._transaction():
            self._db.execute("DELETE FROM thresholds WHERE run = ?", (run,))
            if threshold is not None:
                self._db.execute("INSERT INTO thresholds VALUES (?, ?)", (run, threshold))

    def n_checks(self, run: str) -> int:
        """Return how many samples of a run were drawn so far."""
        with self._lock:
            found = self._db.execute("SELECT count(*) FROM checks WHERE run = ?", (run,))
            return int(found.fetchone()[0])

    def add_check(
        self, run: str, summary: Mapping[str, Any], entries: Sequence[CheckedEntry]
    ) -> None:
        """Note a sample to check."""
        with self._transaction():
            made = self._db.execute(
                "INSERT INTO checks(time, run, summary) VALUES (?, ?, ?)",
                (_now(), run, json.dumps(summary)),
            )
            self._db.executemany(
                "INSERT INTO check_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (made.lastrowid, place, stored(one.image), stored(one.tag), *one[2:])
                    for place, one in enumerate(entries)
                ),
            )

    def last_check(self, run: str) -> StoredCheck | None:
        """Return the latest sample of a run."""
        with self._lock:
            found = self._db.execute(
                "SELECT id, summary FROM checks WHERE run = ? ORDER BY id DESC LIMIT 1", (run,)
            ).fetchone()
            if found is None:
                return None
            rows = self._db.execute(
                "SELECT image, tag, suggested, probability, stratum_size, unsure "
                'FROM check_entries WHERE "check" = ? ORDER BY place',
                (found[0],),
            ).fetchall()
        try:
            entries = [
                CheckedEntry(name(image), name(tag), bool(suggested), p, size, bool(unsure))
                for image, tag, suggested, p, size, unsure in rows
            ]
            return StoredCheck(found[0], parse_json(found[1]), entries)
        except DAMAGED as problem:
            raise unreadable(self.path, problem) from None

    def set_unsure(self, check: int, place: int, unsure: bool) -> None:
        """Note whether the answer to an entry of a sample is "don't know"."""
        with self._transaction():
            self._db.execute(
                'UPDATE check_entries SET unsure = ? WHERE "check" = ? AND place = ?',
                (unsure, check, place),
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commit everything written inside, or nothing of it."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._check_in_place()
                    self._db.execute("COMMIT")
                except BaseException:
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                    raise
            except sqlite3.Error as problem:
                raise UnwritableFileError(
                    f"{self.path} cannot be written: {problem}. Nothing was changed. Free some "
                    "disk space or close the program that holds the file, and decide again."
                ) from None

    def _check_in_place(self) -> None:
        """Refuse to write into a file that was removed or replaced: nobody would find it."""
        try:
            same = os.path.samestat(self._opened, os.stat(self.path))
        except OSError:
            same = False
        if not same:
            raise UnwritableFileError(
                f"{self.path} was removed or replaced while the review was open. Nothing was "
                "stored: put the file back, or stop the review and start it again."
            )


class Answers(NamedTuple):
    """All answers in effect, True for present, and the digest by which the journal knows them."""

    in_effect: dict[Place, bool]
    digest: str


@contextmanager
def storing_answers(
    out: Path, given: Mapping[Place, bool], known: Callable[[Place], bool | None]
) -> Iterator[Answers]:
    """Store the answers that an update is given, before anything is learned from them.

    Yields all answers in effect: also those of the page, and of updates that were broken off. As
    the page does before it learns, this keeps a snapshot of the run and the labels from before the
    answers, so that what is undone on the page can be taken back.

    Parameters
    ----------
    given : mapping from (image, tag) to bool
        The new answers; those that say nothing new are not stored.
    known : callable
        Returns what the model of the run knows of (image, tag): True, False or None.
    """
    journal = Journal(out)
    try:
        has_run = (out / RECORD).exists()
        read_files = files_read(read_record(out)) if has_run else []
        learned = journal.labels_before_learning(read_files)
        before = {place: known(place) for place in given} | learned
        changes = _changes(given, before, journal.current())
        if changes:
            journal.add(f"{UPDATE} {digest_of(changes)[:16]}", changes)
        answers = journal.answers()
        if has_run and not learned:
            take_snapshot(out)
        digest = digest_of(sorted(answers.items()))
        journal.add_learned(digest, {place: known(place) for place in answers} | learned)
        yield Answers(answers, digest)
        journal.keep_learned(digest)
    finally:
        journal.close()


def _changes(
    given: Mapping[Place, bool], before: Mapping[Place, bool | None], words: Mapping[Place, str]
) -> list[Change]:
    """Return the answers that differ from what was decided or else known before."""
    changes = []
    for place, present in given.items():
        word = words.get(place, "")
        is_decided = word in PRESENT | ABSENT
        label = before.get(place)
        if present == (word in PRESENT if is_decided else label):
            continue
        now = word if is_decided else _KNOWN_WORDS[label]
        changes.append(Change(*place, now, _DECIDED_WORDS[present, label is True]))
    return changes


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
