"""Kernel ridge regression against scikit-learn's, least squares and a direct solve."""

import numpy as np
import pytest
from sklearn import kernel_ridge
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from toys import forms_of_knowledge, low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, keep_presences
from tagloom.models import KernelRidge, LeastSquares
from tagloom.models import kernel_ridge as solvers
from tagloom.models.kernels import Kernel

TOY = low_rank_toy()
TRUTH = PartialLabels.from_array(TOY.truth)
KNOWN = forms_of_knowledge(TOY) | {
    "one form of absence": keep_presences(TRUTH, 0.5, unlisted="absent", random_state=0),
    "tag lists, mostly gaps": keep_presences(TRUTH, 0.5, unlisted=0.5, random_state=0).with_hidden(
        np.arange(100), np.zeros(100, dtype=int)
    ),
}
every_form = pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
with_and_without_intercept = pytest.mark.parametrize("fit_intercept", [True, False])


def solved_directly(K, known, ridge, fit_intercept):
    """Solve the stationary equations of every label alone, with the intercept as one more row."""
    scores = np.empty(known.shape)
    states, weights = known.states(), known.weights()
    for j in range(known.n_labels):
        rows = np.flatnonzero(states[:, j] != -1)
        n = len(rows)
        system = np.zeros((n + 1, n + 1))
        system[:n, :n] = K[np.ix_(rows, rows)] + ridge * np.diag(1 / weights[rows, j])
        system[:n, n] = system[n, :n] = 1.0 if fit_intercept else 0.0
        system[n, n] = 0.0 if fit_intercept else 1.0
        solution = np.linalg.solve(system, np.append(states[rows, j] == 1, 0.0))
        scores[:, j] = K[:, rows] @ solution[:n] + solution[n]
    return scores


@with_and_without_intercept
@every_form
def test_agrees_with_a_direct_solve(known, fit_intercept):
    model = KernelRidge(ridge=0.2, gamma=0.1, fit_intercept=fit_intercept).fit(TOY.X, known)
    expected = solved_directly(rbf_kernel(TOY.X, gamma=0.1), known, 0.2, fit_intercept)
    np.testing.assert_allclose(model.scores(TOY.X), expected, atol=1e-9)


def test_agrees_with_scikit_learn_on_complete_labels():
    for kernel in ("rbf", "linear"):
        ours = KernelRidge(kernel, ridge=0.4, gamma=1.0, fit_intercept=False)
        theirs = kernel_ridge.KernelRidge(kernel=kernel, alpha=0.4, gamma=1.0)
        X = TOY.X / 3
        expected = theirs.fit(X[:60], TOY.truth[:60]).predict(X[60:])
        np.testing.assert_allclose(
            ours.fit(X[:60], TOY.truth[:60]).scores(X[60:]), expected, atol=1e-9
        )


@with_and_without_intercept
@every_form
def test_the_linear_kernel_is_least_squares(known, fit_intercept):
    kernel = KernelRidge("linear", gamma=1.0, ridge=0.7, fit_intercept=fit_intercept)
    linear = LeastSquares(ridge=0.7, fit_intercept=fit_intercept)
    expected = linear.fit(TOY.X, known).scores(TOY.X)
    np.testing.assert_allclose(kernel.fit(TOY.X, known).scores(TOY.X), expected, atol=1e-9)


@every_form
def test_with_every_item_a_landmark_nystroem_is_exact(known):
    kernel = Kernel.of(TOY.X, "rbf")
    problem = solvers.NystroemProblem(kernel, TOY.X, known, True, None, landmarks=TOY.X)
    ((A, b),) = problem.solutions([0.3])
    expected = KernelRidge(ridge=0.3).fit(TOY.X, known).scores(TOY.X)
    np.testing.assert_allclose(kernel(TOY.X, TOY.X) @ A + b, expected, atol=1e-7)


def test_the_laplacian_kernel_is_that_of_the_euclidean_norm():
    model = KernelRidge("laplacian", gamma=0.5, ridge=0.2).fit(TOY.X, TOY.known)
    distances = np.sqrt(((TOY.X[:, None] - TOY.X[None]) ** 2).sum(axis=2))
    expected = solved_directly(np.exp(-0.5 * distances), TOY.known, 0.2, fit_intercept=True)
    np.testing.assert_allclose(model.scores(TOY.X), expected, atol=1e-6)


@pytest.mark.parametrize(("kernel", "power"), [("rbf", 2), ("linear", 2), ("laplacian", 1)])
def test_the_bandwidth_is_in_units_of_the_median_squared_distance(kernel, power):
    X = np.array([[0.0], [1.0], [4.0]])  # squared distances 1, 9, 16
    model = KernelRidge(kernel, bandwidth=4.0).fit(X, [[0], [1], [1]])
    assert model.gamma_ == pytest.approx((4.0 * 9.0) ** (-power / 2))


def test_items_that_are_all_alike_have_some_bandwidth():
    model = KernelRidge().fit(np.ones((4, 2)), [[0], [1], [1], [1]])
    np.testing.assert_allclose(model.scores(np.ones((1, 2))), 0.75)


# Strengths in no order, one twice, and one that rounding swallows.
PATH = [{"ridge": ridge} for ridge in (0.7, 20.0, 1e-300, 0.7, 3)]


@pytest.mark.parametrize("n_components", [None, 30])
@with_and_without_intercept
@every_form
def test_ridges_solved_jointly_have_the_bits_of_fits_alone(known, fit_intercept, n_components):
    model = KernelRidge(fit_intercept=fit_intercept, n_components=n_components)
    for params, fitted in zip(PATH, model.fit_path(PATH, TOY.X, known, {}), strict=True):
        alone = clone(model).set_params(**params).fit(TOY.X, known)
        assert fitted.get_params() == alone.get_params()
        for name in ("dual_coef_", "intercept_", "landmarks_"):
            np.testing.assert_array_equal(getattr(fitted, name), getattr(alone, name))
        np.testing.assert_allclose(fitted.training_scores(TOY.X), alone.scores(TOY.X), atol=1e-8)


@every_form
def test_same_bits_whatever_the_number_of_threads(known):
    one, two = (KernelRidge(n_jobs=n).fit(TOY.X, known) for n in (None, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


def test_the_kernel_of_a_path_is_not_used_for_other_rows():
    (fitted,) = KernelRidge().fit_path(PATH[:1], TOY.X, TOY.known, {})
    expected = KernelRidge(ridge=0.7).fit(TOY.X, TOY.known).scores(2 * TOY.X)
    steps = KernelRidge().fit_path(PATH[:2], TOY.X, TOY.known, {})
    np.testing.assert_array_equal(next(steps).scores(2 * TOY.X), expected)
    np.testing.assert_array_equal(fitted.scores(2 * TOY.X), expected)


def test_a_model_keeps_its_items_when_x_changes():
    X = TOY.X.copy()
    model = KernelRidge().fit(X, TOY.truth)
    before = model.scores(TOY.X)
    X[:] = 0
    np.testing.assert_array_equal(model.scores(TOY.X), before)


def test_many_items_have_landmarks(monkeypatch):
    monkeypatch.setattr(solvers, "MOST_ITEMS", 100)
    monkeypatch.setattr(solvers, "_N_LANDMARKS", 40)
    assert len(KernelRidge().fit(TOY.X, TOY.truth).landmarks_) == 40
    assert len(KernelRidge().fit(TOY.X[:90], TOY.truth[:90]).landmarks_) == 90


@pytest.mark.parametrize(
    ("name", "value"),
    [("kernel", "poly"), ("ridge", 0.0), ("gamma", -1.0), ("bandwidth", 0), ("n_components", 0)],
)
def test_parameters_that_make_no_sense_are_refused(name, value):
    with pytest.raises(InvalidInputError, match=f"The '{name}' parameter of KernelRidge must be"):
        KernelRidge(**{name: value}).fit(TOY.X, TOY.known)
