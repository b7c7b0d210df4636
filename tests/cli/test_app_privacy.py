"""Nothing is sent, and nothing is written but where results and the cache belong.

Every command runs in processes of its own, with an empty home folder. In each of them a hook notes
what Python opens, makes, moves and removes, and whom it connects to; what native code does shows in
the folders and in the sockets that are open in the end.
"""

import csv
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at open files in /proc")

# Imported by every Python process of a command, also by those that it starts.
WATCH = """
import atexit, json, os, sys

NETWORK = {
    "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg",
    "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "urllib.Request",
}
FILES = {  # the arguments that are changed
    "os.mkdir": [0], "os.remove": [0], "os.rmdir": [0], "os.rename": [0, 1], "os.link": [1],
    "os.symlink": [1],
}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
log = os.open(os.environ["WATCHED_BY"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def note(**event):
    os.write(log, (json.dumps(event) + "\\n").encode())

def watch(event, args):
    if event in NETWORK:
        note(event=event, with_whom=repr(args[1:] if event.startswith("socket.") else args))
    elif event == "open" and isinstance(args[2], int) and args[2] & WRITING:
        note(event=event, path=path_of(args[0]))
    elif event in FILES:
        for place in FILES[event]:
            note(event=event, path=path_of(args[place], args[-1]))
    elif event == "sqlite3.connect" and "mode=ro" not in str(args[0]):
        note(event=event, path=path_of(args[0]))

def path_of(given, folder=-1):
    if isinstance(given, int):
        return None
    start = os.readlink(f"/proc/self/fd/{folder}") if isinstance(folder, int) and folder > 0 else ""
    return os.path.abspath(os.path.join(start, os.fsdecode(given)))

def sockets():
    for fd in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue
        if target.startswith("socket:"):
            note(event="socket left open", with_whom=target)

note(event="start")
atexit.register(sockets)
sys.addaudithook(watch)
"""
PROGRAM = "from tagloom.cli import main; main()"
# A benchmark resets the peak of its memory.
NO_FILES = {os.devnull, "/proc/self/clear_refs"}
KEPT = ("PATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Place(NamedTuple):
    """A home folder, in which commands run, and where the hook writes."""

    home: Path
    log: Path

    @property
    def cache(self):
        return self.home / "tagloom-cache"

    def environment(self):
        own = {
            "HOME": self.home,
            "XDG_CACHE_HOME": self.home / ".cache",
            "XDG_CONFIG_HOME": self.home / ".config",
            "XDG_DATA_HOME": self.home / ".local",
            "XDG_STATE_HOME": self.home / ".state",
            "TMPDIR": self.home / "tmp",
            "TAGLOOM_CACHE": self.cache,
            "WATCHED_BY": self.log,
            "PYTHONPATH": os.pathsep.join(
                [str(self.log.parent / "hook"), os.environ.get("PYTHONPATH", "")]
            ),
            "PYTHONDONTWRITEBYTECODE": 1,
        }
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return kept | {name: str(value) for name, value in own.items()}

    def start(self, *arguments):
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, arguments)],
            env=self.environment(),
            cwd=self.home,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments):
        process = self.start(*arguments)
        out, err = process.communicate()
        assert process.returncode == 0, err
        return out

    def events(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [json.loads(line) for line in lines]


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def completed(collection, tmp_path_factory):
    """A run in an empty home, all that was noted while it was made, and the files before it."""
    root = tmp_path_factory.mktemp("watched")
    home = root / "home"
    (root / "hook").mkdir()
    (root / "hook" / "sitecustomize.py").write_text(WATCH)
    (home / "tmp").mkdir(parents=True)
    (home / "work").mkdir()
    shutil.copytree(collection.photos, home / "photos")
    shutil.copyfile(collection.tags, home / "tags.csv")
    place = Place(home, root / "events")
    before = tree(home)
    options = ("--minutes", 0, "--folds", 2)
    place.run("complete", "photos", "--tags", "tags.csv", "--out", "out", *options)
    return place, place.events(), before


@pytest.fixture
def place(completed):
    """The home with the run; its cache is filled, so that nothing need be encoded again."""
    return completed[0]


def check(place, events, before, *, written, network=()):
    """Compare what was noted, and the files before and after, with what a command may do."""
    assert events[0] == {"event": "start"}
    met = [one for one in events if "with_whom" in one and one["event"] not in network]
    assert met == []
    allowed = [place.cache, *(place.home / name for name in written)]
    outside = {one["path"] for one in events if one.get("path")} - NO_FILES
    assert {path for path in outside if not _is_below(path, allowed)} == set()
    after = tree(place.home)
    differ = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert {name for name in differ if not _is_below(place.home / name, allowed)} == set()


def _is_below(path, allowed):
    return any(Path(path).is_relative_to(folder) for folder in allowed)


def test_complete(completed):
    place, events, before = completed
    check(place, events, before, written=["out"])
    made = {one.get("path") for one in events}
    assert {str(place.home / "out"), str(place.home / "out" / ".tagloom.lock")} <= made
    assert _is_below(next(place.cache.rglob("*.*")), [place.cache])


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("predict out photos --out work/new.csv", ["work"]),
        ("update out --tags work/more.csv", ["out"]),
        ("tags out", ["out"]),  # SQLite keeps an index beside a journal that is read
        ("tags out --vocabulary work/v.toml --ignore sky", ["work", "out"]),
        ("export out --to csv", ["out"]),
        ("export out --to coco --file work/coco.json", ["work", "out"]),
        ("export out --to xmp", ["photos", "out"]),
        ("check out --n 20", ["out"]),
        ("inspect out", []),
        ("encoders check lite0", []),
        ("embed photos --out work/features.npz", ["work"]),
        ("demo --pictures 50 --out work/demo", ["work/demo"]),
        ("benchmark --dataset scenes:30 --methods least-squares --rates 0.5 --repeats 1 --jobs 1 "
         "--figures --out work/benchmark", ["work/benchmark"]),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)  # fmt: skip
def test_commands(command, written, place):
    with (place.home / "out" / "suggestions.csv").open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["state"] == "suggested"][:2]
    lines = [f"{row['image']},{row['tag']},present" for row in rows]
    (place.home / "work" / "more.csv").write_text("\n".join(["image,tag,state", *lines]))
    before = tree(place.home)
    place.run(*command.split())
    check(place, place.events(), before, written=written)


def test_review_and_learning_again(place):
    """The page listens on this machine alone; learning again is a process of its own."""
    before = tree(place.home)
    server = place.start("review", "out", "--no-open", "--json")
    try:
        address = urlsplit(json.loads(server.stdout.readline())["url"])
        assert address.hostname == "127.0.0.1"
        cookie = f"tagloom_{address.port}={address.query.removeprefix('token=')}"

        def ask(method, path, body=None):
            connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
            headers = {"Cookie": cookie, "X-Tagloom": "1", "Content-Type": "application/json"}
            connection.request(method, path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            assert answer.status in (200, 202), content
            return content

        ask("GET", "/")
        ask("GET", "/api/pictures")
        decision = {"i": 0, "tag": "a new tag", "verdict": "accept"}
        ask("POST", "/api/decide", {"decisions": [decision], "client": "tab"})
        ask("POST", "/api/learn", {})
        while (state := json.loads(ask("GET", "/api/learn"))["state"]) == "running":
            time.sleep(0.2)
        assert state == "done"
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
    finally:
        server.kill()
        server.communicate()
    events = place.events()
    bound = [one for one in events if one["event"] == "socket.bind"]
    assert [one["with_whom"] for one in bound] == [repr((("127.0.0.1", 0),))]
    check(place, events, before, written=["out"], network=["socket.bind"])
    assert [one["event"] for one in events].count("start") == 2
