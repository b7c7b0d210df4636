"""Request bodies that only an attacker or a broken program would send."""

import json
import logging

import pytest

ONE = {"decisions": [{"i": 0, "t": 0, "verdict": "accept"}], "client": "x"}


@pytest.fixture
def review(untouched):
    return untouched.review


@pytest.fixture
def page(untouched):
    return untouched.page


@pytest.fixture(autouse=True)
def quiet_log(caplog):
    """Nothing may fail inside: a failure is answered cleanly, but it is one."""
    caplog.set_level(logging.INFO)
    yield
    assert [record.getMessage() for record in caplog.records if record.name != "asyncio"] == []


def refused(answer, status):
    assert answer.status == status
    assert b"Traceback" not in answer.content
    assert len(answer.json["error"]) > 10


BODIES = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"1",
    b'"text"',
    b"\xff\xfe",
    b"\x00",
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"decisions": ' + b"9" * 10_000 + b"}",
    b'{"decisions": NaN}',
    b'{"decisions": []}',
    b'{"decisions": {}}',
    b'{"decisions": [1]}',
    json.dumps({"decisions": [ONE["decisions"][0]] * 2001}).encode(),
    json.dumps(ONE | {"client": 3}).encode(),
    json.dumps(ONE | {"client": "x" * 101}).encode(),
    json.dumps(ONE | {"client": "\ud800"}).encode(),
]
WRONG = [
    {"i": -1},
    {"i": 48},
    {"i": 10**30},
    {"i": 0.0},
    {"i": True},
    {"i": "0"},
    {"i": None},
    {"i": [0]},
    {"t": -1},
    {"t": 10**6},
    {"t": 0.5},
    {"t": False},
    {"t": None},
    {"t": {}},
    {"tag": "both"},
    {"verdict": "ACCEPT"},
    {"verdict": None},
    {"verdict": ["accept"]},
    {"verdict": {}},
]
TAGS = ["", " ", "x" * 201, "two\0", "bell\a", "\ud800", "\u202e", 3, None, ["sea"], {}]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_bodies_that_are_not_decisions_are_refused(page, body, review):
    refused(page.post("/api/decide", body), 400)
    assert review.version == 0


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_one_wrong_decision_refuses_all(page, wrong, review):
    right = ONE["decisions"][0]
    refused(page.post("/api/decide", {"decisions": [right, right | wrong]}), 400)
    assert review.version == 0
    assert review.journal.current() == {}


@pytest.mark.parametrize("tag", TAGS, ids=repr)
def test_tags_that_not_every_format_can_hold_are_refused(page, tag, review):
    refused(
        page.post("/api/decide", {"decisions": [{"i": 0, "tag": tag, "verdict": "accept"}]}), 400
    )
    assert review.version == 0


def test_bodies_that_are_too_long_are_refused(page, review):
    headers = {"Content-Type": "application/json", "X-Tagloom": "1"}
    long = b" " * (1 << 20) + b"{}"
    refused(page.post("/api/decide", long), 413)
    for claimed in (str(1 << 21), "9" * 30, "-1", "x", "\xb2"):
        refused(page.post("/api/decide", ONE, **{"Content-Length": claimed}), 413)
    # In pieces, and without saying how many there will be.
    pieces = [b" " * 65536] * 17
    refused(page.ask("POST", "/api/decide", headers=headers, parts=pieces), 413)
    refused(page.ask("POST", "/api/decide", headers=headers, parts=[]), 400)
    assert review.version == 0
