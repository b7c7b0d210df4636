"""A run is loaded once: the next review reads the cache, as long as nothing has changed."""

import os
import shutil

import numpy as np
import pytest

from tagloom.errors import InvalidInputError
from tagloom.review import loading, run_cache
from tagloom.review.session import Review

ARRAYS = ("P", "column", "states", "thresholds", "roc_auc", "visual")
OTHERS = ("title", "run", "photos", "images", "tags", "suspected_errors", "to_annotate")


@pytest.fixture
def loads(monkeypatch):
    """The runs that were loaded from their files."""
    seen, load = [], loading._load_files
    monkeypatch.setattr(loading, "_load_files", lambda *given: seen.append(given) or load(*given))
    return seen


def test_the_cache_gives_the_same_run(home, loads):
    first = loading.load(home / "out")
    again = loading.load(home / "out")
    assert len(loads) == 1
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name))
        assert getattr(again, name).dtype == getattr(first, name).dtype
    assert [getattr(again, name) for name in OTHERS] == [getattr(first, name) for name in OTHERS]
    assert (again.affinities != first.affinities).nnz == 0
    assert again.P.flags.f_contiguous
    assert again.states.flags.f_contiguous


def test_decisions_do_not_change_what_is_cached(home, loads):
    review = Review(home / "out")
    states = np.array(review.collection.loaded.states)
    review.suggest_from(0.01)
    review.close()
    again = Review(home / "out")
    np.testing.assert_array_equal(again.collection.loaded.states, states)
    again.close()
    assert len(loads) == 1


@pytest.mark.parametrize("name", ["suggestions.csv", "model.tagloom", "annotate_next.csv"])
def test_a_changed_file_is_read_again(home, loads, name):
    loading.load(home / "out")
    status = (home / "out" / name).stat()
    os.utime(home / "out" / name, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    loading.load(home / "out")
    assert len(loads) == 2


def test_what_was_learned_and_the_numbers_of_tags_count(home, loads):
    first = loading.load(home / "out")
    entry = (first.images[0], first.tags[0])
    loading.load(home / "out", learned={entry: None})
    numbered = loading.load(home / "out", tags_first=first.tags[::-1])
    assert len(loads) == 3
    assert numbered.tags == first.tags[::-1]


@pytest.mark.parametrize("file", [run_cache.FILE, run_cache.FEATURES_FILE])
@pytest.mark.parametrize("damage", ["cut", "noise", "gone", "link"])
def test_a_damaged_cache_is_not_used(home, loads, file, damage):
    first = loading.load(home / "out")
    path = home / "out" / run_cache.FOLDER / file
    content = path.read_bytes()
    path.unlink()
    if damage == "link":
        (home / "elsewhere").write_bytes(content)
        path.symlink_to(home / "elsewhere")
    elif damage != "gone":
        path.write_bytes(content[: len(content) // 2] if damage == "cut" else b"\0" * 500)
    again = loading.load(home / "out")
    assert len(loads) == 2
    np.testing.assert_array_equal(again.P, first.P)


def test_pictures_may_have_moved(home, loads):
    loading.load(home / "out")
    shutil.move(home / "photos", home / "moved")
    assert loading.load(home / "out", photos=home / "moved").title == "moved"
    with pytest.raises(InvalidInputError, match="--photos"):
        loading.load(home / "out", photos=home / "photos")
