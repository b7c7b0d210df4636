"""The feature cache: each picture is encoded once.

An entry is found by the SHA-256 of the picture's bytes and the encoder's identity, so renamed,
moved and repeated pictures are recognised and a changed one is not mistaken for its old version.
The entries live in an SQLite database in WAL mode: a process killed at any instant loses its last
unfinished transaction and nothing else, and several processes may read and write at once.
"""

import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import TagloomError
from tagloom.io import user_cache
from tagloom.vision.encoders.base import Encoder, Vector

_FILE_NAME = "features.sqlite"
_PROTOCOL = 1
_TIMEOUT_SECONDS = 60.0
_NUMBER = np.dtype("<f4")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS networks (
    id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, name TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS features (
    network INTEGER NOT NULL REFERENCES networks (id),
    content BLOB NOT NULL,
    numbers BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (network, content)
);
"""


class FeatureCacheError(TagloomError):
    """A cache that cannot be opened, read or written."""


@dataclass(frozen=True)
class Entry:
    """Features of the picture whose bytes have the SHA-256 `content`."""

    encoder: Encoder
    content: bytes
    visual: Vector
    posteriors: Vector


class FeatureCache:
    """A folder with cached features.

    Parameters
    ----------
    folder
        Created if it does not exist. None takes the user's cache directory.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder) if folder is not None else user_cache() / "features"
        self.path = self.folder / _FILE_NAME
        with self._errors_explained("opened"):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                self.path, timeout=_TIMEOUT_SECONDS, isolation_level=None
            )
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise

    def known(self, encoder: Encoder) -> set[bytes]:
        """Return the SHA-256 of every picture that the encoder has encoded."""
        query = "SELECT content FROM features JOIN networks ON network = id WHERE identity = ?"
        with self._errors_explained("read"):
            found = self._database.execute(query, [encoder.identity])
            return {content for (content,) in found if isinstance(content, bytes)}

    def store(self, entries: Iterable[Entry]) -> None:
        """Write entries in one transaction; existing ones are not replaced."""
        with self._errors_explained("written"), self._transaction():
            for entry in entries:
                numbers = _serialized(entry)
                self._database.execute(
                    "INSERT OR IGNORE INTO networks (identity, name) VALUES (?, ?)",
                    [entry.encoder.identity, entry.encoder.name],
                )
                self._database.execute(
                    "INSERT OR IGNORE INTO features "
                    "SELECT id, ?, ?, ? FROM networks WHERE identity = ?",
                    [entry.content, numbers, zlib.crc32(numbers), entry.encoder.identity],
                )

    def load(
        self, encoder: Encoder, contents: Sequence[bytes]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return visual descriptors (n, d) and posteriors (n, s) of pictures by their SHA-256."""
        d, s = encoder.width, len(encoder.concepts)
        rows = np.empty((len(contents), d + s), dtype=np.float32)
        damaged: list[bytes] = []
        for place, content in enumerate(contents):
            numbers = self._read(encoder, content)
            if len(numbers) == rows.shape[1] * _NUMBER.itemsize:
                rows[place] = np.frombuffer(numbers, dtype=_NUMBER)
            else:
                damaged.append(content)
        if damaged:
            self._remove(encoder, damaged)
            raise FeatureCacheError(
                f"{len(damaged)} of {len(contents)} entries of the feature cache {self.path} were "
                "missing or damaged and have been removed. Embed the pictures again."
            )
        return rows[:, :d].copy(), rows[:, d:].copy()

    def close(self) -> None:
        """Close the database; other processes may continue to use it."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, encoder: Encoder, content: bytes) -> bytes:
        """Return an entry's bytes, none if it is missing or fails its checksum."""
        query = (
            "SELECT numbers, checksum FROM features JOIN networks ON network = id "
            "WHERE identity = ? AND content = ?"
        )
        with self._errors_explained("read"):
            row = self._database.execute(query, [encoder.identity, content]).fetchone()
        # Any value may stand in any cell of a database that others have written.
        if row is None or not isinstance(row[0], bytes) or zlib.crc32(row[0]) != row[1]:
            return b""
        return row[0]

    def _remove(self, encoder: Encoder, contents: Sequence[bytes]) -> None:
        statement = (
            "DELETE FROM features WHERE content = ? "
            "AND network = (SELECT id FROM networks WHERE identity = ?)"
        )
        with self._errors_explained("written"), self._transaction():
            for content in contents:
                self._database.execute(statement, [content, encoder.identity])

    def _prepare(self) -> None:
        self._switch_to_wal()
        self._database.execute("PRAGMA synchronous = NORMAL")
        (protocol,) = self._database.execute("PRAGMA user_version").fetchone()
        if protocol not in (0, _PROTOCOL):
            raise FeatureCacheError(
                f"The feature cache {self.path} has protocol {protocol}, this version of tagloom "
                f"knows {_PROTOCOL}. Use a newer tagloom or another cache folder."
            )
        with self._transaction():
            for statement in _SCHEMA.split(";"):
                self._database.execute(statement)
            self._database.execute(f"PRAGMA user_version = {_PROTOCOL}")

    def _switch_to_wal(self) -> None:
        """Switch to WAL mode; two processes that do it at once get 'locked' despite the timeout."""
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while True:
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as problem:
                if "locked" not in str(problem) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    @contextmanager
    def _errors_explained(self, action: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as problem:
            raise FeatureCacheError(
                f"The feature cache {self.path} cannot be {action}: {problem}. Check that the "
                "folder is yours, that the disk has room and that the file was made by tagloom, or "
                "choose another cache folder."
            ) from problem


def _serialized(entry: Entry) -> bytes:
    return np.concatenate([entry.visual, entry.posteriors]).astype(_NUMBER).tobytes()
