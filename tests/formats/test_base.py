import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, AnnotationBuilder, InputWarning, read_tags
from tagloom.formats.base import WarningCounter


def built(*annotations):
    builder = AnnotationBuilder()
    for number, one in enumerate(annotations):
        builder.add(one, f"line {number + 1}")
    return builder.finish(Path("x"), "test", lists_absences=True)


def test_repetitions_are_merged_and_counted():
    reading = built(*[Annotation("a", "sea")] * 3, Annotation("b", "sea"))
    assert len(reading.annotations) == 2
    assert reading.duplicates == 2
    assert reading.contradictions == []


def test_contradictions_are_left_unknown_for_good():
    yes, no = Annotation("a", "sea"), Annotation("a", "sea", False)
    reading = built(yes, no, yes, yes)
    assert len(reading.annotations) == 0
    assert reading.annotations.images == ("a",)
    assert reading.annotations.tags == ("sea",)
    assert reading.annotations.undecided == {("a", "sea")}
    assert [warning.where for warning in reading.contradictions] == ["line 2"]


def test_what_is_left_open_is_never_absent_by_default():
    builder = AnnotationBuilder()
    builder.add(Annotation("a", "sea"), "line 1")
    builder.add(Annotation("b", "sea"), "line 2")
    builder.add(Annotation("b", "sea", False), "line 3")
    builder.leave_undecided("a", "sky")
    builder.add(Annotation("a", "sky", True, 0.9), "line 4")
    builder.leave_undecided("a", "sea")
    annotations = builder.annotations()
    nan = float("nan")
    known = annotations.to_labels(["a", "b", "c"], unlisted="absent")
    np.testing.assert_array_equal(known.to_array(), [[1, nan], [nan, 0], [0, 0]])
    assert annotations.undecided == {("a", "sky"), ("b", "sea")}


def test_people_override_machines_in_any_order():
    person, machine = Annotation("a", "sea", False), Annotation("a", "sea", True, 0.9)
    for order in ((person, machine), (machine, person)):
        reading = built(*order)
        assert list(reading.annotations) == [person]
        assert reading.duplicates == 1
        assert reading.contradictions == []


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.booleans())))
def test_contradictions_are_removed_and_the_rest_remains(annotations):
    reading = built(*(Annotation(*one) for one in annotations))
    undenied = {one for one in annotations if (*one[:2], not one[2]) not in annotations}
    assert {one[:3] for one in reading.annotations} == undenied
    denied = {one[:2] for one in annotations} - {one[:2] for one in undenied}
    assert len(reading.contradictions) == len(denied)
    assert reading.duplicates == len(annotations) - len(undenied) - len(denied)


def test_warnings_of_one_kind_are_counted_with_their_first_place():
    counter, builder = WarningCounter(), AnnotationBuilder()
    for line in (3, 5, 8):
        counter.add(f"line {line}", "a tag is blank: left out")
    counter.add("line 4", "a row names no picture: left out")
    counter.add_to(builder)
    assert builder.warnings == [
        InputWarning("line 3 and 2 more", "a tag is blank: left out"),
        InputWarning("line 4", "a row names no picture: left out"),
    ]


@pytest.mark.parametrize("tag", ["half \ud800", "a\0b"])
def test_tags_that_no_table_could_hold_are_refused(tag, tmp_path):
    """JSON can write them; a run would end in an error when it writes its tables."""
    path = tmp_path / "tags.jsonl"
    path.write_text(json.dumps({"file_name": "a.jpg", "tags": ["sea", tag]}))
    with pytest.raises(InvalidInputError, match=r"tags\.jsonl: tags must be whole Unicode"):
        read_tags(path)
