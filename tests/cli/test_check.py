"""`tagloom check`: questions in a table, answers read from it, a result in words."""

import csv
import json

import pytest
from typer.testing import CliRunner

from tagloom.cli.app import app
from tagloom.completion.export import finished_tags
from tagloom.completion.feedback import decided
from tagloom.errors import InvalidInputError


def check(out, *flags):
    done = CliRunner().invoke(app, ["check", str(out), *flags])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def rows_of(out):
    with (out / "check.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def fill(out, answers):
    rows = [row | {"answer": given} for row, given in zip(rows_of(out), answers, strict=True)]
    with (out / "check.csv").open("w", newline="") as stream:
        table = csv.DictWriter(stream, ["image", "tag", "answer"])
        table.writeheader()
        table.writerows(rows)
    return rows


@pytest.fixture
def out(finished):
    return finished


def test_questions_then_answers_then_the_result(out):
    text = check(out, "--n", "8")
    assert "8 questions are in" in text
    assert [row["answer"] for row in rows_of(out)] == [""] * 8
    assert "no question is answered yet" in check(out)
    rows = fill(out, ["yes", "No ", "?", "y", "n", "", "1", "0"])
    text = check(out)
    assert "7 of 8 questions are answered" in text
    assert "in 95 of 100 such checks" in text
    assert "--learn" in text
    told = {(one.image, one.tag): one.present for one in decided(out)}
    assert told[rows[0]["image"], rows[0]["tag"]] is True
    assert told[rows[1]["image"], rows[1]["tag"]] is False
    assert len(told) == 6


def test_answers_are_never_overwritten(out):
    check(out, "--n", "5")
    fill(out, ["yes"] * 5)
    check(out)
    assert [row["answer"] for row in rows_of(out)] == ["yes"] * 5
    text = check(out, "--n", "4", "--new")
    assert "check-1.csv" in text
    assert len(rows_of(out)) == 4
    assert "yes" in (out / "check-1.csv").read_text()


def test_changed_answers_are_said_and_count(out):
    check(out, "--n", "5")
    fill(out, ["yes"] * 5)
    check(out)
    fill(out, ["no", *["yes"] * 4])
    assert "answers that differ from earlier ones: 1;" in check(out)
    assert sum(one.present for one in decided(out)) == 4


def test_an_update_reads_the_answers(out):
    check(out, "--n", "5")
    rows = fill(out, ["yes", "no", "?", "", "yes"])
    done = CliRunner().invoke(app, ["update", str(out), "--tags", str(out / "check.csv"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["summary"]["new annotations"] == 3
    known = {(one.image, one.tag): one.present for one in finished_tags(out)}
    assert [known.get((row["image"], row["tag"])) for row in rows] == [
        True,
        False,
        None,
        None,
        True,
    ]


def test_learning_from_the_answers_asks_for_a_new_check(out):
    check(out, "--n", "5")
    fill(out, ["yes", "no", "yes", "no", "yes"])
    assert "need a new check" in check(out, "--learn")
    assert "questions are in" in check(out, "--n", "5")
    assert (out / "check-1.csv").exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("image,tag,answer\nnowhere.jpg,sea,yes\n", "not in the sample"),
        ("image,tag,answer\nx.jpg,sea,perhaps\n", "must be yes, no"),
        ("image,tag\nx.jpg,sea\n", "expected the columns"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(out, content, reason):
    check(out, "--n", "5")
    (out / "check.csv").write_text(content)
    with pytest.raises(InvalidInputError, match=reason):
        check(out)


def test_the_result_as_json(out):
    check(out, "--n", "5")
    fill(out, ["yes"] * 5)
    found = json.loads(check(out, "--json"))["estimate"]
    assert found["n_checked"] + found["n_checked_below"] == 5
