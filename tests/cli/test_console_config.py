import json

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a config file."""

    def written(text):
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def test_every_flag_can_stand_in_the_file(collection, finished, tagloom, write):
    config = write(
        f"photos = {json.dumps(str(collection.photos))}\n"
        f"tags = [{json.dumps(str(collection.tags))}]\n"
        f"out = {json.dumps(str(finished))}\n"
        f"cache = {json.dumps(str(collection.cache))}\n"
        "minutes = 0\nfolds = 2\nmin-pictures = 3\nwhole = false\njson = true\n"
        'encoder = "lite0"\n'
    )
    answer = tagloom("complete", "--config", config)
    assert answer.code == 0, answer.err
    # The run of the file is the one that the same flags had asked for.
    assert json.loads(answer.out)["worked"] is False


def test_a_flag_wins_over_the_file(collection, finished, write):
    config = write('minutes = 0\nfolds = 3\nout = "nowhere/at/all"\ntags = "none.csv"\n')
    answer = collection.complete(finished, "--config", config)
    assert answer.code == 0, answer.err
    assert "Nothing to do" in answer.out


def test_a_weight_may_be_a_number(collection, tmp_path, tagloom, write):
    config = write("unlisted = 0.2\nmin-pictures = 1000\n")
    answer = collection.complete(tmp_path / "out", "--config", config)
    assert "No tag is on 1000 or more pictures" in answer.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('minutes = "soon"', "'minutes' must be a number; got 'soon'"),
        ("seed = 1.5", "'seed' must be an integer; got 1.5"),
        ("seed = true", "'seed' must be an integer; got True"),
        ('whole = "yes"', "'whole' must be true or false; got 'yes'"),
        ("whole = 1", "'whole' must be true or false; got 1"),
        ("out = 3", "'out' must be a path (a string); got 3"),
        ('out = ["a", "b"]', "'out' must be a path (a string); got ['a', 'b']"),
        ("tags = 3", "'tags' must be a path (a string), or a list of them; got 3"),
        ("tags = [1]", "'tags' must be a path (a string), or a list of them; got [1]"),
        ("minuets = 3", "there is no key 'minuets'. Did you mean 'minutes'?"),
        ("min_pictures = 3", "Did you mean 'min-pictures'?"),
        ('config = "other.toml"', "there is no key 'config'"),
        ("[complete]\nfolds = 3", "there is a section [complete]"),
        ("folds = ", "is not valid TOML"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_key(text, words, collection, tmp_path, write):
    config = write(text)
    answer = collection.complete(tmp_path / "out", "--config", config)
    assert answer.code == 1
    assert str(config) in answer.err
    assert words in answer.err
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_there(collection, tmp_path):
    answer = collection.complete(tmp_path / "out", "--config", tmp_path / "none.toml")
    assert answer.code == 1
    assert "none.toml cannot be read" in answer.err


def test_what_is_missing_in_file_and_flags_is_wrong_usage(tagloom, write):
    answer = tagloom("complete", "--config", write("minutes = 0\n"))
    assert answer.code == 2
    assert "Missing" in answer.err


def test_other_commands_take_a_file_too(finished, tagloom, tmp_path, write):
    config = write('to = "jsonl"\nsuggested = 0.5\njson = true\n')
    answer = tagloom("export", finished, "--config", config)
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["written"] == [str(finished / "tags.jsonl")]
