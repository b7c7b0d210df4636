import csv
import io
import random
import shutil
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from tagloom.cli.app import main
from tagloom.datasets.scenes import write_scenes

N_SCENES = 48


class Answer(NamedTuple):
    """What the program said, and how it ended."""

    code: int
    out: str
    err: str


def run_tagloom(*args):
    """Run the program as a user would: nothing but its streams and exit code is looked at."""
    out, err, before = io.StringIO(), io.StringIO(), (sys.argv, warnings.showwarning)
    sys.argv = ["tagloom", *map(str, args)]
    code = 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as end:
        code = 0 if end.code is None else int(end.code)
    finally:
        sys.argv, warnings.showwarning = before
    assert "Traceback" not in err.getvalue()
    return Answer(code, out.getvalue(), err.getvalue())


class Collection(NamedTuple):
    """Pictures, the tags somebody gave them, and the truth."""

    root: Path
    photos: Path
    tags: Path
    cache: Path
    given: dict[str, list[str]]
    truth: dict[str, list[str]]

    def complete(self, out, *more, tags=None):
        """Run `tagloom complete` with the smallest search."""
        return run_tagloom(
            "complete", self.photos, "--tags", tags or self.tags, "--out", out,
            "--cache", self.cache, "--minutes", "0", "--folds", "2", *more,
        )  # fmt: skip


@pytest.fixture(scope="session")
def tagloom():
    return run_tagloom


@pytest.fixture(scope="session")
def collection(tmp_path_factory):
    """Drawn scenes with every other of their tags."""
    root = tmp_path_factory.mktemp("collection")
    write_scenes(root / "drawn", N_SCENES)
    photos = root / "photos"
    photos.mkdir()
    for picture in (root / "drawn").glob("*.jpg"):
        shutil.move(picture, photos / picture.name)
    truth, given, chance = {}, {}, random.Random(0)
    with (root / "drawn" / "labels.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            name = row.pop("picture")
            truth[name] = [tag for tag, state in row.items() if state == "1"]
            given[name] = [tag for tag in truth[name] if chance.random() < 0.6]
    tags = root / "tags.csv"
    with tags.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(("image", "tag"))
        writer.writerows((name, tag) for name in given for tag in given[name])
    return Collection(root, photos, tags, root / "cache", given, truth)


@pytest.fixture(scope="session")
def finished_run(collection):
    """The folder of a run that nobody may change."""
    out = collection.root / "out"
    answer = collection.complete(out)
    assert answer.code == 0, answer.err
    return out


@pytest.fixture
def finished(finished_run, tmp_path):
    """A copy of it, to work with."""
    return Path(shutil.copytree(finished_run, tmp_path / "out"))


def rows_of(path):
    with Path(path).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="session")
def read_rows():
    """A table as a list of dicts."""
    return rows_of


def _contents(folder):
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="session")
def contents():
    """All files of a folder with bytes and times."""
    return _contents
