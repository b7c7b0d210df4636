"""What exiv2, the library of digiKam and darktable, reads of our files, and we of its files."""

import io

import pytest

from tagloom.formats.metadata.changes import apply_changes
from tagloom.formats.metadata.embedded import embedded_tags
from tagloom.formats.metadata.sidecars import plan_sidecars, read_sidecars
from tagloom.formats.metadata.xmp_merge import merge_packet, new_packet

exiv2 = pytest.importorskip("exiv2", reason="exiv2 is not installed (dependency group: oracles)")
Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.oracle

TAGS = [
    "beach",
    "rock & roll",
    "a < b > c",
    "Zürich",
    "日本 🏔",
    'say "x"',
    "it's",
    "tab\there",
    "]]>",
]
FIELDS = ("Xmp.dc.subject", "Xmp.digiKam.TagsList", "Xmp.lr.hierarchicalSubject")


def picture(kind):
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), "teal").save(stream, kind)
    return stream.getvalue()


def opened(path):
    image = exiv2.ImageFactory.open(str(path))
    image.readMetadata()
    return image


def values(data, key):
    found = data.findKey(exiv2.XmpKey(key))
    assert found != data.end(), f"exiv2 finds no {key}"
    value = found.value()
    return [value.toString(n) for n in range(value.count())]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p").mkdir()
    return tmp_path / "p"


def test_exiv2_reads_all_three_fields_of_a_new_sidecar(folder, tmp_path):
    (folder / "1.jpg").write_bytes(picture("JPEG"))
    apply_changes(plan_sidecars(folder, {"1.jpg": TAGS}), tmp_path / "journal")
    data = opened(folder / "1.jpg.xmp").xmpData()
    for key in FIELDS:
        assert values(data, key) == TAGS


def exiv2_sidecar(path):
    path.write_bytes(new_packet(["x"]))
    image = opened(path)
    data = image.xmpData()
    data.clear()
    data["Xmp.xmp.Rating"] = "4"
    data["Xmp.dc.title"] = 'lang="x-default" A title & more'
    data["Xmp.dc.subject"] = exiv2.XmpArrayValue(["beach", "Zürich"], exiv2.TypeId.xmpBag)
    data["Xmp.digiKam.TagsList"] = exiv2.XmpArrayValue(
        ["Scene/beach", "Place/Zürich"], exiv2.TypeId.xmpSeq
    )
    image.setXmpData(data)
    image.writeMetadata()


def test_a_sidecar_of_exiv2_is_read_and_extended(folder, tmp_path):
    (folder / "1.jpg").write_bytes(picture("JPEG"))
    exiv2_sidecar(folder / "1.xmp")
    assert [one.tag for one in read_sidecars(folder).annotations] == ["Zürich", "beach"]
    apply_changes(plan_sidecars(folder, {"1.jpg": ["sea", "beach"]}), tmp_path / "journal")
    data = opened(folder / "1.xmp").xmpData()
    assert values(data, FIELDS[0]) == ["beach", "Zürich", "sea"]
    assert values(data, FIELDS[1]) == ["Scene/beach", "Place/Zürich", "sea"]
    assert values(data, FIELDS[2]) == ["Scene|beach", "Place|Zürich", "sea"]
    assert values(data, "Xmp.xmp.Rating") == ["4"]
    assert "A title & more" in str(data["Xmp.dc.title"].value())


@pytest.mark.parametrize(
    "text",
    [
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>',
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"/>',
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description rdf:about="" xmlns:d="http://purl.org/dc/elements/1.1/"'
        ' xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="3" d:subject="beach"/></rdf:RDF>',
    ],
)
def test_exiv2_parses_what_we_add_to_odd_packets(text):
    # With another prefix than rdf for RDF, exiv2 reads nothing of a packet, merged or not.
    merged = merge_packet(text.encode(), ["beach", *TAGS], "a")
    image = exiv2.ImageFactory.open(picture("JPEG"))
    image.setXmpPacket(merged.decode())
    data = image.xmpData()
    for key in FIELDS:
        assert values(data, key) == TAGS


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_keywords_that_exiv2_embeds_are_read(folder, kind):
    path = folder / f"1.{kind.lower()}"
    path.write_bytes(picture(kind))
    image = opened(path)
    data = image.xmpData()
    data["Xmp.dc.subject"] = exiv2.XmpArrayValue(TAGS, exiv2.TypeId.xmpBag)
    data["Xmp.lr.hierarchicalSubject"] = exiv2.XmpArrayValue(["Mood|calm"], exiv2.TypeId.xmpBag)
    image.setXmpData(data)
    image.writeMetadata()
    assert embedded_tags(path) == (dict.fromkeys([*TAGS, "calm"]), [])


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
@pytest.mark.parametrize("charset", [True, False])
def test_iptc_keywords_that_exiv2_embeds_are_read(folder, kind, charset):
    path = folder / f"1.{kind.lower()}"
    path.write_bytes(picture(kind))
    image = opened(path)
    data = image.iptcData()
    if charset:
        data["Iptc.Envelope.CharacterSet"] = "\x1b%G"
    for keyword in ("beach", "Zürich"):
        data.add(exiv2.IptcKey("Iptc.Application2.Keywords"), exiv2.StringValue(keyword))
    image.setIptcData(data)
    image.writeMetadata()
    assert embedded_tags(path) == (dict.fromkeys(["beach", "Zürich"]), [])
