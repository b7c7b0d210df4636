"""Print the two walks of docs/architecture.md: the files that a reader opens to follow them.

    python tools/walks.py

`APGGraph.fit` on a small problem with a graph, and `tagloom complete` on a small folder of drawn
pictures, run under a profiler. A file counts as entered when one of its functions is called; what
importing it runs does not count. The files stand in the order in which they are first entered, each
with the number of times that the walk comes to it from another file. Exit code 1 if a walk enters
more files than `LIMITS` allows.
"""

import collections
import csv
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import tagloom

LIMITS = {"APGGraph.fit": 15, "tagloom complete": 70}
HOUSE = Path(tagloom.__file__).parent


class Walk:
    """The files of the package whose functions are called, by order of first entry."""

    def __init__(self) -> None:
        self.entries: collections.Counter[str] = collections.Counter()
        self.deepest = 0
        self._local = threading.local()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Take one event of the profiler."""
        state = self._local.__dict__
        stack: list[str] = state.setdefault("stack", [])
        file = frame.f_code.co_filename
        if not file.startswith(str(HOUSE)) or event not in ("call", "return"):
            return
        importing = frame.f_code.co_name == "<module>"
        state["imports"] = state.get("imports", 0) + importing * (1 if event == "call" else -1)
        if importing or state["imports"]:
            return
        if event == "return":
            if stack:
                stack.pop()
            return
        name = str(Path(file).relative_to(HOUSE))
        if not stack or stack[-1] != name:
            self.entries[name] += 1
        stack.append(name)
        self.deepest = max(self.deepest, len(stack))

    @contextmanager
    def traced(self) -> Any:
        """Follow what is called inside the block, in all threads."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield self
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def fit() -> Walk:
    """Walk through `APGGraph.fit` with a graph, labels known in part and the default solver."""
    from tagloom.graph import semantic_graph
    from tagloom.models import APGGraph

    random = np.random.default_rng(0)
    X = random.normal(size=(200, 20))
    Y = np.where(random.random((200, 6)) < 0.5, np.nan, X[:, :6] > 0.5)
    graph = semantic_graph(X, 10)
    with Walk().traced() as walk:
        APGGraph(1.0, gamma=0.1, ridge=0.1).fit(X, Y, graph=graph)
    return walk


def complete() -> Walk:
    """Walk through `tagloom complete` for drawn pictures, a part of whose tags is listed."""
    from tagloom.cli import main
    from tagloom.datasets.scenes import write_scenes

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_scenes(home / "photos", 60, random_state=0)
        tags = _some_tags(home / "photos", home / "tags.csv")
        sys.argv = ["tagloom", "complete", str(home / "photos"), "--tags", str(tags)]
        sys.argv += ["--out", str(home / "out"), "--cache", str(home / "cache")]
        with Walk().traced() as walk:
            _quietly(main)
    return walk


def _some_tags(pictures: Path, table: Path) -> Path:
    """Write a tag list that keeps every other tag of drawn pictures."""
    from tagloom.datasets.scenes.dataset import read_tags

    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "tags"])
        for number, (name, tags) in enumerate(sorted(read_tags(pictures).items())):
            writer.writerow([name, "; ".join(sorted(tags)[number % 2 :: 2])])
    return table


def _quietly(run: Callable[[], Any]) -> None:
    try:
        run()
    except SystemExit as end:
        if end.code:
            raise


def main() -> int:
    """Print both walks."""
    too_long = 0
    for name, walk in (("APGGraph.fit", fit()), ("tagloom complete", complete())):
        n, limit = len(walk.entries), LIMITS[name]
        print(f"{name}: {n} files (at most {limit}), {walk.deepest} calls deep")
        for file, times in walk.entries.items():
            print(f"  {times:6,}  {file}")
        too_long += n > limit
    n_files = sum(1 for _ in HOUSE.rglob("*.py"))
    print(f"{n_files} files in the package")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
