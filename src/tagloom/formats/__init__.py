"""Tags as people have them: read from and written to the formats of other programs."""

from tagloom.formats.annotations import Annotation, Annotations
from tagloom.formats.gathering import Gathering, Reading, Remark
from tagloom.formats.jsonl import read_jsonl
from tagloom.formats.matching import Matched, match
from tagloom.formats.recognise import read_tags
from tagloom.formats.table_long import read_long_csv
from tagloom.formats.table_tags import read_bare_tag_list_csv, read_tag_list_csv
from tagloom.formats.table_wide import read_wide_csv
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
    "match",
    "read_bare_tag_list_csv",
    "read_jsonl",
    "read_long_csv",
    "read_tag_list_csv",
    "read_tags",
    "read_wide_csv",
    "write_jsonl",
    "write_long_csv",
    "write_tag_list_csv",
    "write_wide_csv",
]
