import json
import shutil

import pytest

from tagloom.completion.export import finished_tags
from tagloom.formats import read_tags

FORMS = {
    "csv": "tags.csv",
    "jsonl": "tags.jsonl",
    "coco": "coco.json",
    "fiftyone": "fiftyone",
    "label-studio": "label-studio.json",
}


def _said(annotations, *, confidence=True):
    return {
        (one.image, one.tag, one.present)
        + ((None if one.confidence is None else round(one.confidence, 4),) if confidence else ())
        for one in annotations
    }


@pytest.fixture(scope="module")
def updated(finished_run, tmp_path_factory, tagloom):
    """A run in which something was denied as well."""
    root = tmp_path_factory.mktemp("updated")
    (root / "no.csv").write_text("image,tag,state\nscene-00001.jpg,sky,absent\n")
    out = root / "out"
    answer = tagloom("update", finished_run, "--tags", root / "no.csv", "--out", out)
    assert answer.code == 0, answer.err
    return out


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_reads_as_what_was_found(form, updated, collection, tagloom, tmp_path):
    to = ("--to", form, "--file", tmp_path / FORMS[form], "--suggested", "0", "--json")
    answer = tagloom("export", updated, *to)
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    found = finished_tags(updated, suggested=0)
    back = read_tags(tmp_path / FORMS[form], pictures=collection.photos).annotations
    n_lost = len({one["where"] for one in told["warnings"]})
    if n_lost:
        # What a format cannot say is told, and nothing else is missing.
        present = {one for one in _said(found) if one[2]}
        assert _said(back) == present
    else:
        assert _said(back) == _said(found)
    assert told["known"] + told["accepted"] + told["suggested"] == len(found) - told["rejected"]
    assert told["rejected"] == 1


def test_suggestions_leave_only_if_asked(finished, tagloom):
    answer = tagloom("export", finished, "--to", "csv")
    assert "no suggestions (--suggested" in answer.out
    known = read_tags(finished / "tags.csv").annotations
    assert all(one.confidence is None for one in known)
    answer = tagloom("export", finished, "--to", "csv", "--suggested", "0.5")
    sure = [one.confidence for one in read_tags(finished / "tags.csv").annotations]
    guesses = [c for c in sure if c is not None]
    assert min(guesses) >= 0.5
    assert f"{len(guesses)} suggested with at least 50%, marked as such" in answer.out
    assert len(sure) - len(guesses) == len(known)


@pytest.fixture
def photos(collection, tmp_path):
    """Pictures that have moved, one with a sidecar of its own."""
    folder = shutil.copytree(collection.photos, tmp_path / "moved")
    (folder / "scene-00002.jpg.xmp").write_text(
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
        'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
        'xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="4"/></rdf:RDF></x:xmpmeta>'
    )
    return folder


def test_sidecars_dry_then_written_then_taken_back(finished, photos, tagloom, contents):
    before = contents(photos)
    xmp = ("export", finished, "--to", "xmp", "--photos", photos, "--suggested", "0.5")
    answer = tagloom(*xmp, "--dry-run")
    assert answer.code == 0, answer.err
    assert "(suggested)" in answer.out
    assert "would be written (dry run: nothing was)" in answer.out
    assert contents(photos) == before
    answer = tagloom(*xmp, "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["refused"] == []
    found = finished_tags(finished, suggested=0.5)
    read = read_tags(photos, format="xmp").annotations
    assert {one[:3] for one in read} == {one[:3] for one in found if one.present}
    assert {one[:2] for one in read.without_suggestions()} == {
        one[:2] for one in found.without_suggestions() if one.present
    }
    assert 'xmp:Rating="4"' in (photos / "scene-00002.jpg.xmp").read_text(encoding="utf-8")
    assert "0 sidecars written" in tagloom(*xmp).out
    answer = tagloom(*xmp, "--undo")
    assert answer.code == 0, answer.err
    after = contents(photos)
    assert {name: held for name, (held, _) in after.items()} == {
        name: held for name, (held, _) in before.items()
    }
    pictures = [name for name in before if name.endswith(".jpg")]
    assert all(after[name] == before[name] for name in pictures)


def test_a_sidecar_that_was_changed_since_is_left_alone(finished, photos, tagloom):
    xmp = ("export", finished, "--to", "xmp", "--photos", photos)
    assert tagloom(*xmp).code == 0
    mine = photos / "scene-00002.jpg.xmp"
    mine.write_text(mine.read_text(encoding="utf-8").replace("4", "5"), encoding="utf-8")
    held = mine.read_bytes()
    answer = tagloom(*xmp, "--undo")
    assert answer.code == 1
    assert "1 left as they are" in answer.out
    assert mine.read_bytes() == held


def test_photos_that_are_gone(finished, tagloom, tmp_path):
    answer = tagloom("export", finished, "--to", "xmp", "--photos", tmp_path / "none")
    assert answer.code == 1
    assert str(tmp_path / "none") in answer.err + answer.out


@pytest.mark.parametrize(
    "wrong",
    [
        ("--to", "pdf"),
        ("--to", "csv", "--undo"),
        ("--to", "xmp", "--file", "x.xmp"),
        ("--to", "pictures", "--file", "x.jpg"),
        ("--to", "csv", "--suggested", "7"),
        (),
    ],
)
def test_wrong_usage(wrong, finished_run, tagloom):
    assert tagloom("export", finished_run, *wrong).code == 2


def test_a_file_of_the_user_in_the_folder_of_the_run_is_not_replaced(finished, tagloom):
    (finished / "tags.csv").write_text("mine")
    answer = tagloom("export", finished, "--to", "csv")
    assert answer.code == 1
    assert "tags.csv was not written by tagloom" in answer.err
    assert (finished / "tags.csv").read_text() == "mine"


@pytest.mark.parametrize("name", ["suggestions.csv", "model.tagloom", "review.sqlite"])
def test_a_file_of_the_run_itself_is_not_replaced(name, finished, tagloom, contents):
    before = contents(finished)
    answer = tagloom("export", finished, "--to", "csv", "--file", finished / name)
    assert answer.code == 2
    assert "a file of the run itself" in answer.err
    assert contents(finished) == before


def test_a_run_without_its_marker_is_read_but_not_written(finished, tagloom, tmp_path, contents):
    """The way out that is named: what people have answered, in tables as well, goes along."""
    (finished / ".tagloom.json").unlink()
    table = (finished / "suggestions.csv").read_text()
    row = next(line for line in table.splitlines() if line.endswith(",suggested"))
    answered = f"{row.removesuffix('suggested')}known"
    (finished / "suggestions.csv").write_text(table.replace(row, answered))
    before = contents(finished)
    (tmp_path / "more.csv").write_text("image,tag\nscene-00001.jpg,sky\n")
    for command in (
        ("export", finished, "--to", "csv"),
        ("update", finished, "--tags", tmp_path / "more.csv"),
        ("review", finished, "--no-open"),
        ("check", finished),
    ):
        answer = tagloom(*command)
        assert answer.code == 1, command
        assert "copy .tagloom.json and the other hidden files" in answer.err
        assert "--to csv --file known.csv" in answer.err
    assert contents(finished) == before
    known = tmp_path / "known.csv"
    tagloom("export", finished, "--to", "csv", "--file", known)
    image, tag = row.split(",")[:2]
    assert (image, tag, True) in _said(read_tags(known).annotations, confidence=False)


def test_what_cannot_be_exported(finished, tagloom, tmp_path):
    answer = tagloom("export", tmp_path, "--to", "csv")
    assert (answer.code, answer.out) == (1, "")
    assert "is not the result of a finished run" in answer.err
    answer = tagloom("export", finished, "--to", "xmp", "--undo")
    assert "There is nothing to undo" in answer.err
    answer = tagloom("export", finished, "--to", "csv", "--file", tmp_path / "none" / "tags.csv")
    assert "does not exist" in answer.err
    (tmp_path / "taken").write_text("mine")
    answer = tagloom("export", finished, "--to", "fiftyone", "--file", tmp_path / "taken")
    assert answer.code == 1
    assert str(tmp_path / "taken") in answer.err
    (finished / "run.json").write_text("{}")
    (finished / "suggestions.csv").write_text("image,tag\n")
    answer = tagloom("export", finished, "--to", "csv")
    assert answer.code == 1
    assert "expected the columns" in answer.err
