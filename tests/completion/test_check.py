"""A checked sample: drawn with known probabilities, and honest about what it says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import binom

from tagloom.completion.check import (
    betting_interval,
    clopper_pearson,
    describe,
    draw_check,
    estimate,
)
from tagloom.errors import InvalidInputError

SHAPE = (150, 20)
P = np.clip(np.random.default_rng(0).beta(0.12, 3, SHAPE), 1e-5, 0.999)
OPEN = np.ones(SHAPE, dtype=bool)
THRESHOLD = 0.3
IS_SUGGESTED = THRESHOLD <= P


def drawn(seed=0, n=30, p=P, threshold=THRESHOLD):
    return draw_check(p, OPEN, np.full(p.shape[1], threshold), n, random_state=seed)


def answered(check, truth):
    return [bool(one) for one in truth[check.rows, check.columns]]


class TestDrawing:
    def test_the_same_seed_draws_the_same_and_another_seed_others(self):
        first, again, other = drawn(1), drawn(1), drawn(2)
        assert (first.rows == again.rows).all()
        assert not (first.rows == other.rows).all()

    def test_two_thirds_are_suggestions_and_no_entry_is_drawn_twice(self):
        check = drawn()
        assert (len(check), check.is_suggested.sum()) == (30, 20)
        assert len(set(zip(check.rows.tolist(), check.columns.tolist(), strict=True))) == 30
        assert (IS_SUGGESTED[check.rows, check.columns] == check.is_suggested).all()

    def test_the_recorded_inclusion_probability_is_how_often_an_entry_is_drawn(self):
        n = 600
        times, promised = np.zeros(SHAPE), np.zeros(SHAPE)
        for seed in range(n):
            check = drawn(seed)
            times[check.rows, check.columns] += 1
            promised[check.rows, check.columns] = check.inclusion_probability
        # Every drawn entry's count is binomial; none of them deviates by five standard errors.
        seen = promised > 0
        spread = np.sqrt(n * promised[seen] * (1 - promised[seen]))
        assert (np.abs(times[seen] - n * promised[seen]) <= 5 * spread + 1).all()
        assert np.ptp(promised[IS_SUGGESTED & seen]) < 0.05

    def test_below_the_threshold_the_probable_are_drawn_more_often(self):
        check = drawn(n=90)
        below = ~check.is_suggested
        order = np.argsort(check.probability[below])
        low, high = np.array_split(check.inclusion_probability[below][order], 2)
        # Rounding to whole entries lets neighbouring strata differ by one.
        assert low.max() <= high.min() + 0.02
        assert high.mean() > 1.3 * low.mean()

    def test_entries_that_are_known_or_have_no_probability_are_not_drawn(self):
        is_open = OPEN.copy()
        is_open[:, ::2] = False
        p = P.copy()
        p[:, 1] = np.nan
        check = draw_check(p, is_open, np.full(SHAPE[1], THRESHOLD), 200)
        assert set(check.columns) <= set(range(3, SHAPE[1], 2))

    @pytest.mark.parametrize("threshold", [2.0, np.nan, 1e-9])
    def test_one_part_may_be_empty(self, threshold):
        check = drawn(threshold=threshold)
        assert len(check) == 30
        assert check.is_suggested.all() == (threshold == 1e-9)

    def test_nothing_open_is_said(self):
        with pytest.raises(InvalidInputError, match="nothing to check"):
            draw_check(P, ~OPEN, np.full(SHAPE[1], THRESHOLD))

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.floats(0, 1), min_size=1, max_size=40),
        st.floats(0, 1.1),
        st.integers(1, 50),
        st.integers(0, 9),
    )
    def test_any_collection_can_be_checked_and_shares_are_shares(self, p, threshold, n, seed):
        p = np.array([p])
        check = draw_check(p, np.ones(p.shape, bool), np.full(p.shape[1], threshold), n)
        assert 1 <= len(check) <= min(n, p.shape[1])
        rng = np.random.default_rng(seed)
        answers = rng.choice(np.array([True, False, None], dtype=object), len(check))
        found = estimate(check, list(answers))
        for share in filter(None, (found.precision, found.recall)):
            assert 0 <= share.low <= share.value <= share.high <= 1
        assert describe(found) is not None


WORLDS = {
    "calibrated": P,
    "probabilities too low": expit(logit(P) + 1.2),
    "probabilities too high": expit(logit(P) - 1.2),
    "overconfident": expit(0.6 * logit(P)),
    "underconfident": expit(1.6 * logit(P)),
    "all right": IS_SUGGESTED * 1.0,
    "all wrong": ~IS_SUGGESTED * 0.01,
    "probabilities mean nothing": np.full(SHAPE, 0.02),
}


class TestCoverage:
    @pytest.mark.parametrize("world", WORLDS)
    def test_intervals_hold_in_at_least_92_of_100_checks(self, world):
        truth = np.random.default_rng(7).random(SHAPE) < WORLDS[world]
        precision = truth[IS_SUGGESTED].mean()
        recall = truth[IS_SUGGESTED].sum() / max(1, truth.sum())
        found = [estimate(one := drawn(seed), answered(one, truth)) for seed in range(250)]
        for true, shares in (
            (precision, [one.precision for one in found]),
            (recall, [one.recall for one in found]),
        ):
            held = np.mean([one.low - 1e-9 <= true <= one.high + 1e-9 for one in shares])
            assert held >= 0.92

    @pytest.mark.parametrize("world", ["probabilities too low", "overconfident"])
    def test_the_precision_is_unbiased_whatever_the_model_believes(self, world):
        truth = np.random.default_rng(7).random(SHAPE) < WORLDS[world]
        values = [
            estimate(one := drawn(seed), answered(one, truth)).precision.value
            for seed in range(400)
        ]
        error = np.std(values) / np.sqrt(len(values))
        assert abs(np.mean(values) - truth[IS_SUGGESTED].mean()) < 4 * error + 0.002

    def test_more_answers_make_the_intervals_narrower(self):
        truth = np.random.default_rng(7).random(SHAPE) < P
        few, many = (estimate(one := drawn(n=n), answered(one, truth)) for n in (30, 150))
        for name in ("precision", "recall"):
            widths = [getattr(one, name).high - getattr(one, name).low for one in (few, many)]
            assert widths[1] < 0.8 * widths[0]

    def test_if_everything_was_checked_everything_is_certain(self):
        p = np.array([[0.9, 0.8, 0.4, 0.2]])
        check = draw_check(p, np.ones(p.shape, bool), np.full(4, 0.5), 4)
        truth = np.array([[True, False, True, False]])
        found = estimate(check, answered(check, truth))
        assert found.precision == (0.5, 0.5, 0.5)
        assert found.recall == pytest.approx((0.5, 0.5, 0.5))

    @pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.97])
    def test_clopper_pearson_never_covers_less_than_promised(self, share):
        k = np.arange(21)
        bounds = [clopper_pearson(one, 20, 0.05) for one in k]
        held = [low <= share <= high for low, high in bounds]
        assert binom.pmf(k, 20, share)[held].sum() >= 0.95

    def test_clopper_pearson_of_20_of_20(self):
        low, high = clopper_pearson(20, 20, 0.05)
        assert (low, high) == (pytest.approx(0.025 ** (1 / 20)), 1.0)

    def test_the_betting_interval_covers_means_that_differ_between_draws(self):
        means = np.linspace(0, 0.6, 12)
        rng = np.random.default_rng(3)
        held = 0
        for _ in range(300):
            low, high = betting_interval((rng.random(12) < means) * 1.0, 0.05)
            held += low <= means.mean() <= high
        assert held >= 0.95 * 300


class TestAnswers:
    def test_dont_know_is_missing_and_counted(self):
        check = drawn()
        truth = np.ones(SHAPE, dtype=bool)
        answers = answered(check, truth)
        answers[3] = answers[8] = None
        found = estimate(check, answers)
        assert found.n_unanswered == 2
        assert found.n_checked + found.n_checked_below == 28
        assert found.precision.value == 1

    def test_without_any_answer_nothing_is_claimed(self):
        found = estimate(drawn(), [None] * 30)
        assert (found.precision, found.recall) == (None, None)

    def test_a_wrong_number_of_answers_is_refused(self):
        with pytest.raises(InvalidInputError, match="Expected 30 answers, found 1"):
            estimate(drawn(), [True])

    def test_in_words(self):
        check = drawn()
        found = estimate(check, [bool(one) for one in check.is_suggested])
        text = " ".join(describe(found))
        assert "20 of 20 checked suggestions are right" in text
        assert "0 of 10 checked tags below the threshold are missing" in text
        assert "at least 83% are right" in text
        assert "30 answers" in text
