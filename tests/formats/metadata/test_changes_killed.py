"""A run that is killed is finished by the next, or undone."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tagloom.formats.metadata.changes import apply_changes, read_journal, undo_changes
from tagloom.formats.metadata.sidecars import plan_sidecars
from tagloom.formats.metadata.xmp_merge import new_packet

JPEG = b"\xff\xd8\xff\xd9"
APPLY = """
import sys
from tagloom.formats.metadata.sidecars import plan_sidecars
from tagloom.formats.metadata.changes import apply_changes
folder, journal = sys.argv[1:]
plan = plan_sidecars(folder, {f"{n}.jpg": ["sea", "sky"] for n in range(120)})
print("go", flush=True)
apply_changes(plan, journal)
"""


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def pictures(folder, number=120):
    folder.mkdir()
    for name in range(number):
        (folder / f"{name}.jpg").write_bytes(JPEG)
        if name % 2:
            (folder / f"{name}.xmp").write_bytes(new_packet([f"old {name}"]))
    return folder


def killed(folder, journal, entries):
    """Apply in another process and kill it once the journal has so many entries."""
    run = subprocess.Popen(
        [sys.executable, "-c", APPLY, str(folder), str(journal)], stdout=subprocess.PIPE
    )
    with run:
        run.stdout.readline()
        while run.poll() is None:
            if journal.exists() and journal.read_bytes().count(b"\n") > entries:
                run.send_signal(signal.SIGKILL)
                break
            time.sleep(0.0005)
    return run.returncode


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_killed_run_is_finished_or_undone(tmp_path):
    folder, journal = pictures(tmp_path / "p"), tmp_path / "journal"
    before = tree(folder)
    for entries in (10, 40):
        assert killed(folder, journal, entries) == -signal.SIGKILL
        assert 0 < len(read_journal(journal).entries) < 120
    undo_changes(journal)
    assert tree(folder) == before

    assert killed(folder, journal, 60) == -signal.SIGKILL
    plan = plan_sidecars(folder, {f"{n}.jpg": ["sea", "sky"] for n in range(120)})
    assert len(plan) < 120
    assert not apply_changes(plan, journal).failed
    untouched = pictures(tmp_path / "q")
    whole = plan_sidecars(untouched, {f"{n}.jpg": ["sea", "sky"] for n in range(120)})
    apply_changes(whole, tmp_path / "other")
    assert tree(folder) == tree(untouched)
    assert apply_changes(whole, tmp_path / "other").written == []
    assert not undo_changes(journal).refused
    assert tree(folder) == before
