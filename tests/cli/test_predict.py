import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from tagloom.datasets.scenes import draw_scene
from tagloom.formats import read_tags


@pytest.fixture(scope="module")
def new_photos(tmp_path_factory):
    """Scenes that the model has not seen, and a file that is no picture."""
    folder = tmp_path_factory.mktemp("new")
    for number in range(100, 124):
        draw_scene(number).image.save(folder / f"new {number}.jpg")
    (folder / "broken.jpg").write_text("no picture")
    return folder


def test_new_pictures_are_tagged_and_bad_ones_told(finished_run, new_photos, collection, tagloom):
    answer = tagloom("predict", finished_run, new_photos, "--cache", collection.cache)
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"new {n}.jpg" for n in range(100, 124)]
    assert "1 skipped\n    broken.jpg: it is not a picture" in answer.err


def test_what_is_suggested_is_more_often_right_than_chance(
    finished_run, new_photos, collection, tagloom
):
    answer = tagloom(
        "predict", finished_run / "model.tagloom", new_photos, "--json",
        "--cache", collection.cache,
    )  # fmt: skip
    told = json.loads(answer.out)
    assert told["skipped"][0]["name"] == "broken.jpg"
    truth = {f"new {number}.jpg": draw_scene(number).labels for number in range(100, 124)}
    right = [one["tag"] in truth[one["image"]] for one in told["tags"]]
    n_tags = len({tag for tags in collection.truth.values() for tag in tags})
    by_chance = sum(map(len, truth.values())) / (len(truth) * n_tags)
    assert len(right) > 10
    assert sum(right) / len(right) > 2 * by_chance


def test_a_higher_precision_asks_for_higher_probabilities(
    finished_run, new_photos, collection, tagloom
):
    answer = tagloom(
        "predict", finished_run, new_photos, "--precision", "0.6", "--json",
        "--cache", collection.cache,
    )  # fmt: skip
    assert all(one["probability"] >= 0.6 for one in json.loads(answer.out)["tags"])


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_tags_go_into_a_file(ending, finished_run, new_photos, collection, tagloom, tmp_path):
    out = tmp_path / f"tags.{ending}"
    answer = tagloom("predict", finished_run, new_photos, "--out", out, "--cache", collection.cache)
    assert answer.code == 0, answer.err
    assert "... and 4 more pictures" in answer.out
    if ending == "jsonl":
        said = read_tags(out).annotations
        assert len(said.images) == 24
        assert all(one.confidence is not None for one in said)
    assert out.stat().st_size > 0


def test_a_file_of_unknown_form_is_refused_before_any_work(finished_run, tagloom, tmp_path):
    for out, words in {"tags.txt": "must end in", "none/tags.csv": "does not exist"}.items():
        answer = tagloom("predict", finished_run, tmp_path / "nowhere", "--out", tmp_path / out)
        assert answer.code == 1
        assert words in answer.err


def test_the_encoder_of_the_run_looks_at_new_pictures(collection, tagloom, tmp_path):
    answer = collection.complete(tmp_path / "out", "--whole")
    assert answer.code == 0, answer.err
    folder = tmp_path / "one"
    folder.mkdir()
    shutil.copy(collection.photos / "scene-00001.jpg", folder / "one.jpg")
    before = _entries(collection.cache)
    answer = tagloom("predict", tmp_path / "out", folder, "--cache", collection.cache)
    assert answer.code == 0, answer.err
    # Looked at as the run did, its numbers are in the cache of the run already.
    assert _entries(collection.cache) == before


def _entries(cache):
    with closing(sqlite3.connect(cache / "features.sqlite")) as database:
        return database.execute("SELECT count(*) FROM features").fetchone()


def test_what_is_no_model_or_no_folder_is_an_error(finished_run, collection, tagloom, tmp_path):
    for args, words in [
        ((collection.tags, collection.photos), "is not a readable model file"),
        ((tmp_path / "none", collection.photos), "There is no model file"),
        ((finished_run, tmp_path), "There are no pictures"),
        ((finished_run, tmp_path / "none"), "none"),
    ]:
        answer = tagloom("predict", *args, "--cache", collection.cache)
        assert answer.code == 1
        assert words in answer.err


def test_a_probability_beyond_one_is_wrong_usage(finished_run, collection, tagloom):
    assert tagloom("predict", finished_run, collection.photos, "--precision", "2").code == 2
