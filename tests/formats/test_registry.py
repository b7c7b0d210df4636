import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.formats import read_tags
from tagloom.formats.registry import FORMATS, Format


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("image,tag,state\na,x,1\n", "long CSV"),
        ("image,tag\na,x\n", "long CSV"),
        ("image,x,y\na,1,\n", "wide CSV"),
        ("which,x,y\na,1,0\n", "wide CSV"),
        ("file_name,tags\na,x\n", "tag-list CSV"),
        ("a.jpg,x,y\nb.jpg,z\n", "tag-list CSV without header"),
        ('{"file_name": "a", "tags": []}\n', "JSON lines"),
        ('\ufeff\n{"image": "a"}\n', "JSON lines"),
    ],
)
def test_formats_are_detected_by_content(table, text, title):
    path = table(text, "any.name")
    assert read_tags(path).format == title
    assert [one.title for one in FORMATS if one.detect(path)] == [title]
    key = next(one.key for one in FORMATS if one.title == title)
    assert read_tags(str(path), format=key).annotations == read_tags(path).annotations


@pytest.mark.parametrize(
    "text",
    [
        "",
        "some words\nand more of them\n",
        "name,age\nAnn,7\nBob,8\n",
        '{"images": [], "notes": []}',
        '[{"file_name": "a", "tags": []}]',
        "<annotation>a,b</annotation>",
        b"\xff\xd8\xff\xe0\x00\x10JFIF",
    ],
)
def test_what_is_nothing_known_is_refused_with_what_was_expected(table, text):
    with pytest.raises(InvalidInputError, match=r"long-csv \(.*jsonl|jsonl \(.*--format KEY"):
        read_tags(table(text))


def test_sources_that_are_not_there(tmp_path):
    with pytest.raises(InvalidInputError, match="does not exist"):
        read_tags(tmp_path / "none.csv")
    with pytest.raises(InvalidInputError, match="in this folder"):
        read_tags(tmp_path)
    with pytest.raises(InvalidInputError, match=r"format must be one of .*'tag-list-csv'"):
        read_tags(tmp_path, format="excel")


def test_broken_json_lines_are_reported_with_their_place(table):
    with pytest.raises(InvalidInputError, match="line 1, column 15"):
        read_tags(table('{"file_name": \n', "x.jsonl"))


def test_another_format_is_one_line(table):
    path = table("anything", "x.own")
    reading = read_tags(table("image,tag\na,x\n"))
    asked = []

    def read(path, pictures):
        asked.append(pictures)
        return reading

    own = Format("own", "own", "x.own", lambda path: path.suffix == ".own", read)
    FORMATS.append(own)
    try:
        assert read_tags(path, pictures=path.parent) is reading
    finally:
        FORMATS.remove(own)
    assert asked == [path.parent]


def check_read_or_refused(path):
    """Read in every way: what cannot be read is refused by an error that names the file."""
    for key in (None, *(one.key for one in FORMATS)):
        refusal = ""
        try:
            read_tags(path, format=key)
        except InvalidInputError as problem:
            refusal = str(problem)
        assert not refusal or str(path) in refusal


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_make_it_stumble(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "x.csv"
    path.write_bytes(data)
    check_read_or_refused(path)


WORDS = ["image", "tag", "tags", "state", "probability", "a.jpg", "x", "1", "0", "-1", "0.5"]
MARKS = ['"', ",", ";", "|", "\t", "\n", "\r", " ", "[", "]", "{", "}", ":", "sep=;\n"]
KEYS = ['"file_name":', '"tags":', '"suggested":']


@given(st.lists(st.sampled_from([*WORDS, *MARKS, *KEYS]), max_size=30).map("".join))
def test_no_half_tables_make_it_stumble(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "x.csv"
    path.write_bytes(text.encode())
    check_read_or_refused(path)
