"""Pictures that are listed by a name without its ending, or by a part of their path."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError
from tagloom.formats.finding import PictureIndex
from tagloom.vision import find_pictures


def located(folder: Path, listed: Sequence[str], name: str) -> tuple[list[str], list[str]]:
    """Return items for what is listed, and a note on pictures that are not there.

    A picture that is missing keeps its listed name, and is left out once pictures are looked at.
    """
    index = PictureIndex(find_pictures(folder).pictures)
    found = [_only(index.fitting(entry), entry, folder) for entry in listed]
    lost = [entry for entry, item in zip(listed, found, strict=True) if item is None]
    if listed and len(lost) == len(listed):
        raise InvalidInputError(
            f"None of the {len(listed):,} pictures of {name} is in {folder}. Listed are "
            f"{some_of(listed, 3)}. Say where the pictures lie."
        )
    items = [entry if item is None else item for entry, item in zip(listed, found, strict=True)]
    return items, notes_of_missing(lost, folder)


def _only(fitting: Sequence[str], listed: str, folder: Path) -> str | None:
    if len(fitting) > 1:
        raise InvalidInputError(
            f"The picture {listed!r} could be each of {some_of(fitting)} in {folder}. Expected one."
        )
    return fitting[0] if fitting else None


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
