"""The program itself, in a process of its own."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from tagloom.completion.answers import decided


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
def test_what_is_no_request_gets_no_answer_or_a_refusal(raw_server, bytes_sent):
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


@pytest.fixture(scope="module")
def raw_server(untouched_home):
    with serving(untouched_home) as server:
        yield server
    log = (untouched_home / "server.log").read_text()
    assert "Traceback" not in log


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
