"""Reading a run: suspected label errors, and records of other versions."""

import csv
import io
import json

import numpy as np
import pytest

from tagloom.completion.export import finished_tags
from tagloom.completion.inputs import Options
from tagloom.completion.pipeline import complete
from tagloom.review.collection import EntryState
from tagloom.review.loading import load


def test_unlisted_tags_of_a_weight_below_1_stay_open(completed, tmp_path):
    out = tmp_path / "out"
    options = Options(max_minutes=0, unlisted=0.5)
    complete(
        completed / "photos", [completed / "tags.csv"], out, options, cache=completed / "cache"
    )
    assert not (load(out).states == EntryState.ABSENT).any()


@pytest.fixture
def home(home):
    """The run with one suspected label error."""
    path = home / "out" / "suggestions.csv"
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    suspect = next(row for row in rows if row["state"] == "known" and row["tag"] == "sky")
    suspect["state"] = "doubtful-known"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    with (home / "out" / "suspected_errors.csv").open("a") as stream:
        stream.write(f"{suspect['image']},sky,{suspect['probability']},0.3125,doubtful-known\n")
    return home


def test_a_suspected_error_has_a_probability_and_is_confirmed_or_removed(page, home):
    names = page.get("/api/collection").json
    (error,) = page.get("/api/suspected-errors").json["rows"]
    assert names["tags"][error["t"]] == "sky"
    assert error["annotation"] == "present"
    assert error["state"] == "suspected"
    assert error["error_probability"] == 0.3125
    assert names["counts"]["suspected"] == 1
    place = (error["i"], error["t"])
    assert page.decide((*place, "accept")).json["applied"][0]["state"] == "known"
    assert page.get("/api/suspected-errors").json["rows"][0]["state"] == "known"
    assert page.decide((*place, "reject")).json["applied"][0]["state"] == "removed"
    image = names["images"][error["i"]]
    tags = {(one.image, one.tag): one for one in finished_tags(home / "out", suggested=0)}
    assert tags[image, "sky"].present is False
    page.post("/api/undo", {})
    page.post("/api/undo", {})
    assert page.get("/api/suspected-errors").json["rows"] == [error]
    tags = {(one.image, one.tag): one for one in finished_tags(home / "out", suggested=0)}
    assert tags[image, "sky"].present is True
    assert tags[image, "sky"].confidence is None


def test_a_suspected_error_of_an_absent_tag_has_a_state_of_its_own(page, review):
    review.collection.put([(2, 3, EntryState.SUSPECTED_ABSENT)])
    states = {tag["t"]: tag["state"] for tag in page.get("/api/pictures/2").json["tags"]}
    assert states[3] == "suspected-absent"


@pytest.mark.parametrize(
    "labels",
    [None, [1, None], [{}], [{"label": "tree"}], [{"label": "tree", "roc_auc": "x"}],
     [{"label": "tree", "roc_auc": 1.5}]],
)  # fmt: skip
def test_records_without_a_roc_auc_are_read(home, labels):
    path = home / "out" / "run.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"labels": labels}))
    assert np.isnan(load(home / "out", photos=home / "photos").roc_auc).all()
