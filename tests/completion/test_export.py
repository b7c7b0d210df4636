import csv

import pytest

from tagloom.completion.export import FORMS, export, finished_tags, planned_sidecars
from tagloom.errors import InvalidInputError
from tagloom.formats import read_tags


def test_finished_tags_are_peoples_and_ours(finished):
    done = finished[1]
    tags = finished_tags(done.out)
    ours = [one for one in tags if one.confidence is not None]
    theirs = [one for one in tags if one.confidence is None]
    with (done.out / "suggestions.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["state"] == "suggested"]
    assert {(one.image, one.tag) for one in ours} == {(row["image"], row["tag"]) for row in rows}
    assert len(theirs) == done.model.known.n_known
    sure = finished_tags(done.out, states=("suggested",), at_least=0.5)
    assert {one.confidence for one in sure} == {
        one.confidence for one in ours if one.confidence >= 0.5
    }
    with pytest.raises(InvalidInputError, match="state"):
        finished_tags(done.out, states=("doubtful",))


@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_is_written_where_it_was_asked(finished, tmp_path, form):
    scenes, done = finished
    tags = finished_tags(done.out)
    made = export(tags, form, tmp_path / FORMS[form], scenes / "photos")
    assert made.files
    assert all(path.exists() for path in made.files)
    assert made.n_images == 48
    assert made.n_tags == len(tags)


def test_a_csv_export_is_read_back_as_it_was(finished, tmp_path):
    scenes, done = finished
    tags = finished_tags(done.out)
    export(tags, "csv", tmp_path / "tags.csv", scenes / "photos")
    read = read_tags(tmp_path / "tags.csv", pictures=scenes / "photos").annotations
    assert {(one.image, one.tag, one.present) for one in read} == {
        (one.image, one.tag, one.present) for one in tags
    }


def test_sidecars_are_planned_and_not_written(finished):
    scenes, done = finished
    before = sorted(path.name for path in (scenes / "photos").iterdir())
    planned_sidecars(finished_tags(done.out), scenes / "photos")
    assert sorted(path.name for path in (scenes / "photos").iterdir()) == before


def test_a_folder_that_is_no_result_has_no_finished_tags(tmp_path):
    with pytest.raises(InvalidInputError, match="not the result of a finished run"):
        finished_tags(tmp_path)
