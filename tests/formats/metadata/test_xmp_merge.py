"""Adding tags to a packet: nothing is lost, nothing foreign moves."""

import codecs
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.formats.base import normalize_name
from tagloom.formats.metadata.xmp import COPIES, FIELDS, SUGGESTED, escaped, read_packet
from tagloom.formats.metadata.xmp_merge import Keywords, merge_packet, new_packet
from tagloom.formats.text import illegal_character

DC, DIGIKAM, LR = FIELDS
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
legal = st.characters(exclude_categories=["Cs"]).filter(lambda c: illegal_character(c) is None)
tags = st.text(st.one_of(legal, st.sampled_from("/|&<>'\"]; \t\r\n"))).filter(
    lambda t: normalize_name(t)
)
tag_lists = st.lists(tags, max_size=6)
few = st.lists(st.sampled_from(["a", "b", "a/b", "a|b", "c/a|b", "A", "/", "|b"]), max_size=4)

FOREIGN = [
    b"<!-- kept -->",
    b"<?kept  pi ?>",
    b"<crs:ToneCurve  xmlns:crs='urn:crs'\n a = \"x>y\"><b/></crs:ToneCurve >",
    b'<xmp:Rating xmlns:xmp="http://ns.adobe.com/xap/1.0/">5</xmp:Rating>',
    b"<e:x xmlns:e='urn:e'><![CDATA[<dc:subject>]]>&#233;&amp;\xc3\xa9</e:x>",
    b"<dc:title><rdf:Alt><rdf:li xml:lang='x-default'>beach</rdf:li></rdf:Alt></dc:title>",
    b"\r\n\t ",
]


def listing(field, entries, kind):
    if entries is None:
        return b""
    items = "".join(f"<rdf:li>{escaped(entry)}</rdf:li>" for entry in entries)
    name = f"{field.prefix}:{field.local}"
    forms = {
        "list": f"<{name}><rdf:Bag>{items}</rdf:Bag></{name}>",
        "spread": f"<{name} >\n  <rdf:Seq\n>{items}\n  </rdf:Seq></{name}\t>",
        "plain": f"<{name}>{escaped((entries or ['x'])[0])}</{name}>",
        "empty": f"<{name} />",
        "empty list": f"<{name}><rdf:Bag/></{name}>",
    }
    return forms[kind].encode()


@st.composite
def packets(draw):
    """A packet and the pieces of it that no merge may touch."""
    pieces = [
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="other &gt; 1"><rdf:RDF xmlns:rdf="{RDF}">\n'
        f'<rdf:Description  rdf:about="" '.encode()
        + b" ".join(f'xmlns:{field.prefix}="{field.namespace}"'.encode() for field in FIELDS)
    ]
    attribute = draw(st.sampled_from([None, DC, DIGIKAM, LR]))
    if attribute:
        pieces.append(f"\n {attribute.prefix}:{attribute.local} = 'Scene/x'".encode())
    pieces.append(b" >")
    for field in draw(st.permutations(FIELDS)):
        pieces.append(draw(st.sampled_from(FOREIGN)))
        kinds = st.sampled_from(["list", "spread", "plain", "empty", "empty list"])
        entries = None if field is attribute else draw(st.none() | few)
        pieces.append(listing(field, entries, draw(kinds)))
    pieces.append(draw(st.sampled_from(FOREIGN)))
    pieces.append(b"</rdf:Description></rdf:RDF>\n</x:xmpmeta><!--end-->\n")
    return pieces


def foreign(data):
    """What is left of a packet without its keywords."""
    for field in FIELDS:
        name = f"{field.prefix}:{field.local}".encode()
        data = re.sub(
            rb"\s*<" + name + rb"\s*/>|\s*<" + name + rb"[\s>].*?</" + name + rb"\s*>",
            b"",
            data,
            flags=re.S,
        )
        data = re.sub(rb"\s+" + name + rb"\s*=\s*'[^']*'", b"", data)
    return data


@given(tag_lists)
def test_what_is_written_is_read(wanted):
    expected = list(dict.fromkeys(map(normalize_name, wanted)))
    packet = read_packet(new_packet(wanted), "new")
    assert packet.tags() == expected
    for field in FIELDS if expected else ():
        assert list(map(normalize_name, packet.entries(field))) == expected


@given(packets(), st.one_of(tag_lists, few))
def test_merging_adds_the_tags_everywhere_and_moves_nothing_foreign(pieces, wanted):
    before = b"".join(pieces)
    after = merge_packet(before, wanted, "IMG.xmp")
    old, new = read_packet(before, "IMG.xmp"), read_packet(after, "IMG.xmp")
    everything = {*old.tags(), *map(normalize_name, wanted)}
    assert set(new.tags()) == everything
    assert merge_packet(after, wanted, "IMG.xmp") == after
    # What a CDATA section shows is no field, though a search for text would take it for one.
    hidden = b"[CDATA[<dc:subject>]]"
    assert foreign(after.replace(hidden, b"")) == foreign(before.replace(hidden, b""))
    assert after.count(hidden) == before.count(hidden)
    for field in FIELDS:
        kept = [entry for entry in old.entries(field) if normalize_name(entry)]
        assert [e for e in new.entries(field) if normalize_name(e)][: len(kept)] == kept
    if not wanted:
        assert after == before


@given(packets(), tag_lists, tag_lists)
def test_the_order_of_merging_does_not_change_the_tags(pieces, first, second):
    data = b"".join(pieces)
    one = merge_packet(merge_packet(data, first, "a"), second, "a")
    other = merge_packet(merge_packet(data, second, "a"), first, "a")
    both = merge_packet(data, [*first, *second], "a")
    results = [set(read_packet(merged, "a").tags()) for merged in (one, other, both)]
    assert results[0] == results[1]
    assert results[0] >= results[2]


@given(packets(), st.sets(st.sampled_from(["a", "b", "a/b", "a|b", "A", "x", "Scene/x"])))
def test_rejecting_removes_from_all_fields_and_moves_nothing_foreign(pieces, rejected):
    before = b"".join(pieces)
    old = read_packet(before, "IMG.xmp")
    after = merge_packet(before, Keywords(rejected=rejected), "IMG.xmp")
    new = read_packet(after, "IMG.xmp")
    assert set(new.tags()) == set(old.tags()) - rejected
    hidden = b"[CDATA[<dc:subject>]]"
    assert foreign(after.replace(hidden, b"")) == foreign(before.replace(hidden, b""))
    assert merge_packet(after, Keywords(rejected=rejected), "IMG.xmp") == after
    if not rejected & set(old.tags()):
        assert after == before


@given(packets(), tag_lists, tag_lists)
def test_suggestions_are_marked_until_they_are_known_or_withdrawn(pieces, known, guessed):
    before = b"".join(pieces)
    by_people = {*read_packet(before, "a").tags(), *map(normalize_name, known)}
    suggested = {tag: 0.25 for tag in map(normalize_name, guessed) if tag not in by_people}
    written = merge_packet(before, Keywords(known, suggested), "a")
    packet = read_packet(written, "a")
    assert packet.suggested() == suggested
    assert set(packet.tags()) == by_people | suggested.keys()
    assert merge_packet(written, Keywords(known, suggested), "a") == written
    # Without them it is as if they had never been there.
    withdrawn = read_packet(merge_packet(written, Keywords(known), "a"), "a")
    assert (set(withdrawn.tags()), withdrawn.suggested()) == (by_people, {})
    accepted = read_packet(merge_packet(written, Keywords([*known, *suggested]), "a"), "a")
    assert (set(accepted.tags()), accepted.suggested()) == (by_people | suggested.keys(), {})


def test_a_persons_tag_is_never_marked_as_a_suggestion():
    packet = read_packet(merge_packet(new_packet(["sea"]), Keywords((), {"sea": 0.9}), "a"), "a")
    assert (packet.tags(), packet.suggested()) == (["sea"], {})


def test_a_mark_without_its_keyword_means_nothing():
    data = new_packet(Keywords(["sea"], {"sky": 0.9}))
    gone = data.replace(b"<rdf:li>sky</rdf:li>", b"")
    packet = read_packet(gone, "a")
    assert (packet.tags(), packet.suggested()) == (["sea"], {})
    rewritten = read_packet(data.replace(b"0.900 sky", b"sky"), "a")
    assert rewritten.suggested() == {"sky": 0.5}


def test_a_tag_is_only_one_of_known_suggested_and_rejected():
    for twice in (
        Keywords(["sea"], {"sea": 0.5}),
        Keywords(["sea"], {}, ["sea "]),
        Keywords((), {"sea": 0.5}, ["sea"]),
    ):
        with pytest.raises(InvalidInputError, match="only one of them"):
            new_packet(twice)


DIGIKAM_FILE = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:digiKam="http://www.digikam.org/ns/1.0/"
    xmlns:dc="http://purl.org/dc/elements/1.1/"
    digiKam:ColorLabel="0">
   <digiKam:TagsList>
    <rdf:Seq>
     <rdf:li>Scene/beach</rdf:li>
    </rdf:Seq>
   </digiKam:TagsList>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>"""

MERGED_FILE = DIGIKAM_FILE.replace(
    """Scene/beach</rdf:li>
""",
    """Scene/beach</rdf:li>
     <rdf:li>sea</rdf:li>
""",
).replace(
    """   </digiKam:TagsList>
""",
    """   </digiKam:TagsList>
   <dc:subject>
    <rdf:Bag>
     <rdf:li>beach</rdf:li>
     <rdf:li>sea</rdf:li>
    </rdf:Bag>
   </dc:subject>
   <lr:hierarchicalSubject xmlns:lr="http://ns.adobe.com/lightroom/1.0/">
    <rdf:Bag>
     <rdf:li>Scene|beach</rdf:li>
     <rdf:li>sea</rdf:li>
    </rdf:Bag>
   </lr:hierarchicalSubject>
""",
)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_file_keeps_its_paths_its_indentation_and_its_line_ends(line_end):
    before = DIGIKAM_FILE.replace("\n", line_end).encode()
    after = merge_packet(before, ["sea", "beach"], "IMG.xmp")
    assert after.decode() == MERGED_FILE.replace("\n", line_end)


def test_a_rejected_tag_leaves_no_trace_and_the_rest_as_it_was():
    with_sea = merge_packet(DIGIKAM_FILE.encode(), ["sea", "beach"], "a")
    assert merge_packet(with_sea, Keywords(rejected=["sea"]), "a").decode() == MERGED_FILE.replace(
        "     <rdf:li>sea</rdf:li>\n", ""
    )
    empty = merge_packet(with_sea, Keywords(rejected=["sea", "beach"]), "a").decode()
    assert empty == DIGIKAM_FILE.replace(
        """   <digiKam:TagsList>
    <rdf:Seq>
     <rdf:li>Scene/beach</rdf:li>
    </rdf:Seq>
   </digiKam:TagsList>
""",
        "",
    )


def test_copies_are_kept_in_step_but_not_created():
    microsoft, mediapro = COPIES
    copies = "".join(
        f'<{field.prefix}:{field.local} xmlns:{field.prefix}="{field.namespace}"><rdf:Bag><rdf:li>'
        f"Scene{field.separator}beach</rdf:li></rdf:Bag></{field.prefix}:{field.local}>"
        for field in COPIES
    )
    data = DIGIKAM_FILE.replace("  </rdf:Description>", f"{copies}</rdf:Description>").encode()
    packet = read_packet(merge_packet(data, Keywords(["sea"], {"sky": 0.7}), "a"), "a")
    assert packet.entries(microsoft) == ["Scene/beach", "sea", "sky"]
    assert packet.entries(mediapro) == ["Scene|beach", "sea", "sky"]
    gone = merge_packet(data, Keywords(rejected=["beach"]), "a")
    assert b"beach" not in gone
    assert read_packet(gone, "a").tags() == []
    created = read_packet(new_packet(Keywords(["sea"])), "a")
    assert not any(created.places[field] for field in (*COPIES, SUGGESTED))


def test_a_step_of_a_known_path_is_written_with_the_path_that_leads_to_it():
    data = merge_packet(
        new_packet(["Italy"]).replace(b">Italy<", b">Place|Italy|Rome<", 3), ["Italy"], "a"
    )
    # All three held the path, which in dc:subject is a keyword as it stands: no path at all.
    assert set(read_packet(data, "a").tags()) == {"Place|Italy|Rome", "Italy"}
    only_lr = merge_packet(
        DIGIKAM_FILE.replace("Scene/beach", "Place/Italy/Rome").encode(), ["Italy"], "a"
    )
    packet = read_packet(only_lr, "a")
    assert packet.entries(LR) == ["Place|Italy|Rome", "Place|Italy"]
    assert packet.entries(DIGIKAM) == ["Place/Italy/Rome", "Place/Italy"]
    assert packet.entries(DC) == ["Rome", "Italy"]


@pytest.mark.parametrize(
    ("codec", "mark"),
    [
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
        ("utf-16-le", b""),
    ],
)
def test_a_file_keeps_its_encoding(codec, mark):
    before = mark + DIGIKAM_FILE.encode(codec)
    after = merge_packet(before, ["sea", "beach"], "IMG.xmp")
    assert after == mark + MERGED_FILE.encode(codec)


@pytest.mark.parametrize(
    "text",
    [
        f'<rdf:RDF xmlns:rdf="{RDF}"/>',
        f'<rdf:RDF xmlns:rdf="{RDF}"></rdf:RDF>',
        f'<RDF xmlns="{RDF}"/>',
        f'<RDF xmlns="{RDF}" xmlns:r="{RDF}"><Description r:about=""/></RDF>',
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"/>',
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">\n</x:xmpmeta>',
        f'<q:RDF xmlns:q="{RDF}" xmlns:rdf="urn:other" xmlns:dc="urn:x"><q:Description/></q:RDF>',
    ],
)
def test_packets_without_any_keywords_take_them(text):
    after = merge_packet(text.encode(), ["sea", "beach"], "a")
    assert read_packet(after, "a").tags() == ["sea", "beach"]
    assert merge_packet(after, ["beach"], "a") == after


@pytest.mark.parametrize("tag", ["a\x00", "a\x1b[2J", "\x1f", "\ufffe", "\ud800"])
def test_what_xml_cannot_hold_is_refused_by_name(tag):
    with pytest.raises(InvalidInputError, match=re.escape(repr(tag))):
        new_packet(["sea", tag])


def test_nothing_is_no_tag():
    with pytest.raises(InvalidInputError, match="is empty"):
        new_packet([" \n"])


def test_foreign_xml_and_unknown_forms_are_refused():
    with pytest.raises(InvalidInputError, match="first element is svg"):
        merge_packet(b"<svg/>", ["sea"], "a")
    odd = DIGIKAM_FILE.replace(
        "<digiKam:TagsList>", '<dc:subject rdf:resource="u"/><digiKam:TagsList>'
    )
    with pytest.raises(InvalidInputError, match="a: dc:subject has a form"):
        merge_packet(odd.encode(), ["sea"], "a")
