"""Least squares against scikit-learn's ridge regression and a dense solve."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from toys import low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, hide_per_class, keep_presences
from tagloom.models import APGGraph, LeastSquares
from tagloom.models import least_squares as weight_patterns

TOY = low_rank_toy()


def weighted(known, seed=0):
    """The same knowledge with random weights of its entries."""
    entries = known.entries()
    return PartialLabels.from_entries(
        entries.rows,
        entries.columns,
        entries.present,
        shape=known.shape,
        weights=np.random.default_rng(seed).uniform(0.1, 3.0, size=len(entries.rows)),
        unlisted_weight=known.unlisted_weight,
    ).with_hidden(*known.hidden_entries())


def by_scikit_learn(X, known, ridge, fit_intercept):
    """Fit every label alone, with scikit-learn's Ridge on the known rows."""
    states, weights = known.states(), known.weights()
    M, b = np.zeros((X.shape[1], known.n_labels)), np.zeros(known.n_labels)
    for j in range(known.n_labels):
        rows = states[:, j] != -1
        model = Ridge(alpha=ridge, fit_intercept=fit_intercept, solver="svd")
        model.fit(X[rows], states[rows, j].astype(float), sample_weight=weights[rows, j])
        M[:, j], b[j] = model.coef_, model.intercept_
    return M, b


TRUTH = PartialLabels.from_array(TOY.truth)
KNOWN = {
    "some entries": TOY.known,
    "some entries, weighted": weighted(TOY.known),
    "few entries": hide_per_class(TRUTH, 0.05, 0),
    "all entries": TRUTH,
    "tag lists": keep_presences(TRUTH, 0.5, unlisted="absent", random_state=0),
    "weighted tag lists": keep_presences(TRUTH, 0.5, unlisted=0.2, random_state=0),
    "tag lists with gaps, weighted": weighted(
        keep_presences(TRUTH, 0.5, unlisted=0.2, random_state=0).with_hidden(
            np.repeat(np.arange(20), 3), np.tile([0, 3, 5], 20)
        )
    ),
    "tag lists, mostly gaps": keep_presences(TRUTH, 0.5, unlisted=0.5, random_state=0).with_hidden(
        np.arange(100), np.zeros(100, dtype=int)
    ),
}


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_features", [10, 200], ids=["few features", "more features than rows"])
@pytest.mark.parametrize("name", KNOWN)
def test_agrees_with_scikit_learn_label_by_label(name, n_features, fit_intercept):
    rng = np.random.default_rng(0)
    X = TOY.X if n_features == 10 else rng.normal(size=(120, n_features)) + 5.0
    model = LeastSquares(ridge=0.7, fit_intercept=fit_intercept, on_unlearnable="ignore")
    model.fit(X, KNOWN[name])
    M, b = by_scikit_learn(X, KNOWN[name], 0.7, fit_intercept)
    np.testing.assert_allclose(model.coef_, M, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, b, atol=1e-8)


def test_is_the_minimum_of_its_objective():
    known = weighted(TOY.known)
    model = LeastSquares(ridge=0.7).fit(TOY.X, known)
    W, Y = known.weights(), np.nan_to_num(known.to_array())
    residual = W * (TOY.X @ model.coef_ + model.intercept_ - Y)
    np.testing.assert_allclose(TOY.X.T @ residual + 0.7 * model.coef_, 0, atol=1e-10)
    np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-10)


def test_is_the_learner_of_the_paper_without_nuclear_norm_and_graph():
    ours = LeastSquares(ridge=0.7).fit(TOY.X, TOY.known)
    paper = APGGraph(lam=0.0, ridge=0.7, tol=1e-12).fit(TOY.X, TOY.known)
    np.testing.assert_allclose(ours.coef_, paper.coef_, atol=1e-6)


def test_without_ridge_the_smallest_solution():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 9)), (rng.normal(size=(6, 2)) > 0).astype(float)
    model = LeastSquares(ridge=0.0, fit_intercept=False, on_unlearnable="ignore").fit(X, Y)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ Y, atol=1e-10)


def test_without_ridge_columns_that_are_nearly_alike_are_told_apart_in_tag_lists():
    known = KNOWN["weighted tag lists"]
    X, Z = TOY.X[:, :5], TOY.X[:, 5:]
    alike = np.hstack([X, X + 1e-8 * Z])  # in sums of squares the difference would be lost
    scores = LeastSquares(ridge=0.0).fit(alike, known).scores(alike)
    expected = LeastSquares(ridge=0.0).fit(TOY.X, known).scores(TOY.X)
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_a_ridge_that_rounding_swallows_still_gives_an_answer():
    X = np.hstack([TOY.X, TOY.X])
    model = LeastSquares(ridge=1e-300).fit(X, TOY.truth)
    single = LeastSquares(ridge=0.0).fit(TOY.X, TOY.truth)
    np.testing.assert_allclose(model.scores(X), single.scores(TOY.X), atol=1e-5)


@pytest.mark.parametrize("name", KNOWN)
def test_same_bits_whatever_the_number_of_threads(name):
    one, two = (
        LeastSquares(n_jobs=n, on_unlearnable="ignore").fit(TOY.X, KNOWN[name]) for n in (None, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


# Strengths in no order, one twice, none, and one that rounding swallows.
PATH = [{"ridge": ridge} for ridge in (0.7, 20.0, 0.0, 1e-300, 0.7, 3)]


def assert_same_fit(ours, alone):
    assert ours.get_params() == alone.get_params()
    assert ours.coef_.dtype == alone.coef_.dtype
    for name in ("coef_", "intercept_", "classes_", "learnable_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(alone, name))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_features", [10, 200], ids=["few features", "more features than rows"])
@pytest.mark.parametrize("name", KNOWN)
def test_ridges_solved_jointly_have_the_bits_of_fits_alone(name, n_features, fit_intercept, n_jobs):
    rng = np.random.default_rng(0)
    # Every column twice: a ridge that is swallowed leaves nothing that Cholesky could factorise.
    X = np.tile(rng.normal(size=(120, n_features // 2)) + 5.0, 2)
    model = LeastSquares(fit_intercept=fit_intercept, n_jobs=n_jobs, on_unlearnable="ignore")
    steps = model.fit_path(PATH, X, KNOWN[name], {})
    for params, fitted in zip(PATH, steps, strict=True):
        assert_same_fit(fitted, clone(model).set_params(**params).fit(X, KNOWN[name]))


def test_ridges_solved_jointly_keep_single_precision_and_an_unknown_label():
    X, Y = TOY.X.astype(np.float32), TOY.known.to_array()
    Y[:, 2] = np.nan
    model = LeastSquares(on_unlearnable="ignore")
    for params, fitted in zip(PATH, model.fit_path(PATH, X, Y, {}), strict=True):
        assert_same_fit(fitted, clone(model).set_params(**params).fit(X, Y))
        assert not fitted.coef_[:, 2].any()


@pytest.mark.parametrize(
    ("name", "made"), [("some entries", "RowSystem"), ("weighted tag lists", "NormalEquations")]
)
def test_the_sums_of_a_label_are_computed_once_for_all_ridges(name, made, monkeypatch):
    count = []
    kind = getattr(weight_patterns, made)
    monkeypatch.setattr(weight_patterns, made, lambda *sums: count.append(sums) or kind(*sums))
    path = [{"ridge": ridge} for ridge in (0.1, 1.0, 10.0)]
    assert len(list(LeastSquares().fit_path(path, TOY.X, KNOWN[name], {}))) == 3
    assert len(count) == TOY.truth.shape[1]


def test_paths_that_differ_in_more_than_ridge_are_fitted_one_by_one():
    path = [{"ridge": 1.0, "fit_intercept": True}, {"ridge": 2.0, "fit_intercept": False}]
    model = LeastSquares()
    for params, fitted in zip(path, model.fit_path(path, TOY.X, TOY.known, {}), strict=True):
        assert_same_fit(fitted, LeastSquares(**params).fit(TOY.X, TOY.known))


def test_a_fit_of_a_subclass_is_called():
    class Doubled(LeastSquares):
        def fit(self, X, Y):
            super().fit(X, Y)
            self.coef_ = 2 * self.coef_
            return self

    for fitted in Doubled().fit_path(PATH, TOY.X, TOY.known, {}):
        alone = LeastSquares(fitted.ridge).fit(TOY.X, TOY.known)
        np.testing.assert_array_equal(fitted.coef_, 2 * alone.coef_)


def test_an_invalid_ridge_is_refused_in_a_path():
    path = [{"ridge": 1.0}, {"ridge": -1.0}]
    with pytest.raises(InvalidInputError, match="'ridge' parameter of LeastSquares"):
        list(LeastSquares().fit_path(path, TOY.X, TOY.known, {}))


def test_a_graph_in_a_chain_is_refused_as_by_fit():
    with pytest.raises(TypeError, match="graph"):
        list(LeastSquares().fit_path(PATH, TOY.X, TOY.known, {"graph": TOY.graph}))


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_large_table_is_solved_in_blocks_as_a_small_one(name, fit_intercept, monkeypatch):
    X = TOY.X.astype(np.float32)
    prior = np.full(KNOWN[name].shape, np.nan)
    prior[:, 0] = X[:, 0]
    model = LeastSquares(0.3, fit_intercept=fit_intercept, on_unlearnable="ignore")
    whole = clone(model).fit(X, KNOWN[name], prior)
    monkeypatch.setattr(weight_patterns, "_ENTRIES_AT_ONCE", 7 * X.shape[1])
    blocks = clone(model).fit(X, KNOWN[name], prior)
    np.testing.assert_allclose(blocks.coef_, whole.coef_, atol=1e-6)
    np.testing.assert_allclose(blocks.intercept_, whole.intercept_, atol=1e-6)
    np.testing.assert_allclose(blocks.trust_, whole.trust_, atol=1e-6)


def many_patterns(unlisted_weight=0.0):
    """Labels that are all known at different rows, two of which cannot be learned."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30)) + 3
    truth = (X - 3) @ rng.normal(size=(30, 12)) > 0.5
    known = np.where(rng.random(truth.shape) < 0.3, truth.astype(float), np.nan)
    known[:, 3], known[:, 4] = np.nan, np.where(np.isnan(known[:, 4]), np.nan, 0)
    prior = np.where(truth, 0.7, 0.2) + rng.normal(size=truth.shape) / 5
    prior[:, 5:9] = np.nan
    labels = PartialLabels.from_array(known)
    if not unlisted_weight:
        return X, labels, prior
    entries = labels.entries()
    some = PartialLabels.from_entries(
        entries.rows,
        entries.columns,
        entries.present,
        shape=labels.shape,
        weights=rng.uniform(0.2, 1, len(entries.rows)),
        unlisted_weight=unlisted_weight,
    )
    return X, some.with_hidden(*np.nonzero(rng.random(labels.shape) < 0.02)), prior


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("unlisted_weight", [0.0, 0.4])
@pytest.mark.parametrize("with_prior", [False, True])
def test_labels_solved_side_by_side_get_the_solutions_of_their_normal_equations(
    monkeypatch, fit_intercept, unlisted_weight, with_prior
):
    X, known, prior = many_patterns(unlisted_weight)
    path = [{"ridge": ridge} for ridge in (0.5, 20.0)]
    found = []
    for pays in (False, True):
        monkeypatch.setattr(weight_patterns, "_conjugate_gradients_pay", lambda *_, pays=pays: pays)
        model = LeastSquares(fit_intercept=fit_intercept, prior_weight=0.7, on_unlearnable="ignore")
        given = {"prior": prior} if with_prior else {}
        found.append(
            [
                (one.coef_, one.intercept_, np.zeros(1) if one.trust_ is None else one.trust_)
                for one in model.fit_path(path, X, known, given)
            ]
        )
    for directly, side_by_side in zip(*found, strict=True):
        for a, b in zip(directly, side_by_side, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-7, atol=1e-8)


def test_many_labels_known_at_different_rows_are_solved_side_by_side(monkeypatch):
    X = np.random.default_rng(0).normal(size=(600, 300))
    known = hide_per_class(PartialLabels.from_array((X[:, :60] > 0.5).astype(float)), 0.9, 0)
    solved = []
    solve = LeastSquares._solve_side_by_side

    def counted(self, *args):
        for ridge in solve(self, *args):
            solved.append(ridge)
            yield ridge

    monkeypatch.setattr(LeastSquares, "_solve_side_by_side", counted)
    LeastSquares(ridge=0.5).fit(X, known)
    assert solved == [0.5]
    LeastSquares().fit(X, PartialLabels.from_array((X[:, :60] > 0.5).astype(float)))
    assert solved == [0.5]
    path = [{"ridge": ridge} for ridge in (3.0, 0.0, 0.5)]
    found = [one.coef_ for one in LeastSquares().fit_path(path, X, known, {})]
    assert solved == [0.5, 3.0, 0.5]
    for params, coef in zip(path, found, strict=True):
        np.testing.assert_array_equal(coef, LeastSquares(**params).fit(X, known).coef_)


def test_where_conjugate_gradients_do_not_converge_normal_equations_are_solved(monkeypatch):
    X, known, _ = many_patterns()
    expected = LeastSquares(ridge=0.5, on_unlearnable="ignore").fit(X, known)
    monkeypatch.setattr(weight_patterns, "_conjugate_gradients_pay", lambda *_: True)
    monkeypatch.setattr(weight_patterns, "_CG_MAX_ITER", 1)
    found = LeastSquares(ridge=0.5, on_unlearnable="ignore").fit(X, known)
    np.testing.assert_array_equal(found.coef_, expected.coef_)


@pytest.mark.parametrize("ridge", [1.0, 1e-5])
def test_single_precision_is_lost_in_the_rows_alone(monkeypatch, ridge):
    rng = np.random.default_rng(0)
    X = np.cos(rng.normal(size=(150, 5)) @ rng.normal(size=(5, 120))).astype(np.float32)
    known = hide_per_class(PartialLabels.from_array((X[:, :20] > 0.5).astype(float)), 0.5, 0)
    monkeypatch.setattr(weight_patterns, "_conjugate_gradients_pay", lambda *_: True)
    found = LeastSquares(ridge).fit(X, known).scores(X)
    expected = LeastSquares(ridge).fit(X.astype(np.float64), known).scores(X.astype(np.float64))
    np.testing.assert_allclose(found, expected, atol=1e-4)
