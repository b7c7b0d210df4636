import numpy as np
import pandas as pd
import pytest
from hinted_scenes import KNOWN, NEW, TRAIN, TRUTH, features_of
from PIL import Image
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.metrics import mean_average_precision
from tagloom.models import APGGraph, SemanticDiffusion
from tagloom.tagger import SemanticTagger
from tagloom.vision import Features


def test_recovers_hidden_labels_and_tags_new_pictures(either):
    hidden = np.where(KNOWN.states() == -1, TRUTH[TRAIN], np.nan)
    assert mean_average_precision(hidden, either.scores()) > 0.75
    new = either.scores(features_of(NEW))
    assert new.shape == (60, 24)
    assert mean_average_precision(TRUTH[NEW], new) > 0.7


def test_tunes_its_learner_unless_given_one(default, tagger):
    assert isinstance(default.learner_, SemanticDiffusion)
    assert set(default.tuning_.best.params) == {
        "kernel",
        "bandwidth",
        "normalize_rows",
        "ridge",
        "shrinkage",
        "smoothing",
        "score_normalization",
        "self_training",
    }
    assert tagger.tuning_ is None


def test_the_papers_form_is_a_word_away(tagger):
    paper = SemanticTagger("paper").fit(features_of(TRAIN), KNOWN)
    assert isinstance(paper.learner_, APGGraph)
    assert set(paper.tuning_.best.params) == {"lam", "ridge", "gamma"}
    assert mean_average_precision(TRUTH[NEW], paper.scores(features_of(NEW))) > 0.7
    by_hand = APGGraph(**paper.tuning_.best.params).fit(
        paper.training_set_.descriptors.X, KNOWN, graph=paper.graph_
    )
    np.testing.assert_array_equal(paper.scores(), by_hand.scores(paper.training_set_.descriptors.X))


def test_no_training_picture_is_its_own_neighbor():
    # The toy is linear: a search would leave the graph out.
    diffusing = SemanticTagger(SemanticDiffusion()).fit(features_of(TRAIN), KNOWN)
    np.testing.assert_array_equal(diffusing.scores(), diffusing.learner_.training_scores_)
    as_new = diffusing.scores(features_of(TRAIN))
    assert np.abs(as_new - diffusing.scores()).max() > 0.01


def test_same_random_state_same_bits():
    first, second = (
        SemanticTagger(random_state=3).fit(features_of(TRAIN), KNOWN).scores() for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_relevant_concepts_are_kept_and_named(tagger):
    names = [str(name) for name in tagger.descriptor_.get_feature_names_out()]
    concepts = [name for name in names if name.startswith("concept:")]
    assert len(concepts) == 12
    assert sum("like" in name for name in concepts) >= 10


def test_labels_are_matched_by_name(tagger):
    rng = np.random.default_rng(0)
    shuffled = KNOWN.take(rng.permutation(240))
    again = SemanticTagger(clone(tagger.learner)).fit(features_of(TRAIN), shuffled)
    np.testing.assert_allclose(again.scores(), tagger.scores(), atol=1e-10)


@pytest.mark.parametrize("learner", [APGGraph(lam=1.0, gamma=0.01, ridge=1.0), "diffusion"])
def test_pictures_without_labels_take_part(learner):
    both = SemanticTagger(learner).fit(features_of(slice(0, 300)), KNOWN)
    assert both.scores().shape == (300, 24)
    assert len(both.alignment_.without_labels) == 60
    assert mean_average_precision(TRUTH[NEW], both.scores()[NEW]) > 0.7


def test_suggestions_are_the_best_of_the_unknown_labels(tagger):
    suggestions = tagger.suggest(n_labels=3)
    assert len(suggestions) == 720
    states, table = KNOWN.states(), tagger.scores()
    for suggestion in suggestions[:60]:
        row = tagger.items_.index(suggestion.item)
        column = tagger.classes_.index(suggestion.label)
        assert states[row, column] == -1
        assert suggestion.score == pytest.approx(table[row, column])
    first = [s.score for s in suggestions[:3]]
    unknown = table[0][states[0] == -1]
    np.testing.assert_allclose(first, np.sort(unknown)[::-1][:3])


def test_pictures_of_another_encoder_are_refused(tagger):
    other = Features(["a"], np.zeros((1, 5)), np.full((1, 2), 0.5), ["x", "y"])
    with pytest.raises(InvalidInputError, match="5 visual numbers and 2 concepts"):
        tagger.scores(other)


def test_unknown_names_and_folders_are_refused(tagger):
    with pytest.raises(
        InvalidInputError, match=r"'zebra' is not among 'bird', 'boat', 'book' and 21 more"
    ):
        tagger.explain(tagger.items_[0], "zebra")
    with pytest.raises(InvalidInputError, match="no folder of pictures at /nowhere"):
        SemanticTagger().fit("/nowhere", KNOWN)
    with pytest.raises(NotFittedError):
        SemanticTagger().scores()


def test_a_folder_of_pictures(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    rng = np.random.default_rng(0)
    tags = {}
    for i in range(24):
        colour = "red" if i % 2 else "blue"
        pixels = rng.integers(0, 60, (64, 64, 3), dtype=np.uint8)
        pixels[..., 0 if colour == "red" else 2] += 180
        Image.fromarray(pixels).save(folder / f"{i:02}.png")
        tags[f"{i:02}.png"] = [colour]
    (folder / "broken.png").write_bytes(b"no picture")
    known = PartialLabels.from_tags(tags, unlisted="absent")
    half = known.take(np.arange(12))
    tagger = SemanticTagger(APGGraph(lam=0.1, ridge=1.0), cache=tmp_path / "cache")
    tagger.fit(folder, half)
    assert [skipped.item for skipped in tagger.embedding_summary_.skipped] == ["broken.png"]
    assert len(tagger.alignment_.without_labels) == 12
    right = tagger.scores()[12:].argmax(axis=1) == known.states()[12:].argmax(axis=1)
    assert right.mean() > 0.9


def test_a_frame_without_names_is_matched_by_position(tagger):
    frame = pd.DataFrame(KNOWN.to_array())
    again = SemanticTagger(clone(tagger.learner)).fit(features_of(TRAIN), frame)
    np.testing.assert_allclose(again.scores(), tagger.scores(), atol=1e-10)


@pytest.mark.parametrize("side", ["visual", "posteriors"])
def test_features_of_one_kind_only(side):
    whole = features_of(TRAIN)
    nothing = np.empty((240, 0))
    visual = nothing if side == "posteriors" else whole.visual
    posteriors, concepts = (nothing, []) if side == "visual" else (whole.posteriors, whole.concepts)
    features = Features(whole.items, visual, posteriors, concepts)
    tagger = SemanticTagger(APGGraph(lam=1.0, ridge=1.0)).fit(features, KNOWN)
    assert tagger.scores().shape == (240, 24)
    assert tagger.explain(whole.items[0], "boat").n_neighbors == 10


def test_what_is_no_picture_and_no_learner_is_refused():
    with pytest.raises(InvalidInputError, match="Features or the path of a folder; got ndarray"):
        SemanticTagger().fit(np.ones((3, 2)), KNOWN)
    with pytest.raises(InvalidInputError, match="'diffusion', 'paper' or a learner of"):
        SemanticTagger("ridge").fit(features_of(TRAIN), KNOWN)
    with pytest.raises(InvalidInputError, match="weight must be"):
        SemanticTagger(weight="sum").fit(features_of(TRAIN), KNOWN)
