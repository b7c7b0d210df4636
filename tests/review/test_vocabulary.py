"""Tags are merged, renamed, left out and added on the page: in a file, undone, and learned."""

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import tiny_networks as tiny
from tagloom.completion.inputs import Options
from tagloom.completion.outputs import read_record
from tagloom.completion.pipeline import complete
from tagloom.review.session import Review
from tagloom.vision import FolderEncoder
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


def test_names_that_are_compared_as_texts_say_so(tmp_path, open_page):
    truth = tiny.paint(tmp_path / "photos", 90, seed=1)
    tags = tiny.write_tags(tmp_path / "tags.csv", truth, {"red": "red", "green": "grün"})
    encoder = FolderEncoder(tiny.immich(tmp_path / "pair"))
    options = Options(max_minutes=0, cv=2, vocabulary=Vocabulary().add(["blau"]))
    photos, out = tmp_path / "photos", tmp_path / "out"
    complete(photos, [tags], out, options, encoder=encoder, cache=tmp_path / "cache")
    page = open_page(out, photos)
    blau = row_of(page.get("/api/vocabulary").json, "blau")
    assert blau["linked"]
    assert blau["how"] == "its name is compared with the pictures by pair"
    names = page.get("/api/collection").json
    t = [tag["name"] if isinstance(tag, dict) else tag for tag in names["tags"]].index("blau")
    said = [
        page.get(f"/api/why?i={i}&t={t}").json["looks_like"]
        for i, picture in enumerate(names["images"])
        if truth[picture] == "blue"
    ]
    assert "fits the word “blau”" in said
    assert not any(text and text.startswith("looks like") for text in said)
