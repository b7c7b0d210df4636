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
)
from tagloom.calibration.forgetting import forgotten_at_random, nothing_forgotten
from tagloom.labels import PartialLabels


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
    P = calibrations.open_probabilities(scores)
    seen = calibrations.seen.probabilities(scores[:200], unlisted=True)
    unseen = calibrations.unseen.probabilities(scores[200:])
    assert P.dtype == np.float32
    assert np.array_equal(P, np.concatenate([seen, unseen]))


def test_where_absences_are_annotated_to_be_unlisted_says_nothing():
    calibrations, scores = of_collection(positive_unlabelled=False)
    P = calibrations.open_probabilities(scores)
    assert np.array_equal(P[:200], calibrations.seen.probabilities(scores[:200]))


def test_what_is_implied_is_at_least_as_probable_as_implications_are():
    calibrations, scores = of_collection()
    implied = np.random.default_rng(0).random(scores.shape) < 0.1
    implied[:, 5] = False
    before, P = (calibrations.open_probabilities(scores, given) for given in (None, implied))
    assert np.array_equal(P[~implied], before[~implied])
    assert np.array_equal(P[implied], np.maximum(before[implied], np.float32(IMPLIED)))


def test_answers_reach_seen_unseen_and_implied_entries_alike():
    calibrations, scores = of_collection()
    implied = np.zeros(scores.shape, dtype=bool)
    implied[0] = True
    after = with_answers(calibrations)
    assert after.n_answers == 80
    assert calibrations.n_answers == 0
    before, P = (one.open_probabilities(scores, implied) for one in (calibrations, after))
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
    calibrations = with_answers(calibrations)
    again = CollectionCalibration.from_state(calibrations.to_state())
    implied = scores > 0.3
    assert np.array_equal(
        again.open_probabilities(scores, implied), calibrations.open_probabilities(scores, implied)
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
