"""A bounded part of `make fuzz`; the number of cases is printed (pytest -s)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz

CASES = 150


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    return {one.name: one for one in fuzz.targets(tmp_path_factory.mktemp("valid"))}


NAMES = [
    "model", "npz", "onnx", "toml", "journal", "run.json", ".tagloom.json", "suggestions.csv",
    "sidecars.journal", "vocabulary.toml", "a.xml", "a.xmp",
]  # fmt: skip
TAG_FILES = ["tags.csv", "wide.csv", "tags.jsonl", "coco.json", "labels.json"]


@pytest.mark.parametrize("name", [*NAMES, *(f"tags {file}" for file in TAG_FILES)])
def test_damaged_files_end_in_a_result_or_a_message(targets, name, tmp_path):
    number, failures = fuzz.run(targets[name], iter(range(CASES)), tmp_path)
    print(f"{name}: {number} cases")
    assert failures == []


def test_valid_files_are_read(targets, tmp_path):
    for number, target in enumerate(targets.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / target.file).write_bytes(target.content)
        target.read(folder / target.file)


def test_every_target_is_tested(targets):
    assert set(targets) == {*NAMES, *(f"tags {file}" for file in TAG_FILES)}


def test_a_failure_is_noticed(tmp_path):
    target = fuzz.Target("toy", "a", b"content", lambda path: 1 / 0)
    assert len(fuzz.run(target, iter(range(3)), tmp_path)[1]) == 3
