import asyncio
import csv
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import pytest

pytest.importorskip("starlette", reason="the review page needs tagloom[review]")
pytest.importorskip("uvicorn", reason="the review page needs tagloom[review]")

from tagloom.completion.inputs import Options
from tagloom.completion.pipeline import complete
from tagloom.datasets.scenes import write_scenes
from tagloom.review.routes import make_app
from tagloom.review.session import Review

sys.path.insert(0, str(Path(__file__).parent))

from diffusing import diffusing_search

N_PICTURES = 48
PORT = 50505
TOKEN = "a-token-of-the-tests"
HOST = f"127.0.0.1:{PORT}"
GIVEN = {"Host": HOST, "Cookie": f"tagloom_{PORT}={TOKEN}"}
ODD_NAME = "<img src=x onerror=alert(1)>'\".jpg"


class Answer:
    """An answer of the server."""

    def __init__(self, messages):
        start = messages[0]
        self.status = start["status"]
        self.headers = {k.decode(): v.decode("latin-1") for k, v in start["headers"]}
        self.content = b"".join(one.get("body", b"") for one in messages[1:])

    @property
    def text(self):
        return self.content.decode()

    @property
    def json(self):
        return json.loads(self.content)


class Browser:
    """Sends requests to an application directly, as they are: nothing is made well-formed."""

    def __init__(self, app, headers):
        self.app, self.headers = app, headers
        self._loop = asyncio.new_event_loop()

    def close(self):
        self._loop.close()

    def ask(self, method, path, *, query="", headers=None, parts=(b"",), raw_path=None):
        named = self.headers | (headers or {})
        messages = []

        async def send(message):
            messages.append(message)

        waiting = list(parts)

        async def receive():
            if not waiting:
                return {"type": "http.disconnect"}
            part = waiting.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(waiting)}

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "server": ("127.0.0.1", PORT),
            "client": ("127.0.0.1", 1),
            "scheme": "http",
            "root_path": "",
            "method": method,
            "path": path,
            "raw_path": quote(path).encode() if raw_path is None else raw_path,
            "query_string": query.encode("latin-1", "replace"),
            "headers": [
                (name.lower().encode(), value.encode("latin-1", "replace"))
                for name, value in named.items()
                if value is not None
            ],
        }
        self._loop.run_until_complete(self.app(scope, receive, send))
        return Answer(messages)

    def get(self, address, **headers):
        path, _, query = address.partition("?")
        return self.ask("GET", path, query=query, headers=headers)

    def post(self, path, body, **headers):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        written = {"Content-Type": "application/json", "X-Tagloom": "1"} | headers
        return self.ask("POST", path, headers=written, parts=[content])

    def decide(self, *decisions, client="tab"):
        given = [
            {"i": i, "tag" if isinstance(tag, str) else "t": tag, "verdict": verdict}
            for i, tag, verdict in decisions
        ]
        return self.post("/api/decide", {"decisions": given, "client": client})


@pytest.fixture(scope="session")
def completed(tmp_path_factory):
    """A run on a few scenes: every third tag is missing, and one tag is on a single picture."""
    home = tmp_path_factory.mktemp("review")
    scenes = write_scenes(home / "scenes", N_PICTURES)
    photos = home / "photos"
    photos.mkdir()
    with (scenes / "labels.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    known = []
    for number, row in enumerate(rows):
        file = next(iter(row.values()))
        name = ODD_NAME if number == 3 else Path(file).name
        shutil.copy(scenes / file, photos / name)
        given = [tag for tag, state in row.items() if state == "1"]
        known += [(name, tag) for place, tag in enumerate(given) if (place + number) % 3]
        if number == 0:
            known.append((name, "seen once"))
    with (home / "tags.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("image", "tag"), *known])
    options = Options(max_minutes=0, label_frequency=0.3)
    with diffusing_search():
        complete(photos, [home / "tags.csv"], home / "out", options, cache=home / "cache")
    return home


def copied(completed, home):
    """Copy the run, to decide on, and its pictures, to be replaced."""
    shutil.copytree(completed / "out", home / "out")
    shutil.copytree(completed / "photos", home / "photos")
    return home


@pytest.fixture(scope="session")
def untouched(completed, tmp_path_factory):
    """A review that no test changes: its home, itself, and both browsers."""
    home = copied(completed, tmp_path_factory.mktemp("untouched"))
    review = Review(home / "out", home / "photos")
    app = make_app(review, token=TOKEN, port=PORT)
    page, stranger = Browser(app, GIVEN), Browser(app, {"Host": HOST})
    yield SimpleNamespace(home=home, review=review, page=page, stranger=stranger)
    page.close()
    stranger.close()
    app.state.learning.close()
    review.close()


@pytest.fixture(scope="session")
def untouched_home(completed, tmp_path_factory):
    """A copy that no test changes, for a server of its own."""
    return copied(completed, tmp_path_factory.mktemp("served"))


@pytest.fixture
def home(completed, tmp_path):
    """A copy of the run and of its pictures."""
    return copied(completed, tmp_path)


@pytest.fixture
def review(home):
    review = Review(home / "out", home / "photos")
    yield review
    review.close()


@pytest.fixture
def app(review):
    app = make_app(review, token=TOKEN, port=PORT)
    yield app
    app.state.learning.close()


@pytest.fixture
def open_page():
    """Open the page of any run."""
    opened = []

    def open_run(out, photos):
        review = Review(out, photos)
        app = make_app(review, token=TOKEN, port=PORT)
        opened.append((Browser(app, GIVEN), app, review))
        return opened[-1][0]

    yield open_run
    for browser, app, review in opened:
        browser.close()
        app.state.learning.close()
        review.close()


@pytest.fixture
def page(app):
    """The browser that was given the link."""
    browser = Browser(app, GIVEN)
    yield browser
    browser.close()


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
