"""How the link comes to the browser."""

import re
import stat
import threading
from html import unescape

import pytest

from tagloom.review import server as opening

URL = "http://127.0.0.1:4321/?token=a-secret&b"


@pytest.fixture
def browser(monkeypatch):
    """What a browser is asked to open, and when."""
    asked, was_asked = [], threading.Event()

    def take(address):
        asked.append(address)
        was_asked.set()

    monkeypatch.setattr("webbrowser.open", take)
    return asked, was_asked


def test_where_processes_can_be_listed_the_key_stands_in_a_private_file(
    browser, tmp_path, monkeypatch
):
    monkeypatch.setattr(opening, "_lists_arguments", lambda: True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    path = tmp_path / opening.FILE
    path.symlink_to(elsewhere)
    with opening.opened(URL, tmp_path):
        assert browser[1].wait(10)
        assert browser[0] == [path.as_uri()]
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
        leads_to = re.findall(r'url=([^"]*)"', path.read_text())
        assert [unescape(address) for address in leads_to] == [URL]
    assert not path.exists()
    assert elsewhere.read_text() == "mine"


def test_where_no_file_can_be_written_the_link_itself_is_opened(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "_lists_arguments", lambda: True)
    with opening.opened(URL, tmp_path / "not there"):
        assert browser[1].wait(10)
        assert browser[0] == [URL]


def test_elsewhere_the_link_itself_is_opened(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "_lists_arguments", lambda: False)
    with opening.opened(URL, tmp_path):
        assert browser[1].wait(10)
        assert browser[0] == [URL]
    assert list(tmp_path.iterdir()) == []
