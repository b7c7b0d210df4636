import os

import pytest

from tagloom.errors import UnwritableFileError
from tagloom.io import atomic_write


def test_replaces_whole_and_keeps_permissions(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with atomic_write(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_new_file_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "a") as part:
            part.write_text("x")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("stop", [OSError, KeyboardInterrupt])
def test_unfinished_writing_leaves_no_trace(tmp_path, stop):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_half():
        with atomic_write(path) as part:
            part.write_text("half")
            raise stop

    with pytest.raises(stop):
        write_half()
    assert os.listdir(tmp_path) == ["a.txt"]
    assert path.read_text() == "old"


def test_folders_and_missing_folders_are_said_by_name(tmp_path):
    with pytest.raises(UnwritableFileError, match="is a folder"), atomic_write(tmp_path):
        pass
    nowhere = tmp_path / "gone" / "a"
    with pytest.raises(UnwritableFileError, match="does not exist"), atomic_write(nowhere):
        pass
