"""Decisions on disk: each is there, whatever happens, before anybody is told that it is."""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tagloom.completion.answers import (
    FILE,
    IN_EFFECT,
    PROTOCOL,
    Place,
    before_learning,
    check_protocol,
    decided,
    name,
    stored,
    unreadable,
)
from tagloom.errors import InvalidInputError, UnwritableFileError

__all__ = ["Batch", "Change", "Store", "decided"]

# undone: 0 in effect, 1 undone and may be redone, 2 undone and left behind by a later decision.
_SCHEMA = f"""
    CREATE TABLE IF NOT EXISTS batches(
        id INTEGER PRIMARY KEY, time TEXT NOT NULL, client TEXT NOT NULL,
        undone INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE IF NOT EXISTS decisions(
        id INTEGER PRIMARY KEY, batch INTEGER NOT NULL REFERENCES batches(id),
        time TEXT NOT NULL, client TEXT NOT NULL, image TEXT NOT NULL, tag TEXT NOT NULL,
        before TEXT NOT NULL, after TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS decisions_of_batch ON decisions(batch);
    CREATE TABLE IF NOT EXISTS learned(
        file TEXT NOT NULL, image TEXT NOT NULL, tag TEXT NOT NULL, before INTEGER);
    PRAGMA user_version = {PROTOCOL};
"""
_LAST_DONE = "SELECT max(id) FROM batches WHERE undone = 0"
_LAST_UNDONE = "SELECT min(id) FROM batches WHERE undone = 1"


class Change(NamedTuple):
    """One decision by names: the state before, as it was called, and the state after."""

    image: str
    tag: str
    before: str
    after: str


class Batch(NamedTuple):
    """Decisions that were made together and are undone together."""

    id: int
    changes: list[Change]


class Store:
    """The journal of a review; one process at a time may write to it.

    A decision is committed with `synchronous=FULL` before a method returns: neither a killed
    process nor a power cut takes it back.
    """

    def __init__(self, out: Path) -> None:
        self.path = out / FILE
        self._lock = threading.Lock()
        self._guard = _only_one(out)
        try:
            self._open()
        except BaseException:
            self._guard.close()
            raise

    def _open(self) -> None:
        try:
            self._db = sqlite3.connect(
                self.path, check_same_thread=False, isolation_level=None, timeout=10
            )
            if self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                check_protocol(self._db, self.path)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        except sqlite3.Error as problem:
            raise unreadable(self.path, problem) from None

    def close(self) -> None:
        """Close the journal; nothing is pending."""
        with self._lock:
            self._db.close()
            self._guard.close()

    def add(self, client: str, changes: Sequence[Change]) -> int:
        """Write decisions as one batch and return its number; what was undone is left behind."""
        with self._writing():
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
        return batch

    def undo(self) -> Batch | None:
        """Take back the latest batch that is in effect, whoever made it."""
        return self._turn(_LAST_DONE, 1)

    def redo(self) -> Batch | None:
        """Bring back the batch that was undone last, if nothing was decided since."""
        return self._turn(_LAST_UNDONE, 0)

    def to_undo(self) -> Batch | None:
        """Return what `undo` would take back."""
        with self._lock:
            return self._batch(_LAST_DONE)

    def to_redo(self) -> Batch | None:
        """Return what `redo` would bring back."""
        with self._lock:
            return self._batch(_LAST_UNDONE)

    def _turn(self, which: str, undone: int) -> Batch | None:
        with self._writing():
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
        return Batch(
            batch, [Change(name(i), name(t), before, after) for i, t, before, after in rows]
        )

    def current(self) -> dict[Place, str]:
        """Return the last state of every entry of which a batch in effect speaks."""
        with self._lock:
            rows = self._db.execute(IN_EFFECT).fetchall()
        return {(name(image), name(tag)): after for image, tag, after in rows}

    def learned(self, read_files: Iterable[str]) -> dict[Place, bool | None]:
        """Return what was said, before the review, of what a run has learned from these files."""
        with self._lock:
            return before_learning(self._db, read_files)

    def note_learned(self, file: str, entries: Mapping[Place, bool | None]) -> None:
        """Note what a file of decisions says, and what was said of it before, by its digest."""
        rows = [
            (file, stored(image), stored(tag), None if before is None else int(before))
            for (image, tag), before in entries.items()
        ]
        with self._writing():
            self._db.execute("DELETE FROM learned WHERE file = ?", (file,))
            self._db.executemany("INSERT INTO learned VALUES (?, ?, ?, ?)", rows)

    def forget_learned(self, but: str) -> None:
        """Forget all files of decisions but one: the run has learned from it."""
        with self._writing():
            self._db.execute("DELETE FROM learned WHERE file <> ?", (but,))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Do all that is inside or nothing of it."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._db.execute("COMMIT")
                except BaseException:
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                    raise
            except sqlite3.Error as problem:
                raise UnwritableFileError(
                    f"{self.path} cannot be written: {problem}. Nothing was changed; make room or "
                    "see that nothing else holds the file, and decide again."
                ) from None


def _only_one(out: Path) -> sqlite3.Connection:
    """Hold a lock that ends with the process, however it ends, on every system."""
    guard = sqlite3.connect(
        out / ".review.lock", check_same_thread=False, isolation_level=None, timeout=0.2
    )
    try:
        guard.execute("PRAGMA journal_mode = DELETE")
        guard.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as problem:
        guard.close()
        if "locked" not in str(problem):
            raise UnwritableFileError(f"{out} cannot be written: {problem}.") from None
        raise InvalidInputError(
            f"{out} is open in another `tagloom review`. Go on there, or end it first."
        ) from None
    return guard


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
