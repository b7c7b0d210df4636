"""The server: refusing to start, opening the browser, and running in a process of its own."""

import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tagloom.completion.feedback import decided
from tagloom.completion.journal import Journal
from tagloom.errors import InvalidInputError, TagloomError
from tagloom.review import server as review_server
from tagloom.review.server import serve


def has_begun(address):
    raise AssertionError("it has begun")


def begin(home, **options):
    given = {"photos": home / "photos", "open_browser": False, "on_ready": has_begun} | options
    serve(home / "out", **given)


def test_a_folder_that_is_no_run(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InvalidInputError, match="Run `tagloom complete` first"):
        begin(tmp_path, photos=tmp_path)
    assert [path.name for path in (tmp_path / "out").iterdir()] == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InvalidInputError, match="Run `tagloom complete` first"):
        begin(tmp_path)


def test_pictures_that_have_moved(home):
    with pytest.raises(InvalidInputError, match="--photos"):
        begin(home, photos=home / "nowhere")


def test_a_port_that_is_taken(home):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InvalidInputError, match="Choose another with --port"):
            begin(home, port=taken.getsockname()[1])


def test_a_run_that_is_open_already(home):
    store = Journal(home / "out")
    with pytest.raises(InvalidInputError, match="open in another"):
        begin(home)
    store.close()


@pytest.mark.parametrize("name", ["suggestions.csv", "annotate_next.csv"])
@pytest.mark.parametrize(
    "content",
    [None, b"image,tag,probability,state\nx,y,1,known\n", b"a\n1\n", b"", b"\xff\x00"],
    ids=["missing", "foreign", "no table", "empty", "binary"],
)
def test_tables_that_do_not_belong_to_the_model(home, name, content):
    path = home / "out" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TagloomError, match="Run `tagloom complete` again"):
        begin(home)


def test_help_loads_neither_the_server_nor_numpy():
    code = (
        "import sys; from typer.testing import CliRunner; from tagloom.cli.app import app; "
        "print(CliRunner().invoke(app, ['review', '--help']).exit_code, "
        "[m for m in ('numpy', 'starlette', 'uvicorn') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "0 []\n"


URL = "http://127.0.0.1:4321/?token=a-secret&b"


@pytest.fixture
def browser(monkeypatch):
    """The addresses that a browser is asked to open, and an event."""
    opened, was_opened = [], threading.Event()

    def take(address):
        opened.append(address)
        was_opened.set()

    monkeypatch.setattr("webbrowser.open", take)
    return opened, was_opened


def test_where_arguments_are_visible_the_key_is_in_a_private_file(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(review_server, "_arguments_are_visible", lambda: True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    path = tmp_path / review_server.LINK_FILE
    path.symlink_to(elsewhere)
    with review_server.browser_opened(URL, tmp_path):
        assert browser[1].wait(10)
        assert browser[0] == [path.as_uri()]
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
        leads_to = re.findall(r'url=([^"]*)"', path.read_text())
        assert [unescape(address) for address in leads_to] == [URL]
    assert not path.exists()
    assert elsewhere.read_text() == "mine"


def test_where_no_file_can_be_written_the_link_itself_is_opened(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(review_server, "_arguments_are_visible", lambda: True)
    with review_server.browser_opened(URL, tmp_path / "not there"):
        assert browser[1].wait(10)
        assert browser[0] == [URL]


def test_a_page_that_was_left_over_is_replaced_and_a_file_of_the_user_is_not(
    browser, tmp_path, monkeypatch
):
    monkeypatch.setattr(review_server, "_arguments_are_visible", lambda: True)
    path = tmp_path / review_server.LINK_FILE
    path.write_text(review_server._LINK_PAGE.format(url="http://127.0.0.1:1/?token=old"))
    with review_server.browser_opened(URL, tmp_path):
        assert browser[1].wait(10)
        assert browser[0] == [path.as_uri()]
    assert not path.exists()
    path.write_text("mine")
    browser[1].clear()
    with review_server.browser_opened(URL, tmp_path):
        assert browser[1].wait(10)
        assert browser[0][1:] == [URL]
    assert path.read_text() == "mine"


def test_elsewhere_the_link_itself_is_opened(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(review_server, "_arguments_are_visible", lambda: False)
    with review_server.browser_opened(URL, tmp_path):
        assert browser[1].wait(10)
        assert browser[0] == [URL]
    assert list(tmp_path.iterdir()) == []


class Server:
    """A running `tagloom review`, as the browser talks to it."""

    def __init__(self, out, photos, log):
        self.process = subprocess.Popen(
            [
                sys.executable, "-c", "from tagloom.cli import main; main()",
                "review", str(out), "--photos", str(photos), "--no-open", "--json",
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )  # fmt: skip
        line = self.process.stdout.readline()
        assert line, "the server has not started"
        self.url = json.loads(line)["url"]
        self.port = urlsplit(self.url).port
        self.token = urlsplit(self.url).query.removeprefix("token=")

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(self, method, path, body=None, connection=None):
        own = connection or self.connection()
        headers = {"Cookie": f"tagloom_{self.port}={self.token}"}
        if method == "POST":
            headers |= {"X-Tagloom": "1", "Content-Type": "application/json"}
        own.request(method, path, None if body is None else json.dumps(body), headers)
        answer = own.getresponse()
        content = answer.read()
        if connection is None:
            own.close()
        return answer, content


@contextmanager
def serving(home):
    with (home / "server.log").open("a") as log:
        server = Server(home / "out", home / "photos", log)
        try:
            yield server
        finally:
            server.process.kill()
            server.process.wait()
            server.process.stdout.close()


def test_the_link_opens_the_page_and_ctrl_c_ends_it(home):
    with serving(home) as server:
        connection = server.connection()
        connection.request("GET", server.url.split(str(server.port))[1])
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (303, b"")
        connection.close()
        answer, content = server.ask("GET", "/api/collection")
        assert answer.status == 200
        assert len(json.loads(content)["images"]) == 48
        assert answer.getheader("server") is None
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 0
    assert (home / "server.log").read_text() == ""


def test_it_listens_on_this_machine_only(raw_server):
    found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    for address in {info[4][0] for info in found} - {"127.0.0.1"}:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, raw_server.port), timeout=5)


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"nonsense\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /../../../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /api/decide HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
    ],
    ids=range(7),
)
def test_malformed_requests_get_no_answer_or_a_refusal(raw_server, bytes_sent):
    with socket.create_connection(("127.0.0.1", raw_server.port), timeout=10) as raw:
        answer = b""
        # It may hang up on us at any point; only a server that keeps us waiting is wrong.
        with suppress(ConnectionError):
            raw.sendall(bytes_sent)
        with suppress(OSError):
            raw.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while more := raw.recv(65536):
                answer += more
    assert not answer or answer.startswith(b"HTTP/1.1 4")
    assert b"root:" not in answer
    assert raw_server.ask("GET", "/api/tags")[0].status == 200


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
def test_a_thousand_silent_connections_do_not_keep_the_page_from_answering(raw_server, tmp_path):
    code = (
        "import socket, sys; held = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) "
        "for _ in range(900)]; print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(raw_server.port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as crowd:
        assert crowd.stdout.readline() == b"open\n"
        assert raw_server.ask("GET", "/api/tags")[0].status == 200
        descriptors = len(list(Path(f"/proc/{raw_server.process.pid}/fd").iterdir()))
        assert descriptors < 400
        crowd.stdin.close()


@pytest.fixture(scope="module")
def raw_server(untouched_home):
    with serving(untouched_home) as server:
        yield server
    log = (untouched_home / "server.log").read_text()
    assert "Traceback" not in log
    assert len(log) < 10_000


def burst(server, acknowledged):
    """Decide as fast as answers come, until there is no answer any more."""
    connection = server.connection()
    try:
        for number in range(500):
            place = {"i": number % 48, "tag": f"tag {number // 48}", "verdict": "accept"}
            answer, content = server.ask(
                "POST", "/api/decide", {"decisions": [place], "client": "burst"}, connection
            )
            assert answer.status == 200, content
            acknowledged.append((place["i"], place["tag"]))
    except (OSError, http.client.HTTPException):
        pass
    finally:
        connection.close()


def test_killed_in_a_burst_of_500_decisions_every_acknowledged_one_is_there(home):
    acknowledged = []
    with serving(home) as server:
        images = json.loads(server.ask("GET", "/api/collection")[1])["images"]
        burster = threading.Thread(target=burst, args=(server, acknowledged))
        burster.start()
        while len(acknowledged) < 150 and burster.is_alive():
            time.sleep(0.005)
        os.kill(server.process.pid, signal.SIGKILL)
        burster.join()
    assert 150 <= len(acknowledged) < 500
    kept = {(one.image, one.tag) for one in decided(home / "out")}
    assert {(images[i], tag) for i, tag in acknowledged} <= kept
    # One may have been written whose answer was not sent any more.
    assert len(kept) <= len(acknowledged) + 1
    with serving(home) as server:
        counts = json.loads(server.ask("GET", "/api/collection")[1])["counts"]
        assert counts["accepted"] == len(kept)
        undone = json.loads(server.ask("POST", "/api/undo", {})[1])["undone"]
        assert len(undone["applied"]) == 1
    assert "Traceback" not in (home / "server.log").read_text()
