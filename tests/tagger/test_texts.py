"""An encoder of pictures and texts compares names with pictures, in any language it knows."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import tiny_networks as tiny
from tagloom.errors import InvalidInputError, TagloomWarning
from tagloom.labels import PartialLabels
from tagloom.metrics import average_precision
from tagloom.models import LeastSquares, SemanticDiffusion
from tagloom.tagger import SemanticTagger
from tagloom.tagger.texts import TextPrior, Texts, say_compared
from tagloom.tagger.words import WordPrior
from tagloom.vision import Features
from tagloom.vision.encoders.layouts import FolderEncoder
from tagloom.words import Vocabulary, link_tags

LABELS = ["red", "grün", "blau", "2019"]
CONCEPTS = ["tabby", "beagle"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return FolderEncoder(tiny.clip(tmp_path_factory.mktemp("texts") / "pair"))


def coloured(n=200, seed=0):
    """Features of pictures, a tenth of which are red, green and blue each."""
    rng = np.random.default_rng(seed)
    shown = rng.choice(4, size=n, p=[0.1, 0.1, 0.1, 0.7])
    colours = rng.normal(0.6, 0.1, size=(n, 3))
    for colour in range(3):
        colours[shown == colour, colour] += 0.9
    posteriors = rng.dirichlet(np.ones(2), size=n)
    items = [f"{seed}-{i}.png" for i in range(n)]
    truth = np.column_stack([*(shown == colour for colour in range(3)), rng.random(n) < 0.3])
    return Features(items, colours @ tiny.DIRECTIONS, posteriors, CONCEPTS), truth.astype(float)


FEATURES, TRUTH = coloured()
NEW, NEW_TRUTH = coloured(80, seed=1)


def few_known():
    """A third of the pictures, and of blue ones nothing."""
    Y = np.where(np.arange(len(TRUTH))[:, None] % 3 == 0, TRUTH, np.nan)
    Y[:, 2] = np.nan
    return PartialLabels.from_array(Y, labels=LABELS, items=FEATURES.items)


def test_probabilities_are_posteriors_of_standardised_cosines(pair):
    prior = TextPrior.of(Texts.of_encoder(pair), FEATURES, LABELS)
    w = pair.text.embed(["red"])[0]
    c = (FEATURES.visual / np.linalg.norm(FEATURES.visual, axis=1, keepdims=True)) @ w
    z = (c - np.median(c)) / (1.4826 * np.median(np.abs(c - np.median(c))))
    odds = np.exp(4 * z - 8) / 49
    p = prior.probabilities(FEATURES.visual)
    np.testing.assert_allclose(p[:, 0], odds / (1 + odds), rtol=1e-2, atol=1e-6)
    assert np.isnan(p[:, 3]).all()  # a name without letters is no text
    doubled = prior.probabilities(2 * FEATURES.visual)
    np.testing.assert_allclose(doubled[:, :3], p[:, :3], rtol=1e-3, atol=1e-6)


def test_two_sources_are_averaged_and_one_stands_alone(pair):
    labels = ["red", "cat", "2019"]
    known = PartialLabels.from_array(np.full((len(TRUTH), 3), np.nan), labels=labels)
    texts = Texts.of_encoder(pair)
    both = WordPrior.of(FEATURES, known, Vocabulary(), texts)
    alone = WordPrior.of(FEATURES, known, Vocabulary())
    fits = both.texts.probabilities(FEATURES.visual)
    T = both(FEATURES)
    np.testing.assert_allclose(T[:, 0], np.sqrt(fits[:, 0]))
    tabby = FEATURES.posteriors[:, 0]
    np.testing.assert_allclose(alone(FEATURES)[:, 1], np.sqrt(tabby))
    np.testing.assert_allclose(T[:, 1], np.sqrt((tabby + fits[:, 1]) / 2), rtol=1e-5)
    assert np.isnan(T[:, 2]).all()


@pytest.mark.parametrize(
    "learner",
    [
        LeastSquares(on_unlearnable="ignore"),
        SemanticDiffusion(on_unlearnable="ignore", n_neighbors=5),
    ],
)
def test_a_name_without_example_is_found_and_survives_a_file(pair, learner, tmp_path):
    tagger = SemanticTagger(learner, encoder=pair).fit(FEATURES, few_known())
    truth = PartialLabels.from_array(NEW_TRUTH, labels=LABELS)
    assert average_precision(truth, tagger.scores(NEW))[:3].min() > 0.9
    without = SemanticTagger(learner, encoder=pair, words=False).fit(FEATURES, few_known())
    assert average_precision(truth, without.scores(NEW))[2] < 0.5
    tagger.save(tmp_path / "tagger")
    loaded = SemanticTagger.load(tmp_path / "tagger")
    np.testing.assert_array_equal(loaded.scores(NEW), tagger.scores(NEW))
    refitted = loaded.refit(few_known())  # without the encoder: all names are known
    np.testing.assert_allclose(refitted.scores(NEW), tagger.scores(NEW), atol=1e-5)


def test_reasons_speak_of_words_not_of_concepts(pair):
    learner = SemanticDiffusion(on_unlearnable="ignore", n_neighbors=5)
    tagger = SemanticTagger(learner, encoder=pair).fit(FEATURES, few_known())
    row = int(np.flatnonzero(TRUTH[:, 2])[0])
    reasons = tagger.name_reasons()
    assert reasons.text(row, 2, "blau") == "fits the word “blau”"
    grey = int(np.flatnonzero(TRUTH[:, :3].sum(axis=1) == 0)[0])
    assert reasons.text(grey, 2, "blau") is None
    explained = tagger.explain(FEATURES.items[row], "blau")
    assert str(explained.named) == "fits the word “blau”"
    assert explained.name_part > 0
    stored = type(reasons).from_state(*reasons.to_state())
    assert stored.text(row, 2, "blau") == "fits the word “blau”"


def test_the_meaning_of_a_tag_says_that_its_name_is_compared(pair):
    tags = ["cat", "blau", "2019", "chat"]
    links = say_compared(link_tags(tags, CONCEPTS), Texts.of_encoder(pair))
    assert links["blau"].how == "its name is compared with the pictures by pair"
    assert links["cat"].how.endswith("tabby; its name is compared with the pictures by pair")
    assert not links["2019"].concepts
    for unread in ("2019", "chat"):  # no letter, and no word that the tokenizer knows
        assert "compared" not in links[unread].how


def test_new_names_need_the_encoder_of_the_old_ones(pair, tmp_path):
    tagger = SemanticTagger(LeastSquares(on_unlearnable="ignore"), encoder=pair)
    tagger.fit(FEATURES, few_known())
    Y = few_known()
    more = PartialLabels.from_array(
        np.column_stack([Y.to_array(), np.full(len(TRUTH), np.nan)]),
        labels=[*LABELS, "green"],
        items=FEATURES.items,
    )
    tagger.save(tmp_path / "tagger")
    again = SemanticTagger.load(tmp_path / "tagger").refit(more)
    prior = again.training_set_.descriptors.prior
    np.testing.assert_allclose(prior[:, 4], prior[:, 1], rtol=0.05, atol=0.02)
    moved = SemanticTagger.load(tmp_path / "tagger")
    moved.encoder_metadata_ = moved.encoder_metadata_ | {"path": str(tmp_path / "gone")}
    with pytest.warns(TagloomWarning, match="green cannot be compared .* not at .*gone any more"):
        moved.refit(more)
    assert np.isnan(moved.training_set_.descriptors.prior[:, 4]).all()


def test_features_of_another_encoder_are_refused(pair):
    other = Features(["a"], np.ones((1, 2)), np.ones((1, 0)), [])
    with pytest.raises(InvalidInputError, match=r"2 visual columns; those of pair, .* end at 6"):
        TextPrior.of(Texts.of_encoder(pair), other, ["red"])


def test_another_encoder_of_texts_is_noticed(pair):
    prior = TextPrior.of(Texts.of_encoder(pair), FEATURES, LABELS)
    turned = TextPrior("pair", 0, -prior.directions, prior.centres, prior.spreads)
    texts = Texts.of_prior(turned, LABELS, pair.metadata())
    with pytest.warns(TagloomWarning, match="not the encoder of texts that the tagger was"):
        texts.directions(["green"])


def test_pictures_that_are_all_alike_fit_nothing(pair):
    alike = Features(["a", "b", "c"], np.ones((3, tiny.WIDTH)), np.ones((3, 0)), [])
    assert TextPrior.of(Texts.of_encoder(pair), alike, ["red"]) is None
