import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.completion.outputs import Checkpoint, StoredResults
from tagloom.errors import UnwritableFileError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
written = st.lists(st.tuples(st.text(), values), max_size=6)


@given(written)
def test_results_are_there_again_to_the_last_bit(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("results") / "trials"
    results = StoredResults(path)
    for key, value in pairs:
        results[key] = value
    assert dict(StoredResults(path)) == dict(results) == dict(pairs)
    assert len(StoredResults(path)) == len(dict(pairs))


@given(written.filter(len), st.integers(0, 200), st.binary(max_size=4))
def test_a_file_that_was_cut_off_keeps_whole_lines_and_takes_new_ones(
    tmp_path_factory, pairs, cut, rubbish
):
    path = tmp_path_factory.mktemp("results") / "trials"
    results = StoredResults(path)
    for key, value in pairs:
        results[key] = value
    whole = path.read_bytes()
    kept = whole[: max(0, len(whole) - cut)]
    path.write_bytes(kept + rubbish.replace(b"\n", b""))
    again = StoredResults(path)
    for key, value in again.items():
        assert [key, value] in [json.loads(json.dumps([*pair])) for pair in pairs]
    # A line that lost nothing but its end may be whole or not: the ones before it are.
    n_whole = sum(line != b"" for line in kept.split(b"\n")[:-1])
    for key in [key for key, _ in pairs[:n_whole]]:
        assert key in again
    again["new"] = [1, 0.1]
    assert StoredResults(path)["new"] == [1, 0.1]


def test_lines_that_are_no_results_are_passed_over(tmp_path):
    (tmp_path / "trials").write_text('3\n"ab"\n{"a": 1, "b": 2}\n[[1], 2]\n[1, 2, 3]\n["k", 4]\n')
    assert dict(StoredResults(tmp_path / "trials")) == {"k": 4}


def test_two_writers_lose_nothing(tmp_path):
    one, two = StoredResults(tmp_path / "trials"), StoredResults(tmp_path / "trials")
    for number in range(20):
        (one, two)[number % 2][f"{number}"] = number
    assert dict(StoredResults(tmp_path / "trials")) == {f"{number}": number for number in range(20)}


def test_results_are_never_forgotten(tmp_path):
    results = StoredResults(tmp_path / "trials")
    results["k"] = 1
    with pytest.raises(TypeError, match="never"):
        del results["k"]


def test_an_array_is_made_once(tmp_path):
    made = np.random.default_rng(0).random((3, 2)).astype(np.float32)
    work = Checkpoint(tmp_path / "work", "run")
    assert work.array("fold0", lambda: made) is made
    again = Checkpoint(tmp_path / "work", "run").array("fold0", lambda: pytest.fail("made twice"))
    assert np.array_equal(again, made)
    assert again.dtype == made.dtype


@pytest.mark.parametrize("left", [0, 5, 60, 130])
def test_a_damaged_array_is_made_again(tmp_path, left):
    work = Checkpoint(tmp_path / "work", "run")
    work.array("fold0", lambda: np.arange(40.0))
    path = work.folder / "fold0.npy"
    path.write_bytes(path.read_bytes()[:left])
    assert np.array_equal(work.array("fold0", lambda: np.arange(4.0)), np.arange(4.0))
    assert np.array_equal(np.load(path), np.arange(4.0))


def test_what_another_run_left_is_removed_and_nothing_beside_it(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    folder = tmp_path / ".checkpoint"
    before, now = "a" * 32, "b" * 32
    Checkpoint(folder, before).array("fold0", lambda: np.zeros(1))
    work = Checkpoint(folder, now)
    assert [path.name for path in folder.iterdir()] == [now]
    work.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_what_a_checkpoint_did_not_write_stays(tmp_path):
    folder, run = tmp_path / ".checkpoint", "a" * 32
    (folder / "thesis").mkdir(parents=True)
    (folder / "thesis" / "chapter.tex").write_text("mine")
    work = Checkpoint(folder, run)
    work.array("fold0", lambda: np.zeros(1))
    (folder / run / "notes.txt").write_text("mine")
    work.remove()
    assert (folder / "thesis" / "chapter.tex").read_text() == "mine"
    assert [path.name for path in (folder / run).iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("place", ["", "a" * 32])
def test_nothing_is_deleted_through_a_link(tmp_path, place):
    mine = tmp_path / "mine"
    (mine / ("a" * 32)).mkdir(parents=True)
    for file in (mine / "fold0.npy", mine / ("a" * 32) / "fold0.npy"):
        file.write_text("mine")
    folder = tmp_path / ".checkpoint"
    if place:
        folder.mkdir()
    (folder / place if place else folder).symlink_to(mine)
    with pytest.raises(UnwritableFileError, match="is a link"):
        Checkpoint(folder, "b" * 32)
    assert sorted(path.name for path in mine.rglob("*.npy")) == ["fold0.npy", "fold0.npy"]
