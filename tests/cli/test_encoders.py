"""Encoders of the user's own on the command line, from a check to tags for new pictures."""

import json
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import tiny_networks as tiny


class Painted(NamedTuple):
    home: Path
    truth: dict[str, str]
    new: dict[str, str]

    @property
    def pair(self):
        return self.home / "pair"


@pytest.fixture(scope="module")
def painted(tmp_path_factory):
    home = tmp_path_factory.mktemp("painted")
    truth = tiny.paint(home / "photos", 120, seed=1)
    new = tiny.paint(home / "new", 30, seed=2)
    tiny.write_tags(home / "tags.csv", truth, {"red": "red", "green": "grün"})
    tiny.clip(home / "pair")
    return Painted(home, truth, new)


@pytest.fixture(scope="module")
def run(painted, tagloom):
    """Nobody has tagged a blue picture; the German word is asked for."""
    out = painted.home / "out"
    answer = tagloom(
        "complete", painted.home / "photos", "--tags", painted.home / "tags.csv", "--out", out,
        "--encoder", painted.pair, "--encoder", "none", "--add-tag", "blau",
        "--minutes", "0", "--folds", "2", "--cache", painted.home / "cache",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert "judged by their names: blau" in answer.out
    return out


def suggested(rows, tag):
    return [row["image"] for row in rows if row["tag"] == tag and row["state"] == "suggested"]


def test_a_word_that_wordnet_does_not_have_is_found(run, painted, read_rows):
    found = suggested(read_rows(run / "suggestions.csv"), "blau")
    blue = {name for name, colour in painted.truth.items() if colour == "blue"}
    assert len(blue & {*found}) > len(blue) / 2
    assert len(blue & {*found}) > len(found) / 2
    report = (run / "report.html").read_text("utf-8")
    assert "fits the word \\u201cblau\\u201d" in report or "fits the word “blau”" in report
    assert "its name is compared with the pictures by pair" in report
    assert "WordNet" not in report.split("blau")[0][-200:]


def test_new_pictures_are_tagged_without_the_text_half(run, painted, tagloom, tmp_path):
    moved = tmp_path / "pair"
    shutil.copytree(painted.pair, moved)
    (moved / "onnx" / "text_model.onnx").write_bytes(b"not needed")
    command = ("predict", run, painted.home / "new", "--json", "--cache", tmp_path / "cache")
    answers = [tagloom(*command), tagloom(*command, "--encoder", moved, "--encoder", "none")]
    first, second = (json.loads(answer.out) for answer in answers)
    assert first == second
    blue = [one["image"] for one in first["tags"] if one["tag"] == "blau"]
    assert blue
    assert sum(painted.new[name] == "blue" for name in blue) > len(blue) / 2


def test_an_update_knows_further_words(run, painted, tagloom, read_rows, tmp_path):
    out = tmp_path / "out"
    answer = tagloom("update", run, "--out", out, "--add-tag", "blue")
    assert answer.code == 0, answer.err
    rows = read_rows(out / "suggestions.csv")
    assert {*suggested(rows, "blue")} & {*suggested(rows, "blau")}


@pytest.mark.filterwarnings("always::tagloom.errors.TagloomWarning")
def test_an_encoder_that_has_moved_is_asked_for_and_named(run, painted, tagloom, tmp_path):
    out, moved = tmp_path / "out", tmp_path / "moved"
    painted.pair.rename(moved)
    try:
        answer = tagloom("update", run, "--out", out, "--add-tag", "blue")
        assert "The names blue cannot be compared with the pictures" in answer.err
        assert "not linked, nothing to learn from until you tag a picture: blue" in answer.out
        answer = tagloom("update", out, "--encoder", moved, "--encoder", "none")
        assert answer.code == 0, answer.err
        assert "judged by their names: blau, blue" in answer.out
    finally:
        moved.rename(painted.pair)


def test_a_broken_text_half_is_said_before_any_picture_is_encoded(painted, tagloom, tmp_path):
    broken = tmp_path / "pair"
    shutil.copytree(painted.pair, broken)
    (broken / "tokenizer.json").write_text("{}")
    command = (
        "complete", painted.home / "photos", "--tags", painted.home / "tags.csv",
        "--out", tmp_path / "out", "--encoder", broken, "--encoder", "none",
        "--cache", tmp_path / "cache", "--minutes", "0", "--folds", "2",
    )  # fmt: skip
    answer = tagloom(*command)
    assert answer.code == 1
    assert "cannot be read as a tokenizer" in answer.err
    assert not (tmp_path / "cache").exists()
    assert tagloom(*command, "--no-words").code == 0


def test_a_check_says_what_was_recognised(painted, tagloom, monkeypatch):
    monkeypatch.setattr("tagloom.cli.encoders._SECONDS", 0.1)
    answer = tagloom("encoders", "check", painted.pair)
    assert answer.code == 0, answer.err
    for said in (
        "pair: 6 visual features, 0 concepts",
        "Hugging Face's layout",
        "takes FLOAT of 16 x 16 pixels, channels first",
        "6 numbers of the tensor 'image_embeds'",
        "compares names with pictures, by text_model.onnx",
        "pictures a second on one core",
    ):
        assert said in answer.out
    picture = painted.home / "photos" / "000.png"
    told = json.loads(
        tagloom("encoders", "check", painted.pair, "--picture", picture, "--json").out
    )
    assert told["framing"]["size"] == tiny.SIZE
    assert told["pictures_per_second"] > 0
    # The tokenizer knows none of the three names.
    assert told["texts"]["cosines"] == {"dog and Hund": None, "dog and sunset": None}


def test_what_is_here_is_listed(painted, tagloom, tmp_path, monkeypatch):
    monkeypatch.setenv("TAGLOOM_CACHE", str(tmp_path))
    folder = tmp_path / "fetched" / "maker--tiny"
    shutil.copytree(painted.pair, folder)
    manifest = {"protocol": 1, "repository": "maker/tiny", "revision": "abc", "files": {}}
    (folder / "tagloom-manifest.json").write_text(json.dumps(manifest | {"licence": "mit"}))
    told = json.loads(tagloom("encoders", "list", "--json").out)["encoders"]
    names = [one["name"] for one in told]
    assert names == ["lite0", "lite1", "lite2", "maker/tiny"]
    assert told[-1]["gives"] == "pictures and texts"
    assert "licence mit" in tagloom("encoders", "list").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "gone.onnx"), "There is no network gone.onnx"),
        (("check", "gone"), "There is no encoder 'gone'"),
        (("fetch", "name"), "OWNER/NAME[@REVISION]"),
    ],
)
def test_mistakes_end_in_one_line(tagloom, arguments, message):
    answer = tagloom("encoders", *arguments)
    assert answer.code == 1
    assert message in answer.err
    assert answer.err.count("\n") == 1
