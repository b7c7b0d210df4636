import json

import pytest

from tagloom.benchmark.config import Benchmark, read_config
from tagloom.errors import InvalidInputError


def write(tmp_path, text):
    path = tmp_path / "benchmark.toml"
    path.write_text(text)
    return path


def test_keys_are_the_flags_and_flags_win(tmp_path):
    path = write(
        tmp_path,
        'dataset = "scenes"\nprotocol = ["per-class", "uniform"]\nrates = [0.1, 0.2]\n'
        "validate-descriptors = true\nrepeats = 3\nunlisted = 0.25\n",
    )
    config = read_config(path, {"repeats": 7, "random_state": None})
    assert config.protocols == ("per-class", "uniform")
    assert config.rates == (0.1, 0.2)
    assert config.validate_descriptors is True
    assert config.repeats == 7
    assert config.random_state == 0
    assert config.unlisted == 0.25


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("repaets = 3", ["unknown key 'repaets'", "Did you mean 'repeats'?"]),
        ("validate_descriptors = true", ["Did you mean 'validate-descriptors'?"]),
        ("repeats = 2.5", ["repeats must be an integer of at least 1", "2.5"]),
        ('repeats = "2"', ["repeats must be an integer of at least 1", "'2'"]),
        ("repeats = true", ["repeats must be an integer", "True"]),
        ("folds = 1", ["folds must be an integer of at least 2"]),
        ("rates = []", ["rates must hold at least one value"]),
        ("rates = [0.1, 1.5]", ["rates must be a finite number in (0, 1]", "1.5"]),
        ('rates = ["much"]', ["rates must be a finite number in (0, 1]", "'much'"]),
        ("rates = [[0.1]]", ["rates must be a list"]),
        ('methods = ["maxid"]', ["no method 'maxid'", "Did you mean 'maxide'?"]),
        ('protocol = ["perclass"]', ["protocol must be one of 'per-class'"]),
        ('features = "audio"', ["features must be one of 'visual', 'semantic'"]),
        ('unlisted = "maybe"', ["unlisted must be one of 'absent', 'unknown'"]),
        ("unlisted = 0", ["unlisted must be a finite number in (0, 1]"]),
        ("n-components = 0", ["n-components must be"]),
        ("figures = 1", ["figures must be True or False"]),
        ("dataset = 3", ["dataset must be the name of a set"]),
        ("out = 3", ["out must be the path"]),
        ("jobs = 0", ["jobs must be an integer of at least 1"]),
        ("repeats = ", ["is not valid TOML"]),
    ],
)
def test_invalid_values_are_refused_by_name(tmp_path, text, words):
    path = write(tmp_path, text)
    with pytest.raises(InvalidInputError) as refused:
        read_config(path, {})
    for word in [str(path), *words]:
        assert word in str(refused.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"nowhere\.toml cannot be read"):
        read_config(tmp_path / "nowhere.toml", {})


def test_saved_configuration_makes_the_same_benchmark(tmp_path):
    config = Benchmark(protocols=("uniform",), rates=(0.25,), n_jobs=2, out=tmp_path)
    config.save(tmp_path / "config.json", version="x")
    stored = json.loads((tmp_path / "config.json").read_text())
    assert stored.pop("version") == "x"
    lines = [f"{key} = {json.dumps(value)}" for key, value in stored.items() if value is not None]
    assert read_config(write(tmp_path, "\n".join(lines)), {}) == config


def test_repeated_values_count_once():
    assert Benchmark(rates=(0.1, 0.2, 0.1)).rates == (0.1, 0.2)


def test_seeds_follow_each_other():
    assert Benchmark(random_state=3, repeats=2).seeds == (3, 4)
