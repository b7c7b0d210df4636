from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from tagloom.completion.fit import calibrate_collection, looked_at_probability, score_held_out
from tagloom.completion.inputs import Options, known_labels
from tagloom.completion.outputs import Checkpoint
from tagloom.completion.training_labels import training_labels
from tagloom.formats import read_tags
from tagloom.labels import PartialLabels
from tagloom.models import SemanticDiffusion
from tagloom.tagger import SemanticTagger

OPTIONS = Options(min_pictures=2, cv=3)


@pytest.fixture
def training(collection):
    read = read_tags(collection.write_lists(), pictures=collection.photos)
    known = known_labels(collection.features.items, read.annotations, OPTIONS)
    return training_labels(known, OPTIONS)


def held_out(collection, training, checkpoint, ridge):
    learner = SemanticDiffusion(ridge=ridge)
    tagger = SemanticTagger(learner).fit(collection.features, training.labels)
    return score_held_out(tagger, collection.features, training, OPTIONS, checkpoint, verbose=False)


def test_scores_of_other_parameters_are_not_reused(collection, training, tmp_path):
    checkpoint = Checkpoint(tmp_path / "checkpoint", "run")
    before = held_out(collection, training, checkpoint, ridge=0.1).entries
    after = held_out(collection, training, checkpoint, ridge=100.0).entries
    fresh = held_out(collection, training, Checkpoint(tmp_path / "fresh", "run"), ridge=100.0)
    assert np.array_equal(after, fresh.entries)
    assert not np.array_equal(after, before)
    assert after.dtype == np.float32


def test_fits_side_by_side_and_one_by_one_give_the_same(
    collection, training, tmp_path, monkeypatch
):
    found = []
    for n_jobs in (1, 2):
        monkeypatch.setattr("tagloom.completion.fit._n_folds_at_once", lambda *_, n=n_jobs: n)
        checkpoint = Checkpoint(tmp_path / f"{n_jobs}", "run")
        found.append(held_out(collection, training, checkpoint, ridge=0.1))
    one_by_one, side_by_side = found
    assert one_by_one.pictures is not None
    np.testing.assert_array_equal(one_by_one.entries, side_by_side.entries)
    np.testing.assert_array_equal(one_by_one.pictures, side_by_side.pictures)


def test_listed_entries_have_lower_scores_where_they_were_held_out(collection, training, tmp_path):
    found = held_out(collection, training, Checkpoint(tmp_path / "checkpoint", "run"), ridge=0.1)
    entries = training.labels.entries()
    at = (entries.rows, entries.columns)
    assert found.entries[at].mean() < found.final[at].mean()
    c = calibrate_collection(found, training, OPTIONS).label_frequencies
    assert ((c > 0) & (c <= 1)).all()
    assert c.mean() < 1


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_tags_that_are_not_learned_show_too_that_somebody_has_looked(share):
    """Simulated: of sixteen tags eight are learned."""
    rng = np.random.default_rng(0)
    G = expit(rng.normal(-2.5, 1.5, size=(20_000, 16)))
    looked_at = rng.random(len(G)) < share
    listed = (rng.random(G.shape) < G) & looked_at[:, None]
    tagged = listed.any(axis=1)
    known = PartialLabels.from_array(np.where(listed, 1, np.nan))
    learned, rare = known[:, :8], known[:, 8:]
    training = SimpleNamespace(
        looked_at=tagged, unseen=np.zeros_like(tagged), without_feedback=learned, rare=rare
    )
    seen = SimpleNamespace(listed=lambda scores: scores)
    w = looked_at_probability(seen, SimpleNamespace(entries=G[:, :8]), training)
    assert (w[tagged] == 1).all()
    assert w[~tagged].mean() == pytest.approx(looked_at[~tagged].mean(), abs=0.02)
