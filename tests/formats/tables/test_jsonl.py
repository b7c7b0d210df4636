import pytest

from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, read_jsonl, read_tags


def test_lines_list_presences(table):
    text = (
        '{"file_name": "a.jpg", "tags": ["sea", "sky"]}\r\n\r\n'
        '{"image": "sub\\\\b.jpg", "labels": ["sea"]}\r\n'
        '{"path": "c.jpg", "label": "big sky"}\r\n'
        '{"file": "d.jpg", "tags": null}'
    )
    reading = read_tags(table(text, "metadata.jsonl"))
    assert list(reading.annotations) == [
        Annotation("a.jpg", "sea"),
        Annotation("a.jpg", "sky"),
        Annotation("c.jpg", "big sky"),
        Annotation("sub\\b.jpg", "sea"),
    ]
    assert reading.annotations.images == ("a.jpg", "c.jpg", "d.jpg", "sub\\b.jpg")
    assert reading.format == "JSON lines"
    assert not reading.lists_absences
    assert reading.warnings == []


def test_lines_can_hold_everything(table):
    text = (
        '{"file_name": "a", "tags": ["v"], "absent": ["w"], "suggested": {"x": 0.5, "y": 1}, '
        '"suggested_absent": {"z": 0.25}, "unknown": ["u"], "vocabulary": ["t"]}'
    )
    reading = read_jsonl(table(text))
    assert list(reading.annotations) == [
        Annotation("a", "v"),
        Annotation("a", "w", False),
        Annotation("a", "x", True, 0.5),
        Annotation("a", "y", True, 1.0),
        Annotation("a", "z", False, 0.25),
    ]
    assert reading.annotations.tags == ("t", "u", "v", "w", "x", "y", "z")
    assert reading.annotations.undecided == {("a", "u")}
    assert reading.lists_absences


def test_oddities_give_warnings(table):
    text = (
        '{"file_name": "a", "tags": ["x", "x", " "], "absent": ["y"], "width": 3}\n'
        '{"tags": ["x"]}\n{"file_name": "", "tags": ["x"]}\n{"file_name": "a", "tags": ["y"]}\n'
    )
    reading = read_jsonl(table(text))
    assert list(reading.annotations) == [Annotation("a", "x")]
    assert reading.duplicates == 2
    assert len(reading.contradictions) == 1
    assert [(warning.where[-17:], warning.what) for warning in reading.warnings] == [
        ("abels.csv, line 1", "a tag is blank: left out"),
        ("abels.csv, line 1", "the key 'width' is not about tags: not used"),
        ("line 2 and 1 more", "a row names no picture: left out"),
    ]


GOOD = '{"file_name": "a", "tags": ["x"]}\n'


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"file_name": "a", "tags": ["x"}', "line 2, column 32: expected a JSON object"),
        ('{"file_name": "a"', "line 2, column 18: expected a JSON object"),
        ('["a"]', "line 2, column 1: .*it is list, not an object"),
        ('{"file_name": "a", "file_name": "b"}', "line 2.*'file_name' is twice"),
        ('{"file_name": 3}', "line 2, key 'file_name': .*found 3"),
        ('{"file_name": "a", "tags": [1]}', "line 2, key 'tags': expected a list of tags"),
        ('{"file_name": "a", "tags": "x;y"}', "line 2, key 'tags': expected a list of tags"),
        ('{"file_name": "a", "suggested": {"x": 2}}', "key 'suggested': .*from 0 to 1"),
        ('{"file_name": "a", "suggested": {"x": NaN}}', "key 'suggested': .*from 0 to 1"),
        ('{"file_name": "a", "suggested": ["x"]}', "key 'suggested': .*from 0 to 1"),
        ("[" * 100_000, "line 2, column 1"),
    ],
)
def test_bad_lines_are_refused_with_their_place(table, line, problem):
    with pytest.raises(InvalidInputError, match=problem):
        read_jsonl(table(GOOD + line))
