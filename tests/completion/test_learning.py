import numpy as np
import pytest

from tagloom.completion.checkpoint import Work
from tagloom.completion.fit import measured
from tagloom.completion.inputs import said_of
from tagloom.completion.options import Options
from tagloom.completion.training_labels import teach
from tagloom.formats import read_tags
from tagloom.models import SemanticDiffusion
from tagloom.tagger import SemanticTagger

OPTIONS = Options(least_pictures=2, folds=3)


@pytest.fixture
def taught(collection):
    read = read_tags(collection.write_lists(), pictures=collection.photos)
    return teach(said_of(collection.features.items, read.annotations, OPTIONS), OPTIONS)


def learned(collection, taught, work, ridge):
    tagger = SemanticTagger(SemanticDiffusion(ridge=ridge)).fit(collection.features, taught.known)
    return measured(tagger, collection.features, taught, OPTIONS, work, show_progress=False)


def test_scores_of_other_parameters_are_not_taken_over(collection, taught, tmp_path):
    work = Work(tmp_path / "work", "run")
    before = learned(collection, taught, work, ridge=0.1)
    after = learned(collection, taught, work, ridge=100.0)
    fresh = learned(collection, taught, Work(tmp_path / "fresh", "run"), ridge=100.0)
    assert np.array_equal(after.held_out, fresh.held_out)
    assert not np.array_equal(after.held_out, before.held_out)
    assert after.held_out.dtype == np.float32


def test_what_is_listed_has_lower_scores_where_it_was_hidden(collection, taught, tmp_path):
    found = learned(collection, taught, Work(tmp_path / "work", "run"), ridge=0.1)
    entries = taught.known.entries()
    at = (entries.rows, entries.columns)
    assert found.held_out[at].mean() < found.scores[at].mean()
    assert 0 < found.calibration.completeness < 1
