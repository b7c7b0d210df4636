import csv
import io

import pytest

from tagloom.completion.export import finished_tags
from tagloom.review.states import EntryState


@pytest.fixture
def home(home):
    """The run with one statement in doubt."""
    path = home / "out" / "suggestions.csv"
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    given = next(row for row in rows if row["state"] == "known" and row["tag"] == "sky")
    given["state"] = "doubtful-known"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return home


def test_a_doubt_is_told_with_its_chance_and_confirmed_or_removed(page, home):
    names = page.get("/api/collection").json
    (doubt,) = page.get("/api/doubts").json["rows"]
    assert names["tags"][doubt["t"]] == "sky"
    assert doubt["said"] == "present"
    assert doubt["state"] == "doubtful"
    assert 0 < doubt["chance"] < 1
    assert names["counts"]["doubtful"] == 1
    place = (doubt["i"], doubt["t"])
    assert page.decide((*place, "accept")).json["applied"][0]["state"] == "known"
    assert page.get("/api/doubts").json["rows"][0]["state"] == "known"
    assert page.decide((*place, "reject")).json["applied"][0]["state"] == "removed"
    image = names["images"][doubt["i"]]
    said = {(one.image, one.tag): one for one in finished_tags(home / "out")}
    assert said[image, "sky"].present is False
    page.post("/api/undo", {})
    page.post("/api/undo", {})
    assert page.get("/api/doubts").json["rows"] == [doubt]
    said = {(one.image, one.tag): one for one in finished_tags(home / "out")}
    assert said[image, "sky"].present is True
    assert said[image, "sky"].confidence is None


def test_a_tag_that_was_denied_and_looks_right_is_told_apart(page, review):
    review.collection.put([(2, 3, EntryState.DOUBTFUL_ABSENT)])
    told = {tag["t"]: tag["state"] for tag in page.get("/api/pictures/2").json["tags"]}
    assert told[3] == "doubtful-absent"
