import json

import pytest


def test_it_says_what_is_in_a_model(finished_run, collection, tagloom):
    answer = tagloom("inspect", finished_run, "--json")
    assert (answer.code, answer.err) == (0, "")
    told = json.loads(answer.out)
    assert told["kind"] == "Completion"
    assert told["items"] == len(collection.truth)
    assert told["photos"] == str(collection.photos)
    assert told["options"]["cv"] == 2


def test_for_people_in_lines(finished_run, tagloom):
    answer = tagloom("inspect", finished_run / "model.tagloom")
    words = dict(line.split("  ", 1) for line in answer.out.splitlines())
    assert words["kind"].strip() == "Completion"
    assert "cv 2" in words["options"]


@pytest.mark.parametrize("content", [b"", b"no model at all", bytes(2000)])
def test_what_is_no_model_is_told(content, tagloom, tmp_path):
    (tmp_path / "model.tagloom").write_bytes(content)
    answer = tagloom("inspect", tmp_path)
    assert answer.code == 1
    assert f"{tmp_path / 'model.tagloom'} is not a readable model file" in answer.err


def test_a_folder_without_a_model(tagloom, tmp_path):
    answer = tagloom("inspect", tmp_path)
    assert (answer.code, answer.out) == (1, "")
    assert "There is no model file at" in answer.err
