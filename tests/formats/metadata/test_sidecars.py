"""Which sidecar belongs to a picture, what is read from it, what would be written to it."""

import os

import pytest

from tagloom.errors import InvalidInputError
from tagloom.formats.metadata.sidecars import has_sidecars, plan_sidecars, read_sidecars
from tagloom.formats.metadata.xmp_merge import new_packet

JPEG = b"\xff\xd8\xff\xd9"


@pytest.fixture
def folder(tmp_path):
    def make(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(JPEG if not name.lower().endswith(".xmp") else new_packet([name]))
        return tmp_path

    return make


def pairs_of(reading):
    return {(one.image, one.tag) for one in reading.annotations}


def test_both_names_are_read_and_pictures_without_sidecar_are_listed(folder):
    root = folder("a/1.jpg", "a/1.jpg.xmp", "2.png", "2.xmp", "3.jpg", "4.JPG", "4.JPG.XMP")
    reading = read_sidecars(root)
    assert pairs_of(reading) == {
        ("a/1.jpg", "a/1.jpg.xmp"),
        ("2.png", "2.xmp"),
        ("4.JPG", "4.JPG.XMP"),
    }
    assert reading.annotations.images == ("2.png", "3.jpg", "4.JPG", "a/1.jpg")
    assert not reading.lists_absences
    assert reading.warnings == []
    assert all(one.present and one.confidence is None for one in reading.annotations)
    assert pairs_of(read_sidecars(root, ["2.png"])) == {("2.png", "2.xmp")}
    assert has_sidecars(root)


def test_of_both_names_the_longer_is_used_with_a_warning(folder):
    root = folder("1.jpg", "1.jpg.xmp", "1.xmp")
    reading = read_sidecars(root)
    assert pairs_of(reading) == {("1.jpg", "1.jpg.xmp")}
    assert "1.xmp exists as well" in reading.warnings[0].what
    plan = plan_sidecars(root, {"1.jpg": ["sea"]})
    assert [change.path for change in plan] == ["1.jpg.xmp"]
    assert plan.warnings


@pytest.mark.parametrize("twin", ["1.png", "1.CR2", "1.mov"])
def test_a_sidecar_that_may_belong_to_two_is_neither_read_nor_written(folder, twin):
    root = folder("1.jpg", "1.xmp")
    (root / twin).write_bytes(JPEG if twin == "1.png" else b"raw")
    reading = read_sidecars(root)
    assert pairs_of(reading) == set()
    assert twin in reading.warnings[0].what
    plan = plan_sidecars(root, {"1.jpg": ["sea"]})
    assert [change.path for change in plan] == ["1.jpg.xmp"]
    assert plan.changes[0].before is None
    assert "1.xmp may belong to" in plan.warnings[0].what


def test_damaged_and_orphaned_sidecars_give_a_warning(folder):
    root = folder("1.jpg", "2.jpg", "2.jpg.xmp", "9.jpg.xmp")
    (root / "1.xmp").write_bytes(b"<a>\n<b>")
    reading = read_sidecars(root)
    assert pairs_of(reading) == {("2.jpg", "2.jpg.xmp")}
    assert [warning.where for warning in reading.warnings] == ["1.xmp", "9.jpg.xmp"]
    assert "line 2, column" in reading.warnings[0].what


def test_a_plan_lists_what_is_new_and_writes_nothing(folder):
    root = folder("1.jpg", "2.jpg", "2.xmp", "3.jpg")
    before = {path: path.read_bytes() for path in root.iterdir()}
    plan = plan_sidecars(root, {"1.jpg": ["sea", " sea"], "2.jpg": ["2.xmp", "sea"], "3.jpg": []})
    assert {(c.path, c.added, c.before is None) for c in plan} == {
        ("1.jpg.xmp", ("sea",), True),
        ("2.xmp", ("sea",), False),
    }
    assert {path: path.read_bytes() for path in root.iterdir()} == before
    assert len(plan_sidecars(root, {"2.jpg": ["2.xmp"]})) == 0


def test_one_text_in_place_of_a_list_is_refused(folder):
    with pytest.raises(InvalidInputError, match="list of tags"):
        plan_sidecars(folder("1.jpg"), {"1.jpg": "sea"})


@pytest.mark.parametrize(
    "name", ["../1.jpg", "/1.jpg", "a/../1.jpg", "./1.jpg", "no.jpg", "1.jpg\0"]
)
def test_names_that_are_no_picture_of_the_folder_are_refused(folder, name):
    plan = plan_sidecars(folder("1.jpg", "a/2.jpg"), {name: ["sea"]})
    assert not plan.changes
    assert plan.refused[0].where == name


def test_links_are_refused(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "1.xmp").write_bytes(new_packet(["x"]))
    root = folder("1.jpg", "2.jpg")
    os.symlink(outside / "1.xmp", root / "1.jpg.xmp")
    os.symlink(outside / "new.xmp", root / "2.jpg.xmp")
    plan = plan_sidecars(root, {"1.jpg": ["sea"], "2.jpg": ["sea"]})
    assert not plan.changes
    assert {warning.where for warning in plan.refused} == {"1.jpg.xmp", "2.jpg.xmp"}


def test_a_picture_that_is_called_like_a_sidecar_is_no_sidecar(folder):
    root = folder("1.jpg")
    (root / "1.jpg.xmp").write_bytes(JPEG)
    plan = plan_sidecars(root, {"1.jpg": ["sea"]})
    assert not plan.changes
    assert "picture" in plan.refused[0].what


def test_an_unwritable_tag_or_sidecar_is_listed_with_its_cause(folder):
    root = folder("1.jpg", "2.jpg", "3.jpg")
    (root / "2.jpg.xmp").write_bytes(b"")
    (root / "3.jpg.xmp").write_bytes(b" " * (16 * 2**20 + 1))
    plan = plan_sidecars(root, {"1.jpg": ["a\x07"], "2.jpg": ["sea"], "3.jpg": ["sea"]})
    assert not plan.changes
    causes = [warning.what for warning in plan.refused]
    assert "'a\\x07'" in causes[0]
    assert "malformed" in causes[1]
    assert "larger than 16 MiB" in causes[2]
