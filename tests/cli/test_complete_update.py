import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from tagloom.completion.export import finished_tags
from tagloom.completion.feedback import as_mapping, decided
from tagloom.completion.model import CompletionModel
from tagloom.formats import Annotation, Annotations, read_long_csv, write_long_csv
from tagloom.review.collection import HAS_TAG, EntryState
from tagloom.review.session import Review


@pytest.fixture
def answers(finished, tmp_path, read_rows):
    """What somebody says of what was asked: of six some are right and some wrong; a tag is new."""
    rows = read_rows(finished / "suggestions.csv")
    suggested = [(row["image"], row["tag"]) for row in rows if row["state"] == "suggested"]
    queries = [(row["image"], row["tag"]) for row in read_rows(finished / "annotate_next.csv")]
    asked = list(dict.fromkeys([*suggested[:5], *queries]))
    confirmed, denied = asked[:3], asked[3:6]
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
    left = len(suggested) - 2
    said = f"{left} are a machine's suggestions and are not learned from" in answer.out
    assert said == (left > 0)
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
    before = _files(finished)
    answer = collection.complete(finished)
    assert answer.code == 1
    assert (
        "has learned 10 annotations by `tagloom update` that the tags of this run do" in answer.err
    )
    assert _files(finished) == before
    assert not (finished / ".checkpoint").exists()
    known = tmp_path / "known.csv"
    answer = tagloom("export", finished, "--to", "csv", "--file", known)
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


def _files(out):
    """Return the content of the files; SQLite has two more while a journal is read."""
    files = [one for one in out.iterdir() if one.is_file()]
    return {one.name: one.read_bytes() for one in files if not one.match("review.sqlite-*")}


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


def _n_batches(out):
    try:
        with closing(
            sqlite3.connect(f"{(out / 'review.sqlite').as_uri()}?mode=ro", uri=True)
        ) as db:
            return db.execute("SELECT count(*) FROM batches").fetchone()[0]
    except sqlite3.Error:
        return 0


# What is held up, so that the signal comes in time, and how it is seen that the moment has come.
MOMENTS = {
    "learning": ("pipeline.training_labels", _n_batches),
    "measuring": ("pipeline.assemble_result", lambda out: [*out.glob(".checkpoint/*/fold*.npy")]),
    "writing": ("outputs.write_report", lambda out: [*out.glob(".new-*/suggestions.csv")]),
    "switching": ("", lambda out: [*out.glob(".ready-*")]),
}
HELD = (
    "import time; from tagloom.completion import folder, outputs, pipeline; step = {0}; "
    "{0} = lambda *a, **k: (time.sleep(240), step(*a, **k)); "
)
SWITCH_HELD = (
    "import os, time; from pathlib import Path; rename = Path.rename; "
    "Path.rename = lambda a, b: (rename(a, b), '.ready-' in str(b) and time.sleep(240)); "
)


def _kill(out, tags, moment):
    held, has_come = MOMENTS[moment]
    code = SWITCH_HELD if moment == "switching" else HELD.format(held)
    code += "from tagloom.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "update", str(out), "--tags", str(tags)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    ends = time.monotonic() + 240
    while not has_come(out):
        assert process.poll() is None
        assert time.monotonic() < ends
        time.sleep(0.005)
    process.kill()
    assert process.wait(60) == -signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="signals cannot be sent to a process there")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_update_has_kept_what_it_was_told(finished, answers, tagloom, tmp_path, moment):
    path, confirmed, denied, new = answers
    rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("".join(rows[:6]), encoding="utf-8")
    second.write_text("".join([rows[0], *rows[6:]]), encoding="utf-8")
    _kill(finished, first, moment)
    told = {(one.image, one.tag): one.present for one in read_long_csv(first).annotations}
    # Only the journal has them now.
    first.unlink()
    assert _states(decided(finished)) == told
    exported = tmp_path / "known.csv"
    answer = tagloom("export", finished, "--to", "csv", "--file", exported)
    assert answer.code == 0, answer.err
    assert told.items() <= _states(read_long_csv(exported).annotations).items()

    answer = tagloom("update", finished, "--tags", second)
    assert (answer.code, answer.err) == (0, "")
    everything = dict.fromkeys([*confirmed, *new], True) | dict.fromkeys(denied, False)
    assert _states(decided(finished)) == everything
    known = as_mapping(CompletionModel.load(finished / "model.tagloom").known)
    assert everything.items() <= known.items()
    with closing(sqlite3.connect(finished / "review.sqlite")) as journal:
        stored = journal.execute("SELECT image, tag FROM decisions").fetchall()
    assert sorted(stored) == sorted(everything)


def _states(annotations):
    return {(one.image, one.tag): one.present for one in annotations}


def test_an_answer_undone_on_the_page_is_withdrawn(finished, answers, tagloom):
    path, confirmed, *_ = answers
    assert tagloom("update", finished, "--tags", path).code == 0
    review = Review(finished)
    places = [(review.collection.image(image), review.collection.tag(t)) for image, t in confirmed]
    assert all(review.collection.state(*place) == EntryState.ACCEPTED for place in places)
    refused = tagloom("update", finished, "--tags", path)
    assert "is open in another `tagloom review`" in refused.err
    review.undo()
    assert not any(review.collection.state(*place) in HAS_TAG for place in places)
    review.close()
    assert not _states(decided(finished))
    exported = _states(finished_tags(finished))
    assert not exported.keys() & set(confirmed)
