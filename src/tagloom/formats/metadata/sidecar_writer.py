"""Write planned changes to sidecars, and undo them.

The previous content of a sidecar is in a journal, on disk, before the sidecar changes.
"""

import base64
import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from tagloom.errors import InvalidInputError, TagloomError
from tagloom.formats.base import InputWarning
from tagloom.formats.metadata.sidecars import (
    SidecarChange,
    SidecarPlan,
    is_sidecar,
    sha256_of,
    sidecar_bytes,
    why_outside,
)
from tagloom.io import atomic_write

_KIND = "tagloom sidecar journal"
_VERSION = 1
# The names that `atomic_write` gives to unfinished files.
_UNFINISHED = re.compile(r"\.(.+)\.[a-z0-9_]{8}\.part")


@dataclass(frozen=True)
class ApplyReport:
    """What was written.

    Attributes
    ----------
    written : list of str
        Sidecars that were created or changed, relative to the folder.
    unchanged : list of str
        Sidecars that already held all tags, as after an interrupted run.
    failed : list of InputWarning
        Sidecars that could not be written, and why; they are unchanged.
    """

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    failed: list[InputWarning] = field(default_factory=list)


@dataclass(frozen=True)
class UndoReport:
    """What was undone.

    Attributes
    ----------
    restored : list of str
        Sidecars that are byte for byte as before.
    deleted : list of str
        Sidecars that did not exist before, and were deleted.
    unchanged : list of str
        Sidecars that were already as before.
    refused : list of InputWarning
        Sidecars that were changed since, or that could not be written; left as they are.
    """

    restored: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    refused: list[InputWarning] = field(default_factory=list)


class JournalError(TagloomError):
    """The journal cannot be written; no sidecar is changed without one."""


class Entry(NamedTuple):
    """A change of one sidecar.

    Attributes
    ----------
    path : str
        The sidecar, relative to the folder.
    before : str or None
        The SHA-256 of its previous content, None if it did not exist.
    wrote : str
        The SHA-256 of its new content.
    offset : int
        The position of the line in the journal.
    """

    path: str
    before: str | None
    wrote: str
    offset: int


class Journal(NamedTuple):
    """The entries of a journal; the contents of files stay on disk until needed."""

    path: Path
    folder: Path
    entries: list[Entry]

    def previous_content(self, entry: Entry) -> bytes | None:
        """Return the content of a sidecar before a change."""
        with self.path.open("rb") as stream:
            stream.seek(entry.offset)
            return _content(json.loads(stream.readline()))


class JournalWriter:
    """Adds entries; each is on disk when `add` returns."""

    def __init__(self, stream: FileIO, path: Path) -> None:
        self._stream, self._path = stream, path

    def add(self, path: str, before: bytes | None, after: bytes) -> None:
        """Write the content of a file before it changes, and wait for the disk."""
        held = None if before is None else base64.b64encode(before).decode("ascii")
        wrote = hashlib.sha256(after).hexdigest()
        self.line(_line({"path": path, "before": held, "wrote": wrote}))

    def line(self, line: bytes) -> None:
        """Write a line completely or not at all."""
        length = self._stream.tell()
        try:
            if self._stream.write(line) != len(line):
                raise OSError("no space left for the whole line")
            os.fsync(self._stream.fileno())
        except OSError as problem:
            with suppress(OSError):
                self._stream.truncate(length)
            raise _unwritable(self._path, problem) from problem


def apply_sidecars(plan: SidecarPlan, journal: str | os.PathLike[str]) -> ApplyReport:
    """Write a plan, each sidecar completely or not at all.

    The content of a sidecar is in the journal, on disk, before it changes. An interrupted run is
    completed by the same call, or by a new plan with the same journal.

    Parameters
    ----------
    plan : SidecarPlan
    journal : path
        A new file, or the journal of an earlier run on the same folder, to be continued.
    """
    report = ApplyReport()
    path = Path(journal)
    with open_journal(path, plan.folder) as writer:
        _remove_unfinished(plan.folder, {entry.path for entry in read_journal(path).entries})
        for change in plan:
            try:
                _apply_one(plan.folder, change, writer, report)
            except (OSError, InvalidInputError) as problem:
                report.failed.append(InputWarning(change.path, str(problem)))
    return report


def _apply_one(
    folder: Path, change: SidecarChange, writer: JournalWriter, report: ApplyReport
) -> None:
    reason = why_outside(folder, change.path)
    if reason:
        raise InvalidInputError(f"{change.path} is not written: {reason}.")
    before = sidecar_bytes(folder / change.path)
    after = change.merged(before)
    if after == before:
        report.unchanged.append(change.path)
        return
    if sha256_of(before) != change.before:
        raise InvalidInputError(
            f"{change.path} has changed since the plan was made: not written. Plan again."
        )
    writer.add(change.path, before, after)
    _write(folder / change.path, after)
    report.written.append(change.path)


def undo_sidecars(
    journal: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None
) -> UndoReport:
    """Restore every sidecar of a journal; may be repeated.

    Parameters
    ----------
    journal : path
    folder : path, optional
        Where the pictures are now, if they were moved since.
    """
    read = read_journal(Path(journal))
    root = read.folder if folder is None else Path(folder)
    if not root.is_dir():
        raise InvalidInputError(
            f"The folder {root} of the journal {journal} does not exist. Give its new place."
        )
    histories: dict[str, list[Entry]] = defaultdict(list)
    for entry in read.entries:
        histories[entry.path].append(entry)
    _remove_unfinished(root, histories)
    report = UndoReport()
    for item, history in histories.items():
        try:
            _undo_one(root, read, history, report)
        except (OSError, InvalidInputError) as problem:
            report.refused.append(InputWarning(item, str(problem)))
    return report


def _undo_one(root: Path, journal: Journal, history: list[Entry], report: UndoReport) -> None:
    item = history[0].path
    reason = why_outside(root, item)
    if reason:
        raise InvalidInputError(f"{item} is left as it is: {reason}.")
    now = sha256_of(sidecar_bytes(root / item))
    then, last = now, None
    # Undo our changes one by one, as far as the file was not changed by others.
    for entry in reversed(history):
        if then == entry.wrote:
            then, last = entry.before, entry
    if last is not None:
        _write(root / item, journal.previous_content(last))
        (report.deleted if then is None else report.restored).append(item)
    if then != history[0].before:
        raise InvalidInputError(
            f"{item} was {'removed' if then is None else 'changed'} by another program: its "
            "content before that is not restored."
        )
    if last is None:
        report.unchanged.append(item)


def _write(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink()
        return
    with atomic_write(path) as part:
        part.write_bytes(data)


def _remove_unfinished(folder: Path, items: Iterable[str]) -> None:
    """Remove the unfinished files of a killed run."""
    written = {folder / item for item in items if not why_outside(folder, item)}
    for parent in {path.parent for path in written}:
        with suppress(OSError):
            for name in os.listdir(parent):
                unfinished = _UNFINISHED.fullmatch(name)
                if unfinished and parent / unfinished[1] in written:
                    (parent / name).unlink()


@contextmanager
def open_journal(path: Path, folder: Path) -> Iterator[JournalWriter]:
    """Open a new journal, or continue that of an earlier run on the same folder."""
    first = _line({"kind": _KIND, "version": _VERSION, "folder": str(folder.resolve())})
    length = _length_to_keep(path, first)
    try:
        stream = FileIO(path, "r+" if path.exists() else "x+")
    except OSError as problem:
        raise _unwritable(path, problem) from problem
    with stream:
        # A truncated line led to no change of a sidecar: it is overwritten.
        stream.truncate(length)
        stream.seek(length)
        writer = JournalWriter(stream, path)
        if not length:
            writer.line(first)
            _sync_folder(path)
        yield writer


def _length_to_keep(path: Path, first: bytes) -> int:
    """Return the length of the complete lines; refuse what is not a journal of this folder."""
    if not path.exists():
        return 0
    with path.open("rb") as stream:
        start = stream.read(len(first))
        # A truncated first line is written again. Anything else is another file.
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
    """Make the name of a new file durable, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_journal(path: Path) -> Journal:
    """Read a journal; a truncated last line is ignored."""
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
    held = _content(content)
    before = None if held is None else hashlib.sha256(held).hexdigest()
    return Entry(path, before, wrote, offset)


def _content(content: Any) -> bytes | None:
    before = content["before"]
    return None if before is None else base64.b64decode(before, validate=True)
