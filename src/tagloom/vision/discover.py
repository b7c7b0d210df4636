"""Find the pictures in a folder, and account for everything else."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.vision.signatures import SIGNATURE_LENGTH, named_format, picture_format


@dataclass(frozen=True)
class Skipped:
    """Something that was left out, and why."""

    item: str
    reason: str


@dataclass(frozen=True)
class Found:
    """What lies in a folder; every entry is in exactly one of the three lists.

    Attributes
    ----------
    pictures
        Files that look like pictures by their name or by their first bytes.
    others
        Files that look like none.
    skipped
        What could not even be looked at.
    """

    pictures: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def find_pictures(folder: str | os.PathLike[str]) -> Found:
    """Walk a folder and all folders in it.

    Items are paths relative to the folder, with forward slashes, in the order of their characters.
    Links to files are followed, links to folders are not: they may lead in circles.
    """
    root = Path(folder)
    if not root.is_dir():
        state = "is not a folder" if root.exists() else "does not exist"
        raise InvalidInputError(f"{root} {state}. Expected a folder with pictures.")
    found = Found()
    for item, entry in _walk(str(root), "", found.skipped):
        _sort_in(found, item, entry)
    found.pictures.sort()
    found.others.sort()
    found.skipped.sort(key=lambda skipped: skipped.item)
    return found


def _walk(folder: str, prefix: str, skipped: list[Skipped]) -> Iterator[tuple[str, str]]:
    """Yield item and path of everything that is not a folder, without recursion."""
    pending = [(folder, prefix)]
    while pending:
        here, prefix = pending.pop()
        try:
            with os.scandir(here) as entries:
                listed = list(entries)
        except OSError as problem:
            skipped.append(Skipped(prefix or ".", f"the folder cannot be read: {_cause(problem)}"))
            continue
        for entry in listed:
            item = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, item + "/"))
            else:
                yield item, entry.path


def _sort_in(found: Found, item: str, path: str) -> None:
    try:
        kind = os.stat(path).st_mode
        if stat.S_ISDIR(kind):
            reason = "it is a link to a folder; links to folders are not followed"
            found.skipped.append(Skipped(item, reason))
        elif not stat.S_ISREG(kind):
            # Opening a pipe would wait for somebody to write to it.
            found.skipped.append(Skipped(item, "it is not a regular file"))
        elif _looks_like_picture(item, path):
            found.pictures.append(item)
        else:
            found.others.append(item)
    except OSError as problem:
        found.skipped.append(Skipped(item, f"it cannot be read: {_cause(problem)}"))


def _looks_like_picture(item: str, path: str) -> bool:
    if named_format(item) is not None:
        return True
    with open(path, "rb") as stream:
        return picture_format(stream.read(SIGNATURE_LENGTH)) is not None


def _cause(problem: OSError) -> str:
    return problem.strerror or type(problem).__name__
