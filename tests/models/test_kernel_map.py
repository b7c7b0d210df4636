"""Kernel features against the kernel itself, and a linear model of them against kernel ridge."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RationalQuadratic
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from toys import low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.models import LeastSquares, SemanticDiffusion
from tagloom.models.base import effective_variance
from tagloom.models.kernels import Kernel, KernelMap, median_squared_distance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
NEW = RNG.normal(size=(7, 4))


def mapped(rows, bandwidth, n_landmarks, kernel="rbf"):
    """Return the features of a kernel."""
    return KernelMap.of(Kernel.of(rows, kernel, bandwidth=bandwidth), rows, n_landmarks, 0)


with_every_kernel = pytest.mark.parametrize("kernel", ["rbf", "rational_quadratic"])


TOY = low_rank_toy(n=60, d=4, c=3)


def test_inner_products_of_the_features_are_the_kernel():
    kernel_map = mapped(X, 0.7, 60)
    gamma = 1 / (0.7 * median_squared_distance(X))
    Z, z = kernel_map(X), kernel_map(NEW)
    assert np.allclose(Z @ Z.T, rbf_kernel(X, X, gamma), atol=1e-5)
    assert np.allclose(Z @ z.T, rbf_kernel(X, NEW, gamma), atol=1e-5)


def test_fewer_landmarks_approximate_the_kernel():
    exact = rbf_kernel(X, X, 1 / (4 * median_squared_distance(X)))
    errors = []
    for n_landmarks in (5, 20, 40):
        Z = mapped(X, 4.0, n_landmarks)(X)
        errors.append(np.abs(Z @ Z.T - exact).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.05


def test_features_do_not_depend_on_how_many_rows_are_mapped_at_once(monkeypatch):
    kernel_map = mapped(X, 1.0, 30)
    whole = kernel_map(X)
    monkeypatch.setattr("tagloom.models.kernels._ENTRIES_AT_ONCE", 90)
    assert np.allclose(kernel_map(X), whole, atol=1e-12)


def test_the_variance_along_a_direction_in_which_rows_vary_by_hand():
    # tr(C^2)/tr(C): two directions of variance 4 and 1.
    square = np.array([[2.0, 1], [2, -1], [-2, 1], [-2, -1]])
    assert effective_variance(square) == pytest.approx((16 + 1) / (4 + 1))


def test_median_distance_by_hand():
    assert median_squared_distance(np.array([[0.0], [1.0], [3.0]])) == 4.0
    assert median_squared_distance(np.zeros((5, 2))) == 1.0
    assert median_squared_distance(np.zeros((1, 2))) == 1.0


def test_repeated_rows_add_no_direction():
    projection = mapped(np.repeat(X[:5], 4, axis=0), 1.0, 20).projection
    assert np.linalg.matrix_rank(projection) == 5


def test_ridge_on_kernel_features_is_kernel_ridge():
    y = (X[:, 0] * X[:, 1] > 0).astype(float)
    kernel_map = mapped(X, 1.0, 60)
    ours = LeastSquares(0.3, fit_intercept=False).fit(kernel_map(X), y[:, None])
    theirs = KernelRidge(alpha=0.3, kernel="rbf", gamma=1 / median_squared_distance(X)).fit(X, y)
    assert np.allclose(ours.scores(kernel_map(NEW))[:, 0], theirs.predict(NEW), atol=1e-4)


def test_the_rational_quadratic_kernel_is_that_of_gaussian_processes():
    kernel = Kernel.of(X, "rational_quadratic", gamma=0.3)
    expected = RationalQuadratic(length_scale=np.sqrt(1 / 0.6), alpha=1.0)(X, NEW)
    assert np.allclose(kernel(X, NEW), expected)


@with_every_kernel
@pytest.mark.parametrize("origin", [np.zeros(4), X.mean(axis=0)], ids=["zero", "mean"])
def test_attribution_explains_the_whole_difference_to_the_origin(origin, kernel):
    kernel_map = mapped(X, 1.0, 60, kernel)
    M, b = RNG.normal(size=(kernel_map.projection.shape[1], 2)), np.array([0.1, -0.2])
    M_x, b_x = kernel_map.attribution(NEW[0], origin, M, b)
    f, f_0 = kernel_map(np.stack([NEW[0], origin])) @ M + b
    assert np.allclose(NEW[0] @ M_x + b_x, f)
    assert np.allclose((NEW[0] - origin) @ M_x, f - f_0, atol=1e-5)


@with_every_kernel
def test_a_kernel_learns_what_no_linear_model_can(kernel):
    signs = (X[:, 0] * X[:, 1] > 0).astype(float)[:, None]
    known = PartialLabels.from_array(signs)
    plain = {"ridge": 0.01, "shrinkage": np.inf, "smoothing": 0.0}
    linear = SemanticDiffusion(**plain).fit(X, known).score(X, signs)
    curved = SemanticDiffusion(**plain, kernel=kernel).fit(X, known).score(X, signs)
    assert linear < 0.8 < 0.99 < curved


def test_landmarks_depend_on_the_random_state_alone():
    model = SemanticDiffusion(kernel="rbf", n_components=10)
    first, again = (model.fit(TOY.X, TOY.known).training_scores_ for _ in range(2))
    assert np.array_equal(first, again)
    other = SemanticDiffusion(kernel="rbf", n_components=10, random_state=1).fit(TOY.X, TOY.known)
    assert not np.array_equal(first, other.training_scores_)


@pytest.mark.parametrize(
    "wrong", [{"kernel": "poly"}, {"bandwidth": 0}, {"n_components": 0}, {"random_state": -1}]
)
def test_wrong_parameters_are_named(wrong):
    (name,) = wrong
    with pytest.raises(InvalidInputError, match=f"The '{name}' parameter of SemanticDiffusion"):
        SemanticDiffusion(**wrong).fit(TOY.X, TOY.known)
