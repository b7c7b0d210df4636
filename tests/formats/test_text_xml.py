"""One safe reader of XML: no entities, places in errors."""

import pytest

from tagloom.errors import InvalidInputError
from tagloom.formats.text import illegal_character, read_xml

BOMB = '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><a>&b;</a>'


@pytest.fixture
def xml(tmp_path):
    def write(text):
        path = tmp_path / "x.xml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_names_text_and_tails_are_those_of_elementtree(xml):
    root = read_xml(xml('<a xmlns="u:n" xmlns:p="u:p" p:k="1" l="2">x<b/>y<!-- c -->z</a>'))
    assert root.tag == "{u:n}a"
    assert root.attrib == {"{u:p}k": "1", "l": "2"}
    assert root.text == "x"
    assert [(child.tag, child.tail) for child in root] == [("{u:n}b", "yz")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_declared_encodings_are_read(xml, encoding):
    path = xml(f'<?xml version="1.0" encoding="{encoding}"?><a>é</a>'.encode(encoding))
    assert read_xml(path).text == "é"


def test_a_document_type_is_accepted_only_on_request_and_without_entities(xml):
    path = xml('<!DOCTYPE svg SYSTEM "http://example.org/x.dtd"><svg/>')
    assert read_xml(path, allow_doctype=True).tag == "svg"
    with pytest.raises(InvalidInputError, match=r"x\.xml declares a document type"):
        read_xml(path)
    with pytest.raises(InvalidInputError, match=r"x\.xml declares entities"):
        read_xml(xml(BOMB), allow_doctype=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1, column 1: malformed XML, no element found"),
        ("<a>\n<b></a>", "line 2, column 6: malformed XML, mismatched tag"),
        ('<?xml version="1.0" encoding="no-such"?><a/>', "unknown encoding"),
    ],
)
def test_what_is_not_xml_is_refused_with_its_place(xml, text, problem):
    with pytest.raises(InvalidInputError, match=problem):
        read_xml(xml(text))


def test_missing_files_are_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"none\.xml cannot be read: No such file"):
        read_xml(tmp_path / "none.xml")


def test_characters_that_xml_cannot_hold():
    assert illegal_character("a\tb\n") is None
    assert illegal_character("a\x07b\x01") == "\x07"
