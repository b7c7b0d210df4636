"""All formats that can be read; a new one is one more line."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tagloom.formats import jsonl, table_long, table_tags, table_wide
from tagloom.formats.coco import read_coco, recognise_coco
from tagloom.formats.embedded import has_embedded, read_embedded
from tagloom.formats.fiftyone import read_fiftyone, recognise_fiftyone
from tagloom.formats.folders import has_folders, read_folders
from tagloom.formats.gathering import Reading
from tagloom.formats.keywords import TITLE as BOTH_TITLE
from tagloom.formats.keywords import has_both, not_read_with_a_table, read_both
from tagloom.formats.label_studio import read_label_studio, recognise_label_studio
from tagloom.formats.sidecars import has_sidecars, read_sidecars
from tagloom.formats.table_forms import is_form, is_jsonl, table_in
from tagloom.formats.voc import read_voc, recognise_voc


@dataclass(frozen=True)
class Format:
    """A format that can be recognised and read.

    Parameters
    ----------
    key
        How a user names it, as in `--format long-csv`.
    title
        How it is called in `Reading.format`.
    expected
        What it looks like, for the message that nothing was recognised.
    recognise
        Says by a cheap look at names and first bytes whether a path is of this format. It never
        raises.
    read
        Takes the path and the folder of the pictures, which may be None.
    """

    key: str
    title: str
    expected: str
    recognise: Callable[[Path], bool]
    read: Callable[[Path, Path | None], Reading]


def _of_table(reader: Callable[[Path], Reading]) -> Callable[[Path, Path | None], Reading]:
    def read(path: Path, pictures: Path | None) -> Reading:
        table = table_in(path) or path
        reading = reader(table)
        if path.is_dir():
            reading.remarks.extend(not_read_with_a_table(path, table))
        return reading

    return read


def _of_folder(
    tells: Callable[[Path], bool], reader: Callable[[Path], Reading]
) -> tuple[Callable[[Path], bool], Callable[[Path, Path | None], Reading]]:
    """Return how to recognise and read what stands in a folder of pictures itself."""

    def recognise(path: Path) -> bool:
        return path.is_dir() and tells(path)

    def read(path: Path, pictures: Path | None) -> Reading:
        return reader(path)

    return recognise, read


# The first format that recognises a path reads it: those that look closer stand before those that
# take nearly anything.
FORMATS: list[Format] = [
    Format(
        "coco",
        "COCO json",
        'an object with "images", "annotations" and "categories"',
        recognise_coco,
        read_coco,
    ),
    Format(
        "fiftyone",
        "FiftyOne labels.json",
        'an object with "classes" and "labels", or a folder with such a labels.json',
        recognise_fiftyone,
        read_fiftyone,
    ),
    Format(
        "label-studio",
        "Label Studio export",
        'a list of tasks with "data" and "annotations" or "predictions"',
        recognise_label_studio,
        read_label_studio,
    ),
    Format(
        "voc",
        "PASCAL VOC",
        "a folder with ImageSets/Main or Annotations",
        recognise_voc,
        read_voc,
    ),
    Format(
        "jsonl",
        jsonl.TITLE,
        'lines such as {"file_name": "a.jpg", "tags": ["sea"]}',
        is_jsonl,
        _of_table(jsonl.read_jsonl),
    ),
    Format(
        "tag-list-csv",
        table_tags.TITLE,
        "a table with the columns file_name and tags",
        is_form("tags"),
        _of_table(table_tags.read_tag_list_csv),
    ),
    Format(
        "long-csv",
        table_long.TITLE,
        "a table with the columns image, tag and, if it lists absences, state",
        is_form("long"),
        _of_table(table_long.read_long_csv),
    ),
    Format(
        "bare-tag-list-csv",
        table_tags.BARE_TITLE,
        "rows a.jpg,sea,sky without a header",
        is_form("bare"),
        _of_table(table_tags.read_bare_tag_list_csv),
    ),
    Format(
        "wide-csv",
        table_wide.TITLE,
        "a table with a column image and a column of 1, 0 or nothing for each tag",
        is_form("wide"),
        _of_table(table_wide.read_wide_csv),
    ),
    Format(
        "keywords",
        BOTH_TITLE,
        "a folder of pictures with keywords in both places",
        *_of_folder(has_both, read_both),
    ),
    Format(
        "xmp",
        "XMP sidecars",
        "a folder of pictures with files such as a.jpg.xmp beside them",
        *_of_folder(has_sidecars, read_sidecars),
    ),
    Format(
        "embedded",
        "keywords in pictures",
        "a folder of pictures that hold keywords (XMP dc:subject or IPTC)",
        *_of_folder(has_embedded, read_embedded),
    ),
    Format(
        "folders",
        "folder names",
        "a folder whose folders are named by what their pictures show",
        *_of_folder(has_folders, read_folders),
    ),
]
