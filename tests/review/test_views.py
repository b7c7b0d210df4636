"""The lists of the page, requested as the page does."""

import csv
import gzip
import json
from types import SimpleNamespace

import numpy as np
import pytest

from tagloom.completion.model import CompletionModel
from tagloom.completion.outputs import read_record
from tagloom.labels import State
from tagloom.review.near_identical import NearIdentical
from tagloom.review.views import PictureQuery, Pictures


@pytest.fixture
def table(home):
    """The table of the run, as a reader of the file finds it."""
    with (home / "out" / "suggestions.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


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


def test_answers_are_compressed_for_clients_that_accept_gzip(page):
    compressed = page.ask("GET", "/api/pictures", headers={"Accept-Encoding": "gzip, br"})
    assert compressed.headers["content-encoding"] == "gzip"
    plain = page.get("/api/pictures")
    assert "content-encoding" not in plain.headers
    assert json.loads(gzip.decompress(compressed.content)) == plain.json


def test_pictures_hold_the_tags_of_the_table_in_the_order_of_their_ranks(page, table, names):
    listed = [
        (names["images"][row["i"]], names["tags"][tag["t"]], tag["state"])
        for row in rows_of(page, "/api/pictures")
        for tag in row["tags"]
    ]
    ranked = sorted(table, key=lambda row: (row["image"].casefold(), int(row["rank"])))
    assert sorted(listed) == sorted((row["image"], row["tag"], row["state"]) for row in table)
    likely = [row for row in ranked if row["probability"]]
    shown = [one for one in listed if one[1] in {row["tag"] for row in likely}]
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
@pytest.mark.parametrize("state", ["all", "open", "suggested", "suspected", "untagged", "decided"])
def test_pages_hold_every_picture_once(page, sort, state):
    rows = [row["i"] for row in rows_of(page, f"/api/pictures?sort={sort}&state={state}")]
    assert len(set(rows)) == len(rows)
    assert bool(rows) == (state in ("all", "open", "suggested"))


def test_a_list_is_followed_by_its_numbers_after_its_pictures_are_decided(page):
    first = page.get("/api/pictures?state=open&limit=2").json
    numbers = first["numbers"]
    assert len(numbers) == first["total"]
    assert [row["i"] for row in first["rows"]] == numbers[:2]
    assert "numbers" not in page.get("/api/pictures?state=open&offset=2").json
    decided = [(numbers[0], tag["t"], "reject") for tag in first["rows"][0]["tags"]]
    page.decide(*decided)
    assert numbers[0] not in page.get("/api/pictures?state=open").json["numbers"]
    rows = page.get(f"/api/rows?numbers={numbers[1]},{numbers[0]}").json["rows"]
    assert [row["i"] for row in rows] == [numbers[1], numbers[0]]
    assert {tag["state"] for tag in rows[1]["tags"]} <= {"rejected", "removed"}


def test_pictures_are_filtered_by_folder_and_date(page, review, home):
    answer = page.get("/api/filters").json
    assert answer["folders"] == []
    while answer["dates_read"] < 1:
        answer = page.get("/api/filters").json
    years = [one for one in answer["dates"] if len(one["date"]) == 4]
    assert sum(one["n"] for one in years) == 48
    for one in answer["dates"]:
        assert page.get(f"/api/pictures?date={one['date']}").json["total"] == one["n"]
    assert page.get("/api/pictures?date=1850").json["total"] == 0
    assert page.get("/api/pictures?date=2019-13").status == 400
    assert page.get("/api/pictures?folder=scene").json["total"] == 0


def test_folders_are_counted_with_those_below(review):
    names = ["b/10/x.jpg", "b/9/y.jpg", "b/z.jpg", "top.jpg"]
    collection = SimpleNamespace(images=names, per_image=np.zeros((4, 11), dtype=int))
    pictures = Pictures(collection)
    assert pictures.folders() == [
        {"folder": "b", "n": 3}, {"folder": "b/9", "n": 1}, {"folder": "b/10", "n": 1}
    ]  # fmt: skip
    assert pictures.found(PictureQuery(folder="b")).tolist() == [1, 0, 2]
    assert pictures.found(PictureQuery(folder="b/1")).tolist() == []


def test_one_picture_comes_with_the_near_identical_ones(page, review):
    visual = np.array(review.collection.loaded.visual)
    visual[9] = 3 * visual[20]
    review.near_identical = NearIdentical(visual)
    assert [one["i"] for one in page.get("/api/pictures/20").json["alike"]] == [9]
    page.decide((9, 0, "reject"))
    tags = {one["t"]: one["state"] for one in page.get("/api/pictures/20").json["alike"][0]["tags"]}
    assert tags[0] in ("rejected", "removed")


def test_the_most_certain_suggestion_comes_first(page):
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


def test_one_picture_has_candidates_that_are_unknown(page, names):
    answer = page.get("/api/pictures/5").json
    assert answer["name"] == names["images"][5]
    assert (answer["width"], answer["height"]) == (320, 240)
    shown = {tag["t"] for tag in answer["tags"]}
    p = [one["p"] for one in answer["candidates"]]
    assert len(p) == 12
    assert p == sorted(p, reverse=True)
    assert not shown & {one["t"] for one in answer["candidates"]}


def test_the_wall_is_sorted_and_its_histogram_counts_open_pictures(page, names):
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


def test_tags_are_counted_searched_and_sorted(page, table, names):
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


def test_why_returns_the_neighbors_of_the_graph_those_with_the_tag_first(page, home, names):
    model = CompletionModel.load(home / "out" / "model.tagloom")
    S = model.tagger.learner_.graph_
    t = names["tags"].index("sky")
    answer = page.get(f"/api/why?i=7&t={t}").json
    near = S[[7], :].toarray()[0]
    assert answer["n_neighbors"] == np.count_nonzero(near)
    present = model.known.states()[:, list(model.known.labels).index("sky")] == State.PRESENT
    neighbors = answer["neighbors"]
    for one in neighbors:
        assert abs(one["affinity"] - near[one["i"]]) < 1e-4
        assert (one["state"] == "present") == present[one["i"]]
    has_tag = [one["state"] == "present" for one in neighbors]
    assert any(has_tag)
    assert has_tag == sorted(has_tag, reverse=True)


def test_what_to_annotate_next_is_that_of_the_run(page, home, names):
    with (home / "out" / "annotate_next.csv").open(newline="") as stream:
        expected = [(row["image"], row["tag"]) for row in csv.DictReader(stream)]
    rows = rows_of(page, "/api/to-annotate")
    assert [(names["images"][row["i"]], names["tags"][row["t"]]) for row in rows] == expected


def test_tags_have_the_roc_auc_of_the_run(untouched):
    page, record = untouched.page, read_record(untouched.home / "out")
    recorded = {one["label"]: one["roc_auc"] for one in record["labels"]}
    tags = page.get("/api/collection").json["tags"]
    roc_auc = {tags[row["t"]]: row["roc_auc"] for row in page.get("/api/tags").json["rows"]}
    assert roc_auc == {tag: recorded.get(tag) for tag in tags}
    assert any(value is not None for value in roc_auc.values())
