import csv

from typer.testing import CliRunner

from tagloom.cli.app import app
from tagloom.completion.answers import decided
from tagloom.completion.export import finished_tags


def entries(annotations):
    return {(one.image, one.tag): (one.present, one.confidence) for one in annotations}


def test_accepted_tags_are_known_and_rejected_ones_denied(page, home):
    out = home / "out"
    names = page.get("/api/collection").json
    before = entries(finished_tags(out))
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
    assert entries(finished_tags(out)) == before | expected
    only_known = entries(finished_tags(out, states=("known",)))
    assert expected.items() <= only_known.items()
    page.post("/api/undo", {})
    assert (other, "quite new") not in entries(finished_tags(out))


def test_the_command_writes_what_was_decided_while_the_page_is_open(page, home):
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
    review.store._db.execute("UPDATE decisions SET image = 'gone.jpg'")
    assert len(decided(home / "out")) == 1
    assert "gone.jpg" not in finished_tags(home / "out").images
