import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_sets import make_dataset

from tagloom.benchmark.inputs import hidden, read_pattern, save_pattern
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State


@pytest.mark.parametrize("protocol", ["per-class", "presences", "uniform"])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 99), rate=st.floats(0.05, 1), unlisted=st.sampled_from(["absent", 0.5]))
def test_a_stored_pattern_says_what_stayed_known(tmp_path_factory, protocol, seed, rate, unlisted):
    dataset = make_dataset()
    known = hidden(dataset.truth.take(dataset.training), protocol, rate, seed, unlisted)
    path = tmp_path_factory.mktemp("pattern") / "pattern.npz"
    save_pattern(path, known, dataset.training)
    read = read_pattern(path)
    np.testing.assert_array_equal(read.states(), known.states())
    np.testing.assert_array_equal(read.weights(), known.weights())
    assert read.labels == known.labels


def test_a_pattern_speaks_of_rows_of_the_set(tmp_path):
    dataset = make_dataset()
    known = hidden(dataset.truth.take(dataset.training), "per-class", 0.3, 0)
    save_pattern(tmp_path / "pattern.npz", known, dataset.training)
    with np.load(tmp_path / "pattern.npz", allow_pickle=False) as stored:
        truth = dataset.truth.states()[stored["rows"], stored["columns"]]
        np.testing.assert_array_equal(truth == int(State.PRESENT), stored["present"])
        assert set(stored["rows"]) <= set(dataset.training)


def test_less_hidden_is_hidden_less():
    truth = make_dataset().truth
    few, many = (hidden(truth, "per-class", rate, 4).states() for rate in (0.2, 0.5))
    assert np.all(few[few != int(State.UNKNOWN)] == many[few != int(State.UNKNOWN)])


@pytest.mark.parametrize("protocol", ["per-class", "presences", "uniform"])
def test_tags_that_are_the_whole_truth_are_hidden_like_a_table(protocol):
    tags = [["sea", "sky"], ["sea"], [], ["sun", "sky"], ["sun"]]
    truth = PartialLabels.from_tags(tags, unlisted="absent")
    table = PartialLabels.from_array(truth.to_array(), labels=truth.labels)
    one, other = (hidden(given, protocol, 0.5, 1) for given in (truth, table))
    np.testing.assert_array_equal(one.states(), other.states())


def test_tags_that_are_not_the_whole_truth_are_refused():
    truth = PartialLabels.from_tags([["sea"], ["sky"]], unlisted=0.3)
    with pytest.raises(InvalidInputError, match="assumed absent with weight"):
        hidden(truth, "per-class", 0.5, 0)


def test_what_the_makers_left_open_stays_unknown(tmp_path):
    truth = PartialLabels.from_array([[1, 0], [np.nan, 1], [0, np.nan], [1, 0]])
    known = hidden(truth, "presences", 1.0, 0, unlisted="absent")
    save_pattern(tmp_path / "pattern.npz", known, np.array([7, 3, 5, 1]))
    for one in (known, read_pattern(tmp_path / "pattern.npz")):
        np.testing.assert_array_equal(
            one.states() == int(State.UNKNOWN), [[0, 0], [1, 0], [0, 1], [0, 0]]
        )
