import copy
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from tagloom.errors import InvalidInputError, TagloomError
from tagloom.labels import Entries, PartialLabels, State, as_partial_labels

NAN = float("nan")


@pytest.fixture
def holiday():
    return PartialLabels.from_array(
        [[1, 0, NAN], [NAN, 1, 0]], labels=["beach", "sea", "snow"], items=["a.jpg", "b.jpg"]
    )


def test_sizes_and_names(holiday):
    assert holiday.shape == (holiday.n_items, holiday.n_labels) == (2, 3)
    assert holiday.items == ("a.jpg", "b.jpg")
    assert holiday.labels == ("beach", "sea", "snow")
    assert holiday.unlisted_weight == 0.0
    assert not holiday.is_complete


def test_states_use_the_codes_of_state(holiday):
    assert holiday.states()[0].tolist() == [State.PRESENT, State.ABSENT, State.UNKNOWN]


def test_entries(holiday):
    entries = holiday.entries()
    assert isinstance(entries, Entries)
    assert entries.rows.tolist() == [0, 0, 1, 1]
    assert entries.columns.tolist() == [0, 1, 1, 2]
    assert entries.present.tolist() == [True, False, True, False]
    assert entries.weights.tolist() == [1, 1, 1, 1]
    assert (entries.rows.dtype, entries.weights.dtype) == (np.int64, np.float64)


def test_repr():
    codes = np.full((4500, 260), NAN)
    codes[:10] = 0
    codes[:10, 0] = 1
    assert repr(PartialLabels.from_array(codes)) == (
        "PartialLabels(4500 items x 260 labels: 10 present, 2,590 absent, 1,167,400 unknown)"
    )
    tags = PartialLabels.from_tags([["a"], ["b"]], unlisted=0.5)
    assert repr(tags) == (
        "PartialLabels(2 items x 2 labels: 2 present, 2 absent, 0 unknown; "
        "unlisted: absent with weight 0.5)"
    )


def test_equality_includes_names(holiday):
    values = holiday.to_array()
    same = PartialLabels.from_array(values, labels=holiday.labels, items=holiday.items)
    assert holiday == same
    assert holiday != PartialLabels.from_array(values, labels=holiday.labels)
    assert holiday != PartialLabels.from_array(values, items=holiday.items)
    assert holiday != holiday.take([0])
    assert holiday != "holiday"


def test_positions_serve_as_names():
    named = PartialLabels.from_array([[1], [0]], items=[0, 1])
    assert named == PartialLabels.from_array([[1], [0]])
    assert named.take([1]).items == (1,)
    assert named.take([1]) != PartialLabels.from_array([[0]])


def test_it_is_immutable(holiday):
    with pytest.raises(AttributeError):
        holiday.labels = ()
    for known in (holiday, copy.deepcopy(holiday)):
        with pytest.raises(ValueError, match="read-only"):
            known.block(0, 1)[0][0, 0] = 0
    sparse = PartialLabels.from_entries([0], [0], [True], shape=(1, 100), weights=0.5)
    for part in sparse.block(0, 1):
        with pytest.raises(ValueError, match="read-only"):
            part[0, 0] = 0
    source = np.array([[1.0, NAN]])
    weights = np.array([[0.5, NAN]])
    known = PartialLabels.from_array(source, weights=weights)
    source[:], weights[:] = 0, 9
    known.states()[:] = 0
    known.weights()[:] = 7
    assert known.states().tolist() == [[1, -1]]
    assert known.weights().tolist() == [[0.5, 0]]


def test_entries_do_not_share_memory_with_what_was_given():
    rows, weights = np.array([0, 1]), np.array([0.5, 0.5])
    known = PartialLabels.from_entries(rows, rows, [True, True], shape=(2, 100), weights=weights)
    rows[:], weights[:] = 0, 9
    assert known.entries().columns.tolist() == [0, 1]
    assert known.entries().weights.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("unlisted", ["unknown", "absent", 0.5])
def test_copies_are_equal(unlisted):
    known = PartialLabels.from_tags([["a"], ["b", "c"]], unlisted=unlisted)
    assert copy.deepcopy(known) == known
    assert pickle.loads(pickle.dumps(known)) == known


def test_take_keeps_names_and_checks_positions(holiday):
    assert holiday.take([-1]).items == ("b.jpg",)
    assert holiday.take([]).shape == (0, 3)
    with pytest.raises(InvalidInputError, match="no row 2 among 2 items"):
        holiday.take([0, 2])
    with pytest.raises(InvalidInputError, match="2 values, one for each item; found 1"):
        holiday.take([True])
    with pytest.raises(InvalidInputError, match="positions, a slice or a mask"):
        holiday.take([0.5])
    with pytest.raises(InvalidInputError, match=r"'a\.jpg'"):
        holiday.take([0, 0])


def test_select_refuses_unknown_names(holiday):
    assert holiday.select(["snow", "beach"]).labels == ("snow", "beach")
    with pytest.raises(InvalidInputError, match=r"no label 'sun'.*'beach', 'sea', 'snow'"):
        holiday.select(["sun"])
    with pytest.raises(InvalidInputError, match="single string 'sea'"):
        holiday.select("sea")
    with pytest.raises(InvalidInputError, match="occur more than once: 'sea'"):
        holiday.select(["sea", "sea"])
    wide = PartialLabels.from_entries([], [], [], shape=(1, 1000))
    with pytest.raises(InvalidInputError, match="9 and 990 more"):
        wide.select(["sun"])


def test_with_hidden_over_an_absent_background_is_unknown():
    known = PartialLabels.from_tags([["a"], ["b"]], unlisted="absent").with_hidden([0, 1], [1, 1])
    assert known.states().tolist() == [[1, -1], [0, -1]]
    assert [place.tolist() for place in known.hidden_entries()] == [[0, 1], [1, 1]]
    assert known.take([1]).states().tolist() == [[0, -1]]
    assert known.select(["b"]).states().tolist() == [[-1], [-1]]
    assert known.to_sparse()[1].toarray().tolist() == [[True, False], [True, False]]
    assert known.entries().rows.tolist() == [0]
    with pytest.raises(InvalidInputError, match="Entry 0 has row 2"):
        known.with_hidden([2], [0])
    with pytest.raises(InvalidInputError, match="Entry 0 has column -1"):
        known.with_hidden([0], [-1])


def test_with_entries_keeps_names_only(holiday):
    other = holiday.with_entries([0], [1], [True], weights=[0.5], unlisted_weight=0.25)
    assert other == PartialLabels.from_entries(
        [0],
        [1],
        [True],
        shape=holiday.shape,
        weights=[0.5],
        labels=holiday.labels,
        items=holiday.items,
        unlisted_weight=0.25,
    )
    assert holiday.with_entries([], [], []).n_known == 0


def test_block_ends_with_the_last_row(holiday):
    assert holiday.block(1, 10)[0].shape == (1, 3)
    assert holiday.block(5, 10)[0].shape == (0, 3)
    with pytest.raises(InvalidInputError, match="0 <= start <= stop"):
        holiday.block(-1, 1)


def test_the_smaller_store_is_chosen():
    few = np.full((20, 500), NAN)
    few[:, 0] = 1
    full = np.ones((20, 500))
    assert PartialLabels.from_array(few).is_sparse
    assert not PartialLabels.from_array(full).is_sparse
    assert PartialLabels.from_array(full).nbytes == 20 * 500
    assert PartialLabels.from_array(few).nbytes == 8 * 21 + 5 * 20
    assert PartialLabels.from_tags([["a"]], unlisted="absent").is_sparse


def test_a_huge_table_with_little_known_takes_little_memory():
    n_items, n_labels = 10**6, 10**4
    rng = np.random.default_rng(0)
    rows, columns = np.repeat(np.arange(1000), 5), rng.integers(0, n_labels, 5000)
    tracemalloc.start()
    try:
        for background in (0.0, 0.5):
            known = PartialLabels.from_entries(
                rows, columns, True, shape=(n_items, n_labels), unlisted_weight=background
            ).with_hidden([0, 999_999], [0, 0])
            taken = known.take(np.arange(0, n_items, 2)).select(range(0, n_labels, 2))
            assert taken.shape == (n_items // 2, n_labels // 2)
            assert known.n_known + int(known.counts().unknown.sum()) == n_items * n_labels
            assert known == known.take(slice(None))
            assert known.n_present == len(known.entries().rows)
        tags = [["a", "b"]] * 1000 + [[]] * 100_000
        wide = PartialLabels.from_tags(tags, unlisted=0.1, labels=["a", "b", *range(n_labels)])
        assert wide.n_present == 2000
        present, mask = PartialLabels.from_entries([7], [8], 1, shape=known.shape).to_sparse()
        assert PartialLabels.from_sparse(present, mask).n_known == 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200e6  # n x c would be 10 GB even at one byte a cell


def test_without_pandas_only_frames_are_missing(holiday, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(TagloomError, match=r"install tagloom\[pandas\], or use to_array"):
        holiday.to_frame()


def test_pandas_is_not_loaded_before_it_is_needed():
    script = "import sys, tagloom.labels; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_as_partial_labels_passes_on_and_reads(holiday):
    assert as_partial_labels(holiday) is holiday
    assert as_partial_labels(holiday.to_frame()) == holiday
    assert as_partial_labels([[1, None]]).states().tolist() == [[1, -1]]
