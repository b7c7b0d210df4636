"""Reading the keywords of one packet, in every form in which programs write them."""

import codecs

import pytest

from tagloom.errors import InvalidInputError
from tagloom.formats.metadata.xmp import read_packet

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NAMESPACES = (
    f'xmlns:rdf="{RDF}" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:digiKam="http://www.digikam.org/ns/1.0/" '
    'xmlns:lr="http://ns.adobe.com/lightroom/1.0/" xmlns:mm="http://ns.adobe.com/xap/1.0/mm/"'
)


def packet(inside, attributes=""):
    return (
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF {NAMESPACES}>'
        f'<rdf:Description rdf:about="" {attributes}>{inside}</rdf:Description>'
        "</rdf:RDF></x:xmpmeta>"
    )


def listed(name, *items, kind="Bag"):
    inside = "".join(f"<rdf:li>{item}</rdf:li>" for item in items)
    return f"<{name}><rdf:{kind}>{inside}</rdf:{kind}></{name}>"


def tags_of(text):
    return read_packet(text.encode(), "IMG.xmp").tags()


@pytest.mark.parametrize("kind", ["Bag", "Seq", "Alt"])
@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("dc:subject", "beach"),
        ("digiKam:TagsList", "Scene/beach"),
        ("lr:hierarchicalSubject", "Scene|beach"),
    ],
)
def test_each_field_and_kind_of_list_alone_gives_the_tag(name, entry, kind):
    assert tags_of(packet(listed(name, entry, kind=kind))) == ["beach"]


def test_a_tag_in_several_fields_is_one_tag():
    fields = (
        listed("dc:subject", "beach", "sea")
        + listed("digiKam:TagsList", "Scene/beach", "Mood/calm")
        + listed("lr:hierarchicalSubject", "Scene|beach", "Place|Rome")
    )
    assert tags_of(packet(fields)) == ["beach", "sea", "calm", "Rome"]


def test_a_flat_keyword_with_a_separator_is_no_path():
    fields = listed("dc:subject", "black/white") + listed("digiKam:TagsList", "black/white")
    assert tags_of(packet(fields)) == ["black/white"]


def test_a_path_that_ends_in_nothing_stands_for_its_last_step():
    assert tags_of(packet(listed("digiKam:TagsList", "Scene/", "/", " "))) == ["Scene"]


def test_one_value_may_be_an_attribute_or_plain_text():
    assert tags_of(packet("", 'dc:subject="beach"')) == ["beach"]
    assert tags_of(packet("<dc:subject>beach</dc:subject>")) == ["beach"]
    assert tags_of(packet("", 'lr:hierarchicalSubject="Scene|beach"')) == ["beach"]
    assert (
        tags_of(packet("<dc:subject/><lr:hierarchicalSubject><rdf:Bag/></lr:hierarchicalSubject>"))
        == []
    )


def test_qualified_items_hold_their_text_in_rdf_value():
    resource = (
        '<rdf:li rdf:parseType="Resource"><rdf:value>beach</rdf:value><mm:q>no</mm:q></rdf:li>'
    )
    described = "<rdf:li><rdf:Description><rdf:value>sea</rdf:value></rdf:Description></rdf:li>"
    text = f"<dc:subject><rdf:Bag>{resource}{described}</rdf:Bag></dc:subject>"
    assert tags_of(packet(text)) == ["beach", "sea"]


def test_keywords_of_another_picture_inside_a_field_are_not_this_ones():
    derived = (
        f"<mm:DerivedFrom><rdf:Description>{listed('dc:subject', 'other')}</rdf:Description>"
        "</mm:DerivedFrom>"
    )
    assert tags_of(packet(derived + listed("dc:subject", "own"))) == ["own"]


def test_namespaces_count_and_not_prefixes():
    text = packet(
        '<s xmlns="http://purl.org/dc/elements/1.1/"/><dc:subject xmlns:dc="urn:x">no</dc:subject>'
    )
    assert tags_of(text) == []
    default = (
        f'<RDF xmlns="{RDF}" xmlns:r="{RDF}"><Description r:about="">'
        '<k:subject xmlns:k="http://purl.org/dc/elements/1.1/"><Bag><li>sea</li></Bag></k:subject>'
        "</Description></RDF>"
    )
    assert tags_of(default) == ["sea"]


def test_tags_are_composed_and_without_blanks_at_the_ends_but_keep_their_case():
    text = packet(listed("dc:subject", " cafe\u0301 ", "caf\u00e9", "Nice", "nice", "\n  sea\n "))
    assert tags_of(text) == ["caf\u00e9", "Nice", "nice", "sea"]


@pytest.mark.parametrize(
    ("codec", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
        ("utf-16-le", b""),
        ("utf-16-be", b""),
    ],
)
def test_both_encodings_are_read_with_and_without_mark(codec, mark):
    text = packet(listed("dc:subject", "Zürich 🏔"))
    assert read_packet(mark + text.encode(codec), "IMG.xmp").tags() == ["Zürich 🏔"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"IMG\.xmp, line 1, column 1: malformed XML, no element found"),
        (b"<a>\n <b></a>", r"IMG\.xmp, line 2, column 7: malformed XML, mismatched tag"),
        (b"<a>&nbsp;</a>", r"line 1, column 4: malformed XML, undefined entity"),
        (b'\n<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', r"IMG\.xmp, line 2: a DOCTYPE"),
        (b"<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", r"a DOCTYPE"),
        (b"<a>\n\xe9</a>", r"line 2: byte 4 is not UTF-8"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><a/>', "declared encoding is ISO-8859-1"),
        ("<a/>".encode("utf-32"), "is UTF-32"),
        (b"<a>" * 200_000, "malformed"),
    ],
)
def test_what_is_no_packet_is_refused_with_its_place(data, message):
    with pytest.raises(InvalidInputError, match=message):
        read_packet(data, "IMG.xmp")


def test_a_packet_of_countless_items_is_refused():
    text = packet("<dc:subject><rdf:Bag>" + "<rdf:li/>" * 100_001 + "</rdf:Bag></dc:subject>")
    with pytest.raises(InvalidInputError, match="more than 100000 elements"):
        tags_of(text)


def test_other_fields_may_be_as_large_as_they_like():
    history = "<mm:History><rdf:Seq>" + "<rdf:li/>" * 100_001 + "</rdf:Seq></mm:History>"
    assert tags_of(packet(history + listed("dc:subject", "beach"))) == ["beach"]
