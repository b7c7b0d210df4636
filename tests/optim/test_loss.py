"""The loss against finite differences and against its definition in the paper."""

import numpy as np
import pytest
from problems import numerical_gradient, random_problem, some_M
from scipy.sparse import csr_array

from tagloom.graph import laplacian
from tagloom.labels import PartialLabels
from tagloom.optim import (
    SOLVERS,
    InMemoryRows,
    InstanceLaplacian,
    LabelLaplacian,
    MaskedSquaredLoss,
    Objective,
    SparseRows,
)


@pytest.mark.parametrize("seed", range(16))
def test_loss_gradient_matches_finite_differences(seed):
    problem = random_problem(seed)
    loss = MaskedSquaredLoss.of(problem.X, problem.known, fit_intercept=problem.fit_intercept)
    M = some_M(problem)
    np.testing.assert_allclose(loss.gradient(M), numerical_gradient(loss.value, M), atol=1e-6)


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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_narrow_column_far_from_zero_is_centred_beside_a_wide_one(dtype):
    rng = np.random.default_rng(0)
    X = np.column_stack([1e4 * rng.normal(size=500), 100 + 0.01 * rng.normal(size=500)])
    known = PartialLabels.from_array(rng.integers(2, size=(500, 1)).astype(float))
    loss = MaskedSquaredLoss.of(X.astype(dtype), known, fit_intercept=True)
    assert loss.curvature.scatter[1, 1] == pytest.approx(X.astype(dtype)[:, 1].var(), rel=1e-3)


def test_a_preconditioner_from_a_sample_of_the_rows_leads_to_the_same_optimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4)) * [1, 10, 0.1, 3] + [0, 50, 0, 1]
    Y = np.where(rng.uniform(size=(2000, 3)) < 0.5, np.nan, rng.integers(2, size=(2000, 3)))
    known, centre = PartialLabels.from_array(Y), X.mean(axis=0)
    found = []
    for sketch in (False, True):
        rows = InMemoryRows(X, known, centre, sketch=sketch)
        loss = MaskedSquaredLoss(rows, fit_intercept=True)
        found.append((rows.sums().second_moments, Objective(loss, 5.0)))
    (exact, objective), (sampled, sketched) = found
    np.testing.assert_allclose(exact, (X - centre).T @ (X - centre), rtol=1e-10, atol=1e-9)
    assert not np.allclose(sampled, exact, rtol=1e-3)
    np.testing.assert_allclose(sampled.diagonal(), exact.diagonal(), rtol=0.5)
    best, other = (SOLVERS["admm"].solve(F, tol=1e-8, max_iter=1000) for F in (objective, sketched))
    assert other.converged
    assert other.objective == pytest.approx(best.objective, rel=1e-7)


def test_no_sample_stands_for_moments_that_the_loss_itself_needs():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2000, 4)), rng.integers(2, size=(2000, 3)).astype(float)
    sums = InMemoryRows(X, PartialLabels.from_array(Y), sketch=True).sums()
    np.testing.assert_allclose(sums.second_moments, X.T @ X, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(sums.total, X.sum(axis=0), atol=1e-9)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_have_the_sums_of_dense_ones(seed, dtype):
    problem = random_problem(seed)
    X = np.where(problem.X > 0, problem.X, 0)
    dense, stored = InMemoryRows(X, problem.known), SparseRows(csr_array(X), problem.known)
    for name, expected in vars(dense.sums()).items():
        np.testing.assert_allclose(vars(stored.sums())[name], expected, atol=1e-12)
    M, rtol = some_M(problem).astype(dtype), 1e-4 if dtype == np.float32 else 1e-12
    if dtype == np.float32:
        dense, stored = dense.in_single_precision(), stored.in_single_precision()
    expected, found = dense.products(M), stored.products(M)
    assert found.features.dtype == expected.features.dtype == dtype
    np.testing.assert_allclose(found.features, expected.features, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(found.total, expected.total, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("seed", range(8))
def test_terms_on_graphs_take_sparse_rows(seed):
    problem = random_problem(seed)
    M, L_s, L_t = some_M(problem), laplacian(problem.W_s), laplacian(problem.W_t)
    for kind, L in ((InstanceLaplacian, L_s), (LabelLaplacian, L_t)):
        expected = kind(0.3, problem.X, L).gradient(M)
        found = kind(0.3, csr_array(problem.X), L).gradient(M)
        np.testing.assert_allclose(found, expected, atol=1e-10)
