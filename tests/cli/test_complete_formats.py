import shutil

import pytest
from PIL import Image

from tagloom.formats import (
    Annotation,
    Annotations,
    apply_changes,
    plan_sidecars,
    write_coco,
    write_fiftyone,
    write_jsonl,
    write_label_studio,
    write_long_csv,
    write_tag_list_csv,
    write_voc,
    write_wide_csv,
)

XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag>{}</rdf:Bag></dc:subject>'
    "</rdf:Description></rdf:RDF></x:xmpmeta>"
)


def _embedded(folder, collection):
    folder.mkdir()
    for name, tags in collection.given.items():
        items = "".join(f"<rdf:li>{tag}</rdf:li>" for tag in tags)
        packet = XMP.format(items).encode() if tags else b""
        with Image.open(collection.photos / name) as picture:
            picture.save(folder / name, xmp=packet)
    return folder


def _folders(folder, collection):
    for name, tags in collection.truth.items():
        (folder / tags[0]).mkdir(parents=True, exist_ok=True)
        shutil.copy(collection.photos / name, folder / tags[0] / name)
    return folder


def _sidecars(folder, collection):
    shutil.copytree(collection.photos, folder)
    apply_changes(plan_sidecars(folder, collection.given), folder.parent / "journal")
    return folder


def _fiftyone(said, path):
    path.mkdir()
    write_fiftyone(said, path)


def _voc(said, path):
    path.mkdir()
    write_voc(said, path)


FILES_OF_TAGS = {
    "long CSV": ("tags.csv", write_long_csv),
    "wide CSV": ("tags.csv", write_wide_csv),
    "tag-list CSV": ("tags.csv", write_tag_list_csv),
    "JSON lines": ("tags.jsonl", write_jsonl),
    "COCO json": ("coco.json", write_coco),
    "FiftyOne labels.json": ("fiftyone", _fiftyone),
    "Label Studio": ("tasks.json", write_label_studio),
    "PASCAL VOC": ("voc", _voc),
}


@pytest.mark.parametrize("title", FILES_OF_TAGS)
def test_tags_in_a_file_of_any_format(title, collection, tmp_path):
    name, write = FILES_OF_TAGS[title]
    given = [Annotation(image, tag) for image, tags in collection.given.items() for tag in tags]
    write(Annotations.of(given), tmp_path / name)
    # Asked for tags on a thousand pictures it stops before it learns: what was read is told.
    answer = collection.complete(tmp_path / "out", "--min-pictures", "1000", tags=tmp_path / name)
    assert f"read as {title}" in answer.out
    assert _told(answer.out, "known tags") == len(given)
    assert answer.code == 1
    assert "No tag is on 1000 or more pictures" in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("title", "make"),
    [
        ("XMP sidecars", _sidecars),
        ("keywords in pictures", _embedded),
        ("folder names", _folders),
    ],
)
def test_tags_in_the_folder_of_the_pictures(title, make, collection, tagloom, tmp_path):
    photos = make(tmp_path / "photos", collection)
    answer = tagloom(
        "complete", photos, "--tags", photos, "--out", tmp_path / "out",
        "--cache", collection.cache, "--min-pictures", "1000",
    )  # fmt: skip
    n_given = sum(map(len, collection.given.values()))
    expected = len(collection.truth) if make is _folders else n_given
    assert f"read as {title}" in answer.out
    assert _told(answer.out, "known tags") == expected


def _told(out, what):
    (line,) = [line for line in out.splitlines() if line.strip().startswith(what)]
    return int(line.split()[-1].replace(",", ""))


@pytest.mark.parametrize("make", [_sidecars, _embedded])
def test_keywords_are_read_where_no_tags_are_named(make, collection, tagloom, tmp_path):
    photos = make(tmp_path / "photos", collection)
    few = ("--cache", collection.cache, "--min-pictures", "1000")
    answer = tagloom("complete", photos, *few)
    n_given = sum(map(len, collection.given.values()))
    places = (f"{n_given}", "0") if make is _sidecars else ("0", f"{n_given}")
    read_as = "XMP sidecars and keywords in pictures (in sidecars {}, in pictures {})"
    assert f"read as {read_as.format(*places)}" in answer.out
    assert _told(answer.out, "known tags") == n_given
    assert not (tmp_path / "photos-tagloom").exists()


def test_folders_are_tags_only_if_asked(collection, tagloom, tmp_path):
    photos = _folders(tmp_path / "photos", collection)
    answer = tagloom("complete", photos, "--cache", collection.cache)
    assert answer.code == 1
    assert "There are no keywords in or beside the pictures" in answer.err
    few = ("--cache", collection.cache, "--min-pictures", "1000", "--format", "folders")
    assert "read as folder names" in tagloom("complete", photos, *few).out


def test_results_are_beside_the_pictures_by_default(collection, tagloom, tmp_path):
    photos = _sidecars(tmp_path / "photos", collection)
    fast = ("--cache", collection.cache, "--minutes", "0", "--folds", "2")
    answer = tagloom("complete", photos, *fast)
    assert answer.code == 0, answer.err
    assert f"`tagloom review {tmp_path / 'photos-tagloom'}`" in answer.out
    # Guesses that were exported are not learned from in the next run.
    exported = tagloom("export", tmp_path / "photos-tagloom", "--to", "xmp", "--suggested", "0.5")
    assert exported.code == 0, exported.err
    again = tagloom("complete", photos, *fast)
    assert "are a machine's suggestions and are not learned from" in again.out
    assert _told(again.out, "known tags") == _told(answer.out, "known tags")
