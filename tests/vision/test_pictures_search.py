import os

import pytest

from tagloom.errors import InvalidInputError
from tagloom.vision import Skipped, find_pictures
from tagloom.vision import pictures as module


def test_pictures_are_found_throughout_in_a_stable_order(folder):
    names = [*(f"{place}.png" for place in range(8)), "more/8.png", "more/9.png"]
    assert find_pictures(folder).pictures == names
    assert find_pictures(str(folder)).pictures == names


def test_a_picture_is_known_by_its_name_or_its_first_bytes(tmp_path, picture_bytes):
    (tmp_path / "no_ending").write_bytes(picture_bytes())
    (tmp_path / "photo.dat").write_bytes(picture_bytes(kind="JPEG"))
    (tmp_path / "NOISE.JPG").write_bytes(b"noise")
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "empty").touch()
    found = find_pictures(tmp_path)
    assert found.pictures == ["no_ending", "NOISE.JPG", "photo.dat"]
    assert found.others == ["empty", "notes.txt"]


def test_links_to_files_are_followed_links_to_folders_are_named(folder):
    (folder / "link.png").symlink_to(folder / "0.png")
    (folder / "loop").symlink_to(folder)
    (folder / "nowhere.png").symlink_to(folder / "gone.png")
    (folder / "self.png").symlink_to(folder / "self.png")
    found = find_pictures(folder)
    assert "link.png" in found.pictures
    assert len(found.pictures) == 11
    assert [one.item for one in found.skipped] == ["loop", "nowhere.png", "self.png"]
    assert "links to folders are not followed" in found.skipped[0].reason


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    assert find_pictures(tmp_path).skipped == [Skipped("pipe.png", "it is not a regular file")]


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="there is no /proc")
@pytest.mark.parametrize("name", ["device.png", "device"])
def test_a_link_to_a_file_of_the_kernel_is_not_read(tmp_path, name, monkeypatch):
    (tmp_path / name).symlink_to("/proc/version")
    monkeypatch.setattr("builtins.open", None)
    found = find_pictures(tmp_path)
    assert found.skipped == [Skipped(name, "the file is empty")]


def test_odd_names_survive(tmp_path, picture_bytes):
    names = ["new\nline.png", "Größe 写真.png", "sp ace.png", "-dash.png", "a'b\"c.png"]
    raw = os.fsencode(tmp_path) + b"/bad\xff\xfe.png"
    for name in names:
        (tmp_path / name).write_bytes(picture_bytes())
    with open(raw, "wb") as stream:
        stream.write(picture_bytes())
    assert set(find_pictures(tmp_path).pictures) == {*names, "bad\udcff\udcfe.png"}


def test_a_folder_that_cannot_be_read_is_named(folder, monkeypatch):
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("more"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(module.os, "scandir", refuse)
    found = find_pictures(folder)
    assert len(found.pictures) == 8
    assert found.skipped == [
        Skipped("more/", "the folder cannot be read: Permission denied"),
    ]


def test_a_deep_tree_is_walked(tmp_path, picture_bytes):
    deep = tmp_path.joinpath(*["d"] * 400)
    deep.mkdir(parents=True)
    (deep / "x.png").write_bytes(picture_bytes())
    assert len(find_pictures(tmp_path).pictures) == 1


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_folder_is_an_error(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInputError, match="Expected a folder"):
        find_pictures(tmp_path / name)
