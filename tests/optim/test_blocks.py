"""The blocks of the weights: every way of storing them gives the same sums, within its memory."""

import tracemalloc

import numpy as np
import pytest
from problems import random_problem, some_M

from tagloom.labels import PartialLabels
from tagloom.optim import MaskedSquaredLoss


def test_the_number_of_blocks_does_not_matter(monkeypatch):
    problem = random_problem(8)
    M = some_M(problem)
    whole = MaskedSquaredLoss.of(problem.X, problem.known, fit_intercept=True).gradient(M)
    monkeypatch.setattr("tagloom.optim.blocks._BLOCK_SCORES", 3 * problem.known.n_labels)
    cut = MaskedSquaredLoss.of(problem.X, problem.known, fit_intercept=True)
    assert len(cut._rows._blocks) == 5
    np.testing.assert_allclose(cut.gradient(M), whole, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(24))
def test_sampled_products_equal_dense_products(seed, dtype, monkeypatch):
    problem = random_problem(seed)
    X, M = problem.X.astype(dtype), some_M(problem).astype(dtype)
    whole = MaskedSquaredLoss.of(X, problem.known, fit_intercept=problem.fit_intercept)
    monkeypatch.setattr("tagloom.optim.blocks._WORTH_COMPILING", 0)
    monkeypatch.setattr("tagloom.optim.blocks._BLOCK_FEATURES", 4 * X.shape[1])
    sampled = MaskedSquaredLoss.of(X, problem.known, fit_intercept=problem.fit_intercept)
    digits = {"rtol": 0, "atol": 1e-11 if dtype == np.float64 else 1e-4}
    np.testing.assert_allclose(sampled.gradient(M), whole.gradient(M), **digits)
    np.testing.assert_allclose(sampled.intercept(M), whole.intercept(M), **digits)
    single, whole_single = sampled.in_single_precision(), whole.in_single_precision()
    found = single.gradient(M.astype(np.float32))
    expected = whole_single.gradient(M.astype(np.float32))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 0.6, 0.9, 1.0])
def test_every_share_of_known_entries_gives_the_same_sums(rate, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) + 3
    Y = (rng.uniform(size=(40, 5)) < 0.4).astype(float)
    Y[rng.uniform(size=Y.shape) >= rate] = np.nan
    Y[:, 4] = np.nan
    known, M = PartialLabels.from_array(Y), rng.normal(size=(6, 5))
    W = ~np.isnan(Y)
    for worth in (0, 1 << 40):
        monkeypatch.setattr("tagloom.optim.blocks._WORTH_COMPILING", worth)
        loss = MaskedSquaredLoss.of(X, known, fit_intercept=True)
        b = loss.intercept(M)
        residual = W * (X @ M + b - np.nan_to_num(Y))
        np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-10)
        np.testing.assert_allclose(loss.gradient(M), X.T @ residual, atol=1e-9)
        assert not loss.gradient(M)[:, 4].any()


def test_unlisted_tags_need_no_dense_table():
    rng = np.random.default_rng(0)
    n, c = 20_000, 1000
    X = rng.normal(size=(n, 4)).astype(np.float32)
    rows, columns = np.arange(n), rng.integers(c, size=n)
    known = PartialLabels.from_entries(
        rows, columns, np.ones(n, dtype=bool), shape=(n, c), unlisted_weight=1.0
    )
    M = rng.normal(size=(4, c)).astype(np.float32)
    tracemalloc.start()
    loss = MaskedSquaredLoss.of(X, known, fit_intercept=True)
    loss.gradient(M)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * c / 2  # not a byte an entry


def test_stored_entries_need_no_dense_table(monkeypatch):
    monkeypatch.setattr("tagloom.optim.blocks._WORTH_COMPILING", 0)
    rng = np.random.default_rng(0)
    n, d, c = 2048, 32, 4200
    X = rng.normal(size=(n, d))
    known = PartialLabels.from_entries(
        np.arange(n), rng.integers(c, size=n), np.ones(n, dtype=bool), shape=(n, c)
    )
    tracemalloc.start()
    MaskedSquaredLoss.of(X, known, fit_intercept=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * c  # in bytes: a table of float64 would be eight times as much


def test_hidden_entries_cancel_the_background_in_single_precision():
    n = 2000
    hidden = np.arange(4, n)
    known = PartialLabels.from_entries(
        [0, 0], [0, 1], [True, True], shape=(n, 2), unlisted_weight=0.7
    ).with_hidden(hidden, np.zeros(len(hidden), dtype=int))
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    loss = MaskedSquaredLoss.of(X, known, fit_intercept=True)
    assert loss.curvature.weight[0] == pytest.approx(1 + 3 * 0.7, rel=1e-6)
    assert loss.curvature.lower_bound == 0
