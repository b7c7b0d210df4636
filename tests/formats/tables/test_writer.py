import csv
import json
import os
import unicodedata

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.formats import (
    Annotation,
    Annotations,
    read_jsonl,
    read_long_csv,
    read_tag_list_csv,
    read_tags,
    read_wide_csv,
    write_jsonl,
    write_long_csv,
    write_tag_list_csv,
    write_wide_csv,
)

# What readers may stumble over stands in front, so that it is tried often.
HOSTILE = st.sampled_from([*",;|\t\"\r\n[]{}\\'=+-01 é", "\ufeff", "\u2028", "\x0b", "😀"])
ANY = st.characters(codec="utf-8", exclude_characters="\0")


def is_normalized(name):
    return name and unicodedata.normalize("NFC", name).strip() == name


texts = st.lists(HOSTILE | ANY, min_size=1, max_size=6).map("".join)
tags = texts.filter(is_normalized)
words = st.sampled_from(
    ["image", "file_name", "tag", "tags", "label", "split", "1", "0", "-1", "sep=;", "present"]
)
tag_names = tags | words
# Names of files are kept as they are: with white space at an end, with backslashes, in any form.
image_names = texts.filter(str.strip) | words
original = st.lists(
    st.builds(Annotation, image_names, tag_names, st.booleans(), st.none() | st.floats(0, 1)),
    unique_by=lambda one: one[:2],
    max_size=8,
)
everything = st.builds(
    lambda entries, images, tags, left_open: Annotations.of(
        entries, images=images, tags=tags, undecided=left_open
    ),
    original,
    st.lists(image_names, max_size=2),
    st.lists(tag_names, max_size=2),
    st.lists(st.tuples(image_names, tag_names), max_size=2),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("written") / "written.csv"


@settings(deadline=None)
@given(everything)
@example(Annotations.of([], images=["a"], tags=["x"]))
@example(Annotations.of([Annotation("sep=;", "sea")]))
def test_long_tables_hold_everything(path, annotations):
    assert write_long_csv(annotations, path) == 0
    reading = read_long_csv(path)
    assert reading.annotations == annotations
    assert reading.duplicates == 0
    assert reading.warnings == []
    assert read_tags(path).format == "long CSV"


@settings(deadline=None)
@given(everything)
@example(Annotations.of([Annotation("a;b", "c;image;d"), Annotation("a;b", "e")]))
@example(Annotations.of([Annotation("a", "image"), Annotation("a", "split")]))
def test_wide_tables_hold_what_people_annotated(path, annotations):
    assume(annotations.tags)
    people = annotations.without_suggestions()
    assert write_wide_csv(annotations, path) == len(annotations) - len(people)
    reading = read_wide_csv(path)
    assert reading.annotations == people
    assert len(reading.warnings) == bool(people.undecided)


@settings(deadline=None)
@given(everything)
@example(Annotations.of([Annotation("a", "x;y"), Annotation("b", "z")]))
@example(Annotations.of([Annotation("a", "[x]")]))
def test_tag_lists_hold_presences(path, annotations):
    present = [one for one in annotations if one.present and one.confidence is None]
    expected = Annotations.of(present, images=annotations.images)
    assert write_tag_list_csv(annotations, path) == len(annotations) - len(expected)
    reading = read_tags(path)
    assert reading.annotations == expected
    assert reading.format == "tag-list CSV"
    assert read_tag_list_csv(path).warnings == []


@settings(deadline=None)
@given(everything)
@example(Annotations.of([], tags=["x"]))
@example(Annotations.of([Annotation("not\udcffunicode\0.jpg", "x")]))
def test_json_lines_hold_everything(path, annotations):
    assume(annotations.images or annotations.tags)
    assert write_jsonl(annotations, path) == 0
    reading = read_jsonl(path)
    assert reading.annotations == annotations
    assert reading.warnings == []


def test_other_readers_understand_what_is_written(tmp_path):
    annotations = Annotations.of(
        [
            Annotation("a, b.jpg", 'the "sea"'),
            Annotation("a, b.jpg", "line\nend", False),
            Annotation("c.jpg", "sky", True, 0.5),
        ]
    )
    write_long_csv(annotations, tmp_path / "long.csv")
    with (tmp_path / "long.csv").open(newline="", encoding="utf-8") as stream:
        assert list(csv.reader(stream)) == [
            ["image", "tag", "state", "probability"],
            ["a, b.jpg", "line\nend", "0", ""],
            ["a, b.jpg", 'the "sea"', "1", ""],
            ["c.jpg", "sky", "1", "0.5"],
        ]
    write_wide_csv(annotations, tmp_path / "wide.csv")
    with (tmp_path / "wide.csv").open(newline="", encoding="utf-8") as stream:
        assert list(csv.reader(stream)) == [
            ["image", "line\nend", "sky", 'the "sea"'],
            ["a, b.jpg", "0", "", "1"],
            ["c.jpg", "", "", ""],
        ]
    write_jsonl(annotations, tmp_path / "x.jsonl")
    lines = (tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"file_name": "a, b.jpg", "tags": ['the "sea"'], "absent": ["line\nend"]},
        {"file_name": "c.jpg", "tags": [], "suggested": {"sky": 0.5}},
    ]


@pytest.mark.parametrize("write", [write_long_csv, write_wide_csv, write_tag_list_csv])
def test_names_that_no_table_can_hold_are_refused(tmp_path, write):
    for name in ("a\0.jpg", os.fsdecode(b"\xff.jpg")):
        with pytest.raises(InvalidInputError, match=r"cannot be written .*JSON lines"):
            write(Annotations.of([Annotation(name, "sea")]), tmp_path / "x.csv")
    for one in (Annotation(" ", "sea"), Annotation("a.jpg", "")):
        with pytest.raises(InvalidInputError, match="is blank"):
            write(Annotations.of([one]), tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def test_a_wide_table_needs_tags_and_a_name_for_its_pictures(tmp_path):
    with pytest.raises(InvalidInputError, match="at least one tag"):
        write_wide_csv(Annotations.of([], images=["a.jpg"]), tmp_path / "x.csv")


FORMULA = tuple("=+-@\t\r\n")


@settings(deadline=None)
@given(everything, st.sampled_from([write_long_csv, write_wide_csv, write_tag_list_csv]))
@example(Annotations.of([Annotation("=a.jpg", "@sum"), Annotation("+", "-")]), write_long_csv)
@example(Annotations.of([Annotation("=a.jpg", "@sum"), Annotation("+", "-")]), write_wide_csv)
@example(Annotations.of([Annotation("'=a.jpg", "@b"), Annotation("+", "x")]), write_tag_list_csv)
def test_no_cell_is_a_formula(path, annotations, write):
    assume(annotations.tags)
    write(annotations, path)
    with path.open(encoding="utf-8", newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert [cell for cell in cells if cell.startswith(FORMULA) and cell != "-1"] == []
