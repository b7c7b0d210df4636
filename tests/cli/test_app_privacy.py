"""Nothing is sent, and nothing is written but where results and the cache belong."""

import json
import os
import subprocess
import sys

import pytest

WATCHED = """
import json, os, sys
sent = []
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
        sent.append([event, repr(args[1:])])
sys.addaudithook(watch)
from tagloom.cli import main
try:
    main()
except SystemExit as end:
    code = end.code or 0
sockets = [
    os.readlink(f"/proc/self/fd/{fd}")
    for fd in os.listdir("/proc/self/fd")
    if os.path.exists(f"/proc/self/fd/{fd}") or os.path.islink(f"/proc/self/fd/{fd}")
]
sockets = [one for one in sockets if one.startswith("socket:")]
with open(os.environ["WATCHED_BY"], "w") as stream:
    json.dump({"code": code, "sent": sent, "sockets": sockets}, stream)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at open files in /proc")
def test_a_run_opens_no_socket_and_writes_nothing_elsewhere(collection, tmp_path, contents):
    home, out, cache = tmp_path / "home", tmp_path / "out", tmp_path / "cache"
    home.mkdir()
    before = contents(collection.photos), collection.tags.read_bytes()
    kept = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
    own = {
        "HOME": home,
        "XDG_CACHE_HOME": home / "cache",
        "XDG_CONFIG_HOME": home / "config",
        "XDG_DATA_HOME": home / "data",
        "TMPDIR": home,
        "TAGLOOM_CACHE": cache,
        "WATCHED_BY": tmp_path / "watched.json",
    }
    arguments = ["complete", collection.photos, "--tags", collection.tags, "--out", out]
    arguments += ["--cache", cache, "--minutes", "0", "--folds", "2"]
    subprocess.run(
        [sys.executable, "-c", WATCHED, *map(str, arguments)],
        env={name: os.environ[name] for name in kept if name in os.environ}
        | {name: str(value) for name, value in own.items()},
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    watched = json.loads((tmp_path / "watched.json").read_text())
    assert watched == {"code": 0, "sent": [], "sockets": []}
    assert [path for path in home.rglob("*") if path.is_file()] == []
    assert {path.name for path in tmp_path.iterdir()} == {"home", "out", "cache", "watched.json"}
    assert (contents(collection.photos), collection.tags.read_bytes()) == before
