import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from toy_scenes import KNOWN, MORE, NEW, SCENES, TRAIN, TRUTH, features_of

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, add_known, hide_per_class
from tagloom.models import APGGraph, SemanticDiffusion
from tagloom.tagger import SemanticTagger
from tagloom.tagger.semantic_tagger import translated_coef
from tagloom.vision import Features

PAPER = APGGraph(lam=1.0, gamma=0.01, ridge=1.0, tol=1e-5)
WHOLE = slice(0, 160)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("tagger") / "m"
    SemanticTagger().fit(features_of(TRAIN), KNOWN).save(path)
    return path


def fresh_like(tagger, features, Y):
    return SemanticTagger(clone(tagger.learner_)).fit(features, Y)


def assert_same_bits(one, other):
    np.testing.assert_array_equal(one.scores(), other.scores())
    np.testing.assert_array_equal(one.scores(features_of(NEW)), other.scores(features_of(NEW)))


def test_more_labels_give_what_a_fresh_fit_gives(model):
    tagger = SemanticTagger.load(model)
    before, tuning = tagger.scores(), tagger.tuning_
    tagger.refit(MORE)
    assert np.abs(tagger.scores() - before).max() > 0.01
    assert_same_bits(tagger, fresh_like(tagger, features_of(TRAIN), MORE))
    assert tagger.known_ == MORE
    assert tagger.tuning_.trials == tuning.trials
    assert tagger.tuning_.model is tagger.learner_
    assert {k: tagger.learner_.get_params()[k] for k in tuning.best.params} == tuning.best.params


def test_what_is_taken_from_an_earlier_fit_to_the_same_pictures_changes_no_bit():
    features = features_of(TRAIN)
    tagger = SemanticTagger(SemanticDiffusion(ridge=1.0)).fit(features, KNOWN)
    fresh = fresh_like(tagger, features_of(TRAIN), MORE)
    axes = tagger.training_set_.pipeline.axes
    other = tagger.with_learner(clone(tagger.learner_)).fit(features, MORE)
    assert_same_bits(tagger.refit(MORE), fresh)
    assert_same_bits(other, fresh)
    assert tagger.training_set_.pipeline.axes is other.training_set_.pipeline.axes is axes


def test_the_same_labels_give_the_same_tagger(model):
    tagger = SemanticTagger.load(model)
    assert_same_bits(SemanticTagger.load(model).refit(KNOWN), tagger)


def test_new_labels_may_come_and_old_ones_go(model):
    tagger = SemanticTagger.load(model)
    table = np.hstack([MORE.to_array()[:, 2:], TRUTH[TRAIN][:, :1]])
    known = PartialLabels.from_array(
        table, labels=[*MORE.labels[2:], "brand new"], items=MORE.items
    )
    tagger.refit(known)
    assert tagger.classes_ == known.labels
    assert_same_bits(tagger, fresh_like(tagger, features_of(TRAIN), known))


def test_pictures_that_come_later_take_part(model, tmp_path):
    tagger = SemanticTagger.load(model)
    known = hide_per_class(SCENES.truth, 0.4, 3)
    tagger.refit(known, features_of(slice(90, 160)))
    assert tagger.items_ == features_of(WHOLE).items
    assert_same_bits(tagger, fresh_like(tagger, features_of(WHOLE), known))
    tagger.save(tmp_path / "m")
    assert_same_bits(SemanticTagger.load(tmp_path / "m"), tagger)


def test_what_is_new_can_be_added_to_what_was_known(model):
    tagger = SemanticTagger.load(model)
    new = PartialLabels.from_array([[1], [0]], labels=["sunset"], items=tagger.items_[3:5])
    known = add_known(tagger.known_, new)
    assert tagger.refit(known).classes_ == (*KNOWN.labels, "sunset")
    assert known.n_known == KNOWN.n_known + 2


def test_pictures_without_labels_may_come_too(model):
    tagger = SemanticTagger.load(model).refit(KNOWN, features_of(NEW))
    assert tagger.alignment_.without_labels == features_of(NEW).items
    assert_same_bits(tagger, fresh_like(tagger, features_of(WHOLE), KNOWN))


@pytest.mark.parametrize("more", ["labels", "pictures"])
def test_the_papers_learner_ends_at_the_same_optimum(more, tmp_path):
    tagger = SemanticTagger(PAPER).fit(features_of(TRAIN), KNOWN)
    tagger.save(tmp_path / "m")
    again = SemanticTagger.load(tmp_path / "m")
    if more == "labels":
        again.refit(MORE)
        fresh = SemanticTagger(clone(PAPER)).fit(features_of(TRAIN), MORE)
    else:
        again.refit(MORE, features_of(NEW))
        fresh = SemanticTagger(clone(PAPER)).fit(features_of(WHOLE), MORE)
    assert again.learner_.objective_ == pytest.approx(fresh.learner_.objective_, rel=2e-5)
    np.testing.assert_allclose(again.scores(), fresh.scores(), atol=0.02)
    assert again.learner_.get_params() == PAPER.get_params()


def test_a_warm_start_is_nearer_than_a_cold_one():
    tagger = SemanticTagger(PAPER).fit(features_of(TRAIN), MORE)
    entries = MORE.entries()
    slightly_less = MORE.with_hidden(entries.rows[::50], entries.columns[::50])
    n_cold = SemanticTagger(clone(PAPER)).fit(features_of(TRAIN), slightly_less).learner_.n_iter_
    assert tagger.refit(slightly_less).learner_.n_iter_ < n_cold


def test_m_is_translated_to_features_that_can_express_it():
    tagger = SemanticTagger(PAPER, n_components=None).fit(features_of(TRAIN), KNOWN)
    before, M = tagger.training_set_, tagger.learner_.coef_
    shuffled = KNOWN.select(KNOWN.labels[::-1])
    after = SemanticTagger(PAPER, n_components=None).fit(features_of(TRAIN), shuffled).training_set_
    moved = translated_coef(M, before, after)
    scores = before.descriptors.X @ M
    np.testing.assert_allclose(after.descriptors.X @ moved[:, ::-1], scores, atol=1e-3)


def test_a_failed_refit_leaves_the_tagger_as_it_was(model):
    tagger = SemanticTagger.load(model)
    scores = tagger.scores()
    tagger.learner_.on_unlearnable = "raise"
    nothing = PartialLabels.from_array(np.full(KNOWN.shape, np.nan), items=KNOWN.items)
    with pytest.raises(InvalidInputError):
        tagger.refit(nothing)
    np.testing.assert_array_equal(tagger.scores(), scores)
    assert tagger.known_ == KNOWN


def test_pictures_of_another_encoder_and_taggers_without_a_fit_are_refused(model):
    other = Features(["a"], np.zeros((1, 5)), np.full((1, 2), 0.5), ["x", "y"])
    with pytest.raises(InvalidInputError, match="5 visual numbers and 2 concepts"):
        SemanticTagger.load(model).refit(KNOWN, other)
    with pytest.raises(NotFittedError):
        SemanticTagger(SemanticDiffusion()).refit(KNOWN)
