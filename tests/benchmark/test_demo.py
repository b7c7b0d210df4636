from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from tagloom.benchmark.demo import (
    baseline_scores,
    by_tag,
    evaluate_ranking,
    evaluate_suggestions,
    hidden_truth,
    keep_tags,
)
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State

PRESENT, UNKNOWN = int(State.PRESENT), int(State.UNKNOWN)
TRUTH = PartialLabels.from_array(np.random.default_rng(0).uniform(size=(40, 6)) < 0.4)


@given(st.floats(0.05, 0.95), st.integers(0, 50))
def test_only_true_tags_are_kept_and_as_many_as_asked(keep, seed):
    kept = keep_tags(TRUTH, keep, seed)
    present = kept.states() == PRESENT
    n_true = int((TRUTH.states() == PRESENT).sum())
    assert not (present & (TRUTH.states() != PRESENT)).any()
    assert kept.n_known == present.sum() == round(keep * n_true)


@given(st.floats(0.05, 0.95), st.integers(0, 50))
def test_by_salience_large_things_stay(keep, seed):
    salience = np.random.default_rng(1).normal(size=TRUTH.shape)
    salience[TRUTH.states() != PRESENT] = np.nan
    kept = keep_tags(TRUTH, keep, seed, salience=salience)
    present = kept.states() == PRESENT
    true = TRUTH.states() == PRESENT
    assert not (present & ~true).any()
    # One of each label at least, and counts are rounded.
    assert abs(present.sum() - keep * true.sum()) <= TRUTH.n_labels


def test_large_things_are_listed_more_often():
    everywhere = PartialLabels.from_array(np.ones((500, 8)))
    salience = np.random.default_rng(1).normal(size=everywhere.shape)
    listed = keep_tags(everywhere, 0.4, salience=salience).states() == PRESENT
    assert salience[listed].mean() > 0.3 > 0 > salience[~listed].mean()


def test_tags_are_counted_with_those_that_cannot_be_learned():
    truth = PartialLabels.from_array(
        [[1, 1, 0], [1, 0, 1], [1, 1, 0], [0, 1, 0]], labels=["sky", "sea", "cat"]
    )
    kept = truth.with_entries([0, 3, 2], [0, 1, 1], True)
    known = kept.select(["sea", "sky"])
    result = SimpleNamespace(
        P=np.array([[0.9, 0.0], [0.9, 0.9], [0.0, 0.1], [0.0, 0.9]]),
        thresholds=np.array([0.5, 0.5]),
    )
    assert by_tag(truth, kept, hidden_truth(known, truth), result) == [
        ("sea", 3, 2, 2, 1),
        ("sky", 3, 1, 2, 1),
        ("cat", 1, 0, 0, 0),
    ]


@pytest.mark.parametrize("keep", [0.0, 1.0, -1])
def test_a_share_outside_0_to_1_is_refused(keep):
    with pytest.raises(InvalidInputError, match="keep must be a share"):
        keep_tags(TRUTH, keep)


def test_hidden_truth_covers_the_unknown_entries():
    kept = keep_tags(TRUTH, 0.3).select([4, 1])
    hidden = hidden_truth(kept, TRUTH).states()
    open_to = kept.states() == UNKNOWN
    np.testing.assert_array_equal(hidden[open_to], TRUTH.states()[:, [4, 1]][open_to])
    assert (hidden[~open_to] == UNKNOWN).all()


def test_known_entries_do_not_affect_the_ranking():
    hidden = hidden_truth(keep_tags(TRUTH, 0.5), TRUTH)
    scores = np.random.default_rng(1).uniform(size=TRUTH.shape)
    elsewhere = np.where(hidden.states() == UNKNOWN, 9.0, scores)
    assert evaluate_ranking(hidden, scores) == evaluate_ranking(hidden, elsewhere)
    judged = hidden.states() != UNKNOWN
    pooled = average_precision_score(hidden.states()[judged] == PRESENT, scores[judged])
    np.testing.assert_allclose(evaluate_ranking(hidden, scores).pooled, pooled)


def test_recall_counts_hidden_tags_among_the_five_best_of_a_picture():
    present = [[1, 1, 0, 0, 0, 0, 0, 1], [0] * 8]
    hidden = PartialLabels.from_array(np.array(present, dtype=float))
    scores = np.array([[8, 7, 6, 5, 4, 3, 2, 1]] * 2)
    assert evaluate_ranking(hidden, scores).recall == pytest.approx(2 / 3)


def test_suggestions_are_counted_on_hidden_entries():
    hidden = PartialLabels.from_array([[1, 0], [1, None], [None, 1]])
    P = np.array([[0.9, 0.9], [0.1, 0.9], [0.9, 0.6]])
    made = evaluate_suggestions(hidden, P, np.array([0.5, 0.7]))
    assert made == (2, 0.5, pytest.approx(1 / 3))


def test_baselines_recover_labels_that_depend_on_features():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4))
    truth = PartialLabels.from_array(X[:, :3] > 0.3)
    kept = keep_tags(truth, 0.5)
    listed = kept.entries()
    known = PartialLabels.from_entries(
        listed.rows, listed.columns, True, shape=kept.shape, unlisted_weight=1.0
    )
    hidden = hidden_truth(kept, truth)
    for scores in baseline_scores(X, known).values():
        assert evaluate_ranking(hidden, scores).mean_average_precision > 0.7
