import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from tagloom.benchmark.demo import baseline_scores, forgotten, hidden_from, ranked, suggested
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State

PRESENT, UNKNOWN = int(State.PRESENT), int(State.UNKNOWN)
TRUTH = PartialLabels.from_array(np.random.default_rng(0).uniform(size=(40, 6)) < 0.4)


@given(st.floats(0.05, 0.95), st.integers(0, 50))
def test_forgetting_keeps_true_tags_only_and_as_many_as_asked(keep, seed):
    said = forgotten(TRUTH, keep, seed)
    kept = said.states() == PRESENT
    n_true = int((TRUTH.states() == PRESENT).sum())
    assert not (kept & (TRUTH.states() != PRESENT)).any()
    assert said.n_known == kept.sum() == round(keep * n_true)


@pytest.mark.parametrize("keep", [0.0, 1.0, -1])
def test_a_share_that_is_none_is_refused(keep):
    with pytest.raises(InvalidInputError, match="keep must be a share"):
        forgotten(TRUTH, keep)


def test_hidden_is_the_truth_where_nothing_was_said():
    said = forgotten(TRUTH, 0.3).select([4, 1])
    hidden = hidden_from(said, TRUTH).states()
    open_to = said.states() == UNKNOWN
    np.testing.assert_array_equal(hidden[open_to], TRUTH.states()[:, [4, 1]][open_to])
    assert (hidden[~open_to] == UNKNOWN).all()


def test_known_entries_have_no_part_in_the_ranking():
    hidden = hidden_from(forgotten(TRUTH, 0.5), TRUTH)
    scores = np.random.default_rng(1).uniform(size=TRUTH.shape)
    elsewhere = np.where(hidden.states() == UNKNOWN, 9.0, scores)
    assert ranked(hidden, scores) == ranked(hidden, elsewhere)
    judged = hidden.states() != UNKNOWN
    pooled = average_precision_score(hidden.states()[judged] == PRESENT, scores[judged])
    np.testing.assert_allclose(ranked(hidden, scores).pooled, pooled)


def test_recall_counts_what_is_among_the_five_best_open_tags_of_a_picture():
    present = [[1, 1, 0, 0, 0, 0, 0, 1], [0] * 8]
    hidden = PartialLabels.from_array(np.array(present, dtype=float))
    scores = np.array([[8, 7, 6, 5, 4, 3, 2, 1]] * 2)
    assert ranked(hidden, scores).recall == pytest.approx(2 / 3)


def test_suggestions_are_counted_where_something_was_hidden():
    hidden = PartialLabels.from_array([[1, 0], [1, None], [None, 1]])
    P = np.array([[0.9, 0.9], [0.1, 0.9], [0.9, 0.6]])
    made = suggested(hidden, P, np.array([0.5, 0.7]))
    assert made == (2, 0.5, pytest.approx(1 / 3))


def test_baselines_find_what_features_tell():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4))
    truth = PartialLabels.from_array(X[:, :3] > 0.3)
    said = forgotten(truth, 0.5)
    listed = said.entries()
    known = PartialLabels.from_entries(
        listed.rows, listed.columns, True, shape=said.shape, unlisted_weight=1.0
    )
    hidden = hidden_from(said, truth)
    for scores in baseline_scores(X, known).values():
        assert ranked(hidden, scores).mean_average_precision > 0.7
