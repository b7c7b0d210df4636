"""The solvers against CVXPY, against each other and against closed forms."""

from itertools import pairwise

import numpy as np
import pytest
from problems import (
    Problem,
    known_at_many_rows,
    plain_value,
    random_graph,
    random_labels,
    random_problem,
    reference_optimum,
    solve,
)

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.linalg import nuclear_norm

SEEDS = range(48)


@pytest.mark.parametrize("seed", SEEDS)
def test_reaches_the_optimum_that_cvxpy_finds(seed):
    problem = random_problem(seed)
    objective = problem.objective()
    reference = reference_optimum(problem)
    for solver in ("admm", "apg"):
        solution = solve(objective, solver, tol=1e-8, max_iter=20_000)
        assert solution.converged
        assert objective.value(solution.M) == pytest.approx(reference, rel=1e-6, abs=1e-9)
        assert solution.objective == pytest.approx(objective.value(solution.M), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_reaches_the_optimum_where_labels_are_known_at_many_rows(seed, monkeypatch):
    if seed % 3 == 0:  # the path of large problems, through single precision
        monkeypatch.setattr("tagloom.optim.solvers.base._LARGE", 0)
    problem = known_at_many_rows(seed)
    solution = solve(problem.objective(), tol=1e-8, max_iter=20_000)
    assert solution.converged
    assert plain_value(problem, solution.M) == pytest.approx(reference_optimum(problem), rel=1e-6)


@pytest.mark.parametrize("seed", [1, 2, 8])
def test_the_same_input_gives_the_same_bits(seed):
    first, second = (solve(known_at_many_rows(seed).objective(), tol=1e-6) for _ in range(2))
    assert np.array_equal(first.M, second.M)
    assert first.gap == second.gap


@pytest.mark.parametrize("seed", [2, 3, 8, 16, 28])
def test_paper_algorithm_reaches_the_same_optimum(seed):
    objective = random_problem(seed).objective()
    ours = solve(objective, tol=1e-9, max_iter=20_000)
    # The paper's rule ends at the first rise of F, which momentum makes early: let it go on.
    paper = solve(objective, "paper", tol=-1.0, max_iter=3000)
    assert paper.objective == pytest.approx(ours.objective, rel=1e-5)
    assert paper.objective >= ours.objective * (1 - 1e-8)


def test_paper_algorithm_stops_at_its_relative_decrease():
    solution = solve(random_problem(8).objective(), "paper", tol=1e-3, max_iter=1000)
    values = [line.objective for line in solution.history]
    assert solution.converged
    assert values[-1] > (1 - 1e-3) * values[-2]
    assert all(after <= (1 - 1e-3) * before for before, after in pairwise(values[:-1]))
    assert np.isnan(solution.gap)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("background", [0.0, 0.3])
def test_without_nuclear_norm_and_graph_it_is_ridge_label_by_label(fit_intercept, background):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 6)) + 2
    known = random_labels(rng, 30, 4, 0.5, weighted=True, background=background)
    problem = Problem(
        X, known, random_graph(rng, 30), random_graph(rng, 4), 0.0, 0.0, 0.0, 0.8, fit_intercept
    )
    objective = problem.objective()
    M = solve(objective, tol=1e-12, max_iter=1000).M
    b = objective.loss.intercept(M)
    W, Y = known.weights(), known.states() == 1
    design = np.column_stack([X, np.ones(30)]) if fit_intercept else X
    penalty = np.diag([0.8] * 6 + [0.0] * fit_intercept)
    for j in range(4):
        weighted = design * W[:, [j]]
        expected = np.linalg.solve(design.T @ weighted + penalty, weighted.T @ Y[:, j])
        np.testing.assert_allclose(M[:, j], expected[:6], atol=1e-6)
        np.testing.assert_allclose(b[j], expected[6] if fit_intercept else 0.0, atol=1e-6)


def test_without_any_penalty_it_is_least_squares_of_least_norm():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(5, 9))
    known = PartialLabels.from_array((rng.uniform(size=(5, 2)) < 0.5).astype(float))
    problem = Problem(X, known, None, None, 0.0, 0.0, 0.0, 0.0, False)
    M = solve(problem.objective(), tol=1e-10).M
    np.testing.assert_allclose(M, np.linalg.pinv(X) @ known.to_array(), atol=1e-7)


@pytest.mark.parametrize("seed", [2, 8, 16, 32])
def test_without_graph_and_ridge_it_is_maxide(seed):
    problem = random_problem(seed)
    objective = problem.objective(gamma=0.0, gamma_labels=0.0, ridge=0.0)
    M = solve(objective, tol=1e-8).M
    W, Y = problem.known.weights(), problem.known.states() == 1
    residual = problem.X @ M + objective.loss.intercept(M) - Y
    maxide = problem.lam * nuclear_norm(M) + 0.5 * np.sum(W * residual**2)
    assert objective.value(M) == pytest.approx(maxide, rel=1e-10)


def test_warm_start_at_the_solution_is_recognised_at_once():
    objective = random_problem(8).objective()
    first = solve(objective, tol=1e-6)
    again = solve(objective, start=first.M, tol=1e-5)
    assert len(again.history) == 1
    assert len(first.history) > 1


def test_single_precision_certifies_1e_4():
    problem = random_problem(8)
    single = Problem(**{**problem.__dict__, "X": problem.X.astype(np.float32)}).objective()
    solution = solve(single, tol=1e-4)
    assert solution.M.dtype == np.float32
    assert solution.converged
    exact = solve(problem.objective(), tol=1e-9, max_iter=5000).objective
    assert problem.objective().value(solution.M.astype(float)) <= exact * (1 + 2e-4)


@pytest.mark.parametrize("solver", ["admm", "apg", "paper"])
def test_callback_sees_every_iteration_and_can_stop(solver):
    seen = []

    def stop_at_third(line, M):
        seen.append((line.iteration, M.shape))
        return line.iteration == 3

    objective = random_problem(8).objective()
    solution = solve(objective, solver, tol=0.0, callback=stop_at_third)
    assert seen == [(1, objective.shape), (2, objective.shape), (3, objective.shape)]
    assert len(solution.history) == 3
    assert not solution.converged


def test_history_records_objective_rank_step_and_time():
    objective = random_problem(8).objective()
    solution = solve(objective, tol=1e-6)
    last = solution.history[-1]
    assert last.objective == pytest.approx(objective.value(solution.M), rel=1e-8)
    assert last.rank == np.linalg.matrix_rank(solution.M)
    assert last.gap <= 1e-6
    assert last.step > 0
    seconds = [line.seconds for line in solution.history]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("seed", [2, 8, 13, 28])
def test_start_in_single_precision_ends_in_double(seed, monkeypatch):
    monkeypatch.setattr("tagloom.optim.solvers.base._LARGE", 0)
    objective = random_problem(seed).objective()
    solution = solve(objective, tol=1e-8, max_iter=20_000)
    assert solution.M.dtype == np.float64
    assert solution.converged
    reference = reference_optimum(random_problem(seed))
    assert objective.value(solution.M) == pytest.approx(reference, rel=1e-6)
    iterations = [line.iteration for line in solution.history]
    assert iterations == list(range(1, len(iterations) + 1))


def test_max_iter_holds_in_mixed_precision(monkeypatch):
    monkeypatch.setattr("tagloom.optim.solvers.base._LARGE", 0)
    solution = solve(random_problem(8).objective(), tol=1e-12, max_iter=7)
    assert len(solution.history) == 7
    assert solution.M.dtype == np.float64


def test_objective_falls_from_restart_to_restart():
    # Momentum may lift F for a while, never above where it stood ten iterations before the end.
    solution = solve(random_problem(8).objective(), "apg", tol=1e-10, max_iter=5000)
    values = [line.objective for line in solution.history]
    assert values[-1] == pytest.approx(min(values), rel=1e-9)


@pytest.mark.parametrize("offset", [0.0, 100.0, 3000.0])
@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_columns_far_from_zero_change_nothing(offset, lam):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    known = random_labels(rng, 60, 4, 0.6, weighted=False, background=0.0)
    graph = random_graph(rng, 60)
    near = Problem(X, known, graph, None, lam, 0.1, 0.0, 0.5, True)
    far = Problem(X + offset, known, graph, None, lam, 0.1, 0.0, 0.5, True)
    expected = solve(near.objective(), tol=1e-9, max_iter=5000)
    found = solve(far.objective(), tol=1e-7, max_iter=5000)
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-6)
    np.testing.assert_allclose(found.M, expected.M, atol=1e-3)
    scores = near.X @ expected.M + near.objective().loss.intercept(expected.M)
    shifted = far.X @ found.M + far.objective().loss.intercept(found.M)
    np.testing.assert_allclose(shifted, scores, atol=1e-3)


@pytest.mark.parametrize("lam", [0.0, 1e-3])
@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1e3])
def test_small_and_large_features_in_single_precision(scale, lam):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    known = random_labels(rng, 60, 4, 0.8, weighted=False, background=0.0)
    # On sX the solution is M / s; lambda s makes it the same problem in other units.
    unit = Problem(X, known, None, None, lam, 0.0, 0.0, 0.0, True)
    scaled_X = (X * scale).astype(np.float32)
    scaled = Problem(scaled_X, known, None, None, lam * scale, 0.0, 0.0, 0.0, True)
    expected = solve(unit.objective(), tol=1e-7, max_iter=5000)
    found = solve(scaled.objective(), tol=1e-4, max_iter=5000)
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-3)


@pytest.mark.parametrize(("scale", "message"), [(1e20, "too large"), (1e-25, "too small")])
def test_features_beyond_the_precision_are_refused(scale, message):
    rng = np.random.default_rng(0)
    X = (scale * rng.normal(size=(20, 3))).astype(np.float32)
    known = random_labels(rng, 20, 3, 0.8, weighted=False, background=0.0)
    problem = Problem(X, known, None, None, 1.0, 0.0, 0.0, 0.0, False)
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(InvalidInputError, match=message),
    ):
        solve(problem.objective())


def test_huge_lam_gives_zero():
    assert not solve(random_problem(8).objective(lam=1e200)).M.any()


def test_callback_can_stop_in_single_precision(monkeypatch):
    monkeypatch.setattr("tagloom.optim.solvers.base._LARGE", 0)
    calls = []
    solution = solve(
        random_problem(8).objective(), tol=0.0, callback=lambda line, M: calls.append(line) or True
    )
    assert len(calls) == len(solution.history) == 1
    assert not solution.converged


def badly_scaled(kind):
    """Features on which one scale of curvature does not serve."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 100) if kind == "wide" else (60, 20))
    if kind == "most tiny":
        X[:, :12] *= 1e-5
    if kind == "one huge":
        X[:, 0] *= 1e4
    if kind == "far":
        X += 1000
    Y = (X @ rng.normal(size=(X.shape[1], 5)) > 0).astype(float)
    return Problem(X, PartialLabels.from_array(Y), None, None, 0, 0, 0, 0, kind != "far")


@pytest.mark.parametrize("share", [0.1, 0.01])
@pytest.mark.parametrize("kind", ["wide", "most tiny", "one huge", "far"])
def test_badly_scaled_features_are_solved(kind, share):
    problem = badly_scaled(kind)
    lam = share * problem.objective().lam_max()
    found = solve(problem.objective(lam=lam), tol=1e-3, max_iter=300)
    assert found.converged
    expected = solve(problem.objective(lam=lam), "apg", tol=1e-6, max_iter=5000)
    assert found.objective == pytest.approx(expected.objective, rel=1e-3)


def test_labels_of_very_different_weight_are_left_to_proximal_gradients():
    rng = np.random.default_rng(0)
    n = 400
    X = rng.normal(size=(n, 12))
    Y = (X @ rng.normal(size=(12, 6)) > 0).astype(float)
    for j, n_known in enumerate([6, 12, 25, 50, 200, 400]):
        Y[n_known:, j] = np.nan
    problem = Problem(X, PartialLabels.from_array(Y), None, None, 0, 0, 0, 0.01, True)
    objective = problem.objective(lam=1e-3 * problem.objective().lam_max())
    assert solve(objective, tol=1e-4, max_iter=2000).converged


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_rank_is_that_of_single_precision_where_that_was_enough(tol, monkeypatch):
    monkeypatch.setattr("tagloom.optim.solvers.base._LARGE", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    Y = (X @ rng.normal(size=(12, 3)) @ rng.normal(size=(3, 10)) > 0).astype(float)
    problem = Problem(X, PartialLabels.from_array(Y), None, None, 0, 0, 0, 0.1, True)
    objective = problem.objective(lam=0.4 * problem.objective().lam_max())
    exact = solve(objective, "apg", tol=1e-9, max_iter=5000)
    assert solve(objective, tol=tol).rank <= exact.rank + 1 < 10


@pytest.mark.parametrize("scale", [1e25, 1e-25])
def test_features_that_only_double_precision_can_hold(scale, monkeypatch):
    monkeypatch.setattr("tagloom.optim.solvers.base._LARGE", 0)
    problem = random_problem(8)
    scaled = Problem(**{**problem.__dict__, "X": scale * problem.X, "lam": scale * problem.lam})
    plain = solve(problem.objective(gamma=0, gamma_labels=0, ridge=0), tol=1e-4)
    found = solve(scaled.objective(gamma=0, gamma_labels=0, ridge=0), tol=1e-4)
    assert found.objective == pytest.approx(plain.objective, rel=1e-3)


@pytest.mark.parametrize("solver", ["admm", "apg"])
def test_lam_of_double_precision_keeps_matrices_in_single_precision(solver):
    problem = random_problem(8)
    single = Problem(**{**problem.__dict__, "X": problem.X.astype(np.float32)})
    objective = single.objective(lam=np.float64(1e-6) * single.objective().lam_max())
    assert solve(objective, solver, tol=1e-2, max_iter=50).M.dtype == np.float32


def test_a_warm_start_is_reset_for_labels_without_known_entries():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    Y = (rng.uniform(size=(30, 3)) < 0.5).astype(float)
    Y[:, 0] = np.nan
    problem = Problem(X, PartialLabels.from_array(Y), None, None, 0.1, 0, 0, 0.1, True)
    assert not solve(problem.objective(), start=np.ones((4, 3))).M[:, 0].any()
