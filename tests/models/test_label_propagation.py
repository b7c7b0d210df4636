"""Labels that spread, against the formula solved densely."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from toys import forms_of_knowledge, low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.graph import affinity_graph
from tagloom.labels import PartialLabels
from tagloom.models import LabelPropagation

TOY = low_rank_toy(n=60, d=4, c=3)
NEW = np.random.default_rng(9).normal(size=(7, 4))
TRUTH = PartialLabels.from_array(TOY.truth)
KNOWN = forms_of_knowledge(TOY)


def dense_scores(known, new, *, k, a, m):
    """Return the scores of the training items and of new ones."""
    graph = affinity_graph(TOY.X, k, normalization="symmetric")
    W, Y = known.weights(), known.states() == 1
    rates = (W * Y).sum(axis=0) / W.sum(axis=0)
    spread = (1 - a) * np.linalg.inv(np.eye(60) - a * graph.S.toarray())
    votes, weights = spread @ (W * Y), spread @ W
    s_x = graph.out_of_sample(new).toarray()
    return [
        (given + m * rates) / (total + m)
        for given, total in ((votes, weights), (a * s_x @ votes, a * s_x @ weights))
    ]


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.95])
def test_scores_are_those_of_the_formula(name, alpha):
    model = LabelPropagation(8, alpha=alpha, shrinkage=0.1).fit(TOY.X, KNOWN[name])
    own, new = dense_scores(KNOWN[name], NEW, k=8, a=alpha, m=0.1)
    np.testing.assert_allclose(model.training_scores(TOY.X), own, atol=2e-3)
    np.testing.assert_allclose(model.scores(NEW), new, atol=2e-3)


def test_reach_zero_keeps_every_label_to_its_item():
    model = LabelPropagation(8, alpha=0.0, shrinkage=1e-9).fit(TOY.X, TOY.known)
    scores, Y = model.training_scores(TOY.X), TOY.known.to_array()
    np.testing.assert_allclose(scores[~np.isnan(Y)], Y[~np.isnan(Y)], atol=1e-6)
    rates = np.broadcast_to(model.rates_, Y.shape)
    np.testing.assert_allclose(scores[np.isnan(Y)], rates[np.isnan(Y)], atol=1e-12)


def two_groups():
    """Two groups that share no edge; of the second nothing is known."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[20:] += 1000
    Y = np.full((40, 2), np.nan)
    Y[:6] = [[1, 0], [1, 1], [0, 1], [1, np.nan], [1, np.nan], [0, np.nan]]
    return X, Y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whom_nothing_reaches_has_the_rate_of_the_label(dtype):
    X, Y = two_groups()
    X = X.astype(dtype)
    model = LabelPropagation(5, alpha=0.99).fit(X, Y)
    np.testing.assert_allclose(model.rates_, [4 / 6, 2 / 3], rtol=1e-6)
    expected = np.tile(model.rates_, (20, 1))
    np.testing.assert_allclose(model.training_scores(X)[20:], expected, rtol=1e-6)
    np.testing.assert_allclose(model.scores(X[20:] + dtype(0.1)), expected, rtol=1e-6)
    assert np.ptp(model.training_scores(X)[:20]) > 0.1


def test_what_is_unknown_spreads_nothing():
    """A label says the same whatever is known of the items for other labels."""
    Y = TOY.known.to_array()
    alone = LabelPropagation(8).fit(TOY.X, Y[:, :1]).training_scores(TOY.X)
    Y[:, 1:] = np.where(np.isnan(Y[:, 1:]), 1.0, Y[:, 1:])
    beside = LabelPropagation(8).fit(TOY.X, Y).training_scores(TOY.X)
    np.testing.assert_allclose(beside[:, :1], alone, atol=1e-3)
    # Nor is it an absence: where only presences are known, the score is 1 everywhere.
    only = np.where(TOY.truth == 1, 1.0, np.nan)
    model = LabelPropagation(8, on_unlearnable="ignore").fit(TOY.X, only)
    np.testing.assert_allclose(model.training_scores(TOY.X), 1, atol=1e-3)


def test_labels_diffuse_through_unlabelled_items():
    X = np.linspace(0, 1, 41)[:, None]
    X[21:] += 0.1  # a gap in the line
    Y = np.full((41, 1), np.nan)
    Y[0], Y[40] = 0, 1
    model = LabelPropagation(2, alpha=0.99, shrinkage=1e-6).fit(X, Y)
    np.testing.assert_array_equal(model.training_scores(X)[:, 0] > 0.5, np.arange(41) > 20)


def test_a_label_without_known_entries_scores_nothing():
    Y = TOY.known.to_array()
    Y[:, 1] = np.nan
    model = LabelPropagation(8, on_unlearnable="ignore").fit(TOY.X, Y)
    assert model.rates_[1] == 0
    assert not model.training_scores(TOY.X)[:, 1].any()
    assert np.isfinite(model.scores(NEW)).all()


def assert_as_if_cold(warm, X, known):
    cold = clone(warm).set_params(warm_start=False).fit(X, known)
    np.testing.assert_array_equal(warm.training_scores(X), cold.training_scores(X))
    np.testing.assert_array_equal(warm.scores(NEW), cold.scores(NEW))


def test_a_warm_start_gives_the_same_bits_whatever_changes():
    X = TOY.X.copy()
    warm = LabelPropagation(8, warm_start=True).fit(X, TOY.known)
    for changes in (
        {"alpha": 0.5},
        {"n_neighbors": 5},
        {"metric": "cosine"},
        {"shrinkage": 1.0},
    ):
        warm.set_params(**changes).fit(X, TOY.known)
        assert_as_if_cold(warm, X, TOY.known)
    assert_as_if_cold(warm.fit(X, TRUTH), X, TRUTH)


def test_a_warm_start_notices_rows_changed_in_place():
    X = TOY.X.copy()
    warm = LabelPropagation(8, warm_start=True).fit(X, TOY.known)
    X[:30] = X[:30][::-1].copy()
    assert_as_if_cold(warm.fit(X, TOY.known), X, TOY.known)


def test_a_warm_start_notices_another_precision():
    X = np.round(TOY.X, 1).astype(np.float32)
    X = np.round(X * 8) / 8  # the same numbers in either precision
    warm = LabelPropagation(8, warm_start=True).fit(X, TOY.known)
    double = X.astype(np.float64)
    assert_as_if_cold(warm.fit(double, TOY.known), double, TOY.known)


def test_a_warm_start_searches_neighbors_once(monkeypatch):
    made = []

    def counted(*args, **kwargs):
        made.append(args)
        return affinity_graph(*args, **kwargs)

    monkeypatch.setattr("tagloom.models.label_propagation.affinity_graph", counted)
    model = LabelPropagation(8, warm_start=True)
    for alpha in (0.9, 0.5):
        model.set_params(alpha=alpha).fit(TOY.X.copy(), TOY.known)
    assert len(made) == 1


def test_training_scores_of_other_rows_are_refused():
    model = LabelPropagation(8).fit(TOY.X, TOY.known)
    with pytest.raises(InvalidInputError, match="For new rows call scores"):
        model.training_scores(NEW)


def test_a_pickled_model_gives_the_same_scores():
    model = LabelPropagation(8).fit(TOY.X, TOY.known)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.scores(NEW), model.scores(NEW))
    np.testing.assert_array_equal(again.training_scores(TOY.X), model.training_scores(TOY.X))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 1.0}, r"'alpha' parameter of LabelPropagation must be a number in \[0, 1\)"),
        ({"shrinkage": 0.0}, "'shrinkage' parameter"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
    ],
)
def test_invalid_parameters_are_refused(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        LabelPropagation(**changes).fit(TOY.X, TOY.known)
