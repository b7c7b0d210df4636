"""The folder of a run: whose it is, who writes to it, and how new results get there in one step.

A folder is ours by a marker that only we write. The marker lists the files that we wrote: nothing
else is ever replaced or deleted, and no link is followed. One process writes at a time. New files
are made in a folder of their own and switched over when all are complete; a switch that is broken
off is finished by whoever looks next, so that the files of a run always belong together.
"""

import inspect
import json
import os
import re
import secrets
import shutil
import socket
import sqlite3
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from tagloom.errors import InvalidInputError, TagloomWarning, UnwritableFileError
from tagloom.io import atomic_write, file_digest, parse_json

MARKER = ".tagloom.json"
RUN, BENCHMARK, DEMO = "run", "benchmark", "demo"
"""What a folder may be marked as the result of."""
CHECKPOINT = ".checkpoint"
RECORD = "run.json"
"""The last file of a run to be replaced: where it exists, the run is complete."""
THUMBNAILS = "thumbnails"
_LOCK = ".tagloom.lock"
_WRITER = ".tagloom.writer"
_PROTOCOL = 1
_TABLE = ".csv"
_LONGEST_NAME = 255
_DIGEST = re.compile(r"[0-9a-f]{32}")
# What a checkpoint holds.
_CHECKPOINT_FILE = re.compile(r"[\w-]+(\.npy)?|\.[\w.-]+\.part")

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Marker:
    """The marker of a folder: its id, and the files that were written there.

    Tables are listed with their digest, so that one that a person has edited is recognised.
    """

    def __init__(self, out: Path, content: dict[str, Any]) -> None:
        self._out, self._content = out, content
        self.id = str(content["id"])
        self.files: dict[str, str | None] = dict(content["files"])

    @classmethod
    def read(cls, out: Path, kind: str = RUN) -> "Marker | None":
        """Return the marker of a folder; None if it is not ours, or of another kind."""
        path = out / MARKER
        if path.is_symlink() or not path.is_file():
            return None
        try:
            content = parse_json(path.read_text(encoding="utf-8"))
            if content["protocol"] == _PROTOCOL and _DIGEST.fullmatch(content["id"]):
                marker = cls(out, content)
                ours = content.get("kind", RUN) == kind and all(map(_is_plain, marker.files))
                return marker if ours else None
        except (OSError, ValueError, TypeError, KeyError):
            pass
        return None

    @classmethod
    def make(cls, out: Path, files: Iterable[str] = (), kind: str = RUN) -> "Marker":
        """Mark a folder as ours."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        identity = {"protocol": _PROTOCOL, "kind": kind, "id": secrets.token_hex(16)}
        marker = cls(out, identity | {"created": now, "files": {}})
        marker.add(dict.fromkeys(files))
        return marker

    def add(self, files: dict[str, str | None]) -> None:
        """Note files as ours, on disk before they are written."""
        self.files |= files
        with atomic_write(self._out / MARKER) as part:
            part.write_text(json.dumps(self._content | {"files": self.files}, indent=2) + "\n")


def _is_plain(name: object) -> bool:
    """Return whether a name means a file of the folder itself, and a file can have it."""
    if not isinstance(name, str) or name in ("", "..") or "\0" in name:
        return False
    return Path(name).name == name and len(os.fsencode(name)) <= _LONGEST_NAME


def check_photos(photos: Path, out: Path) -> None:
    """Refuse what is no folder of pictures, and results among the pictures."""
    if not photos.is_dir():
        state = "is not a folder" if photos.exists() else "does not exist"
        raise InvalidInputError(f"{photos} {state}. Expected a folder with pictures.")
    if out.resolve().is_relative_to(photos.resolve()):
        raise InvalidInputError(
            f"{out} lies in {photos}: its thumbnails would be taken for pictures of yours. Choose "
            "a folder beside it."
        )


def check_may_write(out: Path, names: Iterable[str] = ()) -> None:
    """Refuse a folder that is not ours, and files with the names of results that are not."""
    if out.exists() and not out.is_dir():
        raise UnwritableFileError(f"{out} is a file. Choose the name of a folder.")
    if not out.is_dir() or not _contents(out):
        return
    ours = marker_of(out).files
    for name in (*names, CHECKPOINT, THUMBNAILS, RECORD):
        path = out / name
        if path.is_symlink():
            raise UnwritableFileError(
                f"{path} is a link. Nothing is written or deleted through links: remove it, or "
                "choose another folder."
            )
        if path.exists() and name not in ours and name != CHECKPOINT:
            raise UnwritableFileError(
                f"{path} was not written by tagloom, and a result would replace it. Move it away, "
                "or choose another folder."
            )


def marker_of(out: Path, kind: str = RUN) -> Marker:
    """Return the marker of a folder, and refuse one without: nothing in it is known to be ours.

    What else a folder holds does not make it ours: other programs write a `run.json`, too.
    """
    marker = Marker.read(out, kind)
    if marker is not None:
        return marker
    raise UnwritableFileError(
        f"{out} is not empty and not the result of an earlier {kind}, which a file {MARKER} would "
        f"say: nothing is written or deleted there. Choose another folder.{_way_out(out)}"
    )


def _way_out(out: Path) -> str:
    """Say what to do with a folder that seems to be a run, but has no marker."""
    if not ((out / RECORD).is_file() and not (out / MARKER).exists()):
        return ""
    return (
        f" If it is a copy of a run, copy {MARKER} and the other hidden files, too. If an earlier "
        "version of tagloom wrote it, it stays as it is; take along what people have answered with "
        f"`tagloom export {out} --to csv --file known.csv` and --tags known.csv."
    )


def mark_as(out: Path, kind: str) -> None:
    """Make a folder and mark it as the result of this kind, unless it is; refuse any other."""
    if out.exists() and not out.is_dir():
        raise UnwritableFileError(f"{out} is a file. Choose the name of a folder.")
    if out.is_dir() and _contents(out):
        marker_of(out, kind)
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        Marker.make(out, kind=kind)
    except OSError as problem:
        raise UnwritableFileError(f"{out} cannot be written: {problem.strerror}.") from None


def claim(out: Path, name: str) -> Path:
    """Return the path of a file to write in a folder of ours, and list the file as ours.

    A file of the user that has this name is refused, and a link.
    """
    with writing(out):
        marker = marker_of(out)
        check_may_write(out, [name])
        if name not in marker.files:
            marker.add({name: None})
    return out / name


def _contents(out: Path) -> set[str]:
    """Return what lies in a folder, apart from the lock, who holds it, and half a marker."""
    neutral = (_LOCK, _WRITER, f".{_WRITER}", f".{MARKER}.")
    try:
        return {name for name in os.listdir(out) if not name.startswith(neutral)}
    except OSError as problem:
        raise UnwritableFileError(f"{out} cannot be read: {problem.strerror}.") from None


def one_writer(run: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function with a parameter `out` write to that folder alone, while it runs."""
    signature = inspect.signature(run)

    @wraps(run)
    def alone(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        given = signature.bind(*args, **kwargs).arguments
        if given.get("photos") is not None:
            check_photos(given["photos"], given["out"])
        with writing(given["out"]):
            return run(*args, **kwargs)

    return alone


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Hold the folder of a run for writing; a new one that stays empty is removed again."""
    check_may_write(out)
    was_there = out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        held = exclusive_lock(out / _LOCK, lambda: _busy(out))
    except OSError as problem:
        raise UnwritableFileError(f"{out} cannot be written: {problem.strerror}.") from None
    try:
        _say_who(out)
        finish_switch(out)
        yield
    finally:
        with suppress(OSError):
            (out / CHECKPOINT).rmdir()
        (out / _WRITER).unlink(missing_ok=True)
        held.close()
        if not was_there:
            _remove_if_empty(out)


def exclusive_lock(path: Path, refusal: Callable[[], str]) -> sqlite3.Connection:
    """Take a lock that is released with the process, however it ends, on every system."""
    if path.is_symlink():
        raise UnwritableFileError(f"{path} is a link. Remove it.")
    guard = None
    try:
        guard = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=0.2)
        guard.execute("PRAGMA journal_mode = DELETE")
        guard.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as problem:
        if guard is not None:
            guard.close()
        if "locked" not in str(problem):
            raise UnwritableFileError(f"{path.parent} cannot be written: {problem}.") from None
        raise InvalidInputError(refusal()) from None
    return guard


def _say_who(out: Path) -> None:
    """Write who holds the lock, for whoever comes second."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    who = {"process": os.getpid(), "host": socket.gethostname(), "since": now, "run": sys.argv[:2]}
    with atomic_write(out / _WRITER) as part:
        part.write_text(json.dumps(who))


def _busy(out: Path) -> str:
    try:
        who = parse_json((out / _WRITER).read_text())
        by = f"process {who['process']} on {who['host']}, since {who['since']}"
    except (OSError, ValueError, TypeError, KeyError):
        by = "another process"
    return (
        f"{out} is being written by another run of tagloom ({by}). Wait until it is finished, or "
        "choose another folder."
    )


def _remove_if_empty(out: Path) -> None:
    """Take lock, marker and folder away again where nothing else was written."""
    if set(os.listdir(out)) <= {MARKER, _LOCK}:
        for name in (MARKER, _LOCK):
            (out / name).unlink(missing_ok=True)
        with suppress(OSError):
            out.rmdir()


def mark(out: Path) -> None:
    """Make a folder, if needed, and mark it as ours; the caller has checked that it may be."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if Marker.read(out) is None:
            Marker.make(out, [THUMBNAILS])
        (out / CHECKPOINT).mkdir(exist_ok=True)
    except OSError as problem:
        raise UnwritableFileError(f"{out} cannot be written: {problem.strerror}.") from None


@contextmanager
def replacing(out: Path, names: Iterable[str], taken: Collection[str] = ()) -> Iterator[Path]:
    """Yield a folder for new files, which replace those of the run when the block ends.

    After an error the run is as it was. `names` are all names that results may have: those that
    this run does not write are removed. `taken` are the digests of tables that were read: what
    people wrote into others is kept in copies.
    """
    marker = marker_of(out)
    new, ready = _staging(out, marker), _ready(out, marker)
    _discard(new)
    new.mkdir()
    try:
        yield new
        written = sorted(os.listdir(new))
        stale = [name for name in names if name in marker.files and name not in written]
        check_may_write(out, written)
        keep_edited(out, taken)
        marker.add({name: _table_digest(new / name) for name in written})
        new.rename(ready)
    except BaseException:
        _discard(new)
        raise
    for name in stale:
        (out / name).unlink(missing_ok=True)
    finish_switch(out)


def finish_switch(out: Path) -> None:
    """Move complete new files to their places; nothing where there are none.

    Whoever opens the run calls this first: a switch may have been broken off.
    """
    marker = Marker.read(out)
    if marker is None:
        return
    ready = _ready(out, marker)
    if ready.is_symlink() or not ready.is_dir():
        return
    for name in sorted(os.listdir(ready), key=lambda name: name == RECORD):
        with suppress(FileNotFoundError):  # moved by another process that does the same
            os.replace(ready / name, out / name)
            # Renaming does nothing if both names already refer to the same file.
            (ready / name).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        ready.rmdir()


def _staging(out: Path, marker: Marker) -> Path:
    return out / f".new-{marker.id}"


def _ready(out: Path, marker: Marker) -> Path:
    return out / f".ready-{marker.id}"


def _discard(folder: Path) -> None:
    """Remove a folder of new files, which holds files alone."""
    remove_files(folder, lambda name: True)


def keep_edited(out: Path, taken: Collection[str] = ()) -> list[Path]:
    """Copy tables that a person has edited since they were written; say where the copies are."""
    marker = Marker.read(out)
    listed = {} if marker is None else marker.files
    copies = []
    for name, digest in listed.items():
        path = out / name
        if digest is None or path.is_symlink() or not path.is_file():
            continue
        if _table_digest(path) not in (digest, *taken):
            copies.append(_free_name(path))
            shutil.copyfile(path, copies[-1])
            warnings.warn(
                f"{path} was edited since it was written; it is kept as {copies[-1].name}.",
                TagloomWarning,
                stacklevel=2,
            )
    return copies


def _free_name(path: Path) -> Path:
    number = 1
    while (copy := path.with_name(f"{path.stem}.edited-{number}{path.suffix}")).exists():
        number += 1
    return copy


def is_edited(path: Path) -> bool:
    """Return whether a table of a run is no longer as it was written.

    Where no marker says how it was written, it may have been edited.
    """
    if not path.is_file():
        return False
    marker = Marker.read(path.parent)
    if marker is None:
        return True
    digest = marker.files.get(path.name)
    return digest is not None and _table_digest(path) != digest


def _table_digest(path: Path) -> str | None:
    if path.suffix != _TABLE:
        return None
    return file_digest(path)


def remove_checkpoints(folder: Path, *, keep: str | None = None) -> None:
    """Remove the checkpoints of runs but one; what we did not write stays."""
    for name in _names_in(folder):
        if name != keep and _DIGEST.fullmatch(name):
            remove_files(folder / name, lambda file: bool(_CHECKPOINT_FILE.fullmatch(file)))
    if keep is None:
        with suppress(OSError):
            folder.rmdir()


def remove_files(folder: Path, is_ours: Callable[[str], bool]) -> None:
    """Remove our files in a folder, then the folder if nothing is left; no link is followed."""
    for name in _names_in(folder):
        if is_ours(name):
            _unlink_in(folder, name)
    with suppress(OSError):
        folder.rmdir()


def _names_in(folder: Path) -> list[str]:
    if folder.is_symlink():
        raise UnwritableFileError(f"{folder} is a link: nothing is deleted through links.")
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _unlink_in(folder: Path, name: str) -> None:
    """Remove a file of a folder, which may have been replaced by a link since it was listed."""
    if os.unlink not in os.supports_dir_fd:
        if not folder.is_symlink():
            (folder / name).unlink(missing_ok=True)
        return
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
            os.unlink(name, dir_fd=held)
    finally:
        os.close(held)
