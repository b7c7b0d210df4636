"""Write planned changes to sidecars and pictures, and undo them.

What a change replaces is in a journal, on disk, before the file changes.
"""

import base64
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from tagloom.errors import InvalidInputError, TagloomError
from tagloom.formats.base import InputWarning
from tagloom.formats.metadata.sidecars import is_sidecar, sha256_of, sidecar_bytes, why_outside
from tagloom.io import atomic_write, parse_json
from tagloom.vision.pictures import PictureError, named_format, read_picture

_KIND = "tagloom sidecar journal"
_VERSION = 1
# The names that `atomic_write` gives to unfinished files.
_UNFINISHED = re.compile(r"\.(.+)\.[a-z0-9_]{8}\.part")


class FileChange(Protocol):
    """A planned change of one file."""

    @property
    def path(self) -> str:
        """The file, relative to the folder."""

    def is_current(self, data: bytes | None) -> bool:
        """Return whether the change was planned for this content; None if there is no file."""

    def merged(self, data: bytes | None) -> bytes:
        """Return the new content, given the content now."""


class Plan(Protocol):
    """Changes of the files in a folder."""

    @property
    def folder(self) -> Path:
        """The folder."""

    def __iter__(self) -> Iterator[FileChange]:
        """Yield the changes."""


@dataclass(frozen=True)
class ApplyReport:
    """What was written.

    Attributes
    ----------
    written : list of str
        Files that were created or changed, relative to the folder.
    unchanged : list of str
        Files that already held all tags, as after an interrupted run.
    failed : list of InputWarning
        Files that could not be written, and why; they are unchanged.
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
        Files that are byte for byte as before.
    deleted : list of str
        Files that did not exist before, and were deleted.
    unchanged : list of str
        Files that were already as before.
    refused : list of InputWarning
        Files that were changed since, or that could not be written; left as they are.
    """

    restored: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    refused: list[InputWarning] = field(default_factory=list)


class JournalError(TagloomError):
    """The journal cannot be written; no file is changed without one."""


class Entry(NamedTuple):
    """A change of one file.

    Attributes
    ----------
    path : str
        The file, relative to the folder.
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

    def previous_content(self, entry: Entry, after: bytes | None) -> bytes | None:
        """Return the content of a file before a change, given that after it."""
        with self.path.open("rb") as stream:
            stream.seek(entry.offset)
            line = json.loads(stream.readline())
        replaced = _content(line)
        if "kept" not in line or replaced is None or after is None:
            return replaced
        start, end = line["kept"]
        content = after[:start] + replaced + after[len(after) - end :]
        if sha256_of(content) != entry.before:
            raise InvalidInputError(f"{entry.path}: its line of {self.path} is damaged.")
        return content


class JournalWriter:
    """Adds entries; each is on disk when `add` returns."""

    def __init__(self, stream: FileIO, path: Path) -> None:
        self._stream, self._path = stream, path

    def add(self, path: str, before: bytes | None, after: bytes) -> None:
        """Write what a change replaces before the file changes, and wait for the disk.

        Of a sidecar that is its content. Of a picture, nearly all of which stays, it is the part
        between what both contents begin and end with.
        """
        entry: dict[str, object] = {"path": path}
        if before is not None and not is_sidecar(path):
            start, end = _common_ends(before, after)
            entry |= {"kept": [start, end], "was": sha256_of(before)}
            before = before[start : len(before) - end]
        held = None if before is None else base64.b64encode(before).decode("ascii")
        self.line(_line(entry | {"before": held, "wrote": sha256_of(after)}))

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


def _common_ends(one: bytes, other: bytes) -> tuple[int, int]:
    """Return how many bytes two contents have in common at the start, and then at the end."""
    length = min(len(one), len(other))
    first, second = np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8)
    differ = np.flatnonzero(first[:length] != second[:length])
    start = int(differ[0]) if len(differ) else length
    rest = length - start
    differ = np.flatnonzero(first[len(one) - rest :] != second[len(other) - rest :])
    return start, rest - 1 - int(differ[-1]) if len(differ) else rest


def apply_changes(
    plan: Plan,
    journal: str | os.PathLike[str],
    on_file: Callable[[int], None] | None = None,
) -> ApplyReport:
    """Write a plan, each file completely or not at all.

    What a change replaces is in the journal, on disk, before the file changes. An interrupted run
    is completed by the same call, or by a new plan with the same journal.

    Parameters
    ----------
    plan : Plan
    journal : path
        A new file, or the journal of an earlier run on the same folder, to be continued.
    on_file : callable, optional
        Called with the number of files that are done.
    """
    report = ApplyReport()
    path = Path(journal)
    with open_journal(path, plan.folder) as writer:
        _remove_unfinished(plan.folder, {entry.path for entry in read_journal(path).entries})
        for number, change in enumerate(plan, 1):
            try:
                _apply_one(plan.folder, change, writer, report)
            except (OSError, InvalidInputError, PictureError) as problem:
                report.failed.append(InputWarning(change.path, str(problem)))
            if on_file is not None:
                on_file(number)
    return report


def _apply_one(
    folder: Path, change: FileChange, writer: JournalWriter, report: ApplyReport
) -> None:
    reason = why_outside(folder, change.path)
    if reason:
        raise InvalidInputError(f"{change.path} is not written: {reason}.")
    before = _bytes_of(folder / change.path)
    after = change.merged(before)
    if after == before:
        report.unchanged.append(change.path)
        return
    if not change.is_current(before):
        raise InvalidInputError(
            f"{change.path} has changed since the plan was made: not written. Plan again."
        )
    writer.add(change.path, before, after)
    _write(folder / change.path, after)
    report.written.append(change.path)


def _bytes_of(path: Path) -> bytes | None:
    """Return the content of a sidecar or picture, None if there is none."""
    if is_sidecar(path.name):
        return sidecar_bytes(path)
    try:
        return read_picture(path)
    except FileNotFoundError:
        return None


def undo_changes(
    journal: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None
) -> UndoReport:
    """Restore every file of a journal; may be repeated.

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
        except (OSError, InvalidInputError, PictureError) as problem:
            report.refused.append(InputWarning(item, str(problem)))
    return report


def _undo_one(root: Path, journal: Journal, history: list[Entry], report: UndoReport) -> None:
    item = history[0].path
    reason = why_outside(root, item)
    if reason:
        raise InvalidInputError(f"{item} is left as it is: {reason}.")
    content = _bytes_of(root / item)
    then, last = sha256_of(content), None
    # Undo our changes one by one, as far as the file was not changed by others.
    for entry in reversed(history):
        if then == entry.wrote:
            content = journal.previous_content(entry, content)
            then, last = entry.before, entry
    if last is not None:
        _write(root / item, content)
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
        # A truncated line led to no change of a file: it is overwritten.
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
        f"The journal {path} cannot be written: {problem.strerror or problem}. No file is "
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
                content = parse_json(line)
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
    if not isinstance(path, str) or not isinstance(wrote, str):
        raise ValueError("path or wrote is not what it should be")
    if "kept" not in content:
        if not is_sidecar(path):
            raise ValueError("its path is not that of a sidecar")
        return Entry(path, sha256_of(_content(content)), wrote, offset)
    start, end = content["kept"]
    if named_format(path) is None or _content(content) is None or min(int(start), int(end)) < 0:
        raise ValueError("it does not say what the picture was")
    return Entry(path, str(content["was"]), wrote, offset)


def _content(content: Any) -> bytes | None:
    before = content["before"]
    return None if before is None else base64.b64decode(before, validate=True)
