"""The folder of a run: nothing of the user's is lost, and the files of a run belong together."""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from tagloom.completion import folder as module
from tagloom.completion.folder import (
    Marker,
    check_may_write,
    claim,
    finish_switch,
    is_edited,
    keep_edited,
    mark,
    mark_as,
    replacing,
    writing,
)
from tagloom.errors import InvalidInputError, TagloomWarning, UnwritableFileError

NAMES = ("suggestions.csv", "report.html", "run.json")


@pytest.fixture
def out(tmp_path):
    mark(tmp_path / "out")
    return tmp_path / "out"


def contents_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(out, text, names=NAMES):
    with replacing(out, NAMES) as new:
        for name in names:
            (new / name).write_text(text)


def texts(out):
    return {name: (out / name).read_text() for name in NAMES if (out / name).exists()}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.json", "{}"),
        ("run.json", '{"digest": "x", "files": ["report.html"]}'),
        ("run.json", "[]"),
        (".work/thesis/chapter.tex", "mine"),
        (".checkpoint/thesis/chapter.tex", "mine"),
        (".tagloom.json", "{}"),
        (".tagloom.json", '{"protocol": 1, "id": "mine", "files": {}}'),
        ("report.html", "mine"),
    ],
)
def test_a_folder_is_ours_by_its_marker_alone(tmp_path, name, content):
    path = tmp_path / "out" / name
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(UnwritableFileError, match="not the result of an earlier run"):
        writing(tmp_path / "out").__enter__()
    assert [one for one in (tmp_path / "out").rglob("*") if one.is_file()] == [path]


def test_a_marker_that_is_a_link_is_none(out, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("mine")
    (other / ".tagloom.json").symlink_to(out / ".tagloom.json")
    with pytest.raises(UnwritableFileError, match="not the result of an earlier run"):
        check_may_write(other)


def test_a_record_does_not_make_a_folder_ours(tmp_path):
    """Runs of versions that wrote no marker stay as they are; the message says what to do."""
    record = {"tagloom": "0.1", "digest": "d", "written": "now", "files": ["suggestions.csv"]}
    (tmp_path / "run.json").write_text(json.dumps(record))
    (tmp_path / "suggestions.csv").write_text("old")
    before = contents_of(tmp_path)
    for attempt in (
        lambda: writing(tmp_path).__enter__(),
        lambda: write(tmp_path, "new"),
        lambda: claim(tmp_path, "tags.csv"),
    ):
        with pytest.raises(UnwritableFileError) as refused:
            attempt()
        for words in ("Choose another folder", "hidden files", "--to csv --file known.csv"):
            assert words in str(refused.value)
    assert contents_of(tmp_path) == before
    assert is_edited(tmp_path / "suggestions.csv"), "without a marker it may have been"


@pytest.mark.parametrize("kind", ["benchmark", "demo"])
def test_folders_of_one_kind_are_not_of_another(tmp_path, kind):
    mark_as(tmp_path / "out", kind)
    mark_as(tmp_path / "out", kind)
    with pytest.raises(UnwritableFileError, match="not the result of an earlier run"):
        writing(tmp_path / "out").__enter__()
    mark(tmp_path / "run")
    with pytest.raises(UnwritableFileError, match=f"not the result of an earlier {kind}"):
        mark_as(tmp_path / "run", kind)


def test_half_a_marker_leaves_the_folder_empty(tmp_path):
    (tmp_path / "..tagloom.json.abc.part").write_text("{")
    with writing(tmp_path):
        mark(tmp_path)
    assert Marker.read(tmp_path) is not None


@pytest.mark.parametrize("name", ["../tags.csv", "inner/tags.csv", "", "..", ".", "a" * 300])
def test_a_marker_lists_files_of_its_own_folder_alone(out, tmp_path, name):
    """Tables that were edited are copied: a marker must not say that those of others were."""
    (tmp_path / "tags.csv").write_text("mine")
    content = json.loads((out / ".tagloom.json").read_text())
    content["files"][name] = "0" * 64
    (out / ".tagloom.json").write_text(json.dumps(content))
    assert keep_edited(out) == []
    with pytest.raises(UnwritableFileError, match="not the result of an earlier run"):
        check_may_write(out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "tags.csv"]


def test_a_file_beside_the_results_is_written_only_if_it_is_ours(out, tmp_path):
    claim(out, "tags.csv").write_text("ours")
    assert claim(out, "tags.csv").read_text() == "ours"
    (out / "more.csv").write_text("mine")
    (out / "link.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(UnwritableFileError, match="was not written by tagloom"):
        claim(out, "more.csv")
    with pytest.raises(UnwritableFileError, match="is a link"):
        claim(out, "link.csv")


def test_a_file_of_the_user_with_the_name_of_a_result_stays(out):
    (out / "report.html").write_text("mine")
    with pytest.raises(UnwritableFileError, match=r"report\.html was not written by tagloom"):
        check_may_write(out, NAMES)
    with pytest.raises(UnwritableFileError, match="was not written by tagloom"):
        write(out, "new")
    assert texts(out) == {"report.html": "mine"}


@pytest.mark.parametrize("name", ["report.html", ".checkpoint", "thumbnails", "run.json"])
def test_links_in_the_place_of_results_are_refused(out, tmp_path, name):
    (tmp_path / "mine").mkdir()
    if name == ".checkpoint":
        (out / name).rmdir()
    (out / name).symlink_to(tmp_path / "mine")
    with pytest.raises(UnwritableFileError, match="is a link"):
        check_may_write(out, NAMES)


def test_new_files_replace_the_old_ones_together(out):
    write(out, "one")
    write(out, "two", ("suggestions.csv", "run.json"))
    assert texts(out) == {"suggestions.csv": "two", "run.json": "two"}


def test_an_error_leaves_the_run_as_it_was(out):
    write(out, "one")
    with suppress(ZeroDivisionError), replacing(out, NAMES) as new:
        (new / "suggestions.csv").write_text("two")
        raise ZeroDivisionError
    assert texts(out) == dict.fromkeys(NAMES, "one")
    assert not list(out.glob(".new-*"))


@pytest.mark.parametrize("moved", range(4))
def test_a_switch_that_was_broken_off_is_finished_by_the_next_reader(out, monkeypatch, moved):
    write(out, "one")
    replace, done = os.replace, []

    def broken(source, target):
        if ".ready-" in str(source):
            if len(done) == moved:
                raise KeyboardInterrupt
            done.append(target)
        replace(source, target)

    with monkeypatch.context() as context:
        context.setattr(module.os, "replace", broken)
        if moved < 3:
            with pytest.raises(KeyboardInterrupt):
                write(out, "two")
        else:
            write(out, "two")
    finish_switch(out)
    assert texts(out) == dict.fromkeys(NAMES, "two")
    assert not list(out.glob(".ready-*"))
    assert not is_edited(out / "suggestions.csv")


def test_new_files_that_were_not_complete_are_forgotten(out):
    write(out, "one")
    left = out / f".new-{Marker.read(out).id}"
    left.mkdir()
    (left / "report.html").write_text("half")
    finish_switch(out)
    assert texts(out) == dict.fromkeys(NAMES, "one")
    write(out, "two", ("suggestions.csv", "run.json"))
    assert "report.html" not in texts(out)


def test_an_edited_table_is_kept_in_a_copy(out):
    write(out, "one")
    assert not is_edited(out / "suggestions.csv")
    (out / "suggestions.csv").write_text("an answer")
    assert is_edited(out / "suggestions.csv")
    with pytest.warns(TagloomWarning, match=r"kept as suggestions\.edited-1\.csv"):
        write(out, "two")
    (out / "suggestions.csv").write_text("another")
    with pytest.warns(TagloomWarning, match=r"kept as suggestions\.edited-2\.csv"):
        write(out, "three")
    assert (out / "suggestions.edited-1.csv").read_text() == "an answer"
    assert (out / "suggestions.edited-2.csv").read_text() == "another"
    assert keep_edited(out) == []


def test_the_second_writer_is_told_who_is_first(out):
    with writing(out), pytest.raises(InvalidInputError) as refused, writing(out):
        pytest.fail("two writers")
    assert f"process {os.getpid()} on" in str(refused.value)
    assert "since 20" in str(refused.value)
    with writing(out):
        pass


def test_of_many_writers_one_writes_at_a_time(out):
    inside, most = [], []

    def work():
        try:
            with writing(out):
                inside.append(1)
                most.append(len(inside))
                inside.pop()
        except InvalidInputError:
            pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert max(most) == 1


def test_the_lock_of_a_killed_process_is_no_lock(out):
    code = (
        "import os, sys; from pathlib import Path; from tagloom.completion.folder import writing\n"
        "with writing(Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(out)], check=False)
    with writing(out):
        pass


def test_a_folder_in_which_nothing_was_written_is_removed_again(tmp_path):
    with suppress(ZeroDivisionError), writing(tmp_path / "a" / "out"):
        mark(tmp_path / "a" / "out")
        raise ZeroDivisionError
    assert not (tmp_path / "a" / "out").exists()
