"""Response times of the review server, with a made-up collection.

Run as `python benchmarks/review.py [--pictures 20000] [--tags 500]`. Every request goes
through the whole application but for the socket; decisions go to a journal on disk. Beside the time
that passed stands that of the processor, which other programs on the machine do not prolong. With
`--run OUT` it is measured how long `tagloom review OUT` takes until its page has its first list.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import HTTPCookieProcessor, build_opener

import numpy as np
from scipy import sparse

from tagloom.completion.folder import mark
from tagloom.review.collection import (
    Collection,
    EntryState,
    LoadedRun,
    SuspectedError,
    ToAnnotate,
)
from tagloom.review.routes import make_app
from tagloom.review.session import Review

PORT, TOKEN = 1, "token"


def made_up(n: int, m: int, photos: Path) -> LoadedRun:
    """Return a run with about five known tags and five suggestions a picture."""
    rng = np.random.default_rng(0)
    P = np.asfortranarray(rng.beta(0.3, 6, size=(n, m)).astype(np.float32))
    states = np.zeros((n, m), dtype=np.int8, order="F")
    states[np.quantile(P[:200], 1 - 5 / m) < P] = EntryState.SUGGESTED
    known = rng.random((n, m)) < 5 / m
    states[known] = EntryState.PRESENT
    rows, columns = np.nonzero(known)
    some = rng.choice(len(rows), 1000, replace=False)
    states[rows[some], columns[some]] = EntryState.SUSPECTED_PRESENT
    places = list(zip(rows[some].tolist(), columns[some].tolist(), strict=True))
    neighbors = rng.integers(n, size=(n, 20))
    S = sparse.csr_array(
        (rng.random(n * 20), (np.repeat(np.arange(n), 20), neighbors.ravel())), shape=(n, n)
    )
    return LoadedRun(
        title="made up",
        run="0",
        photos=photos,
        images=[f"year {i % 30}/folder/picture-{i:05}.jpg" for i in range(n)],
        tags=[f"tag {t:03}" for t in range(m)],
        P=P,
        column=np.arange(m),
        states=states,
        thresholds=np.full(m, 0.3),
        roc_auc=np.full(m, 0.8),
        suspected_errors=[SuspectedError(i, t, 0.01, 0.9, True) for i, t in places],
        to_annotate=[ToAnnotate(i, t, 0.5, 0.1) for i, t in places[:50]],
        affinities=S,
        label_frequency=0.6,
        visual=rng.random((n, 1280), dtype=np.float32),
    )


class MadeUp(Review):
    """A review of a run that exists in memory only."""

    def __init__(self, loaded: LoadedRun, out: Path) -> None:
        self._made_up = loaded
        super().__init__(out)

    def reload(self) -> Collection:
        """Return the collection that was made up."""
        return Collection(self._made_up)


class Client:
    """Sends requests to an application without a socket."""

    def __init__(self, app: Any) -> None:
        self._app, self._loop = app, asyncio.new_event_loop()

    def __call__(self, method: str, address: str, body: bytes = b"") -> tuple[int, int]:
        """Return the status and the length of an answer."""
        path, _, query = address.partition("?")
        messages: list[Any] = []

        async def send(message: Any) -> None:
            messages.append(message)

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        headers = {
            b"host": f"127.0.0.1:{PORT}".encode(),
            b"cookie": f"tagloom_{PORT}={TOKEN}".encode(),
            b"x-tagloom": b"1",
            b"content-type": b"application/json",
            b"accept-encoding": b"gzip",
        }
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path,
            "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "scheme": "http", "server": ("127.0.0.1", PORT), "headers": list(headers.items()),
        }  # fmt: skip
        self._loop.run_until_complete(self._app(scope, receive, send))
        return messages[0]["status"], sum(len(one.get("body", b"")) for one in messages[1:])


def decisions(number: int, count: int, n: int, m: int) -> bytes:
    """Return a request that decides `count` entries that no other request decides."""
    start = number * count
    given = [
        {"i": (start + k) % n, "t": (start + k) // n % m, "verdict": "accept"} for k in range(count)
    ]
    return json.dumps({"decisions": given, "client": "benchmark"}).encode()


def requests(n: int, m: int) -> dict[str, Callable[[int], tuple[str, str, bytes]]]:
    """Return for each kind of request how the k-th one is made."""
    reading = {
        "collection": lambda k: "/api/collection",
        "pictures": lambda k: f"/api/pictures?offset={60 * k}",
        "pictures, surest first": lambda k: f"/api/pictures?sort=certain&offset={60 * k}",
        "pictures, searched": lambda k: f"/api/pictures?q=tag+{k % 10}",
        "pictures to decide": lambda k: "/api/pictures?state=open",
        "one picture": lambda k: f"/api/pictures/{k * 97 % n}",
        "why": lambda k: f"/api/why?i={k * 97 % n}&t={k % m}",
        "tags": lambda k: "/api/tags?sort=open",
        "wall of a tag": lambda k: f"/api/tags/{k % m}?least=0.1",
        "suspected errors": lambda k: "/api/suspected-errors",
        "counts of the slider": lambda k: "/api/thresholds",
        "changes": lambda k: "/api/changes?since=0",
    }
    kinds: dict[str, Callable[[int], tuple[str, str, bytes]]] = {
        name: (lambda k, f=address: ("GET", f(k), b"")) for name, address in reading.items()
    }
    kinds["accept one"] = lambda k: ("POST", "/api/decide", decisions(k, 1, n, m))
    kinds["accept 2,000"] = lambda k: ("POST", "/api/decide", decisions(k + 1, 2000, n, m))
    kinds["move the slider"] = lambda k: (
        "POST", "/api/threshold", b'{"threshold": 0.%d}' % (20 + k % 70)
    )  # fmt: skip
    kinds["draw a sample"] = lambda k: ("POST", "/api/check", b'{"n": 30}')
    kinds["undo"] = lambda k: ("POST", "/api/undo", b"{}")
    return kinds


def open_run(out: Path) -> None:
    """Start a review, request what the page does first, and print how long it took."""
    program = "from tagloom.cli import main; main()"
    start = time.perf_counter()
    command = [sys.executable, "-c", program, "review", str(out), "--no-open", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        browser = build_opener(HTTPCookieProcessor())
        origin = url.partition("?")[0]
        for address in (url, f"{origin}api/collection", f"{origin}api/pictures?state=open"):
            with browser.open(address) as answer:
                answer.read()
        taken = time.perf_counter() - start
        memory = Path(f"/proc/{process.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
        process.kill()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(f"opened in {taken:.2f} s, {cpu:.2f} s of CPU, with {int(memory) / 1024:,.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=int, default=20_000)
    parser.add_argument("--tags", type=int, default=500)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--run", type=Path, help="the folder of a real run to open")
    given = parser.parse_args()
    if given.run is not None:
        open_run(given.run)
        return
    n, m = given.pictures, given.tags
    with tempfile.TemporaryDirectory() as folder:
        loaded = made_up(n, m, Path(folder))
        mark(Path(folder))
        (Path(folder) / "run.json").write_text("{}")
        start = time.perf_counter()
        review = MadeUp(loaded, Path(folder))
        print(f"{n:,} pictures, {m:,} tags; counted in {time.perf_counter() - start:.2f} s")
        send = Client(make_app(review, token=TOKEN, port=PORT))
        print(f"{'':24}{'median ms':>10}{'worst ms':>10}{'CPU ms':>10}{'KB':>8}")
        for name, kth_request in requests(n, m).items():
            taken, of_cpu, length = [], [], 0
            for k in range(given.times):
                request = kth_request(k)
                start, cpu = time.perf_counter(), time.process_time()
                status, length = send(*request)
                taken.append(1000 * (time.perf_counter() - start))
                of_cpu.append(1000 * (time.process_time() - cpu))
                assert status == 200, request
            times = f"{median(taken):10.1f}{max(taken):10.1f}{median(of_cpu):10.1f}"
            print(f"{name:24}{times}{length / 1000:8.1f}")
        review.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory {peak / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
