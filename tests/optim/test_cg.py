"""Ridge regression side by side, against the normal equations of each label."""

import numpy as np
import pytest

from tagloom.labels import PartialLabels, hide_per_class
from tagloom.optim import MaskedSquaredLoss
from tagloom.optim.solvers.cg import RidgeSolver

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 12)) * np.geomspace(1, 0.01, 12) + 2
Y = (X @ RNG.normal(size=(12, 5)) > 1).astype(float)


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 100.0])
def test_the_normal_equations_hold(ridge):
    known = hide_per_class(PartialLabels.from_array(Y), 0.6, 1)
    loss = MaskedSquaredLoss.of(X, known, fit_intercept=True)
    found = RidgeSolver(loss).solve(-loss.gradient_at_zero, ridge, tol=1e-12, max_iter=500)
    assert found.converged
    table = known.to_array()
    for j in range(5):
        at = ~np.isnan(table[:, j])
        A, y = X[at] - X[at].mean(axis=0), table[at, j] - table[at, j].mean()
        m = np.linalg.solve(A.T @ A + ridge * np.eye(12), A.T @ y)
        np.testing.assert_allclose(found.M[:, j], m, rtol=1e-6, atol=1e-9)


def test_labels_known_everywhere_take_one_iteration():
    loss = MaskedSquaredLoss.of(X, PartialLabels.from_array(Y), fit_intercept=True)
    found = RidgeSolver(loss).solve(-loss.gradient_at_zero, 0.1, tol=1e-9, max_iter=5)
    assert found.converged
    assert found.n_iter == 1


def test_too_few_iterations_are_admitted():
    known = hide_per_class(PartialLabels.from_array(Y), 0.3, 1)
    loss = MaskedSquaredLoss.of(X, known, fit_intercept=True)
    found = RidgeSolver(loss).solve(-loss.gradient_at_zero, 1e-6, tol=1e-12, max_iter=2)
    assert not found.converged
    assert found.n_iter == 2
