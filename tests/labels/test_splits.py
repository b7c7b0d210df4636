import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagloom.errors import InvalidInputError
from tagloom.labels import (
    PartialLabels,
    hide_per_class,
    hide_uniformly,
    keep_presences,
    split_items,
    split_known,
)

truths = arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 5)),
    elements=st.sampled_from([0.0, 1.0, np.nan]),
)
rates = st.sampled_from([0.1, 0.3, 0.5, 1.0])


def assert_part_of(part, whole):
    """Assert that what is known in `part` is the same in `whole`."""
    known = ~np.isnan(part)
    np.testing.assert_array_equal(part[known], whole[known])


@given(truths, rates, st.integers(0, 5))
def test_per_class_keeps_a_rounded_up_share_of_each_state(truth, rate, seed):
    hidden = hide_per_class(PartialLabels.from_array(truth), rate, seed).to_array()
    assert_part_of(hidden, truth)
    for state in (0.0, 1.0):
        n_before, n_after = (truth == state).sum(axis=0), (hidden == state).sum(axis=0)
        np.testing.assert_array_equal(n_after, np.ceil(rate * n_before - 1e-9))


@given(truths, rates, st.integers(0, 5))
def test_uniform_keeps_a_share_of_all(truth, rate, seed):
    known = PartialLabels.from_array(truth)
    hidden = hide_uniformly(known, rate, seed)
    assert_part_of(hidden.to_array(), truth)
    assert hidden.n_known == round(rate * known.n_known)


@given(truths, rates, st.integers(0, 5))
def test_presences_only(truth, rate, seed):
    kept = keep_presences(
        PartialLabels.from_array(truth), rate, unlisted="unknown", random_state=seed
    )
    assert kept.n_absent == 0
    assert_part_of(kept.to_array(), truth)
    np.testing.assert_array_equal(
        kept.counts().present, np.ceil(rate * (truth == 1).sum(axis=0) - 1e-9)
    )


def test_same_seed_same_labels_and_another_seed_others():
    truth = PartialLabels.from_array((np.arange(200).reshape(40, 5) % 3 == 0).astype(float))
    assert hide_per_class(truth, 0.3, 7) == hide_per_class(truth, 0.3, 7)
    assert hide_per_class(truth, 0.3, 7) != hide_per_class(truth, 0.3, 8)


def test_names_and_weights_survive():
    truth = PartialLabels.from_array(
        [[1, 0], [0, 1]], labels=["sea", "sky"], items=["a", "b"], weights=[[0.5, 1], [1, 2]]
    )
    assert hide_per_class(truth, 1.0) == truth


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, float("nan")])
def test_rate_must_be_a_share(rate):
    with pytest.raises(InvalidInputError, match="rate must be a share"):
        hide_per_class(PartialLabels.from_array([[1]]), rate)


def test_unlisted_has_no_default():
    with pytest.raises(InvalidInputError, match="It was not given"):
        keep_presences(PartialLabels.from_array([[1]]), 0.5)


@pytest.mark.parametrize("split", [split_known, split_items])
@given(truths, st.integers(2, 4), st.integers(0, 5))
def test_folds_hold_out_each_known_entry_once(split, truth, n_splits, seed):
    times_held = np.zeros(truth.shape, dtype=int)
    for training, held_out in split(PartialLabels.from_array(truth), n_splits, seed):
        trained, evaluated = training.to_array(), held_out.to_array()
        assert_part_of(trained, truth)
        assert_part_of(evaluated, truth)
        assert not (~np.isnan(trained) & ~np.isnan(evaluated)).any()
        times_held += ~np.isnan(evaluated)
    np.testing.assert_array_equal(times_held, ~np.isnan(truth))


def test_folds_spread_each_class_evenly():
    truth = PartialLabels.from_array((np.arange(60).reshape(30, 2) % 5 == 0).astype(float))
    for _, held_out in split_known(truth, 3, 0):
        np.testing.assert_array_equal(held_out.counts().present, [2, 2])
        np.testing.assert_array_equal(held_out.counts().absent, [8, 8])


@given(truths, st.integers(2, 4), st.integers(0, 5))
def test_folds_of_tag_lists_forget_presences(truth, n_splits, seed):
    listed = keep_presences(PartialLabels.from_array(truth), 1.0, unlisted=0.2)
    present = truth == 1
    for training, held_out in split_known(listed, n_splits, seed):
        forgotten = held_out.states() == 1
        shown = training.states() == 1
        np.testing.assert_array_equal(forgotten | shown, present)
        assert not (forgotten & shown).any()
        # A forgotten tag looks like any other unlisted tag, and shown tags are not evaluated.
        np.testing.assert_array_equal(training.weights()[forgotten], 0.2)
        np.testing.assert_array_equal(held_out.states()[shown], -1)
        np.testing.assert_array_equal(held_out.states()[~present], 0)


@given(truths, st.integers(2, 4), st.integers(0, 5), st.sampled_from(["unknown", 0.2]))
def test_a_held_out_item_is_a_new_one(truth, n_splits, seed, unlisted):
    listed = keep_presences(PartialLabels.from_array(truth), 1.0, unlisted=unlisted)
    for training, held_out in split_items(listed, n_splits, seed):
        trained = (training.states() != -1).any(axis=1)
        evaluated = (held_out.states() != -1).any(axis=1)
        assert not (trained & evaluated).any()
        expected = np.where(evaluated[:, None], listed.states(), -1)
        np.testing.assert_array_equal(held_out.states(), expected)
        assert set(held_out.weights().ravel()) <= {0.0, 1.0}
        assert training.unlisted_weight == listed.unlisted_weight


@pytest.mark.parametrize("split", [split_known, split_items])
def test_one_fold_is_no_fold(split):
    with pytest.raises(InvalidInputError, match="n_splits must be an integer of at least 2"):
        next(split(PartialLabels.from_array([[1]]), 1))


def test_seven_percent_of_a_hundred_is_seven():
    truth = PartialLabels.from_array(np.repeat([[1.0], [0.0]], 100, axis=0))
    hidden = hide_per_class(truth, 0.07, 0)
    assert (hidden.n_present, hidden.n_absent) == (7, 7)
