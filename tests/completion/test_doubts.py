import numpy as np
import pytest

from tagloom.completion.suggestions import SLIPS, chance_of_slip


@pytest.mark.parametrize("present", [True, False])
def test_a_picture_like_any_other_tells_nothing_of_slips(present):
    assert chance_of_slip(np.array([0.2]), np.array([0.2]), present=present) == pytest.approx(SLIPS)


def test_certainty_settles_it():
    p, r = np.array([0.0, 1.0]), np.array([0.3, 0.3])
    assert np.allclose(chance_of_slip(p, r, present=True), [1, 0], atol=1e-6)
    assert np.allclose(chance_of_slip(p, r, present=False), [0, 1], atol=1e-6)


@pytest.mark.parametrize("present", [True, False])
def test_planted_slips_are_found_as_often_as_promised(present):
    """Draw truth from p, let one in ten statements fall on any picture of the other state."""
    rng = np.random.default_rng(0)
    n_items, slips = 400_000, 0.1
    p = rng.beta(0.5, 1.5, n_items)
    truth = rng.random(n_items) < p
    right = np.flatnonzero(truth == present)
    wrong = np.flatnonzero(truth != present)
    n_right = 50_000
    n_wrong = round(n_right * slips / (1 - slips))
    stated = np.concatenate(
        [rng.choice(right, n_right, replace=False), rng.choice(wrong, n_wrong, replace=False)]
    )
    chance = chance_of_slip(p[stated], np.full(len(stated), p.mean()), present=present, slips=slips)
    is_wrong = np.arange(len(stated)) >= n_right
    for low in (0.0, 0.1, 0.3, 0.5, 0.7):
        inside = (low <= chance) & (chance < low + 0.2)
        assert inside.sum() > 200
        assert chance[inside].mean() == pytest.approx(is_wrong[inside].mean(), abs=0.05)
