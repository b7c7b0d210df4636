import csv

import numpy as np
import pytest

from tagloom.completion.suggestions import ERROR_RATE, error_probability, suspected_errors
from tagloom.labels import State


@pytest.mark.parametrize("present", [True, False])
def test_an_average_picture_leaves_the_error_rate(present):
    assert error_probability(np.array([0.2]), np.array([0.2]), present=present) == pytest.approx(
        ERROR_RATE
    )


def test_certainty_settles_it():
    p, r = np.array([0.0, 1.0]), np.array([0.3, 0.3])
    assert np.allclose(error_probability(p, r, present=True), [1, 0], atol=1e-6)
    assert np.allclose(error_probability(p, r, present=False), [0, 1], atol=1e-6)


@pytest.mark.parametrize("present", [True, False])
def test_planted_errors_are_as_frequent_as_their_probability(present):
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
    chance = error_probability(
        p[stated], np.full(len(stated), p.mean()), present=present, error_rate=slips
    )
    is_wrong = np.arange(len(stated)) >= n_right
    for low in (0.0, 0.1, 0.3, 0.5, 0.7):
        inside = (low <= chance) & (chance < low + 0.2)
        assert inside.sum() > 200
        assert chance[inside].mean() == pytest.approx(is_wrong[inside].mean(), abs=0.05)


def test_the_report_and_the_review_page_show_the_same_error_probability(collection):
    """Both used to compute it, from different shares of a label among the pictures."""
    from tagloom.review.loading import load

    path = collection.write_table(share=0.9)
    with path.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    for row in rows[:1]:
        row[1:] = [{"1": "0", "0": "1"}.get(cell, cell) for cell in row[1:]]
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    done = collection.complete(path, "out")
    errors = done.result.suspected_errors
    assert errors
    loaded = load(done.out, photos=collection.photos)
    on_page = [
        (one.image, one.tag, one.present, one.error_probability) for one in loaded.suspected_errors
    ]
    assert on_page == [(one.row, one.column, one.present, one.error_probability) for one in errors]


def ranked(n_items, n_present, n_at_bottom, lowest=1e-6):
    """One label: presences at the top of its ranking, and some at its very bottom."""
    states = np.full((n_items, 1), int(State.ABSENT), dtype=np.int8)
    P = np.linspace(lowest, 0.2, n_items)[:, None]
    top, bottom = np.arange(n_items - n_present + n_at_bottom, n_items), np.arange(n_at_bottom)
    P[top], P[bottom] = 0.9, lowest
    states[np.concatenate([top, bottom])] = int(State.PRESENT)
    return states, P


def test_a_presence_that_nothing_speaks_for_is_suspected_where_this_is_unusual():
    states, P = ranked(400, n_present=100, n_at_bottom=1)
    (found,) = (one for one in suspected_errors(states, P) if one.present)
    assert found.row == 0
    assert found.error_probability > 0.5


def test_presences_that_nothing_speaks_for_are_not_suspected_where_many_are():
    """What a tag names may be too small to be recognised."""
    states, P = ranked(400, n_present=100, n_at_bottom=30)
    assert not [one for one in suspected_errors(states, P) if one.present]


def test_the_plausibility_of_a_presence_at_the_bottom_has_a_closed_form():
    """With k of n presences in the lower half: 2 (k + 10 q) / (n + 10), relative to the prior."""
    states, P = ranked(400, n_present=100, n_at_bottom=2)
    (first, second) = (one for one in suspected_errors(states, P) if one.present)
    prior = P.mean(axis=0)
    plausibility = 2 * (2 + 10 * 0.02) / (100 + 10)
    expected = error_probability(plausibility * prior, prior, present=True)[0]
    assert first.error_probability == second.error_probability
    assert first.error_probability == pytest.approx(expected, abs=1e-4)


def test_what_is_more_likely_right_than_wrong_is_not_suspected():
    states, P = ranked(400, n_present=100, n_at_bottom=1)
    states[399], states[398] = int(State.ABSENT), int(State.ABSENT)
    P[399], P[398] = 0.999, 0.3
    found = suspected_errors(states, P)
    assert 399 in {one.row for one in found}
    assert 398 not in {one.row for one in found}
    assert min(one.error_probability for one in found) >= 0.5
