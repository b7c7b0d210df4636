import math

import numpy as np
import pytest

from tagloom.completion.result import Bin, calibration_error, label_quality, reliability
from tagloom.labels import PartialLabels
from tagloom.metrics import roc_auc


def test_confidence_is_compared_with_the_observed_frequency():
    known = PartialLabels.from_array([[1], [0], [1], [1], [0], [np.nan]])
    P = np.array([[0.82], [0.88], [0.84], [1.0], [0.0], [0.85]], dtype=np.float32)
    low, middle, high = reliability(known, P)
    assert (low.low, low.n, low.observed) == (0.0, 1, 0.0)
    assert (middle.n, middle.observed) == (3, pytest.approx(2 / 3))
    assert middle.confidence == pytest.approx((0.82 + 0.88 + 0.84) / 3)
    assert (high.high, high.n, high.confidence, high.observed) == (1.0, 1, 1.0, 1.0)


def test_of_lists_the_bins_speak_of_being_listed():
    rng = np.random.default_rng(0)
    G = rng.random((200_000, 2))
    listed = rng.random(G.shape) < G
    known = PartialLabels.from_entries(*np.nonzero(listed), True, shape=G.shape, unlisted_weight=1)
    bins = reliability(known, G)
    assert len(bins) == 10
    for one in bins:
        assert one.confidence == pytest.approx(one.observed, abs=0.03)
    assert calibration_error(bins) < 0.02


def test_the_calibration_error_weighs_bins_by_their_entries():
    bins = [Bin(0.0, 0.1, 30, 0.05, 0.05), Bin(0.3, 0.4, 10, 0.35, 0.45)]
    assert calibration_error(bins) == pytest.approx(0.1 / 4)
    assert calibration_error(bins, least=0.3) == pytest.approx(0.1)
    assert math.isnan(calibration_error(bins, least=0.9))


def test_labels_are_judged_by_hidden_entries_and_counted_by_what_people_said():
    said = PartialLabels.from_entries([0, 1, 2], [0, 0, 1], [1, 0, 1], shape=(4, 2), labels=[3, 4])
    known = PartialLabels.from_entries(
        [0, 2], [0, 1], True, shape=(4, 2), labels=[3, 4], unlisted_weight=1
    )
    scores = np.array([[0.9, 0.1], [0.1, 0.2], [0.2, 0.3], [0.3, 0.4]])
    three, four = label_quality(
        known, said, scores, np.array([0.5, np.inf]), np.array([0.25, 0.75])
    )
    assert (three.label, three.n_present, three.n_absent, three.threshold) == ("3", 1, 1, 0.5)
    assert three.average_precision == pytest.approx(1.0)
    assert (four.n_present, four.n_absent) == (1, 0)
    assert four.average_precision == pytest.approx(0.5)
    assert (three.label_frequency, four.label_frequency) == (0.25, 0.75)


def test_the_roc_auc_is_that_of_scikit_learn():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    truth = (rng.random((40, 3)) < 0.4).astype(float)
    truth[:, 2] = 1
    scores = rng.random((40, 3)).round(1)
    auc = roc_auc(PartialLabels.from_array(truth), scores)
    expected = [roc_auc_score(truth[:, j], scores[:, j]) for j in range(2)]
    np.testing.assert_allclose(auc[:2], expected)
    assert np.isnan(auc[2])
