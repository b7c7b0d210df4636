"""Rows and scores of about one length, against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.models.normalization import RowNormalizer, ScoreNormalizer


def some_rows(n=50, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return 3 + rng.normal(size=(n, d)) * rng.lognormal(sigma=0.5, size=(n, 1))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), d=st.integers(1, 6))
def test_rows_keep_direction_and_order_and_none_is_longer_than_one(seed, n, d):
    rows = some_rows(n, d, seed)
    even = RowNormalizer.of(rows)
    apart, made = rows - even.mean, even(rows)
    before, after = (np.linalg.norm(table, axis=1) for table in (apart, made))
    assert (after < 1).all()
    np.testing.assert_allclose(made * before[:, None], apart * after[:, None], atol=1e-9)
    longer = np.argsort(before)
    assert (np.diff(after[longer]) >= -1e-12).all()
    if before.max() > 5 * np.median(before):
        return  # who is far outside does not count in what is usual
    usual = np.mean(before**2)
    np.testing.assert_allclose(after, before / np.sqrt(before**2 + usual / 4), rtol=1e-9)
    np.testing.assert_allclose(even.norms(rows)[:, None] * made, apart, atol=1e-9)


def test_scale_and_place_of_rows_make_no_difference():
    rows = some_rows()
    far = 1e3 * rows - 5e4
    np.testing.assert_allclose(RowNormalizer.of(far)(far), RowNormalizer.of(rows)(rows), atol=1e-9)


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float32, 1e25), (np.float32, 1e-30), (np.float64, 1e200), (np.float64, 1e-200)],
)
def test_squares_beyond_all_numbers_are_no_matter(dtype, scale):
    rows = some_rows().astype(dtype)
    huge = rows * dtype(scale)
    even = RowNormalizer.of(huge)
    np.testing.assert_allclose(even(huge), RowNormalizer.of(rows)(rows), atol=1e-4)
    long = even(huge[:1] * dtype(1e5))
    assert 0.9 < np.linalg.norm(long) <= 1 + 1e-6
    at_mean = np.zeros((40, 2), dtype)
    at_mean[:2, 0] = [scale, -scale]
    assert np.isfinite(RowNormalizer.of(at_mean)(at_mean)).all()


@pytest.mark.parametrize("outlier", [1e4, 1e30])
def test_one_row_far_outside_does_not_decide_what_is_usual(outlier):
    rows = some_rows()
    with_it = np.vstack([rows, np.full((1, 4), outlier)])
    near = RowNormalizer.of(rows), RowNormalizer.of(with_it)
    far = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
    kept = far < 10 * np.median(far)  # some of these rows are long themselves
    np.testing.assert_allclose(near[1].mean, rows[kept].mean(axis=0), atol=0.5)
    assert near[1].size < 2 * near[0].size
    made = near[1](with_it)[-1]
    np.testing.assert_allclose(made, 0.5, atol=1e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_do_not_differ_are_all_nothing(dtype):
    rows = np.full((5, 3), 7, dtype=dtype)
    made = RowNormalizer.of(rows)(rows)
    assert made.dtype == dtype
    np.testing.assert_array_equal(made, 0)


@pytest.mark.parametrize("q", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_come_nearer_to_the_usual_length(q, dtype):
    F = some_rows().astype(dtype)
    even = ScoreNormalizer.of(F)
    made = even(F, q)
    assert made.dtype == dtype
    before, after = (np.linalg.norm(table - F.mean(axis=0), axis=1) for table in (F, made))
    usual = np.sqrt(np.mean(before**2))
    np.testing.assert_allclose(after, usual * (before / usual) ** (1 - q), rtol=1e-3)
    # Within an item nothing changes places.
    apart = made - F.mean(axis=0)
    np.testing.assert_array_equal(np.argsort(apart, axis=1), np.argsort(F - F.mean(axis=0), axis=1))


def test_scores_are_left_alone_where_that_is_asked_or_nothing_can_be_done():
    F = some_rows()
    assert ScoreNormalizer.of(F)(F, 0) is F
    alike = np.full((4, 2), 0.25)
    np.testing.assert_array_equal(ScoreNormalizer.of(alike)(alike, 0.5), alike)
