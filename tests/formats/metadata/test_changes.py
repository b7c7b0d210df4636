"""Writing a plan and taking it back, whatever comes in between."""

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.formats.metadata import changes
from tagloom.formats.metadata.changes import (
    JournalError,
    apply_changes,
    read_journal,
    undo_changes,
)
from tagloom.formats.metadata.sidecars import plan_sidecars, read_sidecars
from tagloom.formats.metadata.xmp_merge import new_packet

JPEG = b"\xff\xd8\xff\xd9"
TAGS = {"1.jpg": ["sea"], "a/2.jpg": ["sea", "café"], "3.jpg": ["old"]}


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "pictures"
    (folder / "a").mkdir(parents=True)
    for name in TAGS:
        (folder / name).write_bytes(JPEG)
    (folder / "a/2.xmp").write_bytes(new_packet(["old", "b/w"]))
    (folder / "3.jpg.xmp").write_bytes(new_packet(["old"]))
    return folder


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal.jsonl"


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def tags_in(folder):
    return {(one.image, one.tag) for one in read_sidecars(folder).annotations}


def test_tags_are_written_beside_pictures_and_taken_back(root, journal):
    before = tree(root)
    times = {name: (root / name).stat().st_mtime_ns for name in [*TAGS, "3.jpg.xmp"]}
    report = apply_changes(plan_sidecars(root, TAGS), journal)
    assert report.written == ["1.jpg.xmp", "a/2.xmp"]
    assert tags_in(root) == {
        ("1.jpg", "sea"),
        ("a/2.jpg", "sea"),
        ("a/2.jpg", "café"),
        ("a/2.jpg", "old"),
        ("a/2.jpg", "b/w"),
        ("3.jpg", "old"),
    }
    assert {name: (root / name).stat().st_mtime_ns for name in times} == times
    assert all((root / name).read_bytes() == JPEG for name in TAGS)
    undone = undo_changes(journal)
    assert (undone.deleted, undone.restored, undone.refused) == (["1.jpg.xmp"], ["a/2.xmp"], [])
    assert tree(root) == before
    again = undo_changes(journal)
    assert (again.deleted, again.restored, again.refused) == ([], [], [])
    assert sorted(again.unchanged) == ["1.jpg.xmp", "a/2.xmp"]
    assert tree(root) == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(list(TAGS)), st.lists(st.text("ab/|é&", min_size=1))),
        max_size=4,
    ),
    st.booleans(),
)
def test_any_number_of_runs_is_undone_at_once(tmp_path_factory, runs, undo_between):
    folder = tmp_path_factory.mktemp("many")
    for name in ("1.jpg", "3.jpg"):
        (folder / name).write_bytes(JPEG)
    (folder / "a").mkdir()
    (folder / "a/2.jpg").write_bytes(JPEG)
    (folder / "3.xmp").write_bytes(new_packet(["old"]))
    journal = folder.parent / f"{folder.name}.jsonl"
    before = tree(folder)
    apply_changes(plan_sidecars(folder, {}), journal)
    for tags in runs:
        assert not apply_changes(plan_sidecars(folder, tags), journal).failed
        if undo_between:
            undo_changes(journal)
    assert not undo_changes(journal).refused
    assert tree(folder) == before


def test_what_somebody_changed_since_is_left_alone(root, journal):
    apply_changes(plan_sidecars(root, TAGS), journal)
    (root / "1.jpg.xmp").write_bytes(b"mine")
    (root / "a/2.xmp").unlink()
    report = undo_changes(journal)
    assert {warning.where for warning in report.refused} == {"1.jpg.xmp", "a/2.xmp"}
    assert (root / "1.jpg.xmp").read_bytes() == b"mine"
    assert not (root / "a/2.xmp").exists()


def test_a_change_between_two_runs_is_where_undoing_stops(root, journal):
    apply_changes(plan_sidecars(root, {"1.jpg": ["sea"]}), journal)
    mine = new_packet(["mine"])
    (root / "1.jpg.xmp").write_bytes(mine)
    apply_changes(plan_sidecars(root, {"1.jpg": ["sky"]}), journal)
    for _ in range(2):
        assert [warning.where for warning in undo_changes(journal).refused] == ["1.jpg.xmp"]
        assert (root / "1.jpg.xmp").read_bytes() == mine


def test_what_changed_after_planning_is_not_written(root, journal):
    plan = plan_sidecars(root, TAGS)
    mine = new_packet(["mine"])
    (root / "1.jpg.xmp").write_bytes(mine)
    report = apply_changes(plan, journal)
    assert [warning.where for warning in report.failed] == ["1.jpg.xmp"]
    assert "Plan again" in report.failed[0].what
    assert (root / "1.jpg.xmp").read_bytes() == mine


def test_a_link_that_appears_after_planning_is_not_followed(root, journal, tmp_path):
    plan = plan_sidecars(root, {"1.jpg": ["sea"], "a/2.jpg": ["sea"]})
    elsewhere = tmp_path / "elsewhere"
    (root / "a").rename(elsewhere)
    os.symlink(elsewhere, root / "a")
    before = tree(elsewhere)
    report = apply_changes(plan, journal)
    assert "leads out of the folder" in report.failed[0].what
    assert tree(elsewhere) == before


def test_a_file_that_cannot_be_written_does_not_stop_the_others(root, journal, monkeypatch):
    real = changes.atomic_write

    def refusing(path):
        if path.name == "1.jpg.xmp":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(changes, "atomic_write", refusing)
    report = apply_changes(plan_sidecars(root, TAGS), journal)
    assert report.written == ["a/2.xmp"]
    assert [warning.where for warning in report.failed] == ["1.jpg.xmp"]
    assert "Permission denied" in report.failed[0].what
    assert not undo_changes(journal).refused


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_folder_that_cannot_be_written_is_listed(root, journal):
    (root / "a").chmod(0o555)
    try:
        report = apply_changes(plan_sidecars(root, TAGS), journal)
    finally:
        (root / "a").chmod(0o755)
    assert [warning.where for warning in report.failed] == ["a/2.xmp"]


def test_no_sidecar_changes_without_its_journal_entry(root, tmp_path, monkeypatch, journal):
    before = tree(root)
    with pytest.raises(JournalError, match="cannot be written"):
        apply_changes(plan_sidecars(root, TAGS), tmp_path / "none" / "journal")
    apply_changes(plan_sidecars(root, {}), journal)
    whole = journal.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(JournalError, match="No space left"):
        apply_changes(plan_sidecars(root, TAGS), journal)
    assert tree(root) == before
    assert journal.read_bytes() == whole


@pytest.mark.parametrize("content", [b"my notes", b"my notes\n", b'{"kind": "other"}\n' * 20, JPEG])
def test_a_file_that_is_no_journal_is_not_overwritten(root, journal, content):
    journal.write_bytes(content)
    with pytest.raises(InvalidInputError, match="not a journal of"):
        apply_changes(plan_sidecars(root, TAGS), journal)
    assert journal.read_bytes() == content
    with pytest.raises(InvalidInputError):
        undo_changes(journal)


def test_a_journal_cut_anywhere_still_serves(root, journal):
    """Whatever part of the journal a power cut left, what it names is undone, and no more."""
    before = tree(root)
    apply_changes(plan_sidecars(root, TAGS), journal)
    after, whole = tree(root), journal.read_bytes()
    first = whole.index(b"\n") + 1
    for length in [0, 5, first - 1, first, first + 7, len(whole) - 1]:
        journal.write_bytes(whole[:length])
        # The entry comes before the file: what is not in the journal has not been written.
        for name in ("1.jpg.xmp", "a/2.xmp"):
            written = f'"path": "{name}"'.encode() in b"\n".join(whole[:length].split(b"\n")[:-1])
            state = after[name] if written else before.get(name)
            (root / name).unlink(missing_ok=True)
            if state is not None:
                (root / name).write_bytes(state)
        assert not apply_changes(plan_sidecars(root, TAGS), journal).failed
        assert tree(root) == after
        assert not undo_changes(journal).refused
        assert tree(root) == before


@pytest.mark.parametrize("path", ["../1.jpg.xmp", "1.jpg", "/etc/x.xmp", ""])
def test_a_forged_journal_writes_nowhere_else(root, journal, path):
    apply_changes(plan_sidecars(root, {}), journal)
    entry = {"path": path, "before": "AAAA", "wrote": "0" * 64}
    with journal.open("ab") as stream:
        stream.write(json.dumps(entry).encode() + b"\n")
    before = tree(root.parent)
    if path.endswith(".xmp"):
        assert undo_changes(journal).refused
    else:
        with pytest.raises(InvalidInputError, match="line 2"):
            undo_changes(journal)
    assert tree(root.parent) == before


def test_a_damaged_line_is_named(root, journal):
    apply_changes(plan_sidecars(root, TAGS), journal)
    lines = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join([lines[0], b"{", *lines[2:]]))
    with pytest.raises(InvalidInputError, match="line 2"):
        undo_changes(journal)


def test_a_moved_folder_is_undone_where_it_is_now(root, journal):
    before = tree(root)
    apply_changes(plan_sidecars(root, TAGS), journal)
    moved = root.rename(root.parent / "moved")
    with pytest.raises(InvalidInputError, match="Give its new place"):
        undo_changes(journal)
    assert not undo_changes(journal, moved).refused
    assert tree(moved) == before


def test_the_unfinished_file_of_a_killed_run_is_removed(root, journal):
    apply_changes(plan_sidecars(root, TAGS), journal)
    mine = root / ".notes.part"
    mine.write_bytes(b"")
    left = root / ".1.jpg.xmp.abcd_123.part"
    left.write_bytes(b"<x")
    undo_changes(journal)
    assert mine.exists()
    assert not left.exists()


def test_an_interrupt_between_entry_and_file_is_made_good(root, journal, monkeypatch):
    before = tree(root)

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(changes, "atomic_write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            apply_changes(plan_sidecars(root, TAGS), journal)
    assert [entry.path for entry in read_journal(journal).entries] == ["1.jpg.xmp"]
    assert tree(root) == before
    assert undo_changes(journal).unchanged == ["1.jpg.xmp"]
    assert apply_changes(plan_sidecars(root, TAGS), journal).written == ["1.jpg.xmp", "a/2.xmp"]
    assert not undo_changes(journal).refused
    assert tree(root) == before
