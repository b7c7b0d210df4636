"""A warm start saves time and changes no bit."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from toys import low_rank_toy

from tagloom.graph import affinity_graph
from tagloom.labels import PartialLabels, hide_per_class
from tagloom.models import LeastSquares, SemanticDiffusion

TOY = low_rank_toy(n=60, d=4, c=3)
NEW = np.random.default_rng(9).normal(size=(7, 4))


def assert_as_if_cold(warm, X, known):
    cold = clone(warm).set_params(warm_start=False).fit(X, known)
    np.testing.assert_array_equal(warm.training_scores(X), cold.training_scores(X))
    np.testing.assert_array_equal(warm.scores(NEW), cold.scores(NEW))


def test_a_warm_start_gives_the_same_bits_whatever_changes():
    X = TOY.X.copy()
    other = hide_per_class(PartialLabels.from_array(TOY.truth), 0.4, 5)
    warm = SemanticDiffusion(shrinkage=np.inf, smoothing=0.0, warm_start=True).fit(X, TOY.known)
    for changes in (
        {"shrinkage": 1.0},
        {"smoothing": 0.6},
        {"smoothing": 0.0, "shrinkage": 0.01},
        {"smoothing": 0.6, "score_normalization": 0.5},
        {"score_normalization": 1.0},
        {"normalize_rows": False},
        {"ridge": 5.0},
        {"alpha": 0.5},
        {"n_neighbors": 5},
        {"n_passes": 1},
        {"n_passes": 2, "metric": "cosine"},
        {"lam": 0.2},
        {"lam": 0.0, "shrinkage": np.inf, "smoothing": 0.0},
    ):
        warm.set_params(**changes).fit(X, TOY.known)
        assert_as_if_cold(warm, X, TOY.known)
    warm.set_params(shrinkage=0.1, smoothing=0.5).fit(X, other)
    assert_as_if_cold(warm, X, other)
    X[3] += 1.0
    assert_as_if_cold(warm.fit(X, other), X, other)
    single = X.astype(np.float32)
    assert_as_if_cold(warm.fit(single, other), single, other)


@pytest.mark.parametrize("as_given", [lambda known: known, lambda known: known.to_array()])
def test_a_warm_start_searches_neighbors_once(monkeypatch, as_given):
    made = []

    def counted(*args, **kwargs):
        made.append(args)
        return affinity_graph(*args, **kwargs)

    monkeypatch.setattr("tagloom.models.semantic_diffusion.affinity_graph", counted)
    model = SemanticDiffusion(warm_start=True)
    for shrinkage in (1.0, 0.1):
        model.set_params(shrinkage=shrinkage).fit(TOY.X, as_given(TOY.known))
    assert len(made) == 2


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_does_not_mistake_new_labels_for_its_training_labels(copied, monkeypatch):
    # Freed labels leave their address to others: an address is no identity.
    monkeypatch.setattr("tagloom.models.semantic_diffusion.id", lambda _: 0, raising=False)
    other = hide_per_class(PartialLabels.from_array(TOY.truth), 0.4, 5)
    model = copied(SemanticDiffusion(warm_start=True).fit(TOY.X, TOY.known))
    assert_as_if_cold(model.fit(TOY.X, other), TOY.X, other)


def test_an_interrupted_fit_is_no_warm_start(monkeypatch):
    calls = []

    def second_fails(*args, **kwargs):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return affinity_graph(*args, **kwargs)

    monkeypatch.setattr("tagloom.models.semantic_diffusion.affinity_graph", second_fails)
    model = SemanticDiffusion(warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(TOY.X, TOY.known)
    assert_as_if_cold(model.fit(TOY.X, TOY.known), TOY.X, TOY.known)


RIDGES = (3.0, 0.3, 0.3, 30.0)


@pytest.mark.parametrize("lam", [0.0, 0.2])
@pytest.mark.parametrize("warm_start", [True, False])
@pytest.mark.parametrize("smooth", [{"shrinkage": np.inf, "smoothing": 0.0}, {"shrinkage": 0.1}])
def test_a_path_of_ridges_gives_the_fits_of_cold_starts(smooth, warm_start, lam):
    path = [{"ridge": ridge, **smooth} for ridge in RIDGES]
    model = SemanticDiffusion(lam, warm_start=warm_start)
    for params, fitted in zip(path, model.fit_path(path, TOY.X, TOY.known, {}), strict=True):
        assert fitted.ridge == fitted.linear_.ridge == params["ridge"]
        assert_as_if_cold(fitted, TOY.X, TOY.known)


def test_a_path_of_ridges_solves_once_and_its_last_fit_is_a_warm_start(monkeypatch):
    solved = []
    solutions = LeastSquares._solutions

    def counted(self, X, known, candidates, prior):
        solved.append([ridge for ridge, _ in candidates])
        return solutions(self, X, known, candidates, prior)

    monkeypatch.setattr(LeastSquares, "_solutions", counted)
    model = SemanticDiffusion(warm_start=True, shrinkage=np.inf, smoothing=0.0)
    path = [{"ridge": ridge} for ridge in RIDGES]
    list(model.fit_path(path, TOY.X, TOY.known, {}))
    model.set_params(shrinkage=1.0).fit(TOY.X, TOY.known)
    assert solved == [list(RIDGES)]
    model.set_params(ridge=3.0).fit(TOY.X, TOY.known)
    assert solved == [list(RIDGES), [3.0]]
    assert_as_if_cold(model, TOY.X, TOY.known)


def test_an_abandoned_path_leaves_no_wrong_warm_start():
    other = hide_per_class(PartialLabels.from_array(TOY.truth), 0.4, 5)
    path = [{"ridge": ridge} for ridge in RIDGES]
    model = SemanticDiffusion(warm_start=True)
    for ridge, known in ((3.0, other), (0.3, TOY.known), (30.0, TOY.known)):
        steps = model.fit_path(path, TOY.X, TOY.known, {})
        next(steps), next(steps)
        assert_as_if_cold(model.set_params(ridge=ridge).fit(TOY.X, known), TOY.X, known)
        # The path continues as if nothing had happened in between.
        assert_as_if_cold(next(steps), TOY.X, TOY.known)
        model.fit(5 * TOY.X[::-1] + 3, TOY.known)
        assert_as_if_cold(next(steps), TOY.X, TOY.known)


def test_what_was_found_in_a_chain_stays_as_it_was_found():
    path = [{"ridge": ridge} for ridge in RIDGES]
    model = SemanticDiffusion(warm_start=True)
    found = [one.linear_ for one in model.fit_path(path, TOY.X, TOY.known, {})]
    assert [linear.ridge for linear in found] == list(RIDGES)
    norms = [np.linalg.norm(linear.coef_) for linear in found]
    assert norms[1] == norms[2] > norms[0] > norms[3]
