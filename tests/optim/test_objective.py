"""The objective: its penalties against the paper, its gradient, its lower bounds."""

import math

import numpy as np
import pytest
from problems import numerical_gradient, random_problem, solve, some_M

from tagloom.graph import laplacian
from tagloom.linalg import inner
from tagloom.optim import InstanceLaplacian, LabelLaplacian, Ridge, dual_bound
from tagloom.optim.objective import relative_gap

SEEDS = range(48)


def value(term, M):
    """Return q(M) = 1/2 <M, HM> of a quadratic term."""
    return inner(M, term.gradient(M)) / 2


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


def test_instance_laplacian_sums_squared_differences_over_edges():
    problem = random_problem(3)
    X, W, M = problem.X, problem.W_s.toarray(), some_M(problem)
    scores = X @ M
    n = len(X)
    # The paper sums over ordered pairs, which counts each edge twice; the trace counts it once.
    pairs = sum(W[i, j] * np.sum((scores[i] - scores[j]) ** 2) for i in range(n) for j in range(n))
    term = InstanceLaplacian(0.7, X, laplacian(problem.W_s))
    assert value(term, M) == pytest.approx(0.7 * pairs / 2, rel=1e-12)


@pytest.mark.parametrize("many_labels", [2, 2_000])
def test_label_laplacian_sums_squared_differences_over_edges(many_labels, monkeypatch):
    monkeypatch.setattr("tagloom.optim.objective._MANY_LABELS", many_labels)
    monkeypatch.setattr("tagloom.optim.objective._FEW_EDGES", 2.0)
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


@pytest.mark.parametrize("seed", SEEDS)
def test_dual_bound_never_exceeds_the_optimum(seed):
    problem = random_problem(seed)
    objective = problem.objective()
    best = solve(objective, tol=1e-9, max_iter=20_000).objective
    rng = np.random.default_rng(seed)
    for scale in (0.0, 0.01, 0.1, 1.0):
        M = scale * rng.normal(size=objective.shape)
        assert dual_bound(objective, M, objective.gradient(M)) <= best + 1e-8 * (1 + best)


def test_a_negative_objective_proves_nothing():
    assert relative_gap(-1.0, -2.0) == math.inf
    assert relative_gap(0.0, 0.0) == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_lam_max_is_exact(seed):
    problem = random_problem(seed)
    lam_max = problem.objective().lam_max()
    above = solve(problem.objective(lam=lam_max * (1 + 1e-9)), tol=1e-10, max_iter=5000)
    below = solve(problem.objective(lam=lam_max * (1 - 1e-3)), tol=1e-10, max_iter=5000)
    assert not above.M.any()
    assert below.M.any()
