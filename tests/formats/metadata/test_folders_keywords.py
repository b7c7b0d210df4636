"""Folders in which tags stand in several places."""

import pytest

from tagloom.formats import Annotation, read_tags
from tagloom.formats.metadata.xmp_merge import new_packet

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path):
    """Keywords inside a.jpg and b.jpg, beside b.jpg and c.jpg."""
    inside = {"a.jpg": ["beach", "sea"], "b.jpg": ["dog", "sea"], "c.jpg": []}
    for name, tags in inside.items():
        more = {"xmp": new_packet(tags)} if tags else {}
        Image.new("RGB", (4, 4), "teal").save(tmp_path / name, **more)
    (tmp_path / "b.jpg.xmp").write_bytes(new_packet(["sea", "sky"]))
    (tmp_path / "c.jpg.xmp").write_bytes(new_packet(["cat"]))
    return tmp_path


def test_tags_beside_and_inside_pictures_are_all_read(folder):
    reading = read_tags(folder)
    assert reading.format == "XMP sidecars and keywords in pictures"
    assert list(reading.annotations) == [
        Annotation("a.jpg", "beach"),
        Annotation("a.jpg", "sea"),
        Annotation("b.jpg", "dog"),
        Annotation("b.jpg", "sea"),
        Annotation("b.jpg", "sky"),
        Annotation("c.jpg", "cat"),
    ]
    assert reading.details == {"in sidecars": "3", "in pictures": "4"}
    assert (reading.duplicates, reading.lists_absences) == (0, False)


@pytest.mark.parametrize(("key", "n_tags"), [("xmp", 3), ("embedded", 4)])
def test_one_place_may_be_asked_for(folder, key, n_tags):
    assert len(read_tags(folder, format=key).annotations) == n_tags


def test_a_table_in_the_folder_is_read_alone_with_a_warning(folder):
    (folder / "tags.csv").write_text("file_name,tags\na.jpg,sun\n", encoding="utf-8")
    reading = read_tags(folder)
    assert list(reading.annotations) == [Annotation("a.jpg", "sun")]
    beside, inside = [one.what for one in reading.warnings]
    assert "XMP sidecars as well: not read, since tags.csv is there" in beside
    assert "keywords in pictures as well: not read" in inside
    assert read_tags(folder / "tags.csv").warnings == []
