import json
import shutil

import pytest

from tagloom.completion.model import CompletionModel
from tagloom.formats import Annotation, Annotations, write_long_csv


@pytest.fixture
def answers(finished, tmp_path, read_rows):
    """What somebody says of suggestions: of six some are right and some wrong, and a tag is new."""
    rows = read_rows(finished / "suggestions.csv")
    suggested = [(row["image"], row["tag"]) for row in rows if row["state"] == "suggested"]
    confirmed, denied = suggested[:3], suggested[3:6]
    new = [(f"scene-{number:05}.jpg", "picnic") for number in (1, 5, 9, 13)]
    said = [Annotation(image, tag) for image, tag in [*confirmed, *new]]
    said += [Annotation(image, tag, False) for image, tag in denied]
    path = tmp_path / "answers.csv"
    write_long_csv(Annotations.of(said), path)
    return path, confirmed, denied, new


def _pairs(rows, *states):
    return {(row["image"], row["tag"]) for row in rows if row["state"] in states}


def test_answers_are_learned(finished, answers, tagloom, read_rows, collection, contents):
    path, confirmed, denied, new = answers
    before = contents(collection.photos)
    answer = tagloom("update", finished, "--tags", path)
    assert (answer.code, answer.err) == (0, "")
    assert "learned from 10 new annotations" in answer.out
    rows = read_rows(finished / "suggestions.csv")
    known = _pairs(rows, "known", "doubtful-known")
    assert {*confirmed, *new} <= known
    assert {(name, tag) for name, tags in collection.given.items() for tag in tags} <= known
    assert not _pairs(rows, "suggested", "known", "doubtful-known") & set(denied)
    assert "picnic" in CompletionModel.load(finished / "model.tagloom").tagger.classes_
    assert contents(collection.photos) == before
    assert not (finished / ".checkpoint").exists()


def test_the_same_answers_twice_change_nothing(finished, answers, tagloom):
    path, *_ = answers
    assert tagloom("update", finished, "--tags", path).code == 0
    once = (finished / "suggestions.csv").read_bytes()
    answer = tagloom("update", finished, "--tags", path)
    assert answer.code == 0, answer.err
    assert (finished / "suggestions.csv").read_bytes() == once


def test_answers_in_two_goes_are_all_kept(finished, answers, tagloom, tmp_path, read_rows):
    path, confirmed, denied, new = answers
    rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
    parts = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for part, lines in zip(parts, (rows[1:6], rows[6:]), strict=True):
        part.write_text("".join([rows[0], *lines]), encoding="utf-8")
        answer = tagloom("update", finished, "--tags", part)
        assert answer.code == 0, answer.err
    table = read_rows(finished / "suggestions.csv")
    assert {*confirmed, *new} <= _pairs(table, "known", "doubtful-known")
    assert not _pairs(table, "suggested") & set(denied)


def test_the_last_word_counts(finished, answers, tagloom, tmp_path, read_rows):
    path, (first, *_), *_ = answers
    assert tagloom("update", finished, "--tags", path).code == 0
    write_long_csv(Annotations.of([Annotation(*first, False)]), tmp_path / "no.csv")
    answer = tagloom("update", finished, "--tags", tmp_path / "no.csv", "--json")
    assert json.loads(answer.out)["summary"]["new annotations"] == 1
    table = read_rows(finished / "suggestions.csv")
    assert first not in _pairs(table, "known", "doubtful-known", "suggested")


def test_another_folder_leaves_the_first_run_alone(finished, answers, tagloom, tmp_path, contents):
    before = contents(finished)
    answer = tagloom("update", finished, "--tags", answers[0], "--out", tmp_path / "next")
    assert answer.code == 0, answer.err
    assert contents(finished) == before
    assert (tmp_path / "next" / "run.json").exists()


def test_photos_that_have_moved(finished, answers, tagloom, tmp_path, collection, monkeypatch):
    moved = shutil.copytree(collection.photos, tmp_path / "moved")
    hidden = collection.photos.rename(collection.photos.with_name("away"))
    try:
        answer = tagloom("update", finished, "--tags", answers[0])
        assert answer.code == 1
        assert "Give their present folder with --photos" in answer.err
        assert (finished / "run.json").exists()
        answer = tagloom("update", finished, "--tags", answers[0], "--photos", moved)
    finally:
        hidden.rename(collection.photos)
    assert answer.code == 0, answer.err
    told = json.loads((finished / "run.json").read_text(encoding="utf-8"))
    assert told["photos"] == str(moved)


def test_answers_to_nothing(finished, tagloom, tmp_path, contents):
    before = contents(finished)
    for text, words in {
        "image,tag\nelsewhere.jpg,sea\n": "None of the 1 pictures",
        "image,tag,state\nscene-00001.jpg,sea,\n": "there is nothing to learn",
        "": "it is empty",
    }.items():
        (tmp_path / "mine.csv").write_text(text)
        answer = tagloom("update", finished, "--tags", tmp_path / "mine.csv")
        assert answer.code == 1
        assert words in answer.err
    assert contents(finished) == before
    assert not (finished / ".checkpoint").exists()


def test_no_model_to_update(tagloom, tmp_path, collection):
    answer = tagloom("update", tmp_path, "--tags", collection.tags)
    assert answer.code == 1
    assert "There is no model file" in answer.err


def test_answers_may_stand_in_the_tables_of_the_run(finished, tagloom, read_rows):
    table = finished / "suggestions.csv"
    suggested = sorted(_pairs(read_rows(table), "suggested"))
    text = table.read_text(encoding="utf-8")
    for (image, tag), state in zip(suggested[:2], ("known", "absent"), strict=True):
        (line,) = [one for one in text.splitlines() if one.startswith(f"{image},{tag},")]
        text = text.replace(line, line.replace("suggested", state))
    table.write_text(text, encoding="utf-8")
    answer = tagloom("update", finished, "--tags", table)
    assert answer.code == 0, answer.err
    assert "learned from 2 new annotations" in answer.out
    assert (
        f"{len(suggested) - 2} are a machine's suggestions and are not learned from" in answer.out
    )
    rows = read_rows(table)
    assert suggested[0] in _pairs(rows, "known", "doubtful-known")
    assert suggested[1] not in _pairs(rows, "known", "doubtful-known", "suggested")


def test_unanswered_queries_are_not_learned_from(finished, tagloom, contents):
    before = contents(finished)
    answer = tagloom("update", finished, "--tags", finished / "annotate_next.csv")
    assert answer.code == 1
    assert "suggestions are a machine's: give those that are right the state known" in answer.err
    assert contents(finished) == before


def test_a_new_run_does_not_lose_the_answers(finished, answers, tagloom, collection, tmp_path):
    path, confirmed, denied, _ = answers
    assert tagloom("update", finished, "--tags", path).code == 0
    before = {one.name: one.read_bytes() for one in finished.iterdir() if one.is_file()}
    answer = collection.complete(finished)
    assert answer.code == 1
    assert (
        "has learned 10 annotations by `tagloom update` that the tags of this run do" in answer.err
    )
    assert {one.name: one.read_bytes() for one in finished.iterdir() if one.is_file()} == before
    assert not (finished / ".checkpoint").exists()
    known = tmp_path / "known.csv"
    answer = tagloom("export", finished, "--to", "csv", "--only-known", "--file", known)
    assert answer.code == 0, answer.err
    answer = collection.complete(finished, "--tags", known)
    assert answer.code == 0, answer.err
    said = CompletionModel.load(finished / "model.tagloom").known
    entries = said.entries()
    states = {
        (said.items[row], said.labels[column]): bool(present)
        for row, column, present in zip(entries.rows, entries.columns, entries.present, strict=True)
    }
    assert all(states[place] for place in confirmed)
    assert not any(states[place] for place in denied)


def test_an_answer_against_the_list_is_not_overruled_by_it_in_silence(
    finished, tagloom, collection, tmp_path
):
    image, (tag, *_) = next((name, tags) for name, tags in collection.given.items() if tags)
    no = tmp_path / "no.csv"
    write_long_csv(Annotations.of([Annotation(image, tag, False)]), no)
    assert tagloom("update", finished, "--tags", no).code == 0
    assert collection.complete(finished).code == 1
    answer = collection.complete(finished, "--tags", no)
    assert answer.code == 0, answer.err
    assert "is both present and absent: left unknown" in answer.out


def test_an_update_that_was_broken_off_loses_no_answer(finished, tagloom, read_rows, monkeypatch):
    table = finished / "suggestions.csv"
    image, tag = min(_pairs(read_rows(table), "suggested"))
    text = table.read_text(encoding="utf-8")
    (line,) = [one for one in text.splitlines() if one.startswith(f"{image},{tag},")]
    table.write_text(text.replace(line, line.replace("suggested", "known")), encoding="utf-8")
    edited, record = table.read_bytes(), (finished / "run.json").read_bytes()

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("tagloom.completion.outputs.write_report", fail)
        answer = tagloom("update", finished, "--tags", table)
    assert answer.code == 1
    assert "No space left on device" in answer.err
    assert (table.read_bytes(), (finished / "run.json").read_bytes()) == (edited, record)
    answer = tagloom("update", finished, "--tags", table)
    assert (answer.code, answer.err) == (0, "")
    assert (image, tag) in _pairs(read_rows(table), "known", "doubtful-known")
    assert not list(finished.glob("*.edited-*"))
