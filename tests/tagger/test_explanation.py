import numpy as np
import pytest
from hinted_scenes import KNOWN, NEW, TRAIN, TRUTH, features_of

from tagloom.errors import InvalidInputError
from tagloom.labels import State
from tagloom.models import BinaryRelevance, KNeighborsTagger, SemanticDiffusion
from tagloom.tagger import SemanticTagger
from tagloom.vision import Features

PLACES = [(0, 0), (7, 5), (31, 23)]


@pytest.mark.parametrize("new", [False, True])
def test_explanation_adds_up_to_the_score(either, new):
    pictures = features_of(NEW) if new else None
    items = features_of(NEW).items if new else either.items_
    table = either.scores(pictures)
    for row, column in PLACES:
        why = either.explain(items[row], either.classes_[column], pictures)
        assert why.score == pytest.approx(table[row, column], abs=1e-4)
        linear = why.base + why.visual + why.concepts_total + why.pooled_total
        assert linear + why.graph_part == pytest.approx(why.score, abs=1e-12)


@pytest.mark.parametrize("new", [False, True])
def test_the_graph_part_is_what_the_linear_part_lacks(new):
    learner = SemanticDiffusion(kernel="rational_quadratic", ridge=0.3, score_normalization=0.5)
    default = SemanticTagger(learner).fit(features_of(TRAIN), KNOWN)
    pictures = features_of(NEW) if new else None
    described = default._descriptors(pictures)
    linear = np.empty((len(described.items), len(default.classes_)))
    for row, x in enumerate(described.X):
        weights, base, _ = default.learner_.linear_at(x[None], None if new else row)
        linear[row] = x @ weights + base
    beyond = default.scores(pictures) - linear
    assert np.abs(beyond).max() > 0.05
    for row, column in PLACES:
        why = default.explain(described.items[row], default.classes_[column], pictures)
        assert why.graph_part == pytest.approx(beyond[row, column], abs=1e-4)
        assert f"similar pictures: {why.graph_part:+.2f}" in str(why)


def test_the_graph_part_of_a_linear_learner_is_zero(tagger):
    why = tagger.explain(tagger.items_[0], "boat")
    assert why.graph_part == 0
    linear = SemanticDiffusion(shrinkage=np.inf, smoothing=0.0)
    alone = SemanticTagger(linear).fit(features_of(TRAIN), KNOWN)
    why = alone.explain(alone.items_[0], "boat")
    assert why.graph_part == 0
    assert why.n_neighbors == 10


@pytest.fixture(scope="module")
def diffusing():
    """A tagger whose scores diffuse; the toy is linear, and a search would leave the graph out."""
    return SemanticTagger(SemanticDiffusion()).fit(features_of(TRAIN), KNOWN)


def test_neighbors_are_those_of_the_learners_graph(diffusing):
    row, column = 7, 5
    why = diffusing.explain(diffusing.items_[row], diffusing.classes_[column])
    joined = diffusing.learner_.graph_.toarray()[row]
    states, table = KNOWN.states(), diffusing.scores()
    assert why.n_neighbors == np.count_nonzero(joined) >= 20
    assert why.n_neighbors > len(why.carriers) + why.n_known_absent
    assert [one.affinity for one in why.neighbors] == sorted(joined[joined > 0], reverse=True)
    for one in why.neighbors:
        other = diffusing.items_.index(one.item)
        assert one.affinity == joined[other]
        assert one.state == State(states[other, column])
        assert one.score == table[other, column]


def test_new_pictures_are_explained_by_the_training_pictures_they_join(diffusing):
    again = features_of(slice(0, 5))
    twins = Features([f"new {i}" for i in range(5)], again.visual, again.posteriors, again.concepts)
    for row in range(5):
        why = diffusing.explain(f"new {row}", "boat", twins)
        assert why.n_neighbors == 20
        assert diffusing.items_[row] in [one.item for one in why.neighbors[:3]]


@pytest.mark.parametrize("n_passes", [1, 2, 3])
def test_scores_follow_from_the_neighbors_that_are_named(n_passes):
    """Without residuals f = (1 - s) p + s (sum of affinity times score) over the last graph."""
    learner = SemanticDiffusion(shrinkage=np.inf, smoothing=0.6, n_passes=n_passes)
    smoothed = SemanticTagger(learner).fit(features_of(TRAIN), KNOWN)
    for pictures in (None, features_of(NEW)):
        items = smoothed.items_ if pictures is None else pictures.items
        why = smoothed.explain(items[3], "boat", pictures)
        smoothed_scores = sum(one.affinity * one.score for one in why.neighbors)
        linear = why.score - why.graph_part
        assert why.score == pytest.approx(0.4 * linear + 0.6 * smoothed_scores, abs=1e-4)


def test_explanation_names_neighbors_that_carry_the_label(tagger):
    states = KNOWN.states()
    carrying = 0
    for row in range(0, 60):
        for column in np.flatnonzero(TRUTH[row])[:2]:
            why = tagger.explain(tagger.items_[row], tagger.classes_[column])
            assert why.n_neighbors == 10
            for carrier in why.carriers:
                assert carrier.item != why.item
                assert states[tagger.items_.index(carrier.item), column] == 1
            carrying += len(why.carriers)
    assert carrying > 50


def test_the_concept_behind_a_label_is_that_labels_concept(tagger):
    label = "boat"
    row = int(np.flatnonzero(TRUTH[TRAIN][:, tagger.classes_.index(label)])[0])
    why = tagger.explain(tagger.items_[row], label)
    assert why.concepts[0].name == "like boat"
    assert why.concepts[0].correlation > 0.3
    assert label in str(why)


def test_learners_without_a_linear_part_cannot_be_explained():
    votes = SemanticTagger(KNeighborsTagger()).fit(features_of(TRAIN), KNOWN)
    with pytest.raises(InvalidInputError, match=r"linear part.*KNeighborsTagger has no coef_"):
        votes.explain(votes.items_[0], "boat")
    logistic = SemanticTagger(BinaryRelevance()).fit(features_of(TRAIN), KNOWN)
    with pytest.raises(InvalidInputError, match="Only scores that are a linear part"):
        logistic.explain(logistic.items_[0], "boat")
