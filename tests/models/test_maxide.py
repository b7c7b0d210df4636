"""Maxide: the same optimum by every way, and the published way to the letter."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from toys import low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.models import APGGraph, Maxide

TOY = low_rank_toy()
SIDE = np.random.default_rng(3).normal(size=(8, 3))


def objective(X, known, lam, M, B, b):
    """The objective, written out."""
    residual = X @ M @ B.T + b - np.nan_to_num(known.to_array())
    return lam * np.linalg.norm(M, "nuc") + np.sum(known.weights() * residual**2) / 2


@pytest.mark.parametrize("seed", range(10))
def test_published_reaches_the_optimum_given_enough_iterations(seed):
    toy = low_rank_toy(n=80, d=12, c=9, rank=3, seed=seed)
    lam = 0.03 * Maxide(fit_intercept=False).lam_max(toy.X, toy.known)
    best = APGGraph(lam=lam, fit_intercept=False, tol=1e-8).fit(toy.X, toy.known).objective_
    tight = Maxide(lam=lam, fit_intercept=False, solver="published", tol=1e-13, max_iter=20_000)
    assert tight.fit(toy.X, toy.known).objective_ == pytest.approx(best, rel=1e-6)
    short = Maxide(lam=lam, fit_intercept=False, solver="published").fit(toy.X, toy.known)
    assert short.n_iter_ <= 100
    assert short.objective_ > best * (1 + 1e-7)
    certified = Maxide(lam=lam, fit_intercept=False, tol=1e-8).fit(toy.X, toy.known)
    assert certified.objective_ == pytest.approx(best, rel=1e-6)


def independent_published(X, mask, Y, B, lam, max_iter=100):
    """The published iteration in a few lines, for weights 1 and no intercept."""

    def smooth(M):
        return np.sum((mask * (X @ M @ B.T - Y)) ** 2) / 2

    def gradient(M):
        return X.T @ (mask * (X @ M @ B.T - Y)) @ B

    def shrunk(A, tau):
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        return (U * np.maximum(s - tau, 0)) @ Vt, np.maximum(s - tau, 0).sum()

    Z = before = np.zeros((X.shape[1], B.shape[1]))
    alpha = alpha_before = 1.0
    L = 1.0
    values = []
    while len(values) < max_iter:
        V = Z + alpha * (1 / alpha_before - 1) * (Z - before)
        while True:
            new, norm = shrunk(V - gradient(V) / L, lam / L)
            D = new - V
            if smooth(new) <= smooth(V) + np.sum(D * gradient(V)) + L / 2 * np.sum(D * D):
                break
            L *= 2
        before, Z = Z, new
        alpha_before, alpha = alpha, (np.sqrt(alpha**4 + 4 * alpha**2) - alpha**2) / 2
        values.append(smooth(Z) + lam * norm)
        if len(values) > 1 and abs(values[-1] - values[-2]) < 1e-5 * values[-1]:
            break
    return Z, len(values)


@pytest.mark.parametrize("side", [None, SIDE], ids=["identity", "side information"])
def test_published_takes_the_published_steps(side):
    B = np.eye(8) if side is None else side
    mask, Y = TOY.known.states() != -1, TOY.known.states() == 1
    M, n_iter = independent_published(TOY.X, mask, Y, B, lam=2.0)
    model = Maxide(lam=2.0, label_side=side, fit_intercept=False, solver="published")
    model.fit(TOY.X, TOY.known)
    assert model.n_iter_ == n_iter
    np.testing.assert_allclose(model.core_, M, atol=1e-8)
    np.testing.assert_allclose(model.coef_, M @ B.T, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_side_information_both_solvers_reach_the_same_optimum(fit_intercept):
    rng = np.random.default_rng(0)
    entries = TOY.known.entries()
    known = PartialLabels.from_entries(
        entries.rows,
        entries.columns,
        entries.present,
        shape=TOY.known.shape,
        weights=rng.uniform(0.2, 2.0, size=len(entries.rows)),
    )
    common = {"lam": 2.0, "label_side": SIDE, "fit_intercept": fit_intercept}
    certified = Maxide(**common, tol=1e-9).fit(TOY.X, known)
    published = Maxide(**common, solver="published", tol=1e-13, max_iter=20_000).fit(TOY.X, known)
    assert certified.core_.shape == (10, 3)
    assert published.objective_ == pytest.approx(certified.objective_, rel=1e-7)
    for model in (certified, published):
        value = objective(TOY.X, known, 2.0, model.core_, SIDE, model.intercept_)
        assert model.objective_ == pytest.approx(value, rel=1e-8)


def test_without_nuclear_norm_side_information_still_serves():
    model = Maxide(lam=0.0, label_side=SIDE, tol=1e-10).fit(TOY.X, TOY.known)
    W, Y = TOY.known.weights(), np.nan_to_num(TOY.known.to_array())
    residual = W * (TOY.X @ model.core_ @ SIDE.T + model.intercept_ - Y)
    np.testing.assert_allclose(TOY.X.T @ residual @ SIDE, 0, atol=1e-6)


def test_single_precision_with_side_information():
    X = TOY.X.astype(np.float32)
    single = Maxide(lam=2.0, label_side=SIDE).fit(X, TOY.known)
    double = Maxide(lam=2.0, label_side=SIDE).fit(TOY.X, TOY.known)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.scores(X), double.scores(TOY.X), atol=0.01)


def test_the_identity_as_side_information_changes_nothing():
    plain = Maxide(lam=2.0, tol=1e-9).fit(TOY.X, TOY.known)
    given = Maxide(lam=2.0, tol=1e-9, label_side=np.eye(8)).fit(TOY.X, TOY.known)
    np.testing.assert_allclose(given.coef_, plain.coef_, atol=1e-6)


def test_side_information_of_related_labels_helps_a_label_without_known_entries():
    Y = TOY.known.to_array()
    Y[:, 1] = np.nan
    B = np.eye(8)
    B[1] = B[0]  # the second label means what the first means
    model = Maxide(lam=0.3, label_side=B, on_unlearnable="ignore").fit(TOY.X, Y)
    scores = model.scores(TOY.X) - model.intercept_
    np.testing.assert_allclose(scores[:, 1], scores[:, 0], atol=1e-8)
    assert np.ptp(scores[:, 1]) > 0.5


def test_lam_max_is_the_smallest_at_which_M_is_zero_with_side_information_too():
    for side in (None, SIDE):
        lam_max = Maxide(label_side=side).lam_max(TOY.X, TOY.known)
        stronger = Maxide(lam=lam_max * 1.000001, label_side=side).fit(TOY.X, TOY.known)
        weaker = Maxide(lam=lam_max * 0.99, label_side=side, tol=1e-9).fit(TOY.X, TOY.known)
        assert not stronger.coef_.any()
        assert weaker.coef_.any()


def test_a_frame_of_side_information_is_matched_by_name():
    names = [f"label {j}" for j in range(8)]
    Y = pd.DataFrame(TOY.known.to_array(), columns=names)
    side = pd.DataFrame(SIDE, index=names)
    straight = Maxide(label_side=side).fit(TOY.X, Y)
    turned = Maxide(label_side=side.iloc[::-1]).fit(TOY.X, Y)
    np.testing.assert_allclose(straight.coef_, turned.coef_, rtol=1e-9, atol=1e-12)
    with pytest.raises(InvalidInputError, match="Missing: 'label 7'"):
        Maxide(label_side=side.iloc[:7]).fit(TOY.X, Y)


@pytest.mark.parametrize(
    ("side", "message"),
    [
        (SIDE[:5], r"one row for each of the 8 labels.*its shape is \(5, 3\)"),
        (SIDE[:, :0], "at least one column"),
        (np.where(SIDE[2, 1] == SIDE, np.nan, SIDE), r"label_side\[2, 1\] = nan"),
        ([["a"]] * 8, "must be a table of numbers"),
    ],
)
def test_bad_side_information_is_refused(side, message):
    with pytest.raises(InvalidInputError, match=message):
        Maxide(label_side=side).fit(TOY.X, TOY.known)


@pytest.mark.parametrize("solver", ["apg", "published"])
def test_warm_start_needs_fewer_iterations(solver):
    model = Maxide(lam=0.3, solver=solver, tol=1e-7, max_iter=5000, warm_start=True)
    cold = model.fit(TOY.X, TOY.known).n_iter_
    assert model.set_params(lam=0.299).fit(TOY.X, TOY.known).n_iter_ < cold


@pytest.mark.parametrize("solver", ["apg", "published"])
def test_too_few_iterations_warn_with_a_remedy(solver):
    with pytest.warns(ConvergenceWarning, match="Maxide stopped after 2 iterations"):
        Maxide(lam=0.3, solver=solver, max_iter=2).fit(TOY.X, TOY.known)
