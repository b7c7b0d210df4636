"""Tags as people have them: read from and written to the formats of other programs."""

from tagloom.formats.annotations import Annotation, Annotations
from tagloom.formats.coco import read_coco, write_coco
from tagloom.formats.embedded import read_embedded
from tagloom.formats.fiftyone import read_fiftyone, write_fiftyone
from tagloom.formats.folders import read_folders
from tagloom.formats.gathering import Gathering, Reading, Remark
from tagloom.formats.jsonl import read_jsonl
from tagloom.formats.label_studio import read_label_studio, write_label_studio
from tagloom.formats.matching import Matched, match
from tagloom.formats.recognise import read_tags
from tagloom.formats.sidecar_apply import apply_sidecars, undo_sidecars
from tagloom.formats.sidecars import plan_sidecars, read_sidecars
from tagloom.formats.table_long import read_long_csv
from tagloom.formats.table_tags import read_bare_tag_list_csv, read_tag_list_csv
from tagloom.formats.table_wide import read_wide_csv
from tagloom.formats.voc import read_voc, write_voc
from tagloom.formats.writing import (
    write_jsonl,
    write_long_csv,
    write_tag_list_csv,
    write_wide_csv,
)

__all__ = [
    "Annotation",
    "Annotations",
    "Gathering",
    "Matched",
    "Reading",
    "Remark",
    "apply_sidecars",
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
    "undo_sidecars",
    "write_coco",
    "write_fiftyone",
    "write_jsonl",
    "write_label_studio",
    "write_long_csv",
    "write_tag_list_csv",
    "write_voc",
    "write_wide_csv",
]
