"""The review page on made-up data: `python fake_server.py --pictures 5000 --port 8123`.

For work on the page alone: nothing is stored, and access is not checked.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from fake_data import FakeCollection, drawn

STATIC = Path(__file__).parents[3] / "src" / "tagloom" / "review" / "static"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
LOCK = threading.Lock()


class Learning:
    """Pretends to learn for a second."""

    def __init__(self) -> None:
        self.since: float | None = None
        self.counted = False

    def progress(self, data: FakeCollection) -> dict:
        if self.since is None:
            return {"state": "idle", "step": "", "done": 0, "of": 0, "error": None}
        done = int((time.monotonic() - self.since) * 8)
        if done < 8:
            step = "learning from the confirmed tags"
            more = {"done": done, "of": 8, "seconds_left": (8 - done) / 8, "error": None}
            return {"state": "running", "step": step, **more}
        data.run += not self.counted
        self.counted = True
        examples = [{"i": i, "t": i % 5, "p": 0.9 - i / 50} for i in range(8)]
        changed = {"suggested_before": 310, "suggested_after": 322, "new": 20, "gone": 8}
        finished = {"state": "done", "step": "done", "done": 8, "of": 8, "error": None}
        return {**finished, "changed": {**changed, "examples": examples}}


class Handler(BaseHTTPRequestHandler):
    """Answers as the review server does."""

    protocol_version = "HTTP/1.1"
    data: FakeCollection
    learning = Learning()

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        parts = url.path.strip("/").split("/")
        if parts[0] in {"thumb", "picture"}:
            width = int(query.get("size", 1200))
            self._send(200, "image/jpeg", drawn(int(parts[1]) % self.data.n_scenes, width))
        elif parts[0] == "api":
            with LOCK:
                self._json(self._read(parts[1:], query))
        else:
            self._file(Path(*parts[1:]) if parts[0] == "static" else Path("index.html"))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = self.path.rsplit("/", 1)[1]
        with LOCK:
            self._json(self._write(name, body))

    def _write(self, name: str, body: dict) -> dict:
        if name == "decide":
            return self.data.decide(body["decisions"])
        if name == "undo":
            return self.data.step(self.data.done, self.data.undone, "undone")
        if name == "threshold":
            return self.data.suggest_from(body["threshold"])
        if name == "check":
            self.data.draw(body["n"])
            return {"check": self.data.check_json()}
        if name == "answer":
            return self.data.answer(body["place"], body["answer"])
        if name == "redo":
            return self.data.step(self.data.undone, self.data.done, "redone")
        Handler.learning = Learning()
        Handler.learning.since = time.monotonic()
        return {"started": True}

    def _read(self, parts: list[str], query: dict[str, str]) -> dict:
        data = self.data
        match parts:
            case ["collection"]:
                lists = {"images": data.images, "tags": data.tags, "thresholds": data.thresholds}
                return {
                    "title": "Holidays",
                    **data.metadata(),
                    **lists,
                    "counts": {},
                    "label_frequency": 0.5,
                }
            case ["pictures"]:
                wanted = [query.get(key, "") for key in ("q", "state", "sort", "tag")]
                found = data.pictures(wanted[0], wanted[1] or "all", wanted[2] or "name", wanted[3])
                return {**self._page(found, query, 60, data.picture), "numbers": found}
            case ["rows"]:
                rows = [data.picture(int(i)) for i in query["numbers"].split(",")]
                return {"rows": rows, "version": data.version}
            case ["filters"]:
                folders = [{"folder": "holidays", "n": len(data.images) - 1}]
                return {"folders": folders, "dates": [], "dates_read": 1}
            case ["pictures", i]:
                return data.one_picture(int(i))
            case ["tags"]:
                return {"rows": self._sorted_tags(query)}
            case ["tags", t]:
                least, state = float(query.get("least", 0)), query.get("state", "open")
                histogram, rows = data.wall(int(t), least, state)
                return {"histogram": histogram, **self._page(rows, query, 120)}
            case ["suspected-errors"]:
                return self._page(data.suspected_errors(), query, 60)
            case ["to-annotate"]:
                return self._page(data.to_annotate(), query, 60)
            case ["thresholds"]:
                return data.threshold_curve()
            case ["check"]:
                return {"check": data.check and data.check_json()}
            case ["why"]:
                return data.why(int(query["i"]), int(query["t"]))
            case ["changes"]:
                return data.changes(int(query["since"]))
            case _:
                return self.learning.progress(data)

    def _sorted_tags(self, query: dict[str, str]) -> list[dict]:
        names = self.data.tags
        wanted = query.get("q", "").casefold()
        rows = [row for row in self.data.tag_rows() if wanted in names[row["t"]].casefold()]
        by = {"open": lambda row: -row["suggested"], "known": lambda row: -row["known"]}
        return sorted(rows, key=by.get(query.get("sort", ""), lambda row: names[row["t"]]))

    def _page(self, rows: list, query: dict[str, str], limit: int, shown=lambda row: row) -> dict:
        start = int(query.get("offset", 0))
        some = rows[start : start + int(query.get("limit", limit))]
        page = [shown(row) for row in some]
        return {"total": len(rows), "version": self.data.version, "rows": page}

    def _json(self, answer: dict) -> None:
        self._send(200, "application/json", json.dumps(answer).encode())

    def _file(self, path: Path) -> None:
        file = STATIC / path
        if file.is_file():
            self._send(200, KINDS.get(file.suffix, "application/octet-stream"), file.read_bytes())
        else:
            self._send(404, "text/plain", b"no such file")

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        cached = "private, no-cache" if kind == "image/jpeg" else "no-store"
        self.send_header("Cache-Control", cached)
        self.end_headers()
        # The browser does not wait for answers to a page that it has left.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)


def main() -> None:
    wanted = argparse.ArgumentParser()
    wanted.add_argument("--pictures", type=int, default=300)
    wanted.add_argument("--scenes", type=int, default=12)
    wanted.add_argument("--port", type=int, default=0)
    wanted.add_argument("--plain", action="store_true", help="without hostile names")
    options = wanted.parse_args()
    Handler.data = FakeCollection(options.pictures, options.scenes, plain=options.plain)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
