"""Questions to the server through the page, and hostile names to test it with."""

from importlib.util import find_spec

HOSTILE_IMAGE = "<img src=x onerror=alert(1)>'\".jpg"
HOSTILE_TAG = "<script>alert('tag')</script>"


def is_real():
    parts = ("starlette", "uvicorn", "tagloom.review.server")
    return all(find_spec(name) is not None for name in parts)


def picture_with_suggestions(page, least=3):
    rows = page.fetch("/api/pictures?state=suggested&limit=60")["rows"]
    for row in rows:
        n = sum(tag["state"] == "suggested" for tag in row["tags"])
        if n >= least:
            return row["i"]
    raise AssertionError("no picture has enough suggestions")


def busiest_tag(page):
    return page.fetch("/api/tags?sort=open")["rows"][0]["t"]


def state_of(page, i, t):
    tags = page.fetch(f"/api/pictures/{i}")["tags"]
    return next((tag["state"] for tag in tags if tag["t"] == t), "open")


def open_suggestions(page, i):
    tags = page.fetch(f"/api/pictures/{i}")["tags"]
    return [tag["t"] for tag in tags if tag["state"] == "suggested"]
