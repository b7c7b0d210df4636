import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError, UnwritableFileError
from tagloom.io import atomic_write, natural_order, read_toml, user_cache


def test_replaces_the_file_and_keeps_permissions(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with atomic_write(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_new_file_follows_the_umask(tmp_path):
    usual = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "a") as part:
            part.write_text("x")
    finally:
        os.umask(usual)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("stop", [OSError, KeyboardInterrupt])
def test_an_unfinished_write_leaves_no_trace(tmp_path, stop):
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


def test_folders_and_missing_folders_are_named(tmp_path):
    with pytest.raises(UnwritableFileError, match="is a folder"), atomic_write(tmp_path):
        pass
    nowhere = tmp_path / "gone" / "a"
    with pytest.raises(UnwritableFileError, match="does not exist"), atomic_write(nowhere):
        pass


def test_toml_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(b'\xef\xbb\xbfname = "sea"\n')
    assert read_toml(path) == {"name": "sea"}


@pytest.mark.parametrize("content", [b"name = ", b'name = "\xff"'])
def test_a_file_that_is_not_toml(tmp_path, content):
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"a\.toml is not valid TOML: "):
        read_toml(path)


def test_a_toml_file_that_is_missing(tmp_path):
    with pytest.raises(InvalidInputError, match=r"a\.toml cannot be read: No such file"):
        read_toml(tmp_path / "a.toml")


def test_the_cache_folder_can_be_moved(tmp_path, monkeypatch):
    monkeypatch.delenv("TAGLOOM_CACHE", raising=False)
    assert user_cache().name.lower() == "tagloom"
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path / "elsewhere"))
    assert user_cache() == tmp_path / "elsewhere"


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "9" * 6000, "a = 1\nb", "\0"])
def test_toml_of_any_content_is_refused_without_a_traceback(tmp_path, text):
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match="is not valid TOML"):
        read_toml(path)


@pytest.mark.parametrize("name", ["a" * 251 + ".xmp", "ü" * 125 + ".xmp"])
def test_names_may_be_as_long_as_the_system_allows(tmp_path, name):
    with atomic_write(tmp_path / name) as part:
        part.write_text("x")
    assert [path.name for path in tmp_path.iterdir()] == [name]


class TestNaturalOrder:
    def test_numbers_count_as_numbers_and_folders_stay_together(self):
        names = ["a/2.jpg", "a/10.jpg", "a 1/1.jpg", "A1.jpg", "a01b.jpg", "a2.jpg", "a10.jpg"]
        for _ in range(3):
            names = [*names[3:], *names[:3]]
            assert sorted(names, key=natural_order) == [
                "a/2.jpg", "a/10.jpg", "A1.jpg", "a01b.jpg", "a2.jpg", "a10.jpg", "a 1/1.jpg"
            ]  # fmt: skip

    def test_other_digits_and_very_long_numbers_are_no_problem(self):
        long = "9" * 5000
        names = [f"{long}.jpg", "\u00b2.jpg", "\u0663.jpg", "1.jpg"]
        assert sorted(names, key=natural_order)[:2] == ["1.jpg", f"{long}.jpg"]

    @given(st.lists(st.text(alphabet="aB01 /2\u00e9.", max_size=8), unique=True), st.randoms())
    def test_the_order_is_total(self, names, random):
        shuffled = random.sample(names, len(names))
        assert sorted(shuffled, key=natural_order) == sorted(names, key=natural_order)
