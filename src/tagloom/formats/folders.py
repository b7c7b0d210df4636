"""Folder names as tags."""

import os
from collections.abc import Iterable
from pathlib import Path

from tagloom.formats.annotations import Annotation
from tagloom.formats.gathering import Gathering, Reading
from tagloom.formats.sidecar_places import chosen
from tagloom.formats.xmp_text import clean, illegal_character
from tagloom.vision import find_pictures


def read_folders(folder: str | os.PathLike[str], pictures: Iterable[str] | None = None) -> Reading:
    """Take every folder on the way to a picture as a tag of it.

    "holiday/beach/IMG.jpg" has the tags "holiday" and "beach"; a picture at the top has none.

    Parameters
    ----------
    folder : path
    pictures : iterable of str, optional
        Names relative to the folder; all pictures in it by default.
    """
    root = Path(folder)
    found = find_pictures(root)
    gathering = Gathering()
    unusable: dict[str, None] = {}
    for image in chosen(found, pictures):
        gathering.images.setdefault(image)
        for step in dict.fromkeys(image.split("/")[:-1]):
            if illegal_character(step) is not None or not clean(step):
                unusable.setdefault(step)
            elif (image, clean(step)) not in gathering.said:
                gathering.add(Annotation(image, clean(step)), image)
    for step in unusable:
        gathering.note(repr(step), "the name of this folder cannot be a tag: left out")
    return gathering.finish(root, "folder names", can_say_absent=False)


def has_folders(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a picture lies in a folder inside the folder."""
    return any("/" in image for image in find_pictures(folder).pictures)
