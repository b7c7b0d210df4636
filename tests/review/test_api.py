import csv
import gzip
import json

import numpy as np
import pytest

from tagloom.completion.model import CompletionModel
from tagloom.labels import State


@pytest.fixture
def table(home):
    """The table of the run, as a reader of the file finds it."""
    with (home / "out" / "suggestions.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def names(page):
    return page.get("/api/collection").json


@pytest.fixture
def suggested(page):
    """Three suggestions on different pictures, as (i, t)."""
    rows = page.get("/api/pictures?state=suggested&sort=certain&limit=3").json["rows"]
    return [
        next((row["i"], tag["t"]) for tag in row["tags"] if tag["state"] == "suggested")
        for row in rows
    ]


def state_of(page, i, t):
    tags = page.get(f"/api/pictures/{i}").json["tags"]
    return next((tag["state"] for tag in tags if tag["t"] == t), None)


def rows_of(page, address):
    """All rows, page by page."""
    rows, more = [], True
    while more:
        mark = "&" if "?" in address else "?"
        answer = page.get(f"{address}{mark}offset={len(rows)}&limit=7").json
        rows += answer["rows"]
        more = bool(answer["rows"])
    assert len(rows) == answer["total"]
    return rows


def test_the_collection_names_all_pictures_and_tags(page, table, names):
    assert names["title"] == "photos"
    assert len(names["images"]) == 48
    assert {row["tag"] for row in table} <= set(names["tags"])
    assert len(names["thresholds"]) == len(names["tags"])
    rare = names["tags"].index("seen once")
    assert names["thresholds"][rare] is None
    known = [row for row in table if row["state"] == "known"]
    assert names["counts"]["known"] == len(known)
    assert names["counts"]["suggested"] == len(table) - len(known)


def test_answers_are_packed_for_those_who_can_unpack_them(page):
    packed = page.ask("GET", "/api/pictures", headers={"Accept-Encoding": "gzip, br"})
    assert packed.headers["content-encoding"] == "gzip"
    plain = page.get("/api/pictures")
    assert "content-encoding" not in plain.headers
    assert json.loads(gzip.decompress(packed.content)) == plain.json


def test_pictures_hold_the_tags_of_the_table_in_the_order_of_their_ranks(page, table, names):
    told = [
        (names["images"][row["i"]], names["tags"][tag["t"]], tag["state"])
        for row in rows_of(page, "/api/pictures")
        for tag in row["tags"]
    ]
    ranked = sorted(table, key=lambda row: (row["image"].casefold(), int(row["rank"])))
    assert sorted(told) == sorted((row["image"], row["tag"], row["state"]) for row in table)
    likely = [row for row in ranked if row["probability"]]
    shown = [one for one in told if one[1] in {row["tag"] for row in likely}]
    assert shown == [(row["image"], row["tag"], row["state"]) for row in likely]


def test_probabilities_are_those_of_the_run(page, table, names):
    expected = {(row["image"], row["tag"]): row["probability"] for row in table}
    for row in rows_of(page, "/api/pictures"):
        for tag in row["tags"]:
            there = expected[names["images"][row["i"]], names["tags"][tag["t"]]]
            if tag["p"] is None:
                assert there == ""
            else:
                assert abs(tag["p"] - float(there)) <= 1.01e-4


@pytest.mark.parametrize("sort", ["name", "certain", "uncertain"])
@pytest.mark.parametrize("state", ["all", "suggested", "doubtful", "untagged", "decided"])
def test_pages_hold_every_picture_once(page, sort, state):
    rows = [row["i"] for row in rows_of(page, f"/api/pictures?sort={sort}&state={state}")]
    assert len(set(rows)) == len(rows)
    assert bool(rows) == (state in ("all", "suggested"))


def test_the_surest_suggestion_comes_first(page):
    rows = rows_of(page, "/api/pictures?state=suggested&sort=certain")
    best = [max(t["p"] for t in row["tags"] if t["state"] == "suggested") for row in rows]
    assert best == sorted(best, reverse=True)


def test_pictures_are_found_by_name_and_by_tag(page, names):
    found = rows_of(page, "/api/pictures?q=SCENE-0001")
    assert {names["images"][row["i"]] for row in found} == {f"scene-0001{d}.jpg" for d in range(10)}
    sky = names["tags"].index("sky")
    by_tag = [row["i"] for row in rows_of(page, f"/api/pictures?tag={sky}")]
    by_word = [row["i"] for row in rows_of(page, "/api/pictures?q=sky")]
    has_sky = [
        row["i"]
        for row in rows_of(page, "/api/pictures")
        if any(tag["t"] == sky for tag in row["tags"])
    ]
    assert by_tag == has_sky
    assert set(by_tag) <= set(by_word)
    assert rows_of(page, "/api/pictures?q=sky+no-such-word") == []


def test_one_picture_has_candidates_that_nobody_has_spoken_of(page, names):
    answer = page.get("/api/pictures/5").json
    assert answer["name"] == names["images"][5]
    assert (answer["width"], answer["height"]) == (320, 240)
    shown = {tag["t"] for tag in answer["tags"]}
    p = [one["p"] for one in answer["candidates"]]
    assert len(p) == 12
    assert p == sorted(p, reverse=True)
    assert not shown & {one["t"] for one in answer["candidates"]}


def test_the_wall_of_a_tag_falls_and_its_histogram_counts_what_is_open(page, names):
    t = names["tags"].index("tree")
    rows = rows_of(page, f"/api/tags/{t}")
    p = [row["p"] for row in rows]
    assert p == sorted(p, reverse=True)
    assert {row["state"] for row in rows} <= {"open", "suggested"}
    assert sum(page.get(f"/api/tags/{t}").json["histogram"]) == len(rows)
    threshold = names["thresholds"][t]
    above = rows_of(page, f"/api/tags/{t}?least={threshold:.6f}")
    assert all(row["state"] == "suggested" for row in above)
    assert len(rows_of(page, f"/api/tags/{t}?state=all")) == 48


def test_a_tag_that_was_not_learned_has_a_wall_without_probabilities(page, names):
    t = names["tags"].index("seen once")
    answer = page.get(f"/api/tags/{t}").json
    assert answer["total"] == 47
    assert {row["p"] for row in answer["rows"]} == {None}
    assert page.get(f"/api/tags/{t}?least=0.1").json["total"] == 0


def test_tags_are_counted_sought_and_sorted(page, table, names):
    rows = page.get("/api/tags").json["rows"]
    for row in rows:
        of_tag = [one["state"] for one in table if one["tag"] == names["tags"][row["t"]]]
        assert row["known"] == of_tag.count("known")
        assert row["suggested"] == of_tag.count("suggested")
    assert [names["tags"][row["t"]] for row in rows] == sorted(names["tags"], key=str.casefold)
    most = [row["known"] for row in page.get("/api/tags?sort=known").json["rows"]]
    assert most == sorted(most, reverse=True)
    found = page.get("/api/tags?q=SEEN").json["rows"]
    assert [names["tags"][row["t"]] for row in found] == ["seen once"]


def test_why_names_the_neighbours_of_the_learners_graph_carriers_first(page, home, names):
    model = CompletionModel.load(home / "out" / "model.tagloom")
    S = model.tagger.learner_.graph_
    t = names["tags"].index("sky")
    answer = page.get(f"/api/why?i=7&t={t}").json
    near = S[[7], :].toarray()[0]
    assert answer["n_neighbours"] == np.count_nonzero(near)
    present = model.said.states()[:, list(model.said.labels).index("sky")] == State.PRESENT
    told = answer["neighbours"]
    for one in told:
        assert abs(one["affinity"] - near[one["i"]]) < 1e-4
        assert (one["state"] == "present") == present[one["i"]]
    carries = [one["state"] == "present" for one in told]
    assert any(carries)
    assert carries == sorted(carries, reverse=True)


def test_questions_are_those_of_the_run(page, home, names):
    with (home / "out" / "annotate_next.csv").open(newline="") as stream:
        expected = [(row["image"], row["tag"]) for row in csv.DictReader(stream)]
    rows = rows_of(page, "/api/questions")
    assert [(names["images"][row["i"]], names["tags"][row["t"]]) for row in rows] == expected


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


def test_a_new_tag_is_added_by_name_and_leaves_with_its_undo(page, names):
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


def test_many_new_tags_find_room(page, names):
    for number in range(70):
        page.decide((number % 48, f"new {number}", "accept"))
    told = page.get("/api/collection").json
    assert told["tags"] == names["tags"] + [f"new {number}" for number in range(70)]
    assert told["counts"]["accepted"] == 70
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


def test_the_history_says_in_short_what_can_be_undone_and_redone(page, suggested, names):
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
