"""Folder names as tags."""

import os
from collections.abc import Iterable
from pathlib import Path

from tagloom.formats.annotations import Annotation, AnnotationBuilder, InputWarning, Reading
from tagloom.formats.metadata.embedded import has_embedded, read_embedded
from tagloom.formats.metadata.sidecars import chosen, has_sidecars, read_sidecars
from tagloom.formats.metadata.xmp import clean, illegal_character
from tagloom.vision import find_pictures

# §§ main folders


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
    builder = AnnotationBuilder()
    unusable: dict[str, None] = {}
    for image in chosen(found, pictures):
        builder.images.setdefault(image)
        for step in dict.fromkeys(image.split("/")[:-1]):
            if illegal_character(step) is not None or not clean(step):
                unusable.setdefault(step)
            elif (image, clean(step)) not in builder.said:
                builder.add(Annotation(image, clean(step)), image)
    for step in unusable:
        builder.note(repr(step), "the name of this folder cannot be a tag: left out")
    return builder.finish(root, "folder names", lists_absences=False)


def has_folders(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a picture lies in a folder inside the folder."""
    return any("/" in image for image in find_pictures(folder).pictures)


# §§ keywords
# A folder of pictures with keywords in several places.


TITLE = "XMP sidecars and keywords in pictures"


def has_both(folder: str | os.PathLike[str]) -> bool:
    """Tell whether there are keywords beside the pictures of a folder and inside them."""
    return has_sidecars(folder) and has_embedded(folder)


def read_both(folder: str | os.PathLike[str]) -> Reading:
    """Read the tags beside pictures and inside them; a picture has those of both places.

    Neither place says that a tag is absent, so that they cannot contradict each other.
    """
    builder = AnnotationBuilder()
    counts = {}
    for place, reading in (
        ("in sidecars", read_sidecars(folder)),
        ("in pictures", read_embedded(folder)),
    ):
        counts[place] = f"{len(reading.annotations):,}"
        builder.images |= dict.fromkeys(reading.annotations.images)
        builder.warnings += reading.warnings
        for one in reading.annotations:
            # Programs write the same keyword to both places: that is not said twice.
            if (one.image, one.tag) not in builder.said:
                builder.add(one, one.image)
    return builder.finish(Path(folder), TITLE, lists_absences=False, **counts)


def not_read_with_a_table(folder: Path, table: Path) -> list[InputWarning]:
    """Warn of keywords of pictures that are passed over for a table in their folder."""
    places = [
        ("XMP sidecars", "xmp", has_sidecars),
        ("keywords in pictures", "embedded", has_embedded),
    ]
    return [
        InputWarning(
            str(folder),
            f"there are {what} as well: not read, since {table.name} is there. Read them with "
            f"--format {key}, in a run of `tagloom update`",
        )
        for what, key, tells in places
        if tells(folder)
    ]
