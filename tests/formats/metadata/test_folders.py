"""Folder names as tags."""

import pytest

from tagloom.errors import InvalidInputError
from tagloom.formats.metadata.folders import read_folders


def test_every_folder_on_the_way_is_a_tag(tmp_path):
    for name in ("holiday/beach/1.jpg", "holiday/2.png", "3.jpg", "a/a/4.jpg", "cafe\u0301/5.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    reading = read_folders(tmp_path)
    assert [(one.image, one.tag) for one in reading.annotations] == [
        ("a/a/4.jpg", "a"),
        ("cafe\u0301/5.jpg", "café"),
        ("holiday/2.png", "holiday"),
        ("holiday/beach/1.jpg", "beach"),
        ("holiday/beach/1.jpg", "holiday"),
    ]
    assert "3.jpg" in reading.annotations.images
    assert not reading.lists_absences
    assert reading.warnings == []
    assert reading.duplicates == 0


def test_names_that_can_be_no_tag_give_one_warning(tmp_path):
    (tmp_path / "a\x07").mkdir()
    for name in ("1.jpg", "2.jpg"):
        (tmp_path / "a\x07" / name).write_bytes(b"")
    reading = read_folders(tmp_path)
    assert len(reading.annotations) == 0
    assert [warning.where for warning in reading.warnings] == [repr("a\x07")]


def test_what_is_no_folder_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="does not exist"):
        read_folders(tmp_path / "none")
