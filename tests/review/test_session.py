"""Decisions: stored, undone, redone, exported, and followed by a second tab."""

import csv

import pytest
from typer.testing import CliRunner

from tagloom.cli.app import app
from tagloom.completion.export import finished_tags
from tagloom.completion.feedback import decided
from tagloom.completion.suggestions import read_suggestions
from tagloom.review.session import Review


def state_of(page, i, t):
    tags = page.get(f"/api/pictures/{i}").json["tags"]
    return next((tag["state"] for tag in tags if tag["t"] == t), None)


def test_accept_reject_and_clear(page, suggested, names):
    (i, t), (j, u), _ = suggested
    answer = page.decide((i, t, "accept"), (j, u, "reject")).json
    assert [one["state"] for one in answer["applied"]] == ["accepted", "rejected"]
    assert answer["version"] == 2
    assert answer["counts"]["suggested"] == names["counts"]["suggested"] - 2
    assert (state_of(page, i, t), state_of(page, j, u)) == ("accepted", "rejected")
    row = next(row for row in page.get("/api/tags").json["rows"] if row["t"] == t)
    assert row["accepted"] == 1
    assert page.get("/api/pictures?state=decided").json["total"] == 2
    page.decide((i, t, "clear"))
    assert state_of(page, i, t) == "suggested"


def test_deciding_again_what_is_decided_changes_nothing(page, suggested):
    i, t = suggested[0]
    first = page.decide((i, t, "accept")).json
    again = page.decide((i, t, "accept")).json
    assert again["batch"] is None
    assert again["version"] == first["version"]
    assert again["applied"] == first["applied"]
    page.post("/api/undo", {"client": "tab"})
    assert state_of(page, i, t) == "suggested"


def test_of_several_verdicts_on_one_entry_the_last_counts(page, suggested):
    i, t = suggested[0]
    answer = page.decide((i, t, "accept"), (i, t, "reject")).json
    assert answer["applied"] == [{"i": i, "t": t, "state": "rejected"}]


def test_a_new_tag_is_added_by_name_and_undone(page, names):
    answer = page.decide((4, "  my  aunt ", "accept")).json
    t = len(names["tags"])
    assert answer["tags"] == [*names["tags"], "my aunt"]
    assert answer["applied"] == [{"i": 4, "t": t, "state": "added"}]
    assert state_of(page, 4, t) == "added"
    assert page.get(f"/api/tags/{t}").json["total"] == 47
    assert page.get("/api/pictures?q=aunt").json["total"] == 1
    page.post("/api/undo", {"client": "tab"})
    assert state_of(page, 4, t) is None
    page.post("/api/redo", {"client": "tab"})
    assert state_of(page, 4, t) == "added"


def test_a_tag_of_the_run_is_found_by_its_exact_name(page, review, names):
    odd = "twice  blank, joined\u200d"
    t = review.collection.add_tag(odd)
    answer = page.decide((4, odd, "accept")).json
    assert answer["applied"] == [{"i": 4, "t": t, "state": "added"}]
    assert "tags" not in answer


def test_many_new_tags_can_be_added(page, names):
    for number in range(70):
        page.decide((number % 48, f"new {number}", "accept"))
    collection = page.get("/api/collection").json
    assert collection["tags"] == names["tags"] + [f"new {number}" for number in range(70)]
    assert collection["counts"]["accepted"] == 70
    rows = {row["t"]: row for row in page.get("/api/tags").json["rows"]}
    assert all(rows[len(names["tags"]) + n]["accepted"] == 1 for n in range(70))


def test_an_old_tag_given_by_name_is_the_old_tag(page, suggested, names):
    i, t = suggested[0]
    answer = page.decide((i, names["tags"][t], "accept")).json
    assert answer["applied"] == [{"i": i, "t": t, "state": "accepted"}]
    assert "tags" not in answer


def test_the_same_letters_are_the_same_tag_however_they_were_typed(page, names):
    page.decide((4, "caf\u00e9", "accept"))
    page.decide((5, "cafe\u0301", "accept"))
    assert page.get("/api/collection").json["tags"] == [*names["tags"], "caf\u00e9"]


def test_a_tag_that_nobody_has_cannot_be_rejected(page):
    answer = page.decide((4, "no such tag", "reject"))
    assert answer.status == 400
    assert "no such tag" in answer.json["error"]


def test_one_request_is_one_step_of_undo(page, suggested):
    page.decide(*((i, t, "accept") for i, t in suggested))
    undone = page.post("/api/undo", {"client": "tab"}).json["undone"]
    assert {(one["i"], one["t"]) for one in undone["applied"]} == set(suggested)
    assert {state_of(page, i, t) for i, t in suggested} == {"suggested"}
    redone = page.post("/api/redo", {"client": "tab"}).json["redone"]
    assert {one["state"] for one in redone["applied"]} == {"accepted"}
    assert page.post("/api/redo", {"client": "tab"}).json["redone"] is None


def test_the_history_summarises_what_can_be_undone_and_redone(page, suggested, names):
    assert names["history"] == {"undo": None, "redo": None}
    (i, t), (j, u), _ = suggested
    first = page.decide((i, t, "accept")).json
    alone = {"batch": first["batch"], "n": 1, "verdict": "accept", "i": i, "t": t}
    assert first["history"] == {"undo": alone, "redo": None}
    both = page.decide((i, t, "clear"), (j, u, "reject")).json["history"]["undo"]
    assert (both["n"], both["verdict"], both["i"]) == (2, "mixed", None)
    undone = page.post("/api/undo", {}).json["history"]
    assert undone == {"undo": alone, "redo": both}
    assert page.get("/api/changes").json["history"] == undone
    assert page.get("/api/collection").json["history"] == undone


def test_nothing_to_undo(page):
    assert page.post("/api/undo", {"client": "tab"}).json["undone"] is None


def test_two_tabs_follow_each_other_and_overwrite_nothing(page, suggested):
    (i, t), (j, u), _ = suggested
    start = page.get("/api/changes").json["version"]
    page.decide((i, t, "accept"), client="one")
    page.decide((j, u, "reject"), client="two")
    page.decide((4, "of tab two", "accept"), client="two")
    n_tags = page.get("/api/collection").json["counts"]["tags"]
    seen = page.get(f"/api/changes?since={start}&tags={n_tags - 1}").json
    assert [one["state"] for one in seen["applied"]] == ["accepted", "rejected", "added"]
    assert seen["tags"][-1] == "of tab two"
    assert page.get(f"/api/changes?since={seen['version']}").json["applied"] == []
    # Undo takes back the latest of anybody, and tells the other tab.
    page.post("/api/undo", {"client": "one"})
    page.post("/api/undo", {"client": "one"})
    later = page.get(f"/api/changes?since={seen['version']}").json["applied"]
    assert {(one["i"], one["t"]): one["state"] for one in later} == {
        (4, n_tags - 1): "open",
        (j, u): "suggested",
    }
    assert state_of(page, i, t) == "accepted"


def entries(annotations):
    return {(one.image, one.tag): (one.present, one.confidence) for one in annotations}


def test_accepted_tags_are_exported_as_known_and_rejected_ones_as_absent(page, home):
    out = home / "out"
    names = page.get("/api/collection").json
    before = entries(finished_tags(out, suggested=0))
    (image, tag), (other, wrong) = [
        place for place, (_, confidence) in before.items() if confidence is not None
    ][:2]
    place = {name: i for i, name in enumerate(names["images"])}
    page.decide((place[image], tag, "accept"), (place[other], wrong, "reject"))
    page.decide((place[other], "quite new", "accept"))
    expected = {
        (image, tag): (True, None),
        (other, wrong): (False, None),
        (other, "quite new"): (True, None),
    }
    assert entries(decided(out)) == expected
    assert entries(finished_tags(out, suggested=0)) == before | expected
    only_known = entries(finished_tags(out))
    assert expected.items() <= only_known.items()
    page.post("/api/undo", {})
    assert (other, "quite new") not in entries(finished_tags(out, suggested=0))


def test_decisions_are_exported_while_the_page_is_open(page, home):
    names = page.get("/api/collection").json
    page.decide((5, "by hand", "accept"))
    done = CliRunner().invoke(app, ["export", str(home / "out"), "--to", "csv"])
    assert done.exit_code == 0, done.output
    with (home / "out" / "tags.csv").open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["tag"] == "by hand"]
    assert rows == [
        {"image": names["images"][5], "tag": "by hand", "state": "1", "probability": ""}
    ]


def test_decisions_on_pictures_that_are_gone_are_kept_and_not_exported(page, home, review):
    page.decide((5, "by hand", "accept"))
    review.journal._db.execute("UPDATE decisions SET image = 'gone.jpg'")
    assert len(decided(home / "out")) == 1
    assert "gone.jpg" not in finished_tags(home / "out", suggested=0).images


def as_it_is(text):
    return text.encode()


def from_a_spreadsheet(text):
    """Windows-1252 with semicolons and decimal commas."""
    return text.replace(",", ";").replace(".", ",").replace(",jpg", ".jpg").encode("cp1252")


@pytest.mark.parametrize(
    "saved", [as_it_is, lambda text: text.encode("utf-8-sig"), from_a_spreadsheet]
)
def test_answers_in_the_table_are_taken_up(home, saved):
    table = home / "out" / "suggestions.csv"
    before = read_suggestions(table)
    right, wrong = [row for row in before if row.state == "suggested"][:2]
    lines = table.read_text(encoding="utf-8").split("\n")
    for row, word in ((right, "known"), (wrong, "absent")):
        lines[row.line - 1] = lines[row.line - 1].replace("suggested", word)
    table.write_bytes(saved("\n".join(lines)))
    assert [row[1:3] for row in read_suggestions(table)] == [row[1:3] for row in before]
    answers = {(right.image, right.tag): True, (wrong.image, wrong.tag): False}
    exported = {(one.image, one.tag): one for one in finished_tags(home / "out", suggested=0)}
    for place, present in answers.items():
        assert (exported[place].present, exported[place].confidence) == (present, None)
    review = Review(home / "out", home / "photos")
    try:
        found = {(one.image, one.tag): one.present for one in decided(home / "out")}
        assert found == answers
        review.undo()
    finally:
        review.close()
    # What was undone on the page is not taken from the table again.
    Review(home / "out", home / "photos").close()
    assert not list(decided(home / "out"))
