"""Every smooth term against finite differences and against its definition in the paper."""

import tracemalloc

import numpy as np
import pytest
from problems import random_problem

from tagloom.graph import laplacian
from tagloom.labels import PartialLabels
from tagloom.optim import InstanceLaplacian, LabelLaplacian, MaskedSquaredLoss, Ridge
from tagloom.optim.penalties import value


def numerical_gradient(f, M, step=1e-5):
    G = np.empty_like(M)
    for place in np.ndindex(M.shape):
        up, down = M.copy(), M.copy()
        up[place] += step
        down[place] -= step
        G[place] = (f(up) - f(down)) / (2 * step)
    return G


def some_M(problem, seed=0):
    shape = (problem.X.shape[1], problem.known.n_labels)
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("seed", range(16))
def test_loss_gradient_matches_finite_differences(seed):
    problem = random_problem(seed)
    loss = MaskedSquaredLoss.of(problem.X, problem.known, fit_intercept=problem.fit_intercept)
    M = some_M(problem)
    np.testing.assert_allclose(loss.gradient(M), numerical_gradient(loss.value, M), atol=1e-6)


@pytest.mark.parametrize("seed", range(16))
def test_whole_smooth_part_matches_finite_differences(seed):
    objective = random_problem(seed).objective(gamma=0.3, gamma_labels=0.2, ridge=0.1)
    M = some_M(random_problem(seed))
    expected = numerical_gradient(objective.smooth_value, M)
    np.testing.assert_allclose(objective.gradient(M), expected, atol=1e-5)


@pytest.mark.parametrize("seed", range(16))
def test_value_follows_from_gradient(seed):
    objective = random_problem(seed).objective(gamma=0.3, gamma_labels=0.2, ridge=0.1)
    M = some_M(random_problem(seed))
    from_gradient = objective.smooth_value_from(M, objective.gradient(M))
    assert from_gradient == pytest.approx(objective.smooth_value(M), rel=1e-10)


@pytest.mark.parametrize("seed", range(16))
def test_loss_is_the_weighted_sum_over_known_entries(seed):
    problem = random_problem(seed)
    loss = MaskedSquaredLoss.of(problem.X, problem.known, fit_intercept=problem.fit_intercept)
    M, W = some_M(problem), problem.known.weights()
    Y = problem.known.states() == 1
    b = loss.intercept(M)
    expected = 0.5 * np.sum(W * (problem.X @ M + b - Y) ** 2)
    assert loss.value(M) == pytest.approx(expected, rel=1e-12)


def test_intercept_is_the_minimiser():
    problem = random_problem(1)
    loss = MaskedSquaredLoss.of(problem.X, problem.known, fit_intercept=True)
    M, W = some_M(problem), problem.known.weights()
    Y = problem.known.states() == 1
    b = loss.intercept(M)
    slope = np.sum(W * (problem.X @ M + b - Y), axis=0)
    np.testing.assert_allclose(slope, 0, atol=1e-12)


def test_rows_are_cut_into_blocks_without_effect(monkeypatch):
    problem = random_problem(8)
    M = some_M(problem)
    whole = MaskedSquaredLoss.of(problem.X, problem.known, fit_intercept=True).gradient(M)
    monkeypatch.setattr("tagloom.optim.blocks._BLOCK_SCORES", 3 * problem.known.n_labels)
    cut = MaskedSquaredLoss.of(problem.X, problem.known, fit_intercept=True)
    assert len(cut._rows._blocks) == 5
    np.testing.assert_allclose(cut.gradient(M), whole, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(24))
def test_sampled_products_are_those_of_whole_blocks(seed, dtype, monkeypatch):
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


def test_unlisted_tags_cost_no_table_of_rows_and_labels():
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


def test_instance_laplacian_sums_squared_differences_over_edges():
    problem = random_problem(3)
    X, W, M = problem.X, problem.W_s.toarray(), some_M(problem)
    scores = X @ M
    n = len(X)
    # The paper sums over ordered pairs, which counts each edge twice; the trace counts it once.
    pairs = sum(W[i, j] * np.sum((scores[i] - scores[j]) ** 2) for i in range(n) for j in range(n))
    term = InstanceLaplacian(0.7, X, laplacian(problem.W_s))
    assert value(term, M) == pytest.approx(0.7 * pairs / 2, rel=1e-12)


def test_label_laplacian_sums_squared_differences_over_edges():
    problem = random_problem(3)
    X, W, M = problem.X, problem.W_t.toarray(), some_M(problem)
    scores = X @ M
    c = scores.shape[1]
    pairs = sum(
        W[i, j] * np.sum((scores[:, i] - scores[:, j]) ** 2) for i in range(c) for j in range(c)
    )
    term = LabelLaplacian(0.7, X, laplacian(problem.W_t))
    assert value(term, M) == pytest.approx(0.7 * pairs / 2, rel=1e-12)


def test_ridge_is_half_the_squared_norm():
    M = np.array([[3.0], [4.0]])
    assert value(Ridge(2.0), M) == pytest.approx(25.0)


def test_stored_entries_cost_no_table_of_rows_and_labels(monkeypatch):
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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_narrow_column_far_from_zero_is_centred_beside_a_wide_one(dtype):
    rng = np.random.default_rng(0)
    X = np.column_stack([1e4 * rng.normal(size=500), 100 + 0.01 * rng.normal(size=500)])
    known = PartialLabels.from_array(rng.integers(2, size=(500, 1)).astype(float))
    loss = MaskedSquaredLoss.of(X.astype(dtype), known, fit_intercept=True)
    assert loss.spread.scatter[1, 1] == pytest.approx(X.astype(dtype)[:, 1].var(), rel=1e-3)


def test_hidden_entries_cancel_the_background_in_single_precision():
    n = 2000
    hidden = np.arange(4, n)
    known = PartialLabels.from_entries(
        [0, 0], [0, 1], [True, True], shape=(n, 2), unlisted_weight=0.7
    ).with_hidden(hidden, np.zeros(len(hidden), dtype=int))
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    loss = MaskedSquaredLoss.of(X, known, fit_intercept=True)
    assert loss.spread.weight[0] == pytest.approx(1 + 3 * 0.7, rel=1e-6)
    assert loss.spread.least == 0
