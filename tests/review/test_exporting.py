"""Export from the page: what it would write, writing it, and undoing it."""

import pytest

from tagloom.completion.export import FORMS, export, finished_tags
from tagloom.formats import read_sidecars, read_tags


@pytest.fixture
def asked(page, app):
    """Ask for a job, wait for it, and return how it ended."""

    def ask(path, **body):
        assert page.post(path, body).json == {"started": True}
        app.state.exporting.wait()
        return page.get("/api/export").json["progress"]

    return ask


def tree(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_counts_follow_decisions_and_agree_with_an_export(page, home, suggested):
    (i, t), (j, u), _ = suggested
    page.decide((i, t, "accept"), (j, u, "reject"), (0, "my own", "accept"))
    counts = page.get("/api/export").json["counts"]
    for least in (0, 50, 60, 75):
        told = export(home / "out", "csv", suggested=least / 100, dry_run=True).counts
        shown = {**counts, "suggested": counts["suggested"][least]}
        assert shown == {key: getattr(told, key) for key in shown}


def test_a_preview_writes_nothing_an_export_does_and_undo_restores(page, home, suggested, asked):
    before = tree(home / "photos")
    (i, t), *_ = suggested
    page.decide((i, t, "accept"))
    ended = asked("/api/export/preview", to="xmp", suggested=0.5)
    assert ended["state"] == "done"
    result = ended["result"]
    assert result["n_files"] > 0
    assert any(one["suggested"] for one in result["changes"])
    assert tree(home / "photos") == before
    assert page.get("/api/export").json["undo"] == []
    ended = asked("/api/export", to="xmp", suggested=0.5)
    assert (ended["done"], ended["of"]) == (result["n_files"], result["n_files"])
    back = read_sidecars(home / "photos").annotations
    wanted = finished_tags(home / "out", suggested=0.5)
    assert {one[:2] for one in back} == {one[:2] for one in wanted if one.present}
    assert page.get("/api/export").json["undo"] == ["xmp"]
    ended = asked("/api/export/undo", to="xmp")
    assert ended["result"]["n_deleted"] == result["n_files"]
    assert tree(home / "photos") == before
    assert page.get("/api/export").json["undo"] == []


@pytest.mark.parametrize("form", FORMS)
def test_files_are_written_where_the_page_says(page, home, asked, form):
    named = page.get("/api/export").json["files"][form]
    assert asked("/api/export", to=form, suggested=None)["result"]["refused"] == []
    annotations = read_tags(named, pictures=home / "photos").annotations
    assert all(one.confidence is None for one in annotations)


def test_failures_are_told(page, home, asked):
    (home / "out" / "tags.csv").write_text("mine")
    ended = asked("/api/export", to="csv")
    assert ended["state"] == "failed"
    assert "tags.csv" in ended["error"]
    assert (home / "out" / "tags.csv").read_text() == "mine"
    assert "nothing to undo" in asked("/api/export/undo", to="xmp")["error"]


@pytest.mark.parametrize(
    "body",
    [{}, {"to": "pdf"}, {"to": ["xmp"]}, {"to": "xmp", "suggested": 2},
     {"to": "xmp", "suggested": "0.5"}, {"to": "xmp", "suggested": True}],
)  # fmt: skip
def test_bad_requests_are_refused(page, body):
    for path in ("/api/export", "/api/export/preview"):
        assert page.post(path, body).status == 400
    assert page.post("/api/export/undo", {"to": "csv"}).status == 400
    assert page.get("/api/export").json["progress"]["state"] == "idle"
