"""Read and write annotations in the formats of other programs."""

from tagloom.formats.base import Annotation, AnnotationBuilder, Annotations, InputWarning, Reading
from tagloom.formats.interchange.coco import read_coco, write_coco
from tagloom.formats.interchange.fiftyone import read_fiftyone, write_fiftyone
from tagloom.formats.interchange.label_studio import read_label_studio, write_label_studio
from tagloom.formats.interchange.voc import read_voc, write_voc
from tagloom.formats.metadata.changes import apply_changes, undo_changes
from tagloom.formats.metadata.embedded import read_embedded
from tagloom.formats.metadata.folders import read_folders
from tagloom.formats.metadata.sidecars import plan_sidecars, read_sidecars
from tagloom.formats.metadata.xmp_merge import Keywords
from tagloom.formats.names import Matched, match
from tagloom.formats.registry import read_tags
from tagloom.formats.tables.jsonl import read_jsonl
from tagloom.formats.tables.long import read_long_csv
from tagloom.formats.tables.tag_lists import read_bare_tag_list_csv, read_tag_list_csv
from tagloom.formats.tables.wide import read_wide_csv
from tagloom.formats.tables.writer import (
    write_jsonl,
    write_long_csv,
    write_tag_list_csv,
    write_wide_csv,
)

__all__ = [
    "Annotation",
    "AnnotationBuilder",
    "Annotations",
    "InputWarning",
    "Keywords",
    "Matched",
    "Reading",
    "apply_changes",
    "match",
    "plan_sidecars",
    "read_bare_tag_list_csv",
    "read_coco",
    "read_embedded",
    "read_fiftyone",
    "read_folders",
    "read_jsonl",
    "read_label_studio",
    "read_long_csv",
    "read_sidecars",
    "read_tag_list_csv",
    "read_tags",
    "read_voc",
    "read_wide_csv",
    "undo_changes",
    "write_coco",
    "write_fiftyone",
    "write_jsonl",
    "write_label_studio",
    "write_long_csv",
    "write_tag_list_csv",
    "write_voc",
    "write_wide_csv",
]
