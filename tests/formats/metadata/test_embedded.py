"""Keywords inside picture files, sound and damaged."""

import io
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.formats.metadata.embedded import (
    embedded_tags,
    has_embedded,
    iptc_keywords,
    photoshop_iptc,
    picture_blocks,
    read_embedded,
)
from tagloom.formats.metadata.xmp_merge import Keywords, new_packet

Image = pytest.importorskip("PIL.Image")
XMP = new_packet(["beach", "Zürich"])
XMP_START = b"http://ns.adobe.com/xap/1.0/\0"


def picture(kind, **options):
    stream = io.BytesIO()
    Image.new("RGB", (4, 4), "teal").save(stream, kind, **options)
    return stream.getvalue()


def read(path):
    """The keywords of a picture and what could not be read; nothing is marked as a suggestion."""
    tags, problems = embedded_tags(path)
    assert set(tags.values()) <= {None}
    return list(tags), problems


def dataset(record, number, value):
    return struct.pack(">BBBH", 0x1C, record, number, len(value)) + value


def iptc(*keywords, charset=b""):
    start = dataset(1, 90, charset) if charset else b""
    return start + dataset(2, 0, b"\0\4") + b"".join(dataset(2, 25, word) for word in keywords)


def photoshop(record, name=b""):
    def resource(kind, data):
        title = bytes([len(name)]) + name
        padded = title + b"\0" * (len(title) % 2)
        return (
            b"8BIM" + struct.pack(">H", kind) + padded + struct.pack(">I", len(data)) + data
        ) + b"\0" * (len(data) % 2)

    return resource(0x03ED, b"abc") + resource(0x0404, record) + resource(0x0425, b"x")


def jpeg(*segments):
    plain = picture("JPEG")
    added = b"".join(
        bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data for marker, data in segments
    )
    return plain[:2] + added + plain[2:]


def png(*chunks):
    plain = picture("PNG")
    added = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    # After the pixels, as some programs have it.
    end = plain.index(b"IEND") - 4
    return plain[:end] + added + plain[end:]


def itxt(packet, compressed=False):
    text = zlib.compress(packet) if compressed else packet
    return b"XML:com.adobe.xmp\0" + bytes([compressed, 0]) + b"\0\0" + text


def tiff(order, entries, big=False):
    """A TIFF of nothing but a directory and the values, the values first."""
    offset, head = ("Q", 16) if big else ("I", 8)
    values, directory = b"", b""
    for tag, kind, data in entries:
        count = len(data) // {4: 4}.get(kind, 1)
        place = struct.pack(order + offset, head + len(values))
        directory += struct.pack(order + "HH" + offset, tag, kind, count) + place
        values += data
    mark = b"II" if order == "<" else b"MM"
    number = struct.pack(order + ("Q" if big else "H"), len(entries))
    first = head + len(values)
    opening = (
        struct.pack(order + "HHHQ", 43, 8, 0, first)
        if big
        else struct.pack(order + "HI", 42, first)
    )
    return mark + opening + values + number + directory + b"\0" * 8


def webp(*chunks):
    body = picture("WEBP")[8:]
    for kind, data in chunks:
        body += kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


SOUND = {
    "jpeg.jpg": jpeg((0xE0, b"JFIF\0junk"), (0xE1, b"Exif\0\0MM"), (0xE1, XMP_START + XMP)),
    "padded.jpg": jpeg((0xE1, XMP_START + XMP + b"\0" * 50)),
    "fill.jpg": jpeg((0xE1, XMP_START + XMP)).replace(b"\xff\xe1", b"\xff\xff\xff\xe1"),
    "text.png": png((b"tEXt", b"Software\0x"), (b"iTXt", itxt(XMP))),
    "serialized.png": png((b"iTXt", b"Comment\0\0\0\0\0no"), (b"iTXt", itxt(XMP, compressed=True))),
    "little.tif": tiff("<", [(256, 3, b"\4\0\0\0"), (700, 1, XMP)]),
    "big-endian.tif": tiff(">", [(700, 7, XMP)]),
    "big.tif": tiff("<", [(700, 1, XMP)], big=True),
    "chunk.webp": webp((b"EXIF", b"odd"), (b"XMP ", XMP)),
    "utf16.jpg": jpeg((0xE1, XMP_START + XMP.decode().encode("utf-16"))),
}


@pytest.mark.parametrize("name", SOUND)
def test_xmp_is_read_from_each_kind_of_file(tmp_path, name):
    (tmp_path / name).write_bytes(SOUND[name])
    reading = read_embedded(tmp_path)
    assert reading.annotations.tags == ("Zürich", "beach")
    assert reading.annotations.images == (name,)
    assert reading.warnings == []
    assert not reading.lists_absences
    assert has_embedded(tmp_path)


def test_what_pillow_writes_is_read(tmp_path):
    for kind, options in (
        ("JPEG", {"xmp": XMP}),
        ("WEBP", {"xmp": XMP}),
        ("TIFF", {"tiffinfo": {700: XMP}}),
    ):
        (tmp_path / f"{kind}.{kind.lower()}").write_bytes(picture(kind, **options))
    reading = read_embedded(tmp_path)
    assert len(reading.annotations) == 6
    assert reading.warnings == []


def test_pictures_without_keywords_are_listed_and_have_none(tmp_path):
    for kind in ("JPEG", "PNG", "TIFF", "WEBP", "GIF", "BMP"):
        (tmp_path / f"x.{kind.lower()}").write_bytes(picture(kind))
    reading = read_embedded(tmp_path)
    assert len(reading.annotations.images) == 6
    assert len(reading.annotations) == 0
    assert reading.warnings == []
    assert not has_embedded(tmp_path)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (iptc(b"sea", "Zürich".encode(), charset=b"\x1b%G"), ["sea", "Zürich"]),
        (iptc("Zürich".encode()), ["Zürich"]),
        (iptc("Zürich".encode("latin-1"), b"sea"), ["Zürich", "sea"]),
        (iptc(b"sea\0", b""), ["sea", ""]),
        (b"\x1c\x02\x19\x80\x04\x00\x00\x00\x03sea" + dataset(2, 25, b"sky"), ["sea", "sky"]),
        (b"\x1c\x02\x19\x80\x09\x00", []),
        (iptc(b"sea")[:-1], []),
        (b"", []),
    ],
)
def test_iptc_is_decoded_as_declared_or_guessed(record, expected):
    assert iptc_keywords(record) == expected


@pytest.mark.parametrize("name", [b"", b"x", b"ab"])
def test_iptc_is_read_from_jpeg_and_tiff_beside_xmp(tmp_path, name):
    record = iptc(b"beach", b"sky")
    resources = photoshop(record, name)
    start = b"Photoshop 3.0\0"
    files = {
        "a.jpg": jpeg((0xED, start + resources), (0xE1, XMP_START + XMP)),
        # Resources may be cut between two segments at any byte.
        "b.jpg": jpeg(
            (0xE1, XMP_START + XMP), (0xED, start + resources[:31]), (0xED, start + resources[31:])
        ),
        "c.tif": tiff("<", [(700, 1, XMP), (33723, 4, record + b"\0" * (-len(record) % 4))]),
        "d.tif": tiff(">", [(700, 1, XMP), (33723, 7, record)]),
    }
    for file, data in files.items():
        (tmp_path / file).write_bytes(data)
        assert read(tmp_path / file) == (["beach", "Zürich", "sky"], [])
    assert read_embedded(tmp_path).duplicates == 0


def test_a_keyword_that_iptc_cut_short_is_not_a_second_tag(tmp_path):
    long = "the last evening of our long journey through the mountains of the north"
    packet = new_packet([long])
    record = iptc(long.encode()[:64], b"the last")
    data = jpeg((0xE1, XMP_START + packet), (0xED, b"Photoshop 3.0\0" + photoshop(record)))
    (tmp_path / "a.jpg").write_bytes(data)
    assert read(tmp_path / "a.jpg")[0] == [long, "the last"]


def test_extended_xmp_is_passed_over(tmp_path):
    extended = b"http://ns.adobe.com/xmp/extension/\0" + b"0" * 40 + XMP
    (tmp_path / "a.jpg").write_bytes(jpeg((0xE1, extended), (0xE1, XMP_START + new_packet(["x"]))))
    assert read(tmp_path / "a.jpg") == (["x"], [])


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cut.jpg", SOUND["jpeg.jpg"][:60]),
        ("empty segment.jpg", b"\xff\xd8\xff\xe1\0\0" + b"\0" * 20),
        ("no marker.jpg", b"\xff\xd8\xff\xe0\0\2junk"),
        ("cut.png", SOUND["text.png"][:60]),
        ("bomb.png", png((b"iTXt", itxt(b"\0" * (17 * 2**20), compressed=True)))),
        (
            "huge.tif",
            tiff("<", []).replace(
                b"\0\0" + b"\0" * 8, b"\1\0" + struct.pack("<HHII", 700, 1, 2**31, 8)
            ),
        ),
        ("far.tif", b"II*\0" + b"\xff" * 12),
        ("far big.tif", b"II+\0\x08\0\0\0" + b"\xff" * 8),
        ("cut.webp", SOUND["chunk.webp"][:-30]),
        ("bad.jpg", jpeg((0xE1, XMP_START + b"<a>"))),
        ("doctype.jpg", jpeg((0xE1, XMP_START + b"<!DOCTYPE a><a/>"))),
        ("control.jpg", jpeg((0xED, b"Photoshop 3.0\0" + photoshop(iptc(b"a\x07"))))),
    ],
)
def test_damaged_files_give_a_warning(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    (tmp_path / "sound.jpg").write_bytes(SOUND["jpeg.jpg"])
    reading = read_embedded(tmp_path)
    assert [warning.where for warning in reading.warnings] == [name]
    assert {one.image for one in reading.annotations} == {"sound.jpg"}


def test_a_file_damaged_after_its_keywords_keeps_them(tmp_path):
    (tmp_path / "a.jpg").write_bytes(SOUND["jpeg.jpg"][: 80 + len(XMP)])
    tags, problems = read(tmp_path / "a.jpg")
    assert tags == ["beach", "Zürich"]
    assert len(problems) == 1


def test_pictures_are_not_touched(tmp_path):
    for name, data in SOUND.items():
        (tmp_path / name).write_bytes(data)
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in SOUND}
    read_embedded(tmp_path)
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in SOUND} == before
    assert {name: (tmp_path / name).read_bytes() for name in SOUND} == SOUND


def box(kind, *content):
    body = b"".join(content)
    return struct.pack(">I4s", len(body) + 8, kind) + body


def heic(packet, *, version=1, in_idat=False):
    """A HEIF file of nothing but an XMP item."""
    infe = box(b"infe", b"\2\0\0\0\0\7\0\0mime\0application/rdf+xml\0")
    iinf = box(b"iinf", b"\0\0\0\0\0\1", infe)
    start = box(b"ftyp", b"heic\0\0\0\0mif1heic")

    def whole(offset):
        method = struct.pack(">H", in_idat) if version else b""
        item = b"\0\7" + method + b"\0\0\0\1" + struct.pack(">II", offset, len(packet))
        iloc = box(b"iloc", bytes([version, 0, 0, 0, 0x44, 0, 0, 1]), item)
        idat = box(b"idat", packet) if in_idat else b""
        return start + box(b"meta", b"\0\0\0\0", iinf, iloc, idat) + box(b"mdat", packet)

    return whole(0 if in_idat else len(whole(0)) - len(packet))


@pytest.mark.parametrize(("version", "in_idat"), [(0, False), (1, False), (1, True)])
def test_the_xmp_item_of_a_heic_is_read(tmp_path, version, in_idat):
    (tmp_path / "a.heic").write_bytes(heic(XMP, version=version, in_idat=in_idat))
    assert read(tmp_path / "a.heic") == (["beach", "Zürich"], [])
    cut = heic(XMP, version=version)[:-200]
    (tmp_path / "b.heic").write_bytes(cut)
    tags, problems = read(tmp_path / "b.heic")
    assert (tags, len(problems)) == ([], 1)


def test_a_marked_keyword_is_a_suggestion(tmp_path):
    packet = new_packet(Keywords(["beach"], {"sky": 0.93}))
    (tmp_path / "a.jpg").write_bytes(jpeg((0xE1, XMP_START + packet)))
    (annotation,) = [one for one in read_embedded(tmp_path).annotations if one.tag == "sky"]
    assert annotation.confidence == 0.93
    assert embedded_tags(tmp_path / "a.jpg")[0] == {"beach": None, "sky": 0.93}


CORPUS = [
    *SOUND.values(),
    heic(XMP),
    jpeg((0xED, b"Photoshop 3.0\0" + photoshop(iptc(b"sea", b"sky")))),
]


@settings(max_examples=300)
@given(st.data())
def test_no_mutation_of_a_file_breaks_the_reader(tmp_path_factory, data):
    mutated = bytearray(data.draw(st.sampled_from(CORPUS)))
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(mutated) - 1))
        mutated[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
        if not mutated:
            break
    cut = data.draw(st.integers(0, len(mutated)))
    path = tmp_path_factory.getbasetemp() / "mutated.bin"
    path.write_bytes(mutated[:cut] if data.draw(st.booleans()) else mutated)
    tags, problems = embedded_tags(path)
    assert all(isinstance(text, str) for text in [*tags, *problems])


@given(st.binary(max_size=200))
def test_any_bytes_are_some_record(data):
    iptc_keywords(data)
    iptc_keywords(b"\x1c\x02\x19" + data)
    photoshop_iptc(b"8BIM" + data)
    for start in (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"II*\0", b"MM\0+", b"RIFF\0\0\1\0WEBP"):
        picture_blocks(io.BytesIO(start + data))
