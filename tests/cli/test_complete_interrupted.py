"""A run that is broken off at any moment goes on to the same result."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tagloom.completion.model import KIND
from tagloom.persistence.container import read_model

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="signals cannot be sent to a process there"
)
EXHAUSTIVE = bool(os.environ.get("TAGLOOM_EXHAUSTIVE"))
PATIENCE_SECONDS = 240

# What is there first when a moment has come: in the cache, in the work under way, in the results.
MOMENTS = {
    "embedding": ("cache", "features.sqlite"),
    "tuning": ("out", ".checkpoint/*/trials"),
    "measuring": ("out", ".checkpoint/*/fold0*.npy"),
    "measuring on": ("out", ".checkpoint/*/fold1*.npy"),
    "writing": ("out", ".new-*/suggestions.csv"),
}


RUN = "from tagloom.cli import main; main()"
# However busy the machine, a run that is to be broken off must not be done before the signal comes.
HELD = (
    "import time; from tagloom.completion import outputs; step = outputs.{0}; "
    "outputs.{0} = lambda *a, **k: (time.sleep(240), step(*a, **k)); "
)


def _start(collection, out, cache, code=RUN):
    args = [
        "complete", collection.photos, "--tags", collection.tags, "--out", out, "--cache", cache,
        "--minutes", "0", "--folds", "2",
    ]  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


def _break_off(collection, folders, moment, how):
    """Send a signal as soon as a file is there; return how the process ended and what it said."""
    place, pattern = MOMENTS[moment]
    held = HELD.format("write_report" if moment == "writing" else "write_suggestions")
    process = _start(collection, folders["out"], folders["cache"], held + RUN)
    ends = time.monotonic() + PATIENCE_SECONDS
    while not any(folders[place].glob(pattern)) and process.poll() is None:
        assert time.monotonic() < ends
        time.sleep(0.001)
    process.send_signal(how)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert "Traceback" not in err
    return process.returncode, err


def _finish(collection, folders):
    process = _start(collection, folders["out"], folders["cache"])
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, err) == (0, "")


def _check_same(unbroken, folders):
    out = folders["out"]
    for name in ("suggestions.csv", "annotate_next.csv"):
        assert (out / name).read_bytes() == (unbroken / name).read_bytes()
    # The same content may stand in another order in the file.
    mine, theirs = (read_model(folder / "model.tagloom", KIND) for folder in (out, unbroken))
    assert mine.metadata == theirs.metadata
    assert mine.arrays.keys() == theirs.arrays.keys()
    for name, array in mine.arrays.items():
        np.testing.assert_array_equal(array, theirs.arrays[name])
    assert {path.name for path in out.iterdir()} == {path.name for path in unbroken.iterdir()}
    assert not list(out.parent.rglob("*.part"))


@pytest.fixture(scope="module")
def unbroken(collection, tmp_path_factory):
    """The folder of a run in a process like those that are broken off, with as many threads."""
    root = tmp_path_factory.mktemp("unbroken")
    _finish(collection, {"out": root / "out", "cache": collection.cache})
    return root / "out"


@pytest.fixture
def folders(tmp_path):
    return {"out": tmp_path / "out", "cache": tmp_path / "cache"}


def test_broken_off_again_and_again_it_ends_as_if_it_had_not_been(
    collection, unbroken, folders, contents
):
    before = contents(collection.photos), contents(collection.tags.parent / "drawn")
    tags = collection.tags.read_bytes(), collection.tags.stat().st_mtime_ns
    for moment, how in zip(
        ("embedding", "tuning", "measuring on", "writing"),
        (signal.SIGINT, signal.SIGKILL, signal.SIGINT, signal.SIGKILL),
        strict=True,
    ):
        code, err = _break_off(collection, folders, moment, how)
        if how == signal.SIGINT:
            assert code == 130
            assert err == "tagloom: interrupted; run the same command again to continue\n"
            assert not list(folders["out"].rglob("*.part"))
        else:
            assert code == -signal.SIGKILL
        assert not (folders["out"] / "run.json").exists()
    _finish(collection, folders)
    _check_same(unbroken, folders)
    assert (contents(collection.photos), contents(collection.tags.parent / "drawn")) == before
    assert (collection.tags.read_bytes(), collection.tags.stat().st_mtime_ns) == tags


@pytest.mark.skipif(not EXHAUSTIVE, reason="takes minutes: set TAGLOOM_EXHAUSTIVE=1")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("moment", MOMENTS)
def test_broken_off_at_each_moment(moment, how, collection, unbroken, folders, contents):
    before = contents(collection.photos)
    code, err = _break_off(collection, folders, moment, how)
    if how == signal.SIGINT:
        assert code == 130
        assert "run the same command again" in err
        assert not list(folders["out"].rglob("*.part"))
    else:
        assert code == -signal.SIGKILL
    _finish(collection, folders)
    _check_same(unbroken, folders)
    assert contents(collection.photos) == before


def test_without_its_record_a_run_is_not_finished(collection, finished):
    (finished / "run.json").unlink()
    (finished / ".checkpoint").mkdir()
    answer = collection.complete(finished)
    assert answer.code == 0, answer.err
    assert "tags suggested" in answer.out
