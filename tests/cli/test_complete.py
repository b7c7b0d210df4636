import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tagloom.errors import UnlearnableLabelWarning
from tagloom.formats import Annotation, Annotations, write_long_csv

FILES = {
    "annotate_next.csv", "model.tagloom", "report.html", "run.json",
    "suggestions.csv", "suggestions.parquet", "suspected_errors.csv",
    ".tagloom.json", ".tagloom.lock",
}  # fmt: skip


def test_a_run_writes_its_files_and_touches_nothing_else(collection, tmp_path, contents):
    before = contents(collection.photos), collection.tags.read_bytes()
    answer = collection.complete(tmp_path / "out")
    assert (answer.code, answer.err) == (0, "")
    assert {path.name for path in (tmp_path / "out").iterdir() if path.is_file()} == FILES
    assert not (tmp_path / "out" / ".checkpoint").exists()
    assert (contents(collection.photos), collection.tags.read_bytes()) == before
    assert "read as long CSV" in answer.out
    assert f"open {tmp_path / 'out'}/report.html" in answer.out
    assert "\x1b" not in answer.out


def test_every_given_tag_is_in_the_table_and_no_suggestion_repeats_one(
    collection, finished_run, read_rows
):
    rows = read_rows(finished_run / "suggestions.csv")
    given = {(name, tag) for name, tags in collection.given.items() for tag in tags}
    known = {(row["image"], row["tag"]) for row in rows if "known" in row["state"]}
    suggested = {(row["image"], row["tag"]) for row in rows if row["state"] == "suggested"}
    assert known == given
    assert suggested
    assert not suggested & given


def test_the_same_command_again_has_nothing_to_do(collection, finished, contents):
    before = contents(finished)
    answer = collection.complete(finished)
    assert answer.code == 0
    assert "Nothing to do" in answer.out
    assert contents(finished) == before
    assert not (finished / ".checkpoint").exists()


def test_json_is_all_that_is_printed(collection, finished):
    answer = collection.complete(finished, "--json")
    told = json.loads(answer.out)
    assert told["worked"] is False
    assert told["summary"]["pictures"] == len(collection.truth)
    assert answer.err == ""


def test_files_of_the_user_in_the_folder_of_a_run_stay(collection, finished):
    (finished / ".film.part").write_text("mine")
    (finished / "notes").mkdir()
    (finished / "notes" / ".a.part").write_text("mine")
    assert collection.complete(finished, "--again").code == 0
    assert (finished / ".film.part").read_text() == "mine"
    assert (finished / "notes" / ".a.part").read_text() == "mine"


def _told(out, what):
    (line,) = [line for line in out.splitlines() if line.strip().startswith(what)]
    return int(line.split()[-1].replace(",", ""))


def _empty(folder):
    return folder


def _only_bad(folder):
    (folder / "scene-00001.jpg").write_text("no picture")
    return folder


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_empty, "There are no pictures in"),
        (_only_bad, "'scene-00001.jpg: it is not a picture"),
        (lambda folder: folder / "nowhere", "does not exist"),
    ],
)
def test_photos_that_are_none(make, words, collection, tagloom, tmp_path):
    (tmp_path / "photos").mkdir()
    answer = tagloom(
        "complete", make(tmp_path / "photos"), "--tags", collection.tags,
        "--out", tmp_path / "out", "--cache", collection.cache,
    )  # fmt: skip
    assert answer.code == 1
    assert words in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "does not exist"),
        (b"", "it is empty"),
        (bytes(range(256)), "found no tags in any known format"),
        (b"image,tag\nelsewhere.jpg,sea\n", "None of the 1 pictures that have tags is in"),
        (b"image,tag\nscene-00001.jpg,sea\n", "No tag is on 3 or more pictures"),
    ],
)
def test_tags_that_are_of_no_use(content, words, collection, tmp_path):
    if content is not None:
        (tmp_path / "mine.csv").write_bytes(content)
    answer = collection.complete(tmp_path / "out", tags=tmp_path / "mine.csv")
    assert answer.code == 1
    assert words in answer.err
    assert not (tmp_path / "out").exists()


def test_a_wrong_out_is_refused_and_left_alone(collection, tmp_path, contents):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "letter.txt").write_text("mine")
    before = contents(tmp_path), contents(collection.photos)
    for out, words in {
        tmp_path / "file": "is a file",
        tmp_path / "file" / "below": "cannot be written",
        tmp_path / "foreign": "is not empty and not the result of an earlier run",
        collection.photos / "out": "lies in",
        collection.photos: "lies in",
    }.items():
        answer = collection.complete(out)
        assert answer.code == 1
        assert words in answer.err
    assert (contents(tmp_path), contents(collection.photos)) == before


@pytest.mark.parametrize(
    "wrong",
    [("--precision", "2"), ("--folds", "1"), ("--unlisted", "maybe"), ("--minutes", "soon")],
)
def test_a_wrong_value_of_a_flag_is_wrong_usage(wrong, collection, tmp_path):
    answer = collection.complete(tmp_path / "out", *wrong)
    assert answer.code == 2
    assert "Error: Invalid value" in answer.err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def odd_photos(collection, tmp_path):
    """Pictures whose names have all that names can have, one that is none, and tags alike."""
    photos = tmp_path / "photos"
    photos.mkdir()
    names = ["two\nlines.jpg", 'say "cheese".jpg', "🏖️.jpg", "a,b;c.jpg", "Ünï.jpg"]
    for scene, name in zip(sorted(collection.given), names, strict=False):
        shutil.copy(collection.photos / scene, photos / name)
    for scene in sorted(collection.given)[10:24]:
        shutil.copy(collection.photos / scene, photos / scene)
    (photos / "broken.jpg").write_text("no picture")
    said = [Annotation(name, 'the "sea" 🌊') for name in [*names, *sorted(collection.given)[10:14]]]
    said += [Annotation(scene, "new\nline") for scene in sorted(collection.given)[10:20]]
    said += [Annotation("gone.jpg", "sea"), Annotation("broken.jpg", "sea")]
    write_long_csv(Annotations.of(said), tmp_path / "tags.csv")
    return photos


def test_odd_names_and_all_that_is_left_out_are_told(
    odd_photos, collection, tagloom, tmp_path, read_rows
):
    more = tmp_path / "more.csv"
    more.write_text("image,tag,state\n🏖️.jpg,night,present\n🏖️.jpg,night,absent\n")
    answer = tagloom(
        "complete", odd_photos, "--tags", tmp_path / "tags.csv", "--tags", more,
        "--out", tmp_path / "out", "--cache", collection.cache, "--minutes", "0", "--folds", "2",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert "1 tagged pictures were not found\n    gone.jpg" in answer.out
    assert "1 pictures skipped\n    broken.jpg: it is not a picture" in answer.out
    assert "'night' of '🏖️.jpg' is both present and absent: left unknown" in answer.out
    rows = read_rows(tmp_path / "out" / "suggestions.csv")
    known = {(row["image"], row["tag"]) for row in rows if "known" in row["state"]}
    assert ("two\nlines.jpg", 'the "sea" 🌊') in known
    assert not [pair for pair in known if pair[1] == "night"]


def test_sources_that_contradict_each_other_leave_it_unknown_and_say_so(
    collection, tagloom, tmp_path
):
    for name, state in (("yes.csv", "present"), ("no.csv", "absent")):
        (tmp_path / name).write_text(f"image,tag,state\nscene-00001.jpg,zebra,{state}\n")
    answer = tagloom(
        "complete", collection.photos, "--tags", tmp_path / "yes.csv",
        "--tags", tmp_path / "no.csv", "--out", tmp_path / "out", "--cache", collection.cache,
    )  # fmt: skip
    assert "'zebra' of 'scene-00001.jpg' is both present and absent: left unknown" in answer.out
    assert _told(answer.out, "contradictions") == 1


def test_warnings_are_told_in_a_line(collection, tmp_path, monkeypatch):
    from tagloom.completion import pipeline as run

    def warn(*args, **kwargs):
        for _ in range(2):
            warnings.warn("2 labels cannot be learned: a, b.", UnlearnableLabelWarning, 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "fit_tagger", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        answer = collection.complete(tmp_path / "out")
    assert answer.code == 130
    assert answer.err.splitlines() == [
        "tagloom: warning: 2 labels cannot be learned: a, b.",
        "tagloom: interrupted; run the same command again to continue",
    ]


def test_a_disk_that_is_full_ends_in_a_message(collection, tmp_path, monkeypatch):
    from tagloom.completion import pipeline as job

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device", "model.tagloom")

    monkeypatch.setattr(job, "write_outputs", fail)
    answer = collection.complete(tmp_path / "out")
    assert (answer.code, answer.err) == (1, "tagloom: model.tagloom: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="file names there are text")
def test_a_name_that_is_no_text_can_be_told(collection, tagloom, tmp_path):
    photos = tmp_path / "photos"
    shutil.copytree(collection.photos, photos)
    Path(os.fsdecode(os.fsencode(photos) + b"/caf\xe9.jpg")).write_text("no picture")
    code = "from tagloom.cli import main; main()"
    args = [
        "complete", photos, "--tags", collection.tags, "--out", os.fsdecode(b"caf\xe9"),
        "--cache", collection.cache, "--min-pictures", "1000", "--json",
    ]  # fmt: skip
    answer = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], cwd=tmp_path, capture_output=True
    )
    assert answer.returncode == 1
    assert b"Traceback" not in answer.stderr
