"""Keywords in pictures, written by ExifTool and read by it, by exiv2 and by us."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tagloom.errors import InvalidInputError
from tagloom.formats import read_embedded
from tagloom.formats.metadata import exiftool
from tagloom.formats.metadata.changes import apply_changes, undo_changes
from tagloom.formats.metadata.embedded import embedded_tags
from tagloom.formats.metadata.exiftool import ExifTool, ExifToolError, plan_pictures
from tagloom.formats.metadata.xmp_merge import Keywords, new_packet

Image = pytest.importorskip("PIL.Image")
needs_exiftool = pytest.mark.skipif(
    shutil.which("exiftool") is None, reason="ExifTool is not installed"
)
TAGS = ["beach", "Zürich", "日本 🏔", "rock & roll", 'say "x" -b', "x" * 80]
NAMES = {
    "1.jpg": "JPEG",
    "a/-c.tif": "TIFF",
    "two\nlines.png": "PNG",
    "@é.heic": "HEIF",
}
FIELDS = ("XMP-dc:Subject", "XMP-digiKam:TagsList", "XMP-lr:HierarchicalSubject")


@pytest.fixture
def folder(tmp_path):
    heif = pytest.importorskip("pillow_heif")
    heif.register_heif_opener()
    root = tmp_path / "photos"
    (root / "a").mkdir(parents=True)
    for number, (name, kind) in enumerate(NAMES.items()):
        Image.linear_gradient("L").rotate(10 * number).convert("RGB").save(root / name, kind)
    return root


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def pixels(path):
    with Image.open(path) as picture:
        return picture.convert("RGB").tobytes()


def write(folder, journal, keywords):
    """Write the keywords into all pictures."""
    with ExifTool() as tool:
        plan = plan_pictures(folder, dict.fromkeys(NAMES, keywords), tool)
        assert plan.refused == []
        report = apply_changes(plan, journal)
    assert report.failed == []
    return report


def as_exiftool_reads(path, *fields):
    """Lists by field; a copy with a plain name, since names are no concern here."""
    answer = subprocess.run(
        ["exiftool", "-j", "-struct", "-G1", *(f"-{field}" for field in fields), "-"],
        input=path.read_bytes(), capture_output=True, check=True,
    )  # fmt: skip
    (found,) = json.loads(answer.stdout)
    return {
        field: value if isinstance(value, list) else [value]
        for field, value in found.items()
        if field != "SourceFile"
    }


@needs_exiftool
def test_keywords_are_written_into_pictures_and_taken_back(folder, journal):
    before, shown = contents(folder), {name: pixels(folder / name) for name in NAMES}
    report = write(folder, journal, Keywords(TAGS, {"sky": 0.93}))
    assert sorted(report.written) == sorted(NAMES)
    for name in NAMES:
        expected = dict.fromkeys(TAGS) | {"sky": 0.93}
        assert embedded_tags(folder / name) == (expected, [])
        found = as_exiftool_reads(folder / name, *FIELDS, "XMP-tagloom:all")
        assert [found[field] for field in FIELDS] == [[*TAGS, "sky"]] * 3
        assert found["XMP-tagloom:Suggested"] == ["0.930 sky"]
        assert pixels(folder / name) == shown[name]
    assert len(read_embedded(folder).annotations.without_suggestions()) == len(TAGS) * len(NAMES)
    assert write(folder, journal, Keywords(TAGS, {"sky": 0.93})).written == []
    # Only what was replaced is kept: most of a picture is as before.
    assert journal.stat().st_size < sum(map(len, before.values()))
    write(folder, journal, Keywords(["sea"], {}, ["beach"]))
    assert embedded_tags(folder / "1.jpg")[0] == dict.fromkeys([*TAGS[1:], "sea"])
    undone = undo_changes(journal)
    assert (sorted(undone.restored), undone.refused) == (sorted(NAMES), [])
    assert contents(folder) == before


@needs_exiftool
@pytest.mark.parametrize("charset", [[], ["-IPTC:CodedCharacterSet=UTF8"]])
def test_iptc_is_kept_in_step_where_it_is(folder, journal, charset):
    path = folder / "1.jpg"
    given = ["-IPTC:Keywords=café", "-IPTC:Keywords=wrong", "-IPTC:City=Zürich", *charset]
    subprocess.run(["exiftool", "-q", "-overwrite_original", *given, str(path)], check=True)
    before = contents(folder)
    write(folder, journal, Keywords(["日本", "x" * 80], {"sky": 0.9}, ["wrong"]))
    found = as_exiftool_reads(path, "IPTC:Keywords", "IPTC:City", "XMP-dc:Subject")
    assert found["XMP-dc:Subject"] == ["café", "日本", "x" * 80, "sky"]
    assert found["IPTC:Keywords"] == ["café", "日本", "x" * 64, "sky"]
    assert found["IPTC:City"] == ["Zürich"]
    assert embedded_tags(path)[0] == dict.fromkeys(["café", "日本", "x" * 80]) | {"sky": 0.9}
    write(folder, journal, Keywords((), {}, ["café", "日本", "x" * 80]))
    assert embedded_tags(path) == ({}, [])
    assert "IPTC:Keywords" not in as_exiftool_reads(path, "IPTC:Keywords")
    undo_changes(journal)
    assert contents(folder) == before


@needs_exiftool
@pytest.mark.skipif(shutil.which("exiv2") is None, reason="exiv2 is not installed")
def test_exiv2_reads_what_was_written_before_after_and_after_undo(folder, journal):
    def keys():
        answer = subprocess.run(
            ["exiv2", "-q", "-PXkv", str(folder / "1.jpg")], capture_output=True, text=True
        )
        lines = (line.split(None, 1) for line in answer.stdout.splitlines())
        return {key: value for key, value in lines if key.startswith("Xmp.")}

    before = keys()
    write(folder, journal, Keywords(["beach", "Zürich"], {"sky": 0.93}))
    assert keys() == before | dict.fromkeys(
        ("Xmp.dc.subject", "Xmp.digiKam.TagsList", "Xmp.lr.hierarchicalSubject"),
        "beach, Zürich, sky",
    ) | {"Xmp.tagloom.Suggested": "0.930 sky"}
    undo_changes(journal)
    assert keys() == before


@needs_exiftool
def test_what_could_be_damaged_is_not_written(folder, journal, tmp_path):
    xmp = new_packet(["old"]).replace(b"<x:xmpmeta", b"<!-- HasExtendedXMP --><x:xmpmeta")
    stream = io.BytesIO()
    Image.new("RGB", (4, 4)).save(stream, "JPEG", xmp=xmp)
    (folder / "parts.jpg").write_bytes(stream.getvalue())
    (folder / "cut.jpg").write_bytes(stream.getvalue()[:40])
    Image.new("RGB", (4, 4)).save(folder / "a.gif")
    os.symlink(folder / "1.jpg", folder / "link.jpg")
    names = ["parts.jpg", "cut.jpg", "a.gif", "link.jpg", "none.jpg", "../x.jpg"]
    before = contents(tmp_path)
    with ExifTool() as tool:
        plan = plan_pictures(folder, dict.fromkeys(names, Keywords(["sea"])), tool)
        assert [one.where for one in plan.refused] == names
        assert not apply_changes(plan, journal).written
    journal.unlink()
    assert contents(tmp_path) == before


@needs_exiftool
def test_a_picture_that_was_changed_since_is_left_alone(folder, journal):
    write(folder, journal, Keywords(["sea"]))
    Image.new("RGB", (4, 4)).save(folder / "1.jpg")
    mine = (folder / "1.jpg").read_bytes()
    assert [one.where for one in undo_changes(journal).refused] == ["1.jpg"]
    assert (folder / "1.jpg").read_bytes() == mine


RUN = """
import sys
from tagloom.formats.metadata.changes import apply_changes
from tagloom.formats.metadata.exiftool import ExifTool, plan_pictures
from tagloom.formats.metadata.xmp_merge import Keywords
folder, journal = sys.argv[1:]
with ExifTool() as tool:
    plan = plan_pictures(folder, {f"{n}.jpg": Keywords(["sea"]) for n in range(60)}, tool)
    apply_changes(plan, journal)
"""


@needs_exiftool
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_killed_run_leaves_whole_pictures_and_is_undone(tmp_path, journal):
    root = tmp_path / "many"
    root.mkdir()
    for number in range(60):
        Image.new("RGB", (32, 32), (number, 0, 0)).save(root / f"{number}.jpg")
    before = contents(root)
    run = subprocess.Popen([sys.executable, "-c", RUN, str(root), str(journal)])
    while run.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") > 5:
            run.send_signal(signal.SIGKILL)
            break
        time.sleep(0.001)
    run.wait()
    assert run.returncode == -signal.SIGKILL
    now = contents(root)
    assert 0 < sum(now[path] != before[path] for path in before) < 60
    assert all(pixels(path) == pixels(io.BytesIO(before[path])) for path in before)
    assert not undo_changes(journal, root).refused
    assert contents(root) == before


def test_without_exiftool_it_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExifToolError, match=r"not installed.*apt install.*--to xmp"):
        ExifTool()


@pytest.mark.skipif(os.name != "posix", reason="needs a shell script")
@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        ("echo 12.23", ExifToolError, "Expected 12.24 or later"),
        ("[ $3 = -ver ] && echo 12.60 || exit 1", InvalidInputError, "ended or did not answer"),
        (
            "[ $3 = -ver ] && echo 12.60 || exec sleep 60",
            InvalidInputError,
            "ended or did not answer",
        ),
    ],
)
def test_a_program_that_does_not_serve(tmp_path, monkeypatch, script, error, message):
    program = tmp_path / "bin" / "exiftool"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(exiftool, "_SECONDS_FOR_ONE", 0.5)
    Image.new("RGB", (4, 4)).save(tmp_path / "1.jpg")
    before = (tmp_path / "1.jpg").read_bytes()
    with ExifTool() as tool:
        plan = plan_pictures(tmp_path, {"1.jpg": Keywords(["sea"])}, tool)
        (change,) = plan
        with pytest.raises(error, match=message):
            change.merged(before)
    assert (tmp_path / "1.jpg").read_bytes() == before
