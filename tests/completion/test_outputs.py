import pytest

from tagloom.completion import outputs
from tagloom.completion.outputs import is_done, prepare_out, write_record
from tagloom.errors import InvalidInputError, UnwritableFileError


@pytest.fixture
def photos(tmp_path):
    (tmp_path / "photos").mkdir()
    return tmp_path / "photos"


def test_a_folder_of_somebody_elses_is_left_alone(photos, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("mine")
    with pytest.raises(UnwritableFileError, match="not empty"):
        prepare_out(out, photos)
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("out", ["photos", "photos/out", "photos/../photos/out"])
def test_results_do_not_go_among_the_pictures(photos, tmp_path, out):
    with pytest.raises(InvalidInputError, match="beside"):
        prepare_out(tmp_path / out, photos)
    assert list(photos.iterdir()) == []


def test_a_file_is_no_folder(photos, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnwritableFileError, match="is a file"):
        prepare_out(tmp_path / "file", photos)
    with pytest.raises(UnwritableFileError, match="cannot be written"):
        prepare_out(tmp_path / "file" / "out", photos)
    with pytest.raises(InvalidInputError, match="is not a folder"):
        prepare_out(tmp_path / "out", tmp_path / "file")
    with pytest.raises(InvalidInputError, match="does not exist"):
        prepare_out(tmp_path / "out", tmp_path / "nowhere")


def test_a_folder_of_an_earlier_run_is_taken_again(photos, tmp_path):
    out = tmp_path / "new" / "out"
    prepare_out(out, photos)
    prepare_out(out, photos)
    assert (out / ".checkpoint").is_dir()


def test_a_run_is_done_if_its_record_and_all_its_files_are_there(tmp_path):
    assert not is_done(tmp_path, "abc")
    (tmp_path / "suggestions.csv").write_text("x")
    write_record(tmp_path, {"digest": "abc", "files": ["suggestions.csv"]})
    assert is_done(tmp_path, "abc")
    assert not is_done(tmp_path, "abd")
    (tmp_path / "suggestions.csv").unlink()
    assert not is_done(tmp_path, "abc")


def test_no_table_of_an_earlier_run_stays_beside_a_new_one(collection, monkeypatch):
    out = collection.complete(collection.write_lists(), "out").out
    monkeypatch.setattr(outputs, "_has_pyarrow", lambda: False)
    collection.complete(collection.write_lists(seed=2), "out")
    assert not (out / "suggestions.parquet").exists()


def test_a_disk_that_fills_up_leaves_the_run_as_it_was(collection, monkeypatch):
    tags = collection.write_lists()
    out = collection.complete(tags, "out").out
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}

    def fail(*args, **kwargs):
        raise OSError("disk full")

    with monkeypatch.context() as full:
        full.setattr(outputs, "write_report", fail)
        with pytest.raises(OSError, match="disk full"):
            collection.complete(tags, "out", again=True)
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    assert not list(out.glob(".new-*"))
