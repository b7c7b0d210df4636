"""Tags are merged, renamed, left out and added on the page: in a file, undone, and learned."""

import time

import pytest

from tagloom.completion.outputs import read_record
from tagloom.review.session import Review
from tagloom.words import Vocabulary, read_vocabulary


def decide(page, action, tags=(), to=""):
    body = {"action": action, "tags": list(tags), "to": to, "client": "tab"}
    answer = page.post("/api/vocabulary", body)
    assert answer.status == 200, answer.text
    return answer.json


def row_of(answer, tag):
    return next((row for row in answer["rows"] if row["tag"] == tag), None)


def learned(page):
    page.post("/api/learn", {})
    for _ in range(2400):
        progress = page.get("/api/learn").json
        if progress["state"] != "running":
            assert progress["state"] == "done", progress
            return
        time.sleep(0.05)
    raise AssertionError("learning does not end")


def test_tags_are_listed_with_counts_and_what_they_mean(page, home):
    answer = page.get("/api/vocabulary").json
    assert not answer["pending"]
    assert answer["file"] == str(home / "out" / "vocabulary.toml")
    tree = row_of(answer, "tree")
    assert tree["n"] > 3
    assert tree["how"].startswith("tree (n")
    assert not (home / "out" / "vocabulary.toml").exists()


def test_decisions_go_into_the_file_and_are_undone_and_redone(page, home):
    path = home / "out" / "vocabulary.toml"
    first = decide(page, "merge", ["tree"], "bush")
    assert first["pending"]
    assert row_of(first, "tree") is None
    assert row_of(first, "bush")["aliases"] == ["tree"]
    assert first["history"]["undo"]["text"] == "merged tree into bush"
    decide(page, "ignore", ["sky"])
    assert read_vocabulary(path) == Vocabulary().merge(["tree"], into="bush").ignore(["sky"])
    path.write_text(f"# mine\n{path.read_text()}\n[tags.own]\nignore = true\n")
    page.post("/api/undo", {"client": "tab"})
    answer = page.post("/api/undo", {"client": "tab"}).json
    assert answer["history"]["undo"] is None
    # What was written by hand meanwhile stays.
    assert read_vocabulary(path) == Vocabulary().ignore(["own"])
    page.post("/api/redo", {"client": "tab"})
    assert read_vocabulary(path).resolve("tree") == "bush"
    assert "# mine" in path.read_text()


def test_decisions_about_tags_and_pictures_are_undone_in_their_order(page, home, suggested):
    i, t = suggested[0]
    decide(page, "add", to="zebra")
    page.decide((i, t, "accept"))
    page.post("/api/undo", {"client": "tab"})
    assert read_vocabulary(home / "out" / "vocabulary.toml").added == ("zebra",)
    page.post("/api/undo", {"client": "tab"})
    assert read_vocabulary(home / "out" / "vocabulary.toml").added == ()


def test_learning_again_obeys_decisions_and_forgets_them_when_undone(page, home, review):
    out, before = home / "out", read_record(home / "out")
    n = {tag: row_of(page.get("/api/vocabulary").json, tag)["n"] for tag in ("tree", "sky")}
    page.decide((0, "tree", "accept"))
    decide(page, "merge", ["tree"], "sky")
    decide(page, "add", to="zebra")
    decide(page, "add", to="xyzzy")
    learned(page)
    answer = page.get("/api/vocabulary").json
    assert not answer["pending"]
    assert row_of(answer, "sky")["n"] > max(n.values())
    assert row_of(answer, "zebra")["n"] == 0
    assert "zebra" in [one["label"] for one in read_record(out)["labels"]]
    tags = page.get("/api/collection").json["tags"]
    listed = [tags[row["t"]] for row in page.get("/api/tags").json["rows"]]
    assert "tree" not in listed
    assert {"sky", "zebra", "xyzzy"} <= set(listed)
    # A decision under the old name holds for the new one.
    sky = tags.index("sky")
    states = {tag["t"]: tag["state"] for tag in page.get("/api/pictures/0").json["tags"]}
    assert states[sky] in ("accepted", "added", "known", "confirmed")
    for _ in range(4):
        page.post("/api/undo", {"client": "tab"})
    learned(page)
    assert read_record(out)["digest"] == before["digest"]
    review.close()
    again = Review(out, home / "photos")
    assert not again.has_new_vocabulary
    again.close()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"action": "burn", "tags": ["tree"]}, "action must be one of"),
        ({"action": "merge", "tags": ["no such"], "to": "tree"}, "There is no tag 'no such'"),
        ({"action": "rename", "tags": ["tree"], "to": "sky"}, "merge them instead"),
        ({"action": "rename", "tags": ["tree"], "to": " "}, "printable characters"),
        ({"action": "merge", "tags": "tree", "to": "sky"}, "must be a list"),
        ({"action": "ignore", "tags": []}, "Name a tag"),
    ],
)
def test_wrong_decisions_are_refused_and_change_nothing(page, home, body, reason):
    answer = page.post("/api/vocabulary", body)
    assert answer.status == 400
    assert reason in answer.json["error"]
    assert not (home / "out" / "vocabulary.toml").exists()
