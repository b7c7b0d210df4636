"""The name of a label counts before its first example, and no name changes nothing."""

import numpy as np
import pytest
from sklearn.base import clone

from tagloom.labels import PartialLabels
from tagloom.metrics import average_precision
from tagloom.models import APGGraph, LeastSquares, SemanticDiffusion
from tagloom.tagger import SemanticTagger
from tagloom.vision import Features
from tagloom.words import TagEntry, Vocabulary

CONCEPTS = ["tabby", "beagle", "poodle", "zebra", "espresso"]
LABELS = ["cat", "dogs", "xyzzy", "horse"]
# What each concept is of: a tabby is a cat, beagle and poodle are dogs; a zebra is no horse.
IS_A = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]])


def photographs(n=160, seed=0):
    """Pictures of one concept each, which the encoder recognises; the visual part is noise."""
    rng = np.random.default_rng(seed)
    shown = rng.integers(len(CONCEPTS), size=n)
    posteriors = rng.dirichlet(np.full(len(CONCEPTS), 0.3), size=n) * 0.4
    posteriors[np.arange(n), shown] += 0.6
    visual = rng.normal(size=(n, 8))
    items = [f"{seed}-{i}.jpg" for i in range(n)]
    truth = IS_A[shown].astype(float)
    truth[:, 3] = rng.random(n) < 0.3
    return Features(items, visual, posteriors, CONCEPTS), truth


FEATURES, TRUTH = photographs()
NEW, NEW_TRUTH = photographs(60, seed=1)


def some_known(n_cats=1):
    """All labels of a third of the pictures, but of cats so many presences and no absence."""
    Y = np.where(np.arange(len(TRUTH))[:, None] % 3 == 0, TRUTH, np.nan)
    cats = np.flatnonzero(TRUTH[:, 0])[:n_cats]
    Y[:, 0] = np.nan
    Y[cats, 0] = 1.0
    return PartialLabels.from_array(Y, labels=LABELS, items=FEATURES.items)


def fitted(learner, **parameters):
    tagger = SemanticTagger(learner, n_components=None, **parameters)
    return tagger.fit(FEATURES, parameters.pop("Y", some_known()))


LEARNERS = [
    LeastSquares(on_unlearnable="ignore"),
    SemanticDiffusion(on_unlearnable="ignore", n_neighbors=5),
]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_tag_without_contrast_is_ranked_by_its_name(learner):
    truth = PartialLabels.from_array(NEW_TRUTH, labels=LABELS)
    with_words = average_precision(truth, fitted(learner).scores(NEW))
    without = average_precision(truth, fitted(learner, words=False).scores(NEW))
    assert with_words[0] > 0.95 > 0.7 > without[0]
    assert with_words[1] > without[1] - 0.05


def test_prior_scores_are_the_root_of_the_posteriors_of_what_a_name_means():
    prior = fitted(LEARNERS[0]).training_set_.descriptors.prior
    p = FEATURES.posteriors
    np.testing.assert_allclose(prior[:, 0], np.sqrt(p[:, 0]))
    np.testing.assert_allclose(prior[:, 1], np.sqrt(p[:, 1] + p[:, 2]))
    assert np.isnan(prior[:, 2:]).all()  # no word, and a word that no concept shows


@pytest.mark.parametrize("learner", [*LEARNERS, APGGraph(on_unlearnable="ignore")])
def test_labels_without_a_word_change_no_bit(learner):
    known = some_known()
    numbered = PartialLabels.from_array(known.to_array(), items=FEATURES.items)
    with_words, without = (
        SemanticTagger(learner, words=words).fit(FEATURES, numbered) for words in (True, False)
    )
    np.testing.assert_array_equal(with_words.scores(), without.scores())
    np.testing.assert_array_equal(with_words.scores(NEW), without.scores(NEW))


def test_the_search_takes_names_into_account():
    table = np.where(np.arange(len(TRUTH))[:, None] % 2 == 0, TRUTH, np.nan)
    Y = PartialLabels.from_array(table, labels=LABELS, items=FEATURES.items)
    tagger, without = (SemanticTagger(words=words).fit(FEATURES, Y) for words in (True, False))
    assert tagger.tuning_.best.pooled > without.tuning_.best.pooled
    assert tagger.learner_.trust_[0] > 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_saved_taggers_keep_what_names_mean(learner, tmp_path):
    vocabulary = Vocabulary({"xyzzy": TagEntry(concepts=("espresso",))})
    tagger = fitted(clone(learner), vocabulary=vocabulary)
    assert np.isfinite(tagger.training_set_.descriptors.prior[:, 2]).all()
    tagger.save(tmp_path / "m")
    loaded = SemanticTagger.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.scores(), tagger.scores())
    np.testing.assert_array_equal(loaded.scores(NEW), tagger.scores(NEW))
    assert loaded.vocabulary == vocabulary
    again, other = loaded.refit(some_known(3)), tagger.refit(some_known(3))
    np.testing.assert_array_equal(again.scores(NEW), other.scores(NEW))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("pictures", [None, NEW])
def test_explanations_say_what_a_picture_looks_like(learner, pictures):
    tagger = fitted(learner)
    features = FEATURES if pictures is None else pictures
    row = int(np.argmax(features.posteriors[:, 1]))
    why = tagger.explain(features.items[row], "dogs", pictures)
    parts = why.base + why.visual + why.concepts_total + why.pooled_total + why.name_part
    assert why.score == pytest.approx(parts + why.graph_part, abs=1e-6)
    assert why.name_part > 0
    assert why.named.concepts[0].name == "beagle"
    assert "looks like a beagle; a beagle is a dog" in str(why)
    other = int(np.argmin(features.posteriors[:, 1:3].sum(axis=1)))
    unlike = tagger.explain(features.items[other], "dogs", pictures)
    assert unlike.named is None
    assert unlike.name_part >= 0
    assert "by its name: nothing" in str(unlike)
    nothing = tagger.explain(features.items[row], "xyzzy", pictures)
    assert nothing.named is None
    assert nothing.name_part == 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_name_is_a_reason_where_the_picture_looks_like_it_and_the_score_rests_on_it(learner):
    tagger = fitted(learner)
    reasons = tagger.name_reasons()
    p = FEATURES.posteriors
    beagle, none = int(np.argmax(p[:, 1])), int(np.argmin(p[:, 1:3].sum(axis=1)))
    assert reasons.text(beagle, 1, "dogs") == "looks like a beagle; a beagle is a dog"
    assert reasons.text(none, 1, "dogs") is None
    assert reasons.text(beagle, 2, "xyzzy") is None
    rows, columns = reasons.is_reason.nonzero()
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        part = tagger.explain(FEATURES.items[row], LABELS[column]).name_part
        assert part >= 0.2 * tagger.scores()[row, column]


def test_without_words_no_name_is_a_reason():
    assert fitted(LEARNERS[0], words=False).name_reasons() is None
