"""Self-training: its targets, its fixed point without a graph, and what it is good for."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from toys import low_rank_toy

from tagloom import metrics
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, hide_per_class, keep_presences
from tagloom.models import LeastSquares, SemanticDiffusion
from tagloom.models.self_training import (
    SharedRidge,
    complete_labels,
    largest_weight,
    self_train,
)

TOY = low_rank_toy(n=60, d=4, c=3)
NEW = np.random.default_rng(9).normal(size=(7, 4))


def test_known_labels_stay_and_unknown_ones_take_the_scores():
    known = PartialLabels.from_array([[1, np.nan], [0, 1], [np.nan, np.nan]])
    F = np.array([[0.4, 0.3], [0.9, 0.2], [0.6, 0.1]])
    expected = [[1, 0.3], [0, 1], [0.6, 0.1]]
    np.testing.assert_allclose(complete_labels(known, F), expected)


def test_weights_say_how_far_a_known_label_counts():
    known = PartialLabels.from_entries(
        [0, 1], [0, 0], [True, False], shape=(3, 1), weights=[0.5, 2]
    )
    F = np.array([[0.4], [0.9], [0.6]])
    assert largest_weight(known) == 2
    np.testing.assert_allclose(complete_labels(known, F, 2.0), [[0.55], [0], [0.6]])


def test_unlisted_tags_count_as_absent_by_half_and_hidden_ones_are_open():
    known = PartialLabels.from_tags([["a"], [], []], labels=["a"], unlisted=0.6)
    known = known.with_hidden(np.array([2]), np.array([0]))
    F = np.array([[0.4], [0.9], [0.6]])
    np.testing.assert_allclose(complete_labels(known, F), [[1], [0.7 * 0.9], [0.6]])


def test_a_round_is_the_ridge_regression_of_the_completed_labels():
    T = np.random.default_rng(0).normal(size=(60, 3))
    fitted = LeastSquares(ridge=0.7).fit(TOY.X, TOY.known)
    found = SharedRidge(TOY.X).refitted(fitted, T, 0.7)
    oracle = Ridge(alpha=0.7, solver="svd").fit(TOY.X, T)
    np.testing.assert_allclose(found.coef_.T, oracle.coef_, atol=1e-9)
    np.testing.assert_allclose(found.intercept_, oracle.intercept_, atol=1e-9)


class NoDiffusion:
    """Scores that no graph has changed: self-training has nothing to learn from."""

    def scores(self, P, shrinkage, smoothing):
        return P.copy()

    def of_residuals(self, residuals):
        return self


@pytest.mark.parametrize("scale", [None, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("prior_weight", [None, 1.0, 0.6])
def test_without_a_graph_the_fit_to_the_known_labels_is_the_fixed_point(scale, prior_weight):
    known, prior, offset = TOY.known, None, None
    if scale is not None:
        weights = np.random.default_rng(1).uniform(0.2, 1, len(TOY.X))
        known = known.with_item_weights(scale * weights)
    given = {"ridge": 0.7 * (scale or 1)}
    if prior_weight is not None:
        prior = np.where(TOY.truth == 1, 0.8, 0.1)
        prior[:, 1] = np.nan
        given["prior_weight"] = prior_weight
    fitted = LeastSquares(**given).fit(TOY.X, known, prior=prior)
    if prior is not None:
        offset = np.nan_to_num(fitted.trust_ * prior)
    found = self_train(fitted, TOY.X, known, NoDiffusion(), 4, offset)
    np.testing.assert_allclose(found.coef_, fitted.coef_, atol=1e-9)
    np.testing.assert_allclose(found.intercept_, fitted.intercept_, atol=1e-9)


def test_without_a_ridge_the_smallest_minimiser_is_found():
    rng = np.random.default_rng(3)
    kinds = np.eye(3)[rng.integers(0, 3, 40)]
    X = np.c_[kinds, np.ones(40), rng.normal(size=(40, 2))]
    T = rng.normal(size=(40, 2))
    known = PartialLabels.from_array((T > 0).astype(float))
    found = SharedRidge(X).refitted(LeastSquares(ridge=0.0).fit(X, known), T, 0.0)
    oracle = np.linalg.lstsq(X - X.mean(axis=0), T - T.mean(axis=0), rcond=None)[0]
    np.testing.assert_allclose(found.coef_, oracle, atol=1e-9)


def rings(n=300, seed=0):
    """Items on three rings, and labels of them: no linear model of the place tells them apart."""
    rng = np.random.default_rng(seed)
    ring = np.arange(n) % 3
    angle = rng.uniform(0, 2 * np.pi, n)
    X = (1 + 2 * ring)[:, None] * np.c_[np.cos(angle), np.sin(angle)]
    return X + rng.normal(scale=0.1, size=X.shape), np.eye(3)[ring]


@pytest.mark.parametrize("seed", range(3))
def test_it_brings_to_the_model_of_the_features_what_only_the_graph_knew(seed):
    X, truth = rings(seed=seed)
    known = hide_per_class(PartialLabels.from_array(truth), 0.03, 0)
    given = {"kernel": "rbf", "bandwidth": 0.05, "normalize_rows": False, "ridge": 0.1}
    linear = {}
    for rounds in (0, 5):
        model = SemanticDiffusion(**given, self_training=rounds).fit(X, known)
        P = model.linear_.score_rows(model._mapped(X))
        linear[rounds] = metrics.mean_average_precision(PartialLabels.from_array(truth), P)
    assert linear[5] > linear[0] + 0.05


@pytest.mark.parametrize("unlisted", [None, "absent", 0.3])
def test_warm_starts_copies_and_files_change_no_bit(tmp_path, unlisted):
    known = TOY.known
    if unlisted is not None:
        known = keep_presences(PartialLabels.from_array(TOY.truth), 0.5, unlisted=unlisted)
    warm = SemanticDiffusion(self_training=2, warm_start=True)
    for changes in (
        {},
        {"smoothing": 0.2},
        {"self_training": 0},
        {"self_training": 4, "score_normalization": 0.5},
        {"shrinkage": np.inf, "smoothing": 0.0},
        {"kernel": "rbf", "shrinkage": 1.0},
    ):
        warm.set_params(**changes).fit(TOY.X, known)
        cold = SemanticDiffusion(**{**warm.get_params(), "warm_start": False}).fit(TOY.X, known)
        np.testing.assert_array_equal(warm.training_scores(TOY.X), cold.training_scores(TOY.X))
        np.testing.assert_array_equal(warm.scores(NEW), cold.scores(NEW))
        cold.save(tmp_path / "model.tagloom")
        loaded = SemanticDiffusion.load(tmp_path / "model.tagloom")
        assert loaded.self_training == warm.self_training
        np.testing.assert_array_equal(loaded.scores(NEW), cold.scores(NEW))


def test_without_diffusion_there_is_nothing_to_train_with():
    still = {"shrinkage": np.inf, "smoothing": 0.0}
    expected = SemanticDiffusion(**still).fit(TOY.X, TOY.known)
    found = SemanticDiffusion(**still, self_training=3).fit(TOY.X, TOY.known)
    np.testing.assert_array_equal(found.training_scores_, expected.training_scores_)


def test_prior_scores_keep_their_trust():
    prior = np.where(TOY.truth == 1, 0.8, 0.1)
    prior[:, 1] = np.nan
    expected = SemanticDiffusion().fit(TOY.X, TOY.known, prior=prior)
    found = SemanticDiffusion(self_training=3).fit(TOY.X, TOY.known, prior=prior)
    np.testing.assert_array_equal(found.trust_, expected.trust_)
    assert not np.array_equal(found.coef_, expected.coef_)


def test_labels_that_cannot_be_learned_stay_as_they_are():
    table = TOY.known.to_array()
    table[:, 1] = np.nan
    table[table[:, 2] == 0, 2] = np.nan
    known = PartialLabels.from_array(table)
    model = SemanticDiffusion(self_training=3, on_unlearnable="ignore").fit(TOY.X, known)
    assert not model.coef_[:, 1:].any()
    assert model.intercept_[2] == 1
    assert model.coef_[:, 0].any()


def test_a_nuclear_norm_is_refused():
    with pytest.raises(InvalidInputError, match="only with lam=0"):
        SemanticDiffusion(lam=0.1, self_training=1).fit(TOY.X, TOY.known)
