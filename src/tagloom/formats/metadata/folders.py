"""Tags of a folder of pictures: keywords from all places at once, and the names of its folders."""

import os
from collections.abc import Iterable
from pathlib import Path

from tagloom.formats.base import (
    Annotation,
    AnnotationBuilder,
    Format,
    InputWarning,
    Reading,
    normalize_name,
)
from tagloom.formats.metadata import embedded, sidecars
from tagloom.formats.metadata.embedded import has_embedded, read_embedded
from tagloom.formats.metadata.sidecars import has_sidecars, read_sidecars, select_pictures
from tagloom.formats.text import illegal_character
from tagloom.vision import find_pictures

TITLE = "folder names"
KEYWORDS_TITLE = "XMP sidecars and keywords in pictures"


def read_folders(folder: str | os.PathLike[str], pictures: Iterable[str] | None = None) -> Reading:
    """Take every folder on the path of a picture as a tag of it.

    "holiday/beach/IMG.jpg" has the tags "holiday" and "beach"; a picture at the top has none.
    The parameters are those of `read_sidecars`.
    """
    root = Path(folder)
    found = find_pictures(root)
    builder = AnnotationBuilder()
    unusable: dict[str, None] = {}
    for image in select_pictures(found, pictures):
        builder.images.setdefault(image)
        for step in dict.fromkeys(image.split("/")[:-1]):
            tag = normalize_name(step)
            if illegal_character(step) is not None or not tag:
                unusable.setdefault(step)
            elif (image, tag) not in builder.entries:
                builder.add(Annotation(image, tag), image)
    for step in unusable:
        builder.warn(repr(step), "the name of this folder cannot be a tag: left out")
    return builder.finish(root, TITLE, lists_absences=False)


def has_folders(folder: str | os.PathLike[str]) -> bool:
    """Return whether a picture is in a folder inside the folder."""
    return any("/" in image for image in find_pictures(folder).pictures)


def read_keywords(folder: str | os.PathLike[str]) -> Reading:
    """Read the keywords in sidecars and in pictures; a picture has those of both places.

    Neither place lists absences, so they cannot contradict each other. A keyword that is marked as
    a suggestion in one place is a suggestion in both: programs copy keywords without the mark.
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
            # Programs write a keyword to both places: this does not count as a duplicate.
            earlier = builder.entries.setdefault((one.image, one.tag), one)
            if earlier.confidence is None:
                builder.entries[one.image, one.tag] = one
            builder.tags.setdefault(one.tag)
    return builder.finish(Path(folder), KEYWORDS_TITLE, lists_absences=False, **counts)


def has_keywords(folder: str | os.PathLike[str]) -> bool:
    """Return whether there are keywords both in sidecars and in pictures of a folder."""
    return has_sidecars(folder) and has_embedded(folder)


FORMAT = Format.of_folder(
    "folders",
    TITLE,
    "a folder whose folders are named by what their pictures show",
    has_folders,
    read_folders,
)
KEYWORDS_FORMAT = Format.of_folder(
    "keywords",
    KEYWORDS_TITLE,
    "a folder of pictures with keywords in both places",
    has_keywords,
    read_keywords,
)


def warn_of_keywords(folder: Path, table: Path) -> list[InputWarning]:
    """Return warnings of keywords that are ignored because their folder has a table."""
    return [
        InputWarning(
            str(folder),
            f"there are {one.title} as well: not read, since {table.name} is there. Read them with "
            f"--format {one.key}, in a run of `tagloom update`",
        )
        for one in (sidecars.FORMAT, embedded.FORMAT)
        if one.detect(folder)
    ]
