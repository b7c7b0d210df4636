import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.formats import read_tags
from tagloom.formats.base import AnnotationBuilder
from tagloom.formats.text import read_head, read_text

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0")).filter(
    lambda text: text.strip() and not text.startswith("\ufeff")
)


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
@given(content=texts)
def test_any_text_in_any_encoding(tmp_path_factory, mark, codec, content):
    path = tmp_path_factory.mktemp("any") / "x.txt"
    path.write_bytes(mark + content.encode(codec))
    assert read_text(path).content == content
    assert read_head(path).content == content
    builder = AnnotationBuilder()
    read_text(path).warn_of_guess(builder)
    assert builder.warnings == []


def test_windows_text_is_read_with_a_warning(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("image,tag\r\na.jpg,caf\xe9 \u20ac\r\n".encode("cp1252"))
    reading = read_tags(path)
    assert reading.annotations.tags == ("caf\xe9 \u20ac",)
    assert "Windows-1252" in reading.warnings[0].what
    assert reading.details["encoding"] == "Windows-1252"


def test_places_count_every_line_end(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"a\r\nb\rc\nde")
    text = read_text(path)
    assert text.lines() == ["a", "b", "c", "de"]
    assert text.place(8).endswith("x.txt, line 4, column 2")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf \r\n", "is empty"),
        (b"image,tag\na.jpg,\x81x\n", r"line 2, column 7: expected text in UTF-8 .* byte 0x81"),
        (b"\xef\xbb\xbfimage\n\xe9\n", r"line 2, column 1: .* byte 0xe9"),
        (b"\xff\xfea\0\n\0\x00\xd8", r"line 2, column 1: .*Save the file as UTF-8"),
        (b"image,tag\na\0b,c\n", r"line 2, column 2: expected text, found a NUL"),
        ("image,tag\n".encode("utf-16-le"), r"line 1, column 2: expected text, .* byte order mark"),
        (b"\x89PNG\r\n\x1a\n\x02\xff", r"expected text, found the control character"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "expected text, found"),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(tmp_path, data, problem):
    path = tmp_path / "x.csv"
    path.write_bytes(data)
    with pytest.raises(InvalidInputError, match=problem):
        read_text(path)
    with pytest.raises(InvalidInputError):
        read_tags(path)
    for key in ("long-csv", "wide-csv", "tag-list-csv", "bare-tag-list-csv", "jsonl"):
        with pytest.raises(InvalidInputError, match=problem):
            read_tags(path, format=key)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(InvalidInputError, match="cannot be read: No such file"):
        read_text(tmp_path / "none.csv")
    assert read_head(tmp_path / "none.csv") is None


def test_a_cheap_look_ends_with_a_whole_line(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes("é,b\n".encode() * 40_000)
    assert set(read_head(path).lines()) == {"é,b", ""}
    assert len(read_head(path).content) < 70_000
