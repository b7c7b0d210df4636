import csv

import numpy as np
import pytest

from tagloom.completion.suggestions import ERROR_RATE, error_probability


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
    for row in rows[:8]:
        row[1:] = [{"1": "0", "0": "1"}.get(cell, cell) for cell in row[1:]]
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    done = collection.complete(path, "out")
    errors = done.result.suspected_errors
    assert {one.present for one in errors} == {True, False}
    loaded = load(done.out, photos=collection.photos)
    on_page = [
        (one.image, one.tag, one.present, one.error_probability) for one in loaded.suspected_errors
    ]
    assert on_page == [(one.row, one.column, one.present, one.error_probability) for one in errors]
