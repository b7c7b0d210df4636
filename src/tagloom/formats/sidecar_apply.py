"""Write what was planned for sidecars, and take it back."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.files import written_whole
from tagloom.formats.gathering import Remark
from tagloom.formats.sidecar_journal import Entry, Journal, JournalWriter, journal_for, read_journal
from tagloom.formats.sidecar_places import sidecar_bytes, why_outside
from tagloom.formats.sidecars import SidecarChange, SidecarPlan, sha256_of

# What `written_whole` calls a file that has not got its name yet.
_UNFINISHED = re.compile(r"\.(.+)\.[a-z0-9_]{8}\.part")


@dataclass(frozen=True)
class ApplyReport:
    """What was written.

    Attributes
    ----------
    written : list of str
        Sidecars that were created or changed, relative to the folder.
    unchanged : list of str
        Sidecars that held all that was planned already, as after an interrupted run.
    failed : list of Remark
        Sidecars that could not be written, and why; they are as they were.
    """

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    failed: list[Remark] = field(default_factory=list)


@dataclass(frozen=True)
class UndoReport:
    """What was taken back.

    Attributes
    ----------
    restored : list of str
        Sidecars that hold again, byte for byte, what they held.
    deleted : list of str
        Sidecars that were not there before, and are not now.
    unchanged : list of str
        Sidecars that were as before already.
    refused : list of Remark
        Sidecars that somebody has changed since, or that could not be written; left as they are.
    """

    restored: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    refused: list[Remark] = field(default_factory=list)


def apply_sidecars(plan: SidecarPlan, journal: str | os.PathLike[str]) -> ApplyReport:
    """Write a plan, each sidecar whole or not at all.

    What a sidecar held is in the journal, on disk, before it changes. An interrupted run is
    finished by the same call, or by a new plan with the same journal.

    Parameters
    ----------
    plan : SidecarPlan
    journal : path
        A new file, or the journal of an earlier run on the same folder, to which is added.
    """
    report = ApplyReport()
    path = Path(journal)
    with journal_for(path, plan.folder) as writer:
        _sweep(plan.folder, {entry.path for entry in read_journal(path).entries})
        for change in plan:
            try:
                _apply_one(plan.folder, change, writer, report)
            except (OSError, InvalidInputError) as problem:
                report.failed.append(Remark(change.path, str(problem)))
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
    """Bring every sidecar of a journal back to what it held; may be repeated.

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
            f"The folder {root} of the journal {journal} is not there. Say where it is now."
        )
    histories: dict[str, list[Entry]] = defaultdict(list)
    for entry in read.entries:
        histories[entry.path].append(entry)
    _sweep(root, histories)
    report = UndoReport()
    for item, history in histories.items():
        try:
            _undo_one(root, read, history, report)
        except (OSError, InvalidInputError) as problem:
            report.refused.append(Remark(item, str(problem)))
    return report


def _undo_one(root: Path, journal: Journal, history: list[Entry], report: UndoReport) -> None:
    item = history[0].path
    reason = why_outside(root, item)
    if reason:
        raise InvalidInputError(f"{item} is left as it is: {reason}.")
    now = sha256_of(sidecar_bytes(root / item))
    then, last = now, None
    # Our changes are taken back one by one, as far as nobody else has changed the file.
    for entry in reversed(history):
        if then == entry.wrote:
            then, last = entry.before, entry
    if last is not None:
        _write(root / item, journal.held_before(last))
        (report.deleted if then is None else report.restored).append(item)
    if then != history[0].before:
        raise InvalidInputError(
            f"{item} was {'removed' if then is None else 'changed'} by somebody else: what it "
            "held before that is not restored."
        )
    if last is None:
        report.unchanged.append(item)


def _write(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink()
        return
    with written_whole(path) as part:
        part.write_bytes(data)


def _sweep(folder: Path, items: Iterable[str]) -> None:
    """Remove the unfinished files that a killed run has left beside its sidecars."""
    written = {folder / item for item in items if not why_outside(folder, item)}
    for parent in {path.parent for path in written}:
        with suppress(OSError):
            for name in os.listdir(parent):
                unfinished = _UNFINISHED.fullmatch(name)
                if unfinished and parent / unfinished[1] in written:
                    (parent / name).unlink()
