import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit

from tagloom.calibration import AnswerCorrection, fit_answers
from tagloom.calibration.answers import expected_precision


def drawn(n_answers, seed=0, n_labels=6, shift=0.0, slope=1.0, own=None):
    """Draw probabilities that were claimed, and answers from what they are in truth."""
    rng = np.random.default_rng(seed)
    claimed = expit(rng.normal(0.5, 1.2, n_answers))
    columns = rng.integers(n_labels, size=n_answers)
    own = np.zeros(n_labels) if own is None else np.asarray(own)
    true = expit(slope * logit(claimed) + shift + own[columns])
    return claimed, columns, rng.random(n_answers) < true, true


def corrected(fitted, p, columns):
    return np.array([fitted.apply(np.array([a]), j)[0] for a, j in zip(p, columns, strict=True)])


def loss(x, p, columns, present, labels):
    """Minus the log posterior of [s, u, v_1, v_2, ...], straight from its definition."""
    s, u, v = x[0], x[1], x[2:]
    z = (1 + s) * logit(p) + u + v[np.searchsorted(labels, columns)]
    likelihood = np.where(present, np.log(expit(z)), np.log(expit(-z))).sum()
    return -likelihood + s**2 / (2 * 0.25**2) + u**2 / 2 + (v**2).sum() / 2


@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_the_mode_that_another_optimiser_finds(seed):
    p, columns, present, _ = drawn(80, seed, shift=-1.0, slope=0.7, own=[0, 1, -1, 0, 2, 0])
    labels = np.unique(columns)
    start = np.zeros(2 + len(labels))
    x = minimize(loss, start, (p, columns, present, labels), method="BFGS", tol=1e-8).x
    fitted = fit_answers(p, columns, present, 6)
    assert fitted.slope == pytest.approx(1 + x[0], abs=1e-4)
    assert fitted.shifts[labels] == pytest.approx(x[1] + x[2:], abs=1e-4)
    assert fitted.n_answers == 80


def test_one_rejection_at_even_odds_has_a_closed_form():
    """With logit p = 0 the slope stays: v = u, and u = -sigmoid(2 u)."""
    fitted = fit_answers(np.array([0.5]), np.array([0]), np.array([False]), 2)
    u = fitted.shifts[1]
    assert fitted.slope == pytest.approx(1)
    assert u == pytest.approx(-expit(2 * u), abs=1e-6)
    assert fitted.shifts[0] == pytest.approx(2 * u, abs=1e-6)


def test_a_label_without_answers_follows_the_common_shift():
    p, columns, present, _ = drawn(200, shift=-1.5)
    few = columns < 4
    fitted = fit_answers(p[few], columns[few], present[few], 6)
    assert fitted.shifts[4] == fitted.shifts[5]
    assert fitted.shifts[4] < -0.7
    low, high = fitted.shifts[:4].min(), fitted.shifts[:4].max()
    assert low < fitted.shifts[5] < high


def test_a_label_of_many_answers_goes_its_own_way():
    own = [3.0, 0, 0, 0, 0, -3.0]
    p, columns, present, _ = drawn(3000, own=own)
    fitted = fit_answers(p, columns, present, 6)
    assert fitted.shifts[0] > 2
    assert fitted.shifts[5] < -2
    assert np.abs(fitted.shifts[1:5]).max() < 0.5


def test_without_answers_nothing_changes():
    fitted = fit_answers(np.zeros(0), np.zeros(0, dtype=int), np.zeros(0, dtype=bool), 3)
    p = np.array([0, 1e-9, 0.2, 0.5, 1], dtype=np.float32)
    for column in range(3):
        assert np.array_equal(fitted.apply(p, column), p)
    assert fitted.n_answers == 0


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2), st.booleans()), min_size=1, max_size=40)
)
def test_whatever_was_answered_probabilities_keep_their_order(answers):
    p, columns, present = (np.array(one) for one in zip(*answers, strict=True))
    fitted = fit_answers(p.astype(float), columns, present, 3)
    ramp = np.linspace(0, 1, 201)
    for column in range(3):
        P = fitted.apply(ramp, column)
        assert (np.diff(P) >= 0).all()
        assert ((P >= 0) & (P <= 1)).all()
        assert P[[0, -1]].tolist() == [0, 1]
    assert 0 < fitted.deviation <= 1
    assert np.isfinite(fitted.shifts).all()


def test_answers_that_turn_the_ranking_round_do_not_turn_it_round():
    p = np.repeat([0.01, 0.99], 500)
    fitted = fit_answers(p, np.zeros(1000, dtype=int), p < 0.5, 1)
    assert fitted.slope == pytest.approx(0.1)


@pytest.mark.parametrize(("shift", "slope"), [(-1.5, 1.0), (1.0, 1.0), (-0.5, 0.5)])
def test_fifty_answers_repair_what_was_claimed_wrongly(shift, slope):
    off, before = [], []
    for seed in range(20):
        p, columns, present, _ = drawn(50, seed, shift=shift, slope=slope)
        fitted = fit_answers(p, columns, present, 6)
        new, where, _, true = drawn(2000, 1000 + seed, shift=shift, slope=slope)
        off.append(corrected(fitted, new, where).mean() - true.mean())
        before.append(new.mean() - true.mean())
    assert abs(np.mean(off)) < 0.05
    assert np.abs(off).mean() < 0.08
    assert np.abs(off).mean() < 0.6 * np.abs(before).mean()


def test_right_probabilities_stay_right():
    off = []
    for seed in range(20):
        p, columns, present, _ = drawn(50, seed)
        fitted = fit_answers(p, columns, present, 6)
        new, where, _, true = drawn(2000, 1000 + seed)
        off.append(corrected(fitted, new, where).mean() - true.mean())
    assert abs(np.mean(off)) < 0.03


@pytest.mark.parametrize("n_answers", [20, 200])
def test_the_interval_covers_the_precision(n_answers):
    """In worlds drawn from the prior, 95% of the intervals hold the truth."""
    covered = []
    for seed in range(120):
        shift = np.random.default_rng(5000 + seed).normal()
        p, columns, present, _ = drawn(n_answers, seed, shift=shift)
        fitted = fit_answers(p, columns, present, 6)
        new, where, _, true = drawn(2000, 1000 + seed, shift=shift)
        told = expected_precision(corrected(fitted, new, where), fitted, exact=False)
        covered.append(told.low <= true.mean() <= told.high)
    assert np.mean(covered) > 0.88


def test_the_interval_shrinks_with_answers():
    widths = []
    for n_answers in (0, 10, 50, 500):
        p, columns, present, _ = drawn(n_answers)
        fitted = fit_answers(p, columns, present, 6)
        told = expected_precision(np.full(100, 0.7), fitted, exact=False)
        assert told.low < told.value < told.high
        assert told.value == pytest.approx(0.7)
        assert told.n_answers == n_answers
        widths.append(told.high - told.low)
    assert (np.diff(widths) < 0).all()
    assert widths[-1] < 0.15


def test_what_was_measured_is_narrower_than_what_lists_tell():
    nothing = AnswerCorrection(np.zeros(3))
    p = np.full(10, 0.8)
    measured, listed = (expected_precision(p, nothing, exact=exact) for exact in (True, False))
    assert measured.value == listed.value
    assert listed.low < measured.low < measured.high < listed.high


def test_the_precision_of_no_suggestion_is_not_a_number():
    told = expected_precision(np.zeros(0), AnswerCorrection(np.zeros(3)), exact=False)
    assert np.isnan([told.value, told.low, told.high]).all()


def test_certain_suggestions_have_a_finite_interval():
    told = expected_precision(np.ones(4), AnswerCorrection(np.zeros(3)), exact=False)
    assert told.value == 1
    assert told.low > 0.99


def test_the_state_is_restored_to_the_last_bit():
    p, columns, present, _ = drawn(60, shift=-1)
    fitted = fit_answers(p, columns, present, 6)
    again = AnswerCorrection.from_state(fitted.to_state())
    for column in range(6):
        assert np.array_equal(again.apply(p, column), fitted.apply(p, column))
    assert (again.n_answers, again.deviation) == (fitted.n_answers, fitted.deviation)
