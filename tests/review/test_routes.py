"""Ten thousand random requests, and names that look like code."""

import json
import logging
import random
import string

from addresses import GET, POST

SECRET = b"a secret that lies outside"


def test_tags_that_look_like_code_are_only_names(page, review):
    for tag in ("'; DROP TABLE decisions; --", "<script>alert(1)</script>", "../../x", "{{7*7}}"):
        assert page.decide((0, tag, "accept")).status == 200
        assert tag in page.get("/api/collection").json["tags"]
    assert len(review.journal.current()) == 4


def test_ten_thousand_random_requests(page, home, caplog):
    caplog.set_level(logging.INFO)
    (home / "secret.jpg").write_bytes(SECRET)
    rng = random.Random(20240229)
    letters = string.printable + "\x00\x7f\xe9\u2028\U0001f600"
    stems = [*GET, *POST, "/static/", "/thumb/", "/picture/", "/api/", "", "//", "/.", "/%2e%2e/"]
    keys = [
        "q",
        "state",
        "sort",
        "tag",
        "offset",
        "limit",
        "least",
        "size",
        "since",
        "i",
        "t",
        "token",
        "folder",
        "date",
        "numbers",
        "zoom",
    ]
    values = ["0", "1", "-1", "9" * 20, "all", "open", "name", "", "nan", "../..", "%00", "\xff"]
    fields = ["Host", "Cookie", "Origin", "X-Tagloom", "Content-Type", "Sec-Fetch-Site"]

    def noise(most):
        return "".join(rng.choices(letters, k=rng.randrange(most)))

    def value(depth=0):
        kind = rng.randrange(8 if depth < 4 else 6)
        if kind == 6:
            return [value(depth + 1) for _ in range(rng.randrange(4))]
        if kind == 7:
            names = ["decisions", "client", "i", "t", "tag", "verdict", noise(5)]
            return {rng.choice(names): value(depth + 1) for _ in range(rng.randrange(5))}
        return [None, True, rng.randrange(-9, 60), rng.random(), noise(9), "accept"][kind]

    for _ in range(10_000):
        path = rng.choice(stems) + (noise(20) if rng.random() < 0.4 else "")
        query = "&".join(
            f"{rng.choice(keys)}={rng.choice(values) if rng.random() < 0.8 else noise(30)}"
            for _ in range(rng.randrange(4))
        )
        headers = {"Content-Type": "application/json", "X-Tagloom": "1"}
        if rng.random() < 0.2:
            headers[rng.choice(fields)] = noise(30)
        method = rng.choice(["GET", "GET", "POST", "POST", "HEAD", "PUT", noise(6)])
        body = json.dumps(value()).encode() if rng.random() < 0.8 else noise(200).encode()
        answer = page.ask(method, path, query=query, headers=headers, parts=[body])
        assert answer.status in (200, 303, 304) or 400 <= answer.status < 500, (method, path, query)
        assert b"Traceback" not in answer.content
        assert SECRET not in answer.content
    assert [record.getMessage() for record in caplog.records if record.name != "asyncio"] == []
