"""Votes of neighbours against a loop that counts them one by one."""

import numpy as np
import pytest
from toys import forms_of_knowledge, low_rank_toy

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.models import KNeighborsTagger, tune

TOY = low_rank_toy()
TRUTH = PartialLabels.from_array(TOY.truth)
KNOWN = forms_of_knowledge(TOY)


def counted(model, known, queries, *, without_self):
    """Every score by a loop over the neighbours."""
    W, Y = known.weights(), known.states() == 1
    rates = (W * Y).sum(axis=0) / W.sum(axis=0)
    among = np.linalg.norm(TOY.X[:, None] - TOY.X[None], axis=2)
    scale = np.where(np.eye(len(TOY.X)) == 1, np.inf, among).min(axis=1).mean()
    m = model.shrinkage
    scores = np.empty((len(queries), known.n_labels))
    for i, x in enumerate(queries):
        distance = np.linalg.norm(TOY.X - x, axis=1)
        if without_self:
            distance[i] = np.inf
        nearest = np.argsort(distance, kind="stable")[: model.n_neighbors]
        for j in range(known.n_labels):
            votes = total = 0.0
            for rank, k in enumerate(nearest, start=1):
                fading = (distance[k] - distance[nearest[0]]) / (model.bandwidth * scale)
                pi = {"uniform": 1.0, "rank": 1 / rank, "distance": np.exp(-fading)}
                votes += pi[model.weighting] * W[k, j] * Y[k, j]
                total += pi[model.weighting] * W[k, j]
            nobody = total == 0 and m == 0
            scores[i, j] = rates[j] if nobody else (votes + m * rates[j]) / (total + m)
    return scores


@pytest.mark.parametrize("weighting", ["distance", "rank", "uniform"])
@pytest.mark.parametrize("name", KNOWN)
def test_agrees_with_counting_one_by_one(name, weighting):
    known = KNOWN[name]
    model = KNeighborsTagger(7, weighting=weighting, shrinkage=0.5).fit(TOY.X, known)
    new = TOY.X[:30] + 0.3
    expected = counted(model, known, new, without_self=False)
    np.testing.assert_allclose(model.scores(new), expected, atol=1e-9)
    expected = counted(model, known, TOY.X, without_self=True)
    np.testing.assert_allclose(model.training_scores(TOY.X), expected, atol=1e-9)


def test_without_a_prior_and_without_votes_the_rate_remains():
    Y = np.full((120, 2), np.nan)
    Y[:4] = [[1, 0], [0, 1], [1, 1], [0, 0]]
    model = KNeighborsTagger(3, shrinkage=0.0).fit(TOY.X, Y)
    expected = counted(model, PartialLabels.from_array(Y), TOY.X[50:], without_self=False)
    np.testing.assert_allclose(model.scores(TOY.X[50:]), expected)
    assert (expected == 0.5).any()


def test_training_scores_do_not_see_the_label_they_are_asked_for():
    Y = TOY.truth.copy()
    before = KNeighborsTagger(5).fit(TOY.X, Y)
    Y[10] = 1 - Y[10]
    after = KNeighborsTagger(5, shrinkage=1.0).fit(TOY.X, Y)
    # Only the rates of the labels, and by them the prior, know of the change.
    difference = np.abs(before.training_scores(TOY.X)[10] - after.training_scores(TOY.X)[10])
    assert difference.max() < 0.02
    assert np.abs(before.scores(TOY.X)[10] - after.scores(TOY.X)[10]).min() > 0.1


def test_training_scores_of_other_rows_are_refused():
    model = KNeighborsTagger(5).fit(TOY.X, TOY.known)
    with pytest.raises(InvalidInputError, match="For new rows call scores"):
        model.training_scores(TOY.X + 1)


def test_more_neighbors_than_items_are_all_items():
    model = KNeighborsTagger(1000, weighting="uniform", shrinkage=0.0).fit(TOY.X, TOY.truth)
    np.testing.assert_allclose(model.scores(TOY.X[:3]), np.tile(TOY.truth.mean(axis=0), (3, 1)))


def test_a_warm_start_changes_nothing():
    warm = KNeighborsTagger(20, warm_start=True).fit(TOY.X, TOY.known)
    for changes in ({"n_neighbors": 5}, {"n_neighbors": 30}, {"metric": "cosine"}):
        warm.set_params(**changes).fit(TOY.X, TOY.known)
        cold = KNeighborsTagger(**warm.get_params()).fit(TOY.X, TOY.known)
        np.testing.assert_array_equal(warm.training_scores(TOY.X), cold.training_scores(TOY.X))
    moved = TOY.X[::-1].copy()
    warm.fit(moved, TOY.known)
    cold.fit(moved, TOY.known)
    np.testing.assert_array_equal(warm.training_scores(moved), cold.training_scores(moved))


@pytest.mark.parametrize("weighting", ["distance", "rank", "uniform"])
def test_every_weighting_can_be_tuned(weighting):
    tuning = tune(KNeighborsTagger(weighting=weighting), TOY.X, TOY.known, cv=2)
    assert ("bandwidth" in tuning.best.params) == (weighting == "distance")


def test_the_only_item_has_no_neighbor():
    with pytest.raises(InvalidInputError, match="At least 2 items"):
        KNeighborsTagger(on_unlearnable="ignore").fit([[1.0]], [[1]])


def test_asking_twice_gives_the_same_answer():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (rng.random((60, 3)) < 0.4).astype(float)
    tagger = KNeighborsTagger(n_neighbors=7).fit(X, Y)
    once = tagger.training_scores(X)
    np.testing.assert_array_equal(tagger.training_scores(X), once)
    again = tagger.set_params(warm_start=True).fit(X, Y)
    np.testing.assert_array_equal(again.training_scores(X), once)
