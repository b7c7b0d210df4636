"""What a solver claims, against the objective as it is written and an independent solver.

A certificate says: no M has an objective below (1 - gap) F. The M that CVXPY finds may not have one
either, however accurate it is.
"""

import math

import numpy as np
import pytest
from problems import (
    Problem,
    hard_problem,
    known_at_many_rows,
    plain_value,
    random_problem,
    reference_M,
    reference_optimum,
    solve,
)

from tagloom.labels import PartialLabels
from tagloom.models import APGGraph
from tagloom.optim.objective import dual_bound, relative_gap

PRECISIONS = [np.float32, np.float64]


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("seed", range(30))
def test_no_claim_is_refuted(seed, dtype, monkeypatch):
    # Every other problem takes the path of large ones, through single precision.
    if seed % 2:
        monkeypatch.setattr("tagloom.optim.solvers.base._LARGE", 0)
    problem = in_precision(hard_problem(seed) if seed % 3 else random_problem(seed), dtype)
    objective, another_F = problem.objective(), plain_value(problem, reference_M(problem))
    for solver in ("admm", "apg"):
        for tol in (1e-2, 1e-5):
            found = solve(objective, solver, tol=tol, max_iter=500)
            assert found.M.dtype == dtype
            F = plain_value(problem, found.M)
            assert found.objective == pytest.approx(F, rel=1e-6, abs=1e-12)
            if proves_a_bound(problem):
                assert (1 - found.gap) * F <= another_F * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_every_proof_on_the_way_holds(seed, monkeypatch):
    if seed % 3 == 0:
        monkeypatch.setattr("tagloom.optim.solvers.base._LARGE", 0)
    problem = known_at_many_rows(seed)
    optimum = reference_optimum(problem)
    # 1e-6 is what single precision, in which the first lines of the history are, may be off.
    rounding = 1e-5 if seed % 3 == 0 else 1e-8
    for tol in (1e-1, 1e-2, 1e-3, 1e-5, 1e-7):
        found = solve(problem.objective(), tol=tol, max_iter=500)
        assert (1 - found.gap) * found.objective <= optimum * (1 + 1e-8)
        assert found.objective >= optimum * (1 - 1e-8)
        for line in found.history:
            if not math.isnan(line.gap):
                assert (1 - line.gap) * line.objective <= optimum * (1 + rounding)


def test_without_ridge_and_graph_more_is_proved_than_the_result_itself_proves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 60))
    X += rng.normal(size=(6, 60))[rng.integers(6, size=600)]  # clusters
    X /= np.sqrt(np.arange(1, 61))  # features of decreasing variance
    scores = X @ rng.normal(size=(60, 5)) @ rng.normal(size=(5, 30))
    Y = np.where(rng.uniform(size=scores.shape) < 0.5, scores > scores.std(), np.nan)
    problem = Problem(X, PartialLabels.from_array(Y), None, None, 0, 0, 0, 0, True)
    objective = problem.objective(lam=0.02 * problem.objective().lam_max())
    found = solve(objective, tol=1e-4)
    at_result = dual_bound(objective, found.M, objective.gradient(found.M))
    assert found.gap <= 1e-4
    assert relative_gap(found.objective, at_result) > 3 * found.gap


@pytest.mark.parametrize("solver", ["admm", "apg"])
def test_weights_from_1e_6_to_1e3_in_single_precision(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)).astype(np.float32)
    Y, W = rng.uniform(size=(40, 4)) < 0.5, 10 ** rng.uniform(-6, 3, (40, 4))
    known = PartialLabels.from_entries(
        *np.indices((40, 4)).reshape(2, -1), Y.ravel(), shape=(40, 4), weights=W.ravel()
    )
    problem = Problem(X, known, None, None, 0.0, 0.0, 0.0, 1e-3, True)
    lam = 1e-4 * problem.objective().lam_max()
    found = solve(problem.objective(lam=lam), solver, tol=1e-5, max_iter=5000)
    double = in_precision(problem, np.float64).objective(lam=lam)
    best = solve(double, solver, tol=1e-9, max_iter=20_000)
    assert found.converged
    assert found.objective == pytest.approx(double.value(found.M.astype(float)), rel=1e-9)
    assert best.objective >= (1 - found.gap) * found.objective * (1 - 1e-8)


def test_a_certificate_is_that_of_the_rounded_coefficients():
    problem = random_problem(8)
    X = problem.X.astype(np.float32)
    with pytest.warns(UserWarning, match="pass X as float64"):
        model = APGGraph(lam=problem.lam, tol=1e-13, max_iter=20_000).fit(X, problem.known)
    assert model.n_iter_ < 20_000
    assert model.gap_ > 1e-13


def test_a_bound_that_overflowed_proves_nothing():
    assert relative_gap(1.0, math.nan) == math.inf


def in_precision(problem: Problem, dtype) -> Problem:
    return Problem(**{**problem.__dict__, "X": problem.X.astype(np.float32).astype(dtype)})


def proves_a_bound(problem: Problem) -> bool:
    """Without penalties, `gap` is the relative norm of the gradient."""
    return problem.lam > 0 or problem.objective().inverse_curvature_root is not None
