import numpy as np
import pytest
from scipy.special import expit, logit

from tagloom.calibration import JudgedByName, calibrate, fit_answers, with_names
from tagloom.labels import PartialLabels


def drawn(n_items=2000, n_labels=8, base=-3.0, strength=3.0, seed=0):
    """Scores that are probabilities, and what is present with them."""
    rng = np.random.default_rng(seed)
    p = expit(base + strength * rng.normal(size=(n_items, n_labels)))
    return p, rng.random(p.shape) < p


def fitted(n_listed=(0,), never_listed=(True,), tried=True, seed=0, n_labels=8):
    """Calibrate labels with examples, and add others whose name scores are half as high."""
    p, truth = drawn(seed=seed, n_labels=n_labels)
    labels = PartialLabels.from_entries(
        *np.nonzero(truth), True, shape=truth.shape, unlisted_weight=1.0
    )
    first = calibrate(labels, p, positive_unlabelled=False)
    more, more_truth = drawn(seed=seed + 1, n_labels=len(n_listed))
    judged = JudgedByName(
        np.r_[np.zeros(n_labels, dtype=bool), np.ones(len(n_listed), dtype=bool)],
        np.r_[np.zeros(n_labels, dtype=bool), np.array(never_listed)],
        np.r_[truth.sum(axis=0), np.array(n_listed)],
    )
    scores = np.hstack([p, more / 2])
    of_names = p / 2 if tried else None
    return with_names(first, judged, labels, of_names, scores), scores, more, more_truth


def test_a_label_without_examples_is_taken_for_one_more_name_like_the_others():
    calibration, scores, p, truth = fitted()
    found = calibration.probabilities(scores)[:, -1]
    assert np.abs(found - p[:, 0]).mean() < 0.03
    sure = found > 0.5
    assert truth[sure, 0].mean() == pytest.approx(found[sure].mean(), abs=0.06)


def test_labels_with_examples_keep_their_probabilities():
    calibration, scores, _, _ = fitted()
    p, truth = drawn()
    labels = PartialLabels.from_entries(
        *np.nonzero(truth), True, shape=truth.shape, unlisted_weight=1.0
    )
    alone = calibrate(labels, p, positive_unlabelled=False)
    assert np.array_equal(calibration.probabilities(scores)[:, :8], alone.probabilities(p))


def test_few_names_prove_little():
    top = [fitted(n_labels=n)[0].probabilities(fitted(n_labels=n)[1])[:, -1].max() for n in (8, 1)]
    assert top[1] < top[0]
    untried, scores, _, _ = fitted(tried=False)
    assert untried.probabilities(scores)[:, -1].max() < 0.9


def test_a_label_that_no_list_could_hold_is_not_less_probable_for_being_unlisted():
    calibration, scores, _, _ = fitted()
    unlisted = calibration.probabilities(scores, unlisted=np.ones(len(scores), dtype=bool))
    assert np.array_equal(unlisted[:, -1], calibration.probabilities(scores)[:, -1])
    assert (unlisted[:, 0] <= calibration.probabilities(scores)[:, 0]).all()
    assert (calibration.listed(scores)[:, -1] == 0).all()


def test_a_label_that_is_hardly_ever_listed_is_expected_on_few_pictures():
    calibration, scores, p, _ = fitted(n_listed=(1, 2, 2000), never_listed=(False,) * 3)
    expected = calibration.probabilities(scores)[:, -3:].sum(axis=0)
    assert expected[:2] == pytest.approx([2, 3], rel=1e-3)
    assert expected[2] == pytest.approx(p[:, 2].sum(), rel=0.2)


def test_answers_move_a_name_further_than_a_label_with_examples():
    p, columns = np.full(8, 0.3), np.repeat([0, 1], 4)
    by_name = np.array([False, True])
    answers = fit_answers(p, columns, np.ones(8, dtype=bool), 2, by_name=by_name)
    of_examples, of_name = (float(answers.apply(np.array([0.3]), j)[0]) for j in (0, 1))
    assert 0.3 < of_examples < of_name
    assert logit(of_name) - logit(0.3) > 1
