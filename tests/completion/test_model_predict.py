import numpy as np
import pytest

from tagloom.completion.model import CompletionModel, predict_folder, write_predictions
from tagloom.errors import InvalidInputError
from tagloom.formats import read_tags
from tagloom.vision import load_encoder


def test_new_pictures_are_tagged_by_probability(finished):
    scenes, done = finished
    found = predict_folder(done.out / "model.tagloom", scenes / "photos", cache=scenes / "cache")
    P = done.model.probabilities(done.model.tagger.training_set_.features)
    expected = {
        (done.result.items[row], done.result.labels[column])
        for row, column in zip(*np.nonzero(done.model.thresholds <= P), strict=True)
    }
    assert {(row.image, row.tag) for row in found.table} == expected
    every = predict_folder(
        done.out / "model.tagloom", scenes / "photos", at_least=0.0, cache=scenes / "cache"
    )
    assert len(every.table) == P.size


def test_pictures_must_be_seen_by_the_encoder_that_saw_the_others(finished):
    scenes, done = finished
    encoder = CompletionModel.load(done.out / "model.tagloom").tagger.encoder_metadata_
    assert encoder["name"] == "efficientnet-lite0"
    try:
        load_encoder(["lite1"])
    except Exception as missing:
        pytest.skip(f"no other encoder here: {missing}")
    with pytest.raises(InvalidInputError, match="lite0"):
        predict_folder(
            done.out / "model.tagloom", scenes / "photos", encoder=["lite1"],
            cache=scenes / "cache",
        )  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_predictions_are_written_as_the_ending_says(finished, tmp_path, ending):
    scenes, done = finished
    path = tmp_path / f"new.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    model = done.out / "model.tagloom"
    table = predict_folder(model, scenes / "photos", cache=scenes / "cache").table
    write_predictions(table, path)
    if ending == "csv":
        assert len(path.read_text(encoding="utf-8").splitlines()) == len(table) + 1
    elif ending == "jsonl":
        read = read_tags(path, pictures=scenes / "photos").annotations
        assert {(one.image, one.tag) for one in read} == {(row.image, row.tag) for row in table}
        assert all(one.confidence is not None for one in read)


def test_an_unknown_ending_is_refused(finished, tmp_path):
    with pytest.raises(InvalidInputError, match=r"\.csv, \.jsonl or \.parquet"):
        write_predictions(finished[1].result.table, tmp_path / "new.xml")
