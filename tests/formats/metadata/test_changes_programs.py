"""What ExifTool and exiv2 read of our sidecars before, after and after undo, and what they keep."""

import json
import shutil
import subprocess

import pytest

from tagloom.formats import read_sidecars
from tagloom.formats.metadata.changes import apply_changes, undo_changes
from tagloom.formats.metadata.sidecars import plan_sidecars
from tagloom.formats.metadata.xmp import COPIES, FIELDS
from tagloom.formats.metadata.xmp_merge import Keywords

DIGIKAM_FILE = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:xmp="http://ns.adobe.com/xap/1.0/"
    xmlns:digiKam="http://www.digikam.org/ns/1.0/"
    xmlns:lr="http://ns.adobe.com/lightroom/1.0/"
    xmlns:MicrosoftPhoto="http://ns.microsoft.com/photo/1.0/"
    xmlns:mediapro="http://ns.iview-multimedia.com/mediapro/1.0/"
    xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmp:Rating="4">
   <digiKam:TagsList><rdf:Seq><rdf:li>Scene/beach</rdf:li><rdf:li>Animal/dog</rdf:li></rdf:Seq></digiKam:TagsList>
   <lr:hierarchicalSubject><rdf:Bag><rdf:li>Scene|beach</rdf:li><rdf:li>Animal|dog</rdf:li></rdf:Bag></lr:hierarchicalSubject>
   <MicrosoftPhoto:LastKeywordXMP><rdf:Bag><rdf:li>Scene/beach</rdf:li><rdf:li>Animal/dog</rdf:li></rdf:Bag></MicrosoftPhoto:LastKeywordXMP>
   <mediapro:CatalogSets><rdf:Bag><rdf:li>Scene|beach</rdf:li><rdf:li>Animal|dog</rdf:li></rdf:Bag></mediapro:CatalogSets>
   <dc:subject><rdf:Bag><rdf:li>beach</rdf:li><rdf:li>dog</rdf:li></rdf:Bag></dc:subject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>"""
WANTED = {
    "1.jpg": Keywords(["beach", "Zürich"], {"sky": 0.93}, ["dog"]),
    "2.jpg": Keywords(["sea"], {"sky": 0.6}),
}
# Our names of the fields, ExifTool's and exiv2's.
NAMES = {
    "dc:subject": ("XMP-dc:Subject", "Xmp.dc.subject"),
    "digiKam:TagsList": ("XMP-digiKam:TagsList", "Xmp.digiKam.TagsList"),
    "lr:hierarchicalSubject": ("XMP-lr:HierarchicalSubject", "Xmp.lr.hierarchicalSubject"),
    "MicrosoftPhoto:LastKeywordXMP": (
        "XMP-microsoft:LastKeywordXMP",
        "Xmp.MicrosoftPhoto.LastKeywordXMP",
    ),
    "mediapro:CatalogSets": ("XMP-mediapro:CatalogSets", "Xmp.mediapro.CatalogSets"),
}


def exiftool(path):
    answer = subprocess.run(
        ["exiftool", "-j", "-G1", "-XMP:all", str(path)], capture_output=True, check=True
    )
    (found,) = json.loads(answer.stdout)
    return {
        ours: found[theirs] if isinstance(found[theirs], list) else [found[theirs]]
        for ours, (theirs, _) in NAMES.items()
        if theirs in found
    }


def exiv2(path):
    answer = subprocess.run(
        ["exiv2", "-q", "-PXkv", str(path)], capture_output=True, text=True, check=True
    )
    found = dict(line.split(None, 1) for line in answer.stdout.splitlines())
    return {
        ours: found[theirs].split(", ") for ours, (_, theirs) in NAMES.items() if theirs in found
    }


def installed(program):
    missing = shutil.which(program.__name__) is None
    return pytest.param(
        program, marks=pytest.mark.skipif(missing, reason=f"{program.__name__} is not installed")
    )


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "photos"
    root.mkdir()
    for name in WANTED:
        (root / name).write_bytes(b"\xff\xd8\xff\xd9")
    (root / "1.jpg.xmp").write_text(DIGIKAM_FILE, encoding="utf-8")
    return root


def last_steps(entries, field):
    return [entry.rpartition(field.separator)[2] if field.separator else entry for entry in entries]


@pytest.mark.parametrize("program", [installed(exiftool), installed(exiv2)])
def test_programs_read_the_same_tags_in_all_fields(folder, tmp_path, program):
    before = program(folder / "1.jpg.xmp")
    assert before.keys() == NAMES.keys()
    apply_changes(plan_sidecars(folder, WANTED), tmp_path / "journal")
    for name, fields, tags in (
        ("1.jpg.xmp", (*FIELDS, *COPIES), ["beach", "Zürich", "sky"]),
        ("2.jpg.xmp", FIELDS, ["sea", "sky"]),
    ):
        found = program(folder / name)
        assert found.keys() == {f"{field.prefix}:{field.local}" for field in fields}
        for field in fields:
            assert last_steps(found[f"{field.prefix}:{field.local}"], field) == tags
    assert program(folder / "1.jpg.xmp")["digiKam:TagsList"] == ["Scene/beach", "Zürich", "sky"]
    undo_changes(tmp_path / "journal")
    assert program(folder / "1.jpg.xmp") == before
    assert (folder / "1.jpg.xmp").read_text(encoding="utf-8") == DIGIKAM_FILE
    assert not (folder / "2.jpg.xmp").exists()


def rated_by_exiftool(path):
    return ["exiftool", "-q", "-overwrite_original", "-XMP:Rating=5", str(path)]


def rated_by_exiv2(path):
    return ["exiv2", "-q", "-Mset Xmp.xmp.Rating 5", str(path)]


@pytest.mark.parametrize("rated", [rated_by_exiftool, rated_by_exiv2])
def test_a_guess_stays_a_guess_where_another_program_rewrites_the_sidecar(folder, tmp_path, rated):
    apply_changes(plan_sidecars(folder, WANTED), tmp_path / "journal")
    before = read_sidecars(folder).annotations
    for name in WANTED:
        command = rated(folder / f"{name}.xmp")
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed")
        subprocess.run(command, check=True)
    assert read_sidecars(folder).annotations == before
    assert sum(one.confidence is not None for one in before) == 2
