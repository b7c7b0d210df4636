"""Row and score normalisation, against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.normalization import RowNormalizer, ScoreNormalizer


def some_rows(n=50, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return 3 + rng.normal(size=(n, d)) * rng.lognormal(sigma=0.5, size=(n, 1))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), d=st.integers(1, 6))
def test_rows_keep_direction_and_order_of_norms_below_one(seed, n, d):
    rows = some_rows(n, d, seed)
    normalizer = RowNormalizer.of(rows)
    centred, normalized = rows - normalizer.mean, normalizer(rows)
    before, after = (np.linalg.norm(table, axis=1) for table in (centred, normalized))
    assert (after < 1).all()
    np.testing.assert_allclose(normalized * before[:, None], centred * after[:, None], atol=1e-9)
    longer = np.argsort(before)
    assert (np.diff(after[longer]) >= -1e-12).all()
    if before.max() > 5 * np.median(before):
        return  # outliers do not count in the typical norm
    typical = np.mean(before**2)
    np.testing.assert_allclose(after, before / np.sqrt(before**2 + typical / 4), rtol=1e-9)
    np.testing.assert_allclose(normalizer.norms(rows)[:, None] * normalized, centred, atol=1e-9)


def test_scale_and_offset_of_rows_make_no_difference():
    rows = some_rows()
    far = 1e3 * rows - 5e4
    np.testing.assert_allclose(RowNormalizer.of(far)(far), RowNormalizer.of(rows)(rows), atol=1e-9)


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float32, 1e25), (np.float32, 1e-30), (np.float64, 1e200), (np.float64, 1e-200)],
)
def test_overflowing_squares_are_handled(dtype, scale):
    rows = some_rows().astype(dtype)
    huge = rows * dtype(scale)
    normalizer = RowNormalizer.of(huge)
    np.testing.assert_allclose(normalizer(huge), RowNormalizer.of(rows)(rows), atol=1e-4)
    long = normalizer(huge[:1] * dtype(1e5))
    assert 0.9 < np.linalg.norm(long) <= 1 + 1e-6
    at_mean = np.zeros((40, 2), dtype)
    at_mean[:2, 0] = [scale, -scale]
    assert np.isfinite(RowNormalizer.of(at_mean)(at_mean)).all()


@pytest.mark.parametrize("outlier", [1e4, 1e30])
def test_an_outlier_hardly_changes_the_typical_norm(outlier):
    rows = some_rows()
    with_it = np.vstack([rows, np.full((1, 4), outlier)])
    near = RowNormalizer.of(rows), RowNormalizer.of(with_it)
    far = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
    kept = far < 10 * np.median(far)  # some of these rows are long themselves
    np.testing.assert_allclose(near[1].mean, rows[kept].mean(axis=0), atol=0.5)
    assert near[1].size < 2 * near[0].size
    normalized = near[1](with_it)[-1]
    np.testing.assert_allclose(normalized, 0.5, atol=1e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_become_zero(dtype):
    rows = np.full((5, 3), 7, dtype=dtype)
    normalized = RowNormalizer.of(rows)(rows)
    assert normalized.dtype == dtype
    np.testing.assert_array_equal(normalized, 0)


@pytest.mark.parametrize("q", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_get_more_similar_norms(q, dtype):
    F = some_rows().astype(dtype)
    normalizer = ScoreNormalizer.of(F)
    normalized = normalizer(F, q)
    assert normalized.dtype == dtype
    before, after = (np.linalg.norm(table - F.mean(axis=0), axis=1) for table in (F, normalized))
    typical = np.sqrt(np.mean(before**2))
    np.testing.assert_allclose(after, typical * (before / typical) ** (1 - q), rtol=1e-3)
    # Within an item nothing changes places.
    centred = normalized - F.mean(axis=0)
    np.testing.assert_array_equal(
        np.argsort(centred, axis=1), np.argsort(F - F.mean(axis=0), axis=1)
    )


def test_scores_stay_without_exponent_or_variation():
    F = some_rows()
    assert ScoreNormalizer.of(F)(F, 0) is F
    alike = np.full((4, 2), 0.25)
    np.testing.assert_array_equal(ScoreNormalizer.of(alike)(alike, 0.5), alike)


def test_blocks_of_rows_are_normalised_as_the_whole(monkeypatch):
    rows = some_rows(200, 5).astype(np.float32)
    rows[7] *= 1e4  # an outlier
    of_rows, of_scores = RowNormalizer.of(rows), ScoreNormalizer.of(rows)
    whole = of_rows(rows), of_scores(rows, 0.5)
    monkeypatch.setattr("tagloom.normalization._ENTRIES_AT_ONCE", 33)
    assert RowNormalizer.of(rows).size == of_rows.size
    assert ScoreNormalizer.of(rows).size == of_scores.size
    np.testing.assert_array_equal(of_rows(rows), whole[0])
    np.testing.assert_array_equal(of_scores(rows, 0.5), whole[1])
