"""A journal of what sidecars held before they were changed, on disk before they are."""

import base64
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from tagloom.errors import InvalidInputError, TagloomError
from tagloom.formats.sidecar_places import is_sidecar

_KIND = "tagloom sidecar journal"
_VERSION = 1


class JournalError(TagloomError):
    """A journal that cannot be written; no sidecar is changed without one."""


class Entry(NamedTuple):
    """One file that was about to be changed.

    Attributes
    ----------
    path : str
        The sidecar, relative to the folder.
    before : str or None
        The SHA-256 of what it held, None if it was not there.
    wrote : str
        The SHA-256 of what was to be written.
    offset : int
        Where the journal has the line.
    """

    path: str
    before: str | None
    wrote: str
    offset: int


class Journal(NamedTuple):
    """What a journal holds; the contents of files stay on disk until they are asked for."""

    path: Path
    folder: Path
    entries: list[Entry]

    def held_before(self, entry: Entry) -> bytes | None:
        """Return what a file held."""
        with self.path.open("rb") as stream:
            stream.seek(entry.offset)
            return _held(json.loads(stream.readline()))


class JournalWriter:
    """Adds entries; each is on disk when `add` returns."""

    def __init__(self, stream: FileIO, path: Path) -> None:
        self._stream, self._path = stream, path

    def add(self, path: str, before: bytes | None, after: bytes) -> None:
        """Write what a file holds before it is changed, and wait until the disk has it."""
        held = None if before is None else base64.b64encode(before).decode("ascii")
        wrote = hashlib.sha256(after).hexdigest()
        self.line(_line({"path": path, "before": held, "wrote": wrote}))

    def line(self, line: bytes) -> None:
        """Write a line, whole or not at all."""
        length = self._stream.tell()
        try:
            if self._stream.write(line) != len(line):
                raise OSError("no space left for the whole line")
            os.fsync(self._stream.fileno())
        except OSError as problem:
            with suppress(OSError):
                self._stream.truncate(length)
            raise _unwritable(self._path, problem) from problem


@contextmanager
def journal_for(path: Path, folder: Path) -> Iterator[JournalWriter]:
    """Open a new journal, or go on with the one of an earlier run on the same folder."""
    first = _line({"kind": _KIND, "version": _VERSION, "folder": str(folder.resolve())})
    length = _length_to_keep(path, first)
    try:
        stream = FileIO(path, "r+" if path.exists() else "x+")
    except OSError as problem:
        raise _unwritable(path, problem) from problem
    with stream:
        # A line that an interruption cut short led to no change: its place is taken again.
        stream.truncate(length)
        stream.seek(length)
        writer = JournalWriter(stream, path)
        if not length:
            writer.line(first)
            _sync_folder(path)
        yield writer


def _length_to_keep(path: Path, first: bytes) -> int:
    """Return the length of the whole lines; refuse a file that is no journal of this folder."""
    if not path.exists():
        return 0
    with path.open("rb") as stream:
        start = stream.read(len(first))
        # Less than the first line, cut short: begun anew. Anything else is somebody's file.
        if len(start) < len(first) and first.startswith(start):
            return 0
        if start != first:
            raise InvalidInputError(
                f"{path} is not a journal of {json.loads(first)['folder']}. Name a new file, or "
                "the journal of an earlier run on this folder."
            )
        return len(first) + sum(len(line) for line in stream if line.endswith(b"\n"))


def _line(content: dict[str, object]) -> bytes:
    return json.dumps(content).encode("ascii") + b"\n"


def _unwritable(path: Path, problem: OSError) -> JournalError:
    return JournalError(
        f"The journal {path} cannot be written: {problem.strerror or problem}. No sidecar is "
        "changed without one; name a file that can be written."
    )


def _sync_folder(path: Path) -> None:
    """Make the name of a new file durable; not every system can."""
    if os.name != "posix":
        return
    handle = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_journal(path: Path) -> Journal:
    """Read a journal; a last line that was cut short is left out."""
    if not path.is_file():
        raise InvalidInputError(f"There is no journal {path}.")
    folder, entries, at = Path(), [], 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if not line.endswith(b"\n"):
                break
            try:
                content = json.loads(line)
                if number == 1:
                    folder = _folder(content)
                else:
                    entries.append(_entry(content, at))
            except (ValueError, KeyError, TypeError) as problem:
                raise InvalidInputError(
                    f"{path}, line {number}: not a line of a {_KIND} of version {_VERSION} "
                    f"({problem!r}). Nothing is changed."
                ) from problem
            at += len(line)
    if not at:
        raise InvalidInputError(f"{path} is not a {_KIND}: it has no first line.")
    return Journal(path, folder, entries)


def _folder(content: Any) -> Path:
    if content["kind"] != _KIND or content["version"] != _VERSION:
        raise ValueError(f"found {content['kind']!r}, version {content['version']!r}")
    return Path(content["folder"])


def _entry(content: Any, offset: int) -> Entry:
    path, wrote = content["path"], content["wrote"]
    if not isinstance(path, str) or not isinstance(wrote, str) or not is_sidecar(path):
        raise ValueError("path or wrote is not what it should be")
    held = _held(content)
    before = None if held is None else hashlib.sha256(held).hexdigest()
    return Entry(path, before, wrote, offset)


def _held(content: Any) -> bytes | None:
    before = content["before"]
    return None if before is None else base64.b64decode(before, validate=True)
