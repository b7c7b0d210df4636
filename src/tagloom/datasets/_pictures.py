"""Pictures that are listed by a name without its ending, or by a part of their path."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError
from tagloom.vision import find_pictures


@dataclass(frozen=True)
class PictureIndex:
    """The pictures of a folder by the last part of their names, without the ending."""

    folder: Path
    by_name: dict[str, list[str]]

    @classmethod
    def of(cls, folder: Path) -> "PictureIndex":
        """Walk a folder."""
        by_name: dict[str, list[str]] = {}
        for item in find_pictures(folder).pictures:
            by_name.setdefault(PurePosixPath(item).stem, []).append(item)
        return cls(folder, by_name)

    def find(self, listed: str) -> str | None:
        """Return the one picture that is meant, None if there is none.

        The listed name and the picture's path may each begin with folders that the other lacks:
        `images/abc` finds `abc.jpg`, and `00/25` finds `images/00/25.jpg`.
        """
        path = PurePosixPath(listed)
        candidates = self.by_name.get(path.name, []) + self.by_name.get(path.stem, [])
        fitting = sorted({item for item in candidates if _same_end(item, path)})
        if len(fitting) > 1:
            exact = [item for item in fitting if item == listed or _bare(item) == listed]
            if len(exact) != 1:
                raise InvalidInputError(
                    f"The picture {listed!r} could be each of {some_of(fitting)} in {self.folder}."
                    " Expected one."
                )
            fitting = exact
        return fitting[0] if fitting else None


def _bare(item: str) -> str:
    return str(PurePosixPath(item).with_suffix(""))


def _same_end(item: str, listed: PurePosixPath) -> bool:
    """Say whether the shorter of both paths is the end of the longer."""
    wanted = listed.parts
    for own in (PurePosixPath(item).parts, PurePosixPath(_bare(item)).parts):
        n = min(len(own), len(wanted))
        if own[-n:] == wanted[-n:]:
            return True
    return False


def located(index: PictureIndex, listed: Sequence[str], name: str) -> tuple[list[str], list[str]]:
    """Return items for what is listed, and a note on pictures that are not there.

    A picture that is missing keeps its listed name, and is left out once pictures are looked at.
    """
    found = [index.find(entry) for entry in listed]
    lost = [entry for entry, item in zip(listed, found, strict=True) if item is None]
    if listed and len(lost) == len(listed):
        raise InvalidInputError(
            f"None of the {len(listed):,} pictures of {name} is in {index.folder}. Listed are "
            f"{some_of(listed, 3)}. Say where the pictures lie."
        )
    items = [entry if item is None else item for entry, item in zip(listed, found, strict=True)]
    return items, notes_of_missing(lost, index.folder)


def notes_of_missing(lost: Sequence[str], folder: Path) -> list[str]:
    """Say which pictures are listed but not there; nothing if all are."""
    if not lost:
        return []
    return [f"{len(lost):,} listed pictures are not in {folder}: {some_of(lost)}."]


def not_there(folder: Path, items: Iterable[str]) -> list[str]:
    """Return the items that are no files of the folder itself."""
    with os.scandir(folder) as entries:
        there = {entry.name for entry in entries}
    return [item for item in items if item not in there]
