import numpy as np
import pytest

from tagloom.completion.model import CompletionModel
from tagloom.errors import ModelFileError


@pytest.mark.parametrize("source", ["lists", "table"])
def test_a_model_is_read_as_it_was_written_to_the_last_bit(collection, tmp_path, source):
    tags = collection.write_lists() if source == "lists" else collection.write_table()
    model = collection.complete(tags, "out", precision=0.99).model
    model.save(tmp_path / "again.tagloom")
    read = CompletionModel.load(tmp_path / "again.tagloom")
    new = collection.features
    assert np.array_equal(read.probabilities(new), model.probabilities(new))
    assert np.array_equal(read.thresholds, model.thresholds)
    assert read.known == model.known
    assert read.feedback == model.feedback
    assert read.options == model.options
    assert read.photos == model.photos
    assert read.answers == model.answers
    assert np.array_equal(read.implied, model.implied)
    assert read.label_frequency == model.label_frequency
    assert np.array_equal(read.open_probabilities(), model.open_probabilities())
    assert np.array_equal(read.tagger.scores(), model.tagger.scores())
    read.save(tmp_path / "twice.tagloom")
    assert CompletionModel.load(tmp_path / "twice.tagloom").known == model.known


def test_a_damaged_model_is_refused(collection):
    path = collection.complete(collection.write_lists(), "out").out / "model.tagloom"
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ModelFileError):
        CompletionModel.load(path)
    path.write_bytes(bytes(content[:100]))
    with pytest.raises(ModelFileError):
        CompletionModel.load(path)
