import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit

from tagloom.completion import calibration as module
from tagloom.completion.calibration import Calibration, calibrate
from tagloom.errors import TagloomWarning
from tagloom.labels import PartialLabels


def terms_of(scores, q):
    scores, q = np.broadcast_arrays(scores, q)
    t = np.maximum(scores, 1e-4)
    return np.stack([np.log(t), t, np.sqrt(t), q, q * np.log(t), q * t], axis=-1)


def drawn(c, seed=0, n_items=2000, n_labels=16):
    """Draw entries with known probabilities p; each presence is listed with probability c."""
    rng = np.random.default_rng(seed)
    p = expit(rng.uniform(-4, -1, n_labels) + 3 * rng.normal(size=(n_items, n_labels)))
    truth = rng.random(p.shape) < p
    listed = truth & (rng.random(p.shape) < c)
    known = PartialLabels.from_entries(*np.nonzero(listed), True, shape=p.shape, unlisted_weight=1)
    return known, (c * p).astype(np.float32), p, truth


@pytest.mark.parametrize("c", [0.1, 0.3, 0.7, 1.0])
def test_the_label_frequency_is_read_off_the_top_and_probabilities_are_calibrated(c):
    found, confidence, observed, errors = [], [], [], []
    for seed in range(5):
        known, scores, p, truth = drawn(c, seed)
        fitted = calibrate(known, scores, positive_unlabelled=True)
        P = fitted.probabilities(scores)
        likely = P > 0.3
        found.append(fitted.label_frequency)
        confidence.append(P[likely].mean())
        observed.append(truth[likely].mean())
        errors.append(np.abs(P - p).mean())
    assert np.mean(found) == pytest.approx(c, rel=0.12)
    assert np.mean(confidence) == pytest.approx(np.mean(observed), abs=0.06)
    assert np.mean(errors) < 0.06


@pytest.mark.parametrize("c", [0.1, 0.3, 0.7, 1.0])
def test_with_the_true_label_frequency_every_bin_is_calibrated(c):
    known, scores, _, truth = drawn(c, n_items=6000)
    fitted = calibrate(known, scores, positive_unlabelled=True, label_frequency=c)
    assert fitted.label_frequency == c
    P = fitted.probabilities(scores)
    for low in np.arange(0, 1, 0.2):
        inside = (low <= P) & (low + 0.2 > P)
        # Near certainty one listed presence in ten is little to go by, and p stays too low.
        off = 0.05 if c > 0.1 else 0.12
        assert P[inside].mean() == pytest.approx(truth[inside].mean(), abs=off)


def test_scores_of_learners_that_see_absences_need_no_label_frequency():
    _, scores, p, truth = drawn(1.0)
    asked = np.random.default_rng(5).random(truth.shape) < 0.3
    known = PartialLabels.from_entries(*np.nonzero(asked), truth[asked], shape=truth.shape)
    fitted = calibrate(known, scores, positive_unlabelled=False)
    assert fitted.label_frequency == 1
    assert np.abs(fitted.probabilities(scores) - p).mean() < 0.03


@pytest.mark.parametrize("c", [0.3, 0.8])
def test_the_likelihood_of_lists_and_denials_is_at_its_highest(c, monkeypatch):
    monkeypatch.setattr(module, "_SHARE_OF_LOW", 1.0)
    listed, scores, _, truth = drawn(c, n_items=300, n_labels=4)
    given = listed.states() == 1
    denied = ~truth & (np.random.default_rng(8).random(truth.shape) < 0.1)
    rows, columns = np.nonzero(given | denied)
    said = PartialLabels.from_entries(rows, columns, given[rows, columns], shape=truth.shape)
    fitted = calibrate(listed, scores, known=said, positive_unlabelled=True, label_frequency=c)
    q = np.log((given.sum(axis=0) + 0.5) / ((~given).sum(axis=0) + 0.5))
    assert np.allclose(fitted.log_odds, q)
    D = (terms_of(scores.astype(float), q) - fitted.mean) / fitted.scale

    def minus_log_likelihood(w):
        p = expit(D @ w[:-1] + w[-1])
        unlisted = ~given & ~denied
        value = np.log(c * p[given]).sum() + np.log(1 - c * p[unlisted]).sum()
        return 0.5 * w[:-1] @ w[:-1] - value - np.log(1 - p[denied]).sum()

    slope = approx_fprime(fitted.weights, minus_log_likelihood, 1e-6)
    at_zero = approx_fprime(np.zeros(7), minus_log_likelihood, 1e-6)
    assert np.abs(slope).max() < 2e-3 * np.abs(at_zero).max()
    by_hand = expit(D @ fitted.weights[:-1] + fitted.weights[-1])
    assert np.allclose(fitted.probabilities(scores), by_hand, atol=1e-6)


def test_weights_count_as_so_many_entries():
    rng = np.random.default_rng(0)
    scores = rng.random((60, 1))
    present = rng.random((60, 1)) < scores
    twice = PartialLabels.from_array(np.concatenate([present, present]))
    weighing_two = PartialLabels.from_array(present, weights=np.full(present.shape, 2.0))
    one = calibrate(twice, np.concatenate([scores, scores]), positive_unlabelled=False)
    two = calibrate(weighing_two, scores, positive_unlabelled=False)
    P = [each.probabilities(scores) for each in (one, two)]
    assert np.allclose(*P, atol=0.01)


def test_what_was_denied_at_the_top_was_not_forgotten():
    listed, scores, p, truth = drawn(0.8)
    given = listed.states() == 1
    denied = ~truth & (p > 0.5)
    rows, columns = np.nonzero(given | denied)
    said = PartialLabels.from_entries(rows, columns, given[rows, columns], shape=truth.shape)
    fitted = calibrate(listed, scores, known=said, positive_unlabelled=True)
    assert fitted.label_frequency == pytest.approx(0.8, abs=0.08)


def test_a_label_that_came_with_answers_has_the_log_odds_of_those():
    known = PartialLabels.from_array([[1, np.nan], [0, np.nan], [1, np.nan], [0, np.nan]])
    by_now = PartialLabels.from_array([[1, 1], [0, 1], [1, 0], [1, 0]])
    scores = np.random.default_rng(0).random((4, 2))
    assert np.allclose(
        calibrate(known, scores, current=by_now, positive_unlabelled=False).log_odds, 0
    )


def test_unlisted_by_bayes_rule():
    rng = np.random.default_rng(0)
    c, p = 0.6, 0.7
    truth = rng.random(200_000) < p
    listed = truth & (rng.random(200_000) < c)
    calibration = Calibration(c, *(np.zeros(1) for _ in range(4)))
    found = calibration.if_unlisted(np.array([p, 0.0, 1.0], dtype=np.float32))
    assert found[0] == pytest.approx(truth[~listed].mean(), abs=0.01)
    assert found[1:].tolist() == [0, 1]
    assert found.dtype == np.float32


def test_a_complete_list_leaves_nothing_open():
    complete = Calibration(1.0, *(np.zeros(1) for _ in range(4)))
    assert complete.if_unlisted(np.array([0.0, 0.5, 1.0])).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("present", "scores"),
    [
        (np.ones((5, 2), bool), np.random.default_rng(0).random((5, 2))),
        (np.eye(4, dtype=bool), np.full((4, 4), 0.3)),
        (np.eye(4, dtype=bool), -np.ones((4, 4))),
        (np.array([[True]]), np.array([[0.5]])),
    ],
    ids=["all tags on all pictures", "equal scores", "negative scores", "one picture"],
)
@pytest.mark.filterwarnings("ignore:The pictures hardly tell")
@pytest.mark.parametrize("positive_unlabelled", [True, False])
def test_degenerate_lists_give_probabilities_all_the_same(present, scores, positive_unlabelled):
    known = PartialLabels.from_entries(
        *np.nonzero(present), True, shape=present.shape, unlisted_weight=1.0
    )
    fitted = calibrate(known, scores, positive_unlabelled=positive_unlabelled)
    P = fitted.probabilities(scores)
    assert np.isfinite(P).all()
    assert ((P >= 0) & (P <= 1)).all()
    assert 0 < fitted.label_frequency <= 1


def test_scores_that_say_nothing_suggest_nothing():
    rng = np.random.default_rng(0)
    listed = rng.random((400, 6)) < 0.2
    known = PartialLabels.from_entries(*np.nonzero(listed), True, shape=(400, 6), unlisted_weight=1)
    noise = rng.random((400, 6))
    with pytest.warns(TagloomWarning, match="hardly tell"):
        fitted = calibrate(known, noise, positive_unlabelled=True)
    assert not fitted.if_unlisted(fitted.probabilities(noise)).any()


def test_the_same_seed_gives_the_same_bits():
    known, scores, _, _ = drawn(0.4, n_items=300)
    one, two, other = (
        calibrate(known, scores, positive_unlabelled=True, random_state=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.weights, two.weights)
    assert not np.array_equal(one.weights, other.weights)
