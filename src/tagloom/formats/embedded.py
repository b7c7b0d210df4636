"""Keywords inside picture files: XMP and IPTC. Pictures are read only, and never decoded."""

import os
from collections.abc import Iterable
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.formats.annotations import Annotation
from tagloom.formats.gathering import Gathering, Reading
from tagloom.formats.iptc import LONGEST_KEYWORD, iptc_keywords
from tagloom.formats.picture_blocks import picture_blocks
from tagloom.formats.sidecar_places import chosen
from tagloom.formats.xmp import read_packet
from tagloom.formats.xmp_text import clean, illegal_character
from tagloom.vision import find_pictures


def read_embedded(folder: str | os.PathLike[str], pictures: Iterable[str] | None = None) -> Reading:
    """Read the tags that JPEG, PNG, TIFF and WebP files hold in themselves.

    A damaged file gets a remark, and keeps what could be read of it.

    Parameters
    ----------
    folder : path
    pictures : iterable of str, optional
        Names relative to the folder; all pictures in it by default.
    """
    root = Path(folder)
    gathering = Gathering()
    for image in chosen(find_pictures(root), pictures):
        gathering.images.setdefault(image)
        tags, problems = embedded_tags(root / image)
        for tag in tags:
            gathering.add(Annotation(image, tag), image)
        for problem in problems:
            gathering.note(image, problem)
    return gathering.finish(root, "keywords in pictures", can_say_absent=False)


def has_embedded(folder: str | os.PathLike[str], sample: int = 200) -> bool:
    """Tell whether any of some pictures, spread over the whole folder, holds keywords."""
    root = Path(folder)
    pictures = find_pictures(root).pictures
    step = max(1, -(-len(pictures) // max(1, sample)))
    return any(embedded_tags(root / image)[0] for image in pictures[::step])


def embedded_tags(path: Path) -> tuple[list[str], list[str]]:
    """Return the tags in one picture file, each once, and what could not be read."""
    try:
        with path.open("rb") as stream:
            blocks = picture_blocks(stream)
    except OSError as problem:
        return [], [f"keywords not read: {problem}"]
    tags: dict[str, None] = {}
    problems = [f"keywords may be missing: {blocks.problem}"] if blocks.problem else []
    for packet in blocks.xmp:
        try:
            tags |= dict.fromkeys(read_packet(packet, "its XMP").tags())
        except InvalidInputError as problem:
            problems.append(f"keywords not read: {problem}")
    for record in blocks.iptc:
        for keyword in iptc_keywords(record):
            if illegal_character(keyword) is not None:
                problems.append(f"the IPTC keyword {keyword!r} holds control characters: left out")
            elif clean(keyword) and not _is_cut(keyword, tags):
                tags.setdefault(clean(keyword))
    return list(tags), problems


def _is_cut(keyword: str, tags: Iterable[str]) -> bool:
    """Tell whether a keyword is the start of a longer tag that IPTC has no room for."""
    if len(keyword.encode("utf-8")) < LONGEST_KEYWORD - 3:
        return False
    return any(tag != keyword and tag.startswith(keyword) for tag in tags)
