import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.completion.calibration import LEAST, choose_thresholds

# Few values, so that many are equal.
columns = st.lists(st.sampled_from([k / 16 for k in range(17)]), min_size=1, max_size=12)


def threshold(p, precision=None):
    P = np.array(p, dtype=np.float32)[:, None]
    return choose_thresholds(P, np.ones(P.shape, dtype=bool), precision)[0]


@given(columns, st.sampled_from([0.3, 0.5, 0.8, 0.95]))
def test_the_largest_set_of_suggestions_of_the_asked_precision(p, precision):
    p = np.array(p)
    suggested = p >= threshold(p, precision)
    assert not suggested.any() or p[suggested].mean() >= precision - 1e-12
    for lower in np.unique(p):
        if (p >= lower).sum() > suggested.sum():
            assert p[p >= lower].mean() < precision


@given(columns)
def test_no_other_threshold_has_a_higher_expected_f1(p):
    p = np.array(p)

    def expected_f1(from_):
        chosen = p >= from_
        return 2 * p[chosen].sum() / (chosen.sum() + p.sum()) if chosen.any() else 0.0

    found = threshold(p)
    assert found >= LEAST
    allowed = [value for value in np.unique(p) if value >= LEAST]
    best = max(map(expected_f1, allowed), default=0.0)
    assert expected_f1(found) == pytest.approx(best, abs=1e-9)


def test_entries_that_are_not_open_do_not_count():
    P = np.array([[0.9, 0.5], [0.1, 0.5], [0.8, 0.5]], dtype=np.float32)
    open_to = np.array([[False, False], [True, False], [True, False]])
    assert choose_thresholds(P, open_to, 0.5).tolist() == [float(P[2, 0]), np.inf]
    assert choose_thresholds(P, open_to, 0.99).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("precision", [0.5, 0.8, 0.95])
def test_the_asked_precision_comes_true(precision):
    rng = np.random.default_rng(0)
    P = rng.beta(0.3, 1, size=(5000, 12)).astype(np.float32)
    truth = rng.random(P.shape) < P
    suggested = choose_thresholds(P, np.ones(P.shape, dtype=bool), precision) <= P
    assert truth[suggested].mean() == pytest.approx(precision, abs=0.02)
