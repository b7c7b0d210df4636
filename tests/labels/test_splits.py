import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logit
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression

from tagloom.errors import InvalidInputError
from tagloom.labels import (
    PartialLabels,
    hide_per_class,
    hide_uniformly,
    keep_presences,
    keep_salient,
    split_items,
    split_known,
)
from tagloom.labels.splits import FREQUENCY_PRIOR, SALIENCE_SLOPE

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


@given(truths, st.sampled_from([(0.1, 0.3), (0.3, 0.5), (0.5, 1.0)]), st.integers(0, 5))
def test_salient_presences_of_every_label_are_kept_and_more_at_a_higher_rate(truth, rates, seed):
    known, salience = PartialLabels.from_array(truth), np.arange(truth.size).reshape(truth.shape)
    few, many = (
        keep_salient(known, rate, salience, unlisted="unknown", random_state=seed) for rate in rates
    )
    for kept in (few, many):
        assert kept.n_absent == 0
        assert_part_of(kept.to_array(), truth)
        np.testing.assert_array_equal(kept.counts().present > 0, (truth == 1).any(axis=0))
    assert_part_of(few.to_array(), many.to_array())
    if rates[1] == 1:
        assert many.n_known == (truth == 1).sum()


def salient(n_items, n_labels, rate, salience=None, seed=0):
    """Return which of the items, that all have all labels, stay listed."""
    known = PartialLabels.from_array(np.ones((n_items, n_labels)))
    if salience is None:
        salience = np.random.default_rng(1).normal(size=known.shape)
    kept = keep_salient(known, rate, salience, unlisted="unknown", random_state=seed)
    return ~np.isnan(kept.to_array())


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.6])
def test_label_frequencies_differ_widely_around_the_rate(rate):
    listed = salient(2000, 400, rate)
    np.testing.assert_allclose(listed.mean(), rate, atol=0.001)
    spread = np.std(logit(beta.rvs(*FREQUENCY_PRIOR, size=100_000, random_state=0)))
    frequencies = listed.mean(axis=0)
    np.testing.assert_allclose(np.std(logit(np.clip(frequencies, 5e-4, 1))), spread, rtol=0.1)


def test_listing_follows_salience_by_the_logistic_model():
    salience = np.random.default_rng(1).normal(size=(40_000, 1))
    listed = salient(40_000, 1, 0.4, 7 + 3 * salience)
    fitted = LogisticRegression(C=1e6).fit(salience, listed[:, 0])
    # Talkativeness, which the fit does not know, makes the curve a little flatter.
    attenuated = SALIENCE_SLOPE / np.sqrt(1 + 0.346 * 0.5**2)
    np.testing.assert_allclose(fitted.coef_[0, 0], attenuated, atol=0.05)


def test_talkative_items_list_more_of_their_labels():
    listed = salient(3000, 40, 0.4, np.full((3000, 40), 0.1))
    lengths = listed.sum(axis=1)
    frequencies = listed.mean(axis=0)
    assert lengths.var() > 1.5 * np.sum(frequencies * (1 - frequencies))


@pytest.mark.parametrize("unlisted", ["absent", 0.3])
def test_unlisted_means_the_same_for_salient_presences(unlisted):
    truth = PartialLabels.from_array(np.eye(6))
    kept = keep_salient(truth, 0.5, np.eye(6), unlisted=unlisted, random_state=0)
    assert kept.unlisted_weight == keep_presences(truth, 0.5, unlisted=unlisted).unlisted_weight


@pytest.mark.parametrize(
    ("salience", "message"),
    [
        (np.ones((3, 3)), r"3 items and 2 labels; its shape is \(3, 3\)"),
        ([[1, np.nan], [1, 1], [1, 1]], "at item 0, label 1 it is nan"),
    ],
)
def test_salience_must_be_known_of_every_presence(salience, message):
    known = PartialLabels.from_array([[1, 1], [0, 1], [1, 0]])
    with pytest.raises(InvalidInputError, match=message):
        keep_salient(known, 0.5, salience, unlisted="unknown")


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


@pytest.mark.parametrize("unlisted", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weight", [1.0, 2.0])
@pytest.mark.parametrize("n_labels", [3, 40])
def test_hidden_items_are_unknown_in_every_entry(unlisted, weight, n_labels):
    rng = np.random.default_rng(0)
    rows, columns = np.nonzero(rng.random((20, n_labels)) < 0.2)
    known = PartialLabels.from_entries(
        rows,
        columns,
        np.ones(len(rows), dtype=bool),
        shape=(20, n_labels),
        weights=np.where(rows < 10, weight, 1.0),
        unlisted_weight=unlisted,
    )
    hidden = np.arange(20) % 3 == 0
    places = np.nonzero(np.broadcast_to(hidden[:, None], known.shape))
    found = known.with_hidden_items(hidden)
    assert found == known.with_hidden(*places)
    assert found.counts().present.tolist() == known.with_hidden(*places).counts().present.tolist()
    assert (found.states()[hidden] == -1).all()
    assert known.with_hidden_items(np.zeros(20, dtype=bool)) == known
