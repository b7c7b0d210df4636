from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from tagloom.calibration import (
    IMPLIED,
    AnswerCorrection,
    Calibration,
    CollectionCalibration,
    calibrate,
    choose_threshold,
    fit_answers,
    probability_looked_at,
)
from tagloom.calibration.collection import rearranged
from tagloom.calibration.forgetting import forgotten_at_random, nothing_forgotten
from tagloom.labels import PartialLabels

# No entry is listed.
NOTHING = np.zeros((300, 6), dtype=bool)


def drawn(c=0.5, seed=0, n_items=300, n_labels=6):
    rng = np.random.default_rng(seed)
    p = expit(rng.uniform(-3, -1, n_labels) + 3 * rng.normal(size=(n_items, n_labels)))
    truth = rng.random(p.shape) < p
    return truth, truth & (rng.random(p.shape) < c), (c * p).astype(np.float32), p


def lists_of(listed):
    return PartialLabels.from_entries(
        *np.nonzero(listed), True, shape=listed.shape, unlisted_weight=1.0
    )


def of_collection(positive_unlabelled=True, label_frequency=None):
    """Return a collection whose last hundred pictures are unseen, and its scores."""
    _, listed, scores, _ = drawn()
    fit = {"positive_unlabelled": positive_unlabelled, "label_frequency": label_frequency}
    seen = calibrate(lists_of(listed), scores, **fit)
    unseen = calibrate(lists_of(listed), np.sqrt(scores), **fit)
    is_unseen = np.arange(300) >= 200
    calibrations = CollectionCalibration(seen, unseen, is_unseen, ~is_unseen, positive_unlabelled)
    return calibrations, scores


def with_answers(calibrations, shift=-1.5):
    rng = np.random.default_rng(0)
    p, columns = rng.uniform(0.3, 0.95, 80), rng.integers(6, size=80)
    answers = fit_answers(p, columns, rng.random(80) < expit(logit(p) + shift), 6)
    return calibrations.with_answers(answers)


def test_where_absences_are_annotated_nothing_was_forgotten():
    truth, _, scores, p = drawn(1.0, n_items=2000)
    asked = np.random.default_rng(5).random(truth.shape) < 0.3
    known = PartialLabels.from_entries(*np.nonzero(asked), truth[asked], shape=truth.shape)
    fitted = calibrate(known, scores, positive_unlabelled=False, label_frequency=0.3)
    assert (fitted.forgetting.label_frequencies == 1).all()
    assert np.abs(fitted.probabilities(scores) - p).mean() < 0.03
    assert np.allclose(fitted.probabilities(scores), fitted.listed(scores))


def test_an_earlier_estimate_is_kept():
    _, listed, scores, _ = drawn()
    first = calibrate(lists_of(listed), scores, positive_unlabelled=True)
    assert first.forgetting.estimated
    _, other, _, _ = drawn(0.9)
    again = calibrate(
        lists_of(other), scores, positive_unlabelled=True, forgetting=first.forgetting
    )
    assert again.forgetting is first.forgetting
    assert np.array_equal(again.listing.ceilings, first.forgetting.ceilings)


def test_the_label_frequency_of_the_owner_is_taken():
    _, listed, scores, _ = drawn()
    fitted = calibrate(lists_of(listed), scores, positive_unlabelled=True, label_frequency=0.35)
    assert (fitted.forgetting.label_frequencies == 0.35).all()
    p, g = fitted.probabilities(scores), fitted.listed(scores)
    assert np.allclose(g, 0.35 * p, atol=1e-6)
    by_bayes = p * 0.65 / (1 - 0.35 * p)
    assert np.allclose(fitted.probabilities(scores, unlisted=True), by_bayes, atol=1e-5)


def test_unlisted_entries_are_less_probable_than_entries_of_which_nothing_is_known():
    _, listed, scores, _ = drawn()
    fitted = calibrate(lists_of(listed), scores, positive_unlabelled=True)
    p, unlisted = fitted.probabilities(scores), fitted.probabilities(scores, unlisted=True)
    assert (unlisted <= p + 1e-6).all()
    assert (fitted.listed(scores) <= p + 1e-6).all()


def test_open_entries_of_seen_and_of_unseen_pictures():
    calibrations, scores = of_collection()
    P = calibrations.open_probabilities(scores, listed=NOTHING)
    seen = calibrations.seen.probabilities(scores[:200], unlisted=True)
    unseen = calibrations.unseen.probabilities(scores[200:])
    assert P.dtype == np.float32
    assert np.array_equal(P, np.concatenate([seen, unseen]))


def test_where_absences_are_annotated_to_be_unlisted_says_nothing():
    calibrations, scores = of_collection(positive_unlabelled=False)
    P = calibrations.open_probabilities(scores, listed=NOTHING)
    assert np.array_equal(P[:200], calibrations.seen.probabilities(scores[:200]))


def test_what_is_implied_is_at_least_as_probable_as_implications_are():
    calibrations, scores = of_collection()
    implied = np.random.default_rng(0).random(scores.shape) < 0.1
    implied[:, 5] = False
    before, P = (
        calibrations.open_probabilities(scores, listed=NOTHING, implied=given)
        for given in (None, implied)
    )
    assert np.array_equal(P[~implied], before[~implied])
    assert np.array_equal(P[implied], np.maximum(before[implied], np.float32(IMPLIED)))


def test_answers_reach_seen_unseen_and_implied_entries_alike():
    calibrations, scores = of_collection()
    implied = np.zeros(scores.shape, dtype=bool)
    implied[0] = True
    after = with_answers(calibrations)
    assert after.n_answers == 80
    assert calibrations.n_answers == 0
    before, P = (
        one.open_probabilities(scores, listed=NOTHING, implied=implied)
        for one in (calibrations, after)
    )
    answers = after.seen.answers
    z = logit(np.clip(before.astype(np.float64), 1e-12, 1 - 1e-7))
    assert np.allclose(P, expit(answers.slope * z + answers.shifts), atol=1e-4)
    assert (P[0] < before[0]).all()


def test_answers_are_compared_with_probabilities_before_answers():
    calibrations, scores = of_collection()
    after = with_answers(calibrations).seen
    for unlisted in (True, False):
        before = calibrations.seen.probabilities(scores, unlisted=unlisted)
        found = after.before_answers(scores[:, 2], 2, unlisted=unlisted)
        assert found == pytest.approx(before[:, 2], abs=1e-6)


def test_the_expected_precision_is_the_mean_promise():
    lists, _ = of_collection()
    table, _ = of_collection(positive_unlabelled=False)
    p = np.array([0.6, 0.8, 0.7], dtype=np.float32)
    told = [one.expected_precision(p) for one in (lists, table, with_answers(lists))]
    assert [one.value for one in told] == pytest.approx([0.7] * 3)
    assert [one.n_answers for one in told] == [0, 0, 80]
    widths = [one.high - one.low for one in told]
    assert max(widths) == widths[0]


def test_the_state_is_restored_to_the_last_bit():
    calibrations, scores = of_collection()
    calibrations = replace(
        with_answers(calibrations),
        is_looked_at=calibrations.is_looked_at & (np.arange(300) >= 40),
        looked_at_probability=np.linspace(0.2, 1, 300),
    )
    again = CollectionCalibration.from_state(calibrations.to_state())
    implied = scores > 0.3
    assert np.array_equal(
        again.open_probabilities(scores, listed=NOTHING, implied=implied),
        calibrations.open_probabilities(scores, listed=NOTHING, implied=implied),
    )
    assert np.array_equal(again.label_frequencies, calibrations.label_frequencies)
    assert np.array_equal(again.is_unseen, calibrations.is_unseen)
    assert again.is_unseen.dtype == bool
    assert again.positive_unlabelled is True
    assert again.n_answers == 80
    p = np.array([0.6, 0.9])
    assert again.expected_precision(p) == calibrations.expected_precision(p)
    one = Calibration.from_state(calibrations.seen.to_state())
    assert np.array_equal(one.listed(scores), calibrations.seen.listed(scores))
    assert one.forgetting.estimated is calibrations.seen.forgetting.estimated


def test_a_model_file_without_probabilities_of_a_look_keeps_its_numbers():
    calibrations, scores = of_collection()
    untagged = np.arange(300) < 40
    old = replace(calibrations, is_looked_at=calibrations.is_looked_at & ~untagged)
    again = CollectionCalibration.from_state(old.to_state())
    P = again.open_probabilities(scores, listed=NOTHING)
    assert again.looked_at_probability is None
    assert np.array_equal(P[:40], old.seen.probabilities(scores[:40]))
    assert np.array_equal(P[40:200], old.seen.probabilities(scores[40:200], unlisted=True))


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95, 1.0])
def test_the_share_of_pictures_that_were_looked_at_is_recovered(share):
    """Simulated: somebody looks at a share of the pictures, and lists tags independently."""
    rng = np.random.default_rng(0)
    G = expit(rng.normal(-2.5, 1.5, size=(20_000, 8)))
    looked_at = rng.random(len(G)) < share
    tagged = ((rng.random(G.shape) < G) & looked_at[:, None]).any(axis=1)
    w = probability_looked_at(G[~tagged], int(tagged.sum()))
    assert (tagged.sum() + w.sum()) / len(G) == pytest.approx(share, abs=0.02)
    for low, high in ((0, 0.3), (0.3, 0.6), (0.6, 1)):
        some = (w >= low) & (w < high)
        if some.sum() > 200:
            assert looked_at[~tagged][some].mean() == pytest.approx(w[some].mean(), abs=0.06)


def test_a_look_is_less_probable_the_more_pictures_have_no_tags():
    q = np.array([0.2, 0.6, 0.9])
    of = {n: probability_looked_at(np.repeat(1 - q, n)[:, None], 300)[::n] for n in range(1, 400)}
    assert (of[1] == 1).all()
    assert (of[399] < [0.2, 0.6, 0.8]).all()
    steps = np.diff(np.stack(list(of.values())), axis=0)
    assert (steps <= 1e-9).all()
    assert steps.min() > -0.05
    assert (np.diff(of[399]) > 0).all()
    assert len(probability_looked_at(np.zeros((0, 5)), 10)) == 0
    assert probability_looked_at(np.zeros((2, 5)), 0).tolist() == [0, 0]


def test_certain_listing_and_none_listed_means_that_nobody_looked():
    w = probability_looked_at(np.array([[1.0, 0.5], [0.0, 0.0]]), 5)
    assert w[0] == pytest.approx(0, abs=1e-4)
    assert w[1] > 0.8


TENTHS = st.integers(0, 10).map(lambda tenths: tenths / 10)


@given(st.lists(st.tuples(TENTHS, TENTHS, TENTHS, st.booleans()), min_size=1))
def test_rearranged_estimates_are_never_farther_from_a_truth_that_rises(entries):
    """Of each entry an estimate, the order, what decides ties, and whether it takes part."""
    estimates, truth, ties, where = (np.array(column) for column in zip(*entries, strict=True))
    found = rearranged(estimates, truth, where, ties=ties)
    assert np.array_equal(np.sort(found), np.sort(estimates))
    assert np.array_equal(found[~where], estimates[~where])
    if len(np.unique(truth[where])) > 1:
        assert (np.diff(found[where][np.lexsort((ties[where], truth[where]))]) >= 0).all()
    else:
        assert np.array_equal(found, estimates)
    for r in (1, 2, 4):
        before, after = ((np.abs(one - truth) ** r).sum() for one in (estimates, found))
        assert after <= before + 1e-9


def test_what_an_order_leaves_open_is_decided_by_the_scores():
    estimates, scores = np.array([0.1, 0.2, 0.3, 0.4]), np.array([4.0, 3.0, 2.0, 1.0])
    everywhere = np.ones(4, dtype=bool)
    by = np.array([0.5, 0.5, 0.5, 0.1])
    found = rearranged(estimates, by, everywhere, ties=scores)
    assert found.tolist() == [0.4, 0.3, 0.2, 0.1]


def test_pictures_with_and_without_tags_share_one_order():
    """If somebody has surely looked, tags or none; if nobody has, those without tags come first."""
    calibrations, scores = of_collection()
    is_looked_at = calibrations.is_looked_at & (np.arange(300) >= 40)
    mixed = replace(calibrations, is_looked_at=is_looked_at)
    listed = np.random.default_rng(0).random(scores.shape) < 0.1
    before = mixed.open_probabilities(scores, listed=listed)
    for w in (0.0, 1.0):
        P = replace(mixed, looked_at_probability=np.full(300, w)).open_probabilities(
            scores, listed=listed
        )
        assert np.array_equal(P[listed], before[listed])
        assert np.array_equal(P[200:], before[200:])
        for column in range(6):
            rows = np.flatnonzero(~listed[:200, column])
            by = mixed.seen.before_answers(scores[rows, column], column, unlisted=True)
            rows = rows[np.lexsort((scores[rows, column], by))]
            assert np.array_equal(np.sort(P[rows, column]), np.sort(before[rows, column]))
            rises = (np.diff(P[rows, column]) >= 0).all()
            assert rises == (w == 1)
        assert np.array_equal(P, before) == (w == 0)


def test_answers_do_not_change_the_order():
    calibrations, scores = of_collection()
    is_looked_at = calibrations.is_looked_at & (np.arange(300) >= 40)
    mixed = replace(
        calibrations, is_looked_at=is_looked_at, looked_at_probability=np.full(300, 0.6)
    )
    after = with_answers(mixed)
    before, P = (one.open_probabilities(scores, listed=NOTHING) for one in (mixed, after))
    answers = after.seen.answers
    z = logit(np.clip(before.astype(np.float64), 1e-12, 1 - 1e-7))
    assert np.allclose(P, expit(answers.slope * z + answers.shifts), atol=1e-4)
    found = after.before_answers(scores, scores, NOTHING, 2)
    assert found[:200] == pytest.approx(before[:200, 2], abs=1e-6)


@pytest.mark.parametrize("forgetting", [nothing_forgotten(6), forgotten_at_random(0.5, 6)])
def test_probabilities_do_not_depend_on_the_other_pictures(forgetting):
    _, listed, scores, _ = drawn()
    fitted = calibrate(lists_of(listed), scores, positive_unlabelled=True)
    fitted = replace(fitted, forgetting=forgetting, answers=AnswerCorrection(np.zeros(6)))
    whole = fitted.probabilities(scores)
    parts = [fitted.probabilities(scores[:7]), fitted.probabilities(scores[7:])]
    assert np.allclose(whole, np.concatenate(parts), atol=1e-7)


PROBABILITIES = st.lists(
    st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.5, 0.75, 0.9, 1.0]), max_size=30
)


@given(PROBABILITIES, st.sampled_from([0.05, 0.3, 0.5, 0.625, 0.9, 0.99]), st.data())
def test_the_largest_set_of_the_asked_precision_is_suggested(p, precision, data):
    """Compare with every threshold that there could be."""
    P = np.array(p, dtype=np.float64).reshape(-1, 1)
    is_open = np.array([data.draw(st.booleans()) for _ in p], dtype=bool).reshape(-1, 1)
    found = choose_threshold(P, is_open, precision)
    open_p = P[is_open]
    sizes = [
        (open_p >= at).sum() for at in np.unique(open_p) if open_p[open_p >= at].mean() >= precision
    ]
    assert (open_p >= found).sum() == max(sizes, default=0)
    if sizes:
        assert open_p[open_p >= found].mean() >= precision - 1e-12
    else:
        assert found == np.inf


def test_the_threshold_holds_for_single_precision():
    """Probabilities are stored in 32 bits, and compared with the threshold as they are."""
    P = np.random.default_rng(0).random((500, 4)).astype(np.float32)
    found = choose_threshold(P, np.ones(P.shape, dtype=bool), 0.8)
    assert P[found <= P].mean() == pytest.approx(0.8, abs=0.01)
    assert P[found <= P].mean(dtype=np.float64) >= 0.8
    assert (found == P.astype(np.float64)).any()
