import numpy as np
import pytest

from tagloom.completion.fit import calibrate_collection, score_held_out
from tagloom.completion.inputs import Options, known_labels
from tagloom.completion.outputs import Checkpoint
from tagloom.completion.training_labels import training_labels
from tagloom.formats import read_tags
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


def test_listed_entries_have_lower_scores_where_they_were_held_out(collection, training, tmp_path):
    found = held_out(collection, training, Checkpoint(tmp_path / "checkpoint", "run"), ridge=0.1)
    entries = training.labels.entries()
    at = (entries.rows, entries.columns)
    assert found.entries[at].mean() < found.final[at].mean()
    c = calibrate_collection(found, training, OPTIONS).label_frequencies
    assert ((c > 0) & (c <= 1)).all()
    assert c.mean() < 1
