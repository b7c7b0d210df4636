"""A folder of pictures with keywords in several places."""

import os
from pathlib import Path

from tagloom.formats.embedded import has_embedded, read_embedded
from tagloom.formats.gathering import Gathering, Reading, Remark
from tagloom.formats.sidecars import has_sidecars, read_sidecars

TITLE = "XMP sidecars and keywords in pictures"


def has_both(folder: str | os.PathLike[str]) -> bool:
    """Tell whether there are keywords beside the pictures of a folder and inside them."""
    return has_sidecars(folder) and has_embedded(folder)


def read_both(folder: str | os.PathLike[str]) -> Reading:
    """Read the tags beside pictures and inside them; a picture has those of both places.

    Neither place says that a tag is absent, so that they cannot contradict each other.
    """
    gathering = Gathering()
    counts = {}
    for place, reading in (
        ("in sidecars", read_sidecars(folder)),
        ("in pictures", read_embedded(folder)),
    ):
        counts[place] = f"{len(reading.annotations):,}"
        gathering.images |= dict.fromkeys(reading.annotations.images)
        gathering.remarks += reading.remarks
        for one in reading.annotations:
            # Programs write the same keyword to both places: that is not said twice.
            if (one.image, one.tag) not in gathering.said:
                gathering.add(one, one.image)
    return gathering.finish(Path(folder), TITLE, can_say_absent=False, **counts)


def not_read_with_a_table(folder: Path, table: Path) -> list[Remark]:
    """Remark on keywords of pictures that are passed over for a table in their folder."""
    places = [
        ("XMP sidecars", "xmp", has_sidecars),
        ("keywords in pictures", "embedded", has_embedded),
    ]
    return [
        Remark(
            str(folder),
            f"there are {what} as well: not read, since {table.name} is there. Read them with "
            f"--format {key}, in a run of `tagloom update`",
        )
        for what, key, tells in places
        if tells(folder)
    ]
