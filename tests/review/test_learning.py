import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from tagloom.completion.export import finished_tags
from tagloom.completion.model import CompletionModel
from tagloom.completion.outputs import read_record, take_snapshot
from tagloom.completion.pipeline import update
from tagloom.formats import Annotation, Annotations, write_long_csv
from tagloom.labels import State
from tagloom.review import learning as module
from tagloom.review.learning import Learning, Progress, changed_suggestions, suggested_entries
from tagloom.review.session import Review


def learn(page):
    assert page.post("/api/learn", {}).json == {"started": True}
    for _ in range(1200):
        progress = page.get("/api/learn").json
        if progress["state"] != "running":
            return progress
        assert progress["done"] == 0 or 0 < progress["done"] < progress["of"]
        assert progress["step"]
        time.sleep(0.05)
    raise AssertionError("learning does not end")


def test_progress_is_counted_in_fits_and_says_how_long_it_takes(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: clock.now)
    running = Progress("running", "x", done=2, of=10, fit_seconds=5.0, since=100.0)
    assert running.to_json()["seconds_left"] == 40
    clock.now = 102.0
    moved = running.to_json()
    assert (moved["done"], moved["seconds_left"]) == (2.4, 38)
    # A fit that is late holds the bar before its end.
    clock.now = 200.0
    assert running.to_json()["done"] == 2.9
    assert Progress("running", "x").to_json()["seconds_left"] is None


def test_every_fit_of_an_update_is_reported(home):
    steps = []
    write_long_csv(Annotations.of([Annotation("scene-00001.jpg", "tree")]), home / "new.csv")
    out = home / "out"
    update(
        out / "model.tagloom",
        [home / "new.csv"],
        home / "next",
        photos=home / "photos",
        on_step=lambda step, findings: steps.append((step, findings)),
    )
    fits = [findings for step, findings in steps if step == "fitted"]
    # One of all tags, three folds of entries, three of pictures and two of names, and the rest as
    # another.
    assert [one["done"] for one in fits] == list(range(1, 10))
    assert {one["of"] for one in fits} == {10}


def known_state(out, image, tag):
    """The known label of an entry in a model; None if the model does not know the tag."""
    known = CompletionModel.load(out / "model.tagloom").known
    if tag not in known.labels:
        return None
    row, column = list(known.items).index(image), list(known.labels).index(tag)
    return State(int(known.states()[row, column]))


def test_learning_again_takes_decisions_and_gives_them_back_when_undone(page, home, review):
    out, names = home / "out", page.get("/api/collection").json
    first = read_record(out)["digest"]
    wall = page.get(f"/api/tags/{names['tags'].index('tree')}").json["rows"]
    (i, j), t = (wall[0]["i"], wall[1]["i"]), names["tags"].index("tree")
    page.decide((i, t, "accept"), (j, t, "reject"))
    page.decide(*((k, "new thing", "accept") for k in range(4)))
    progress = learn(page)
    assert progress["state"] == "done", progress
    changed = progress["changed"]
    after = page.get("/api/collection").json
    assert changed["suggested_after"] == after["counts"]["suggested"]
    assert (
        changed["suggested_after"] - changed["suggested_before"] == changed["new"] - changed["gone"]
    )
    # Numbers by which pages know pictures and tags stay; a new tag has been learned.
    assert after["run"] == read_record(out)["digest"] != first
    assert after["images"] == names["images"]
    assert after["tags"] == [*names["tags"], "new thing"]
    assert after["thresholds"][-1] is not None
    assert known_state(out, names["images"][i], "tree") == State.PRESENT
    assert known_state(out, names["images"][j], "tree") == State.ABSENT
    # Decisions are decisions still, and can be undone, as if nothing had been learned.
    states = {row["i"]: row["state"] for row in page.get(f"/api/tags/{t}?state=all").json["rows"]}
    assert (states[i], states[j]) == ("accepted", "rejected")
    for _ in range(2):
        page.post("/api/undo", {"client": "x"})
    states = {row["i"]: row["state"] for row in page.get(f"/api/tags/{t}?state=all").json["rows"]}
    assert {states[i], states[j]} <= {"suggested", "open"}
    tags = finished_tags(out)
    assert (names["images"][i], "tree") not in {(one.image, one.tag) for one in tags}
    # What the page suggests then leaves as a suggestion.
    confident = {
        (one.image, one.tag)
        for one in finished_tags(out, suggested=0)
        if one.confidence is not None
    }
    for k in (i, j):
        assert ((names["images"][k], "tree") in confident) == (states[k] == "suggested")
    # Reopened, it is the same.
    review.close()
    again = Review(out, home / "photos")
    assert again.collection.state(i, t).page_word == states[i]
    again.close()


def test_learning_with_everything_undone_is_the_run_from_before(page, home):
    out, before = home / "out", read_record(home / "out")
    files = {name: (out / name).read_bytes() for name in before["files"]}
    page.decide((1, 2, "accept"))
    assert learn(page)["state"] == "done"
    assert read_record(out)["digest"] != before["digest"]
    page.post("/api/undo", {})
    assert learn(page)["state"] == "done"
    assert read_record(out) == before
    assert {name: (out / name).read_bytes() for name in files} == files
    assert page.get("/api/collection").json["counts"]["accepted"] == 0


def test_with_nothing_decided_there_is_nothing_to_learn(page):
    answer = page.post("/api/learn", {})
    assert answer.status == 400
    assert "Nothing has been decided" in answer.json["error"]
    assert page.get("/api/learn").json["state"] == "idle"


def test_a_failure_is_reported_and_changes_nothing(page, home, monkeypatch):
    before = page.get("/api/collection").json
    page.decide((1, 2, "accept"))
    monkeypatch.setattr("sys.executable", "/bin/false")
    progress = learn(page)
    assert progress["state"] == "failed"
    assert "ended early" in progress["error"]
    assert read_record(home / "out")["digest"] == before["run"]
    assert page.get("/api/pictures").status == 200


def test_without_the_snapshot_it_says_what_is_missing(page, home):
    page.decide((1, 2, "accept"))
    assert learn(page)["state"] == "done"
    shutil.rmtree(home / "out" / ".before-review")
    page.decide((2, 2, "accept"))
    progress = learn(page)
    assert progress["state"] == "failed"
    assert "run from before the review is no longer in" in progress["error"]
    assert page.get("/api/collection").json["counts"]["accepted"] == 2


def test_a_file_of_the_user_under_the_name_of_the_decisions_is_kept(page, home):
    (home / "out" / "reviewed.jsonl").write_text("mine")
    page.decide((1, 2, "accept"))
    progress = learn(page)
    assert progress["state"] == "failed"
    assert "reviewed.jsonl was not written by tagloom" in progress["error"]
    assert (home / "out" / "reviewed.jsonl").read_text() == "mine"


def test_entries_decided_meanwhile_do_not_count_as_gone(page, review, suggested):
    before = suggested_entries(review.collection)
    page.decide((*suggested[0], "accept"))
    changed = changed_suggestions(review.collection, before)
    assert (changed["new"], changed["gone"]) == (0, 0)
    assert changed["suggested_before"] == changed["suggested_after"] == before.sum() - 1


def test_learning_ends_when_its_server_was_killed(home):
    out = home / "out"
    (home / "more.jsonl").write_text('{"image": "scene-00001.jpg", "tags": ["tree"]}\n')
    record = read_record(out)
    command = [sys.executable, "-m", "tagloom.review.learning"]
    paths = [out / "model.tagloom", home / "more.jsonl", out, "", home / "photos"]
    # Its standard input is closed at once, as when the server is killed.
    ended = subprocess.run([*command, *map(str, paths)], input=b"", timeout=60, capture_output=True)
    assert (ended.returncode, ended.stderr) == (1, b"")
    assert read_record(out) == record


@pytest.mark.parametrize("lost", ["run.json", "model.tagloom"])
def test_a_run_whose_learning_was_killed_is_as_it_was_before(home, lost):
    out = home / "out"
    record, model = read_record(out), (out / "model.tagloom").read_bytes()
    take_snapshot(out)
    for name in {"run.json", lost}:
        (out / name).unlink()
    review = Review(out, home / "photos")
    assert read_record(out) == record
    assert (out / "model.tagloom").read_bytes() == model
    assert np.isfinite(review.collection.highest()).all()
    review.close()


def test_answers_of_updates_are_forgotten_by_learning_again_once_undone(home):
    out = home / "out"
    names = list(CompletionModel.load(out / "model.tagloom").known.items)
    for number, tag in enumerate(("first thing", "second thing")):
        answers = home / f"answers{number}.csv"
        write_long_csv(Annotations.of(Annotation(name, tag) for name in names[:3]), answers)
        update(out / "model.tagloom", [answers], out, photos=home / "photos")
        assert known_state(out, names[0], "first thing") == State.PRESENT
    review = Review(out, home / "photos")
    try:
        review.undo()
        learning = Learning(review)
        learning.start()
        learning.wait()
        assert learning.progress.state == "done", learning.progress
    finally:
        review.close()
    assert known_state(out, names[0], "first thing") == State.PRESENT
    assert known_state(out, names[0], "second thing") in (None, State.UNKNOWN)
