import json

import pytest
from format_examples import LETTERS, NO_JSON, annotations, damaged, pictures, refusal_of
from hypothesis import HealthCheck, given, settings

from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, Annotations
from tagloom.formats.interchange.fiftyone import is_fiftyone, read_fiftyone, write_fiftyone

SHARED = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
SMALL = {
    "classes": ["dog", "sea"],
    "labels": {
        "a": 0,
        "b": [1, {"label": 0, "confidence": 0.5}],
        "c": {"label": "sky", "confidence": None},
        "d": None,
        "/abs/e.jpg": ["sea"],
    },
}


@pytest.fixture
def saved(tmp_path):
    def save(content):
        (tmp_path / "labels.json").write_text(json.dumps(content))
        return tmp_path / "labels.json"

    return save


def entries(*listed, **more):
    return Annotations.of([Annotation(*one) for one in listed], **more)


@SHARED
@given(original=annotations(pictures(LETTERS), absent=False))
def test_what_is_written_with_a_manifest_is_read_again(tmp_path, original):
    assert write_fiftyone(original, tmp_path, pictures=tmp_path / "photos") == []
    reading = read_fiftyone(tmp_path)
    assert reading.annotations == original
    assert is_fiftyone(tmp_path)
    assert is_fiftyone(tmp_path / "labels.json")
    assert reading.warnings == []
    assert not reading.lists_absences


def test_targets_of_every_kind(saved):
    reading = read_fiftyone(saved(SMALL))
    assert reading.annotations == entries(
        ("a", "dog"),
        ("b", "sea"),
        ("b", "dog", True, 0.5),
        ("c", "sky"),
        ("/abs/e.jpg", "sea"),
        images=["d"],
    )
    assert "has no extension" in reading.warnings[0].what
    assert "and 3 more" in reading.warnings[0].where


@pytest.mark.parametrize("inside", [True, False])
def test_extensions_come_from_the_pictures(tmp_path, saved, inside):
    folder = tmp_path / ("data" if inside else "elsewhere")
    folder.mkdir()
    for name in ("a.jpg", "b.png", "c.jpg", "c.png", "d.xmp"):
        (folder / name).touch()
    reading = read_fiftyone(saved(SMALL), None if inside else folder)
    assert reading.annotations.images == ("/abs/e.jpg", "a.jpg", "b.png", "c", "d")
    assert "and 1 more" in reading.warnings[0].where


def test_shape_is_what_the_reader_of_fiftyone_takes(tmp_path):
    original = entries(
        ("in/a.jpg", "sea"), ("in/a.jpg", "dog", True, 0.5), ("/abs/e.jpg", "sea"), images=["b.jpg"]
    )
    write_fiftyone(original, tmp_path / "labels.json", pictures=tmp_path / "photos")
    assert json.loads((tmp_path / "labels.json").read_text()) == {
        "classes": ["dog", "sea"],
        "labels": {"/abs/e.jpg": [1], "b": None, "in/a": [{"label": 0, "confidence": 0.5}, 1]},
    }
    assert json.loads((tmp_path / "data.json").read_text()) == {
        "b.jpg": str(tmp_path / "photos" / "b.jpg"),
        "in/a.jpg": str(tmp_path / "photos" / "in" / "a.jpg"),
    }


def test_no_manifest_is_written_unless_asked_for(tmp_path):
    write_fiftyone(entries(("a.jpg", "sea")), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["labels.json"]


def test_another_file_of_the_manifests_name_is_not_lost(tmp_path):
    (tmp_path / "data.json").write_text('{"mine": [1, 2]}')
    with pytest.raises(InvalidInputError, match=r"data\.json"):
        write_fiftyone(entries(("a.jpg", "sea")), tmp_path, pictures=tmp_path)
    assert (tmp_path / "data.json").read_text() == '{"mine": [1, 2]}'


def test_absences_are_left_out_with_a_warning(tmp_path):
    original = entries(("a.jpg", "sea", False), ("a.jpg", "sky", False, 0.1), ("a.jpg", "dog"))
    (warning,) = write_fiftyone(original, tmp_path)
    assert "no absences" in warning.what
    assert "and 1 more" in warning.where
    again = read_fiftyone(tmp_path).annotations
    assert again == entries(("a", "dog"), tags=["sea", "sky"])


def test_names_that_differ_by_extension_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"'a\.jpg', 'a\.png'"):
        write_fiftyone(entries(images=["a.jpg", "a.png"]), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("target", "what"),
    [
        (2, "no class has this number"),
        (-1, "no class has this number"),
        ({"label": 0, "confidence": float("nan")}, "not from 0 to 1"),
        ({"label": 0, "confidence": 80}, "not from 0 to 1"),
    ],
)
def test_what_cannot_be_taken_is_counted(saved, target, what):
    reading = read_fiftyone(
        saved({"classes": ["x", "y"], "labels": {"/a": target, "/b": [target]}})
    )
    assert len(reading.annotations) == 0
    (warning,) = reading.warnings
    assert what in warning.what
    assert "and 1 more" in warning.where


@pytest.mark.parametrize("target", [True, 0.5, [[0]], {}, {"label": None}, [{"label": True}], ""])
def test_targets_of_another_kind_are_refused(saved, target):
    with pytest.raises(InvalidInputError, match=r'labels\["/a"\].*expected'):
        read_fiftyone(saved({"classes": ["x"], "labels": {"/a": target}}))


def test_any_wrong_value_is_refused_or_warned_of(saved):
    for way, content in damaged(SMALL):
        path = saved(content)
        is_fiftyone(path)
        refusal = refusal_of(read_fiftyone, path)
        assert refusal is None or str(path) in refusal, way


@pytest.mark.parametrize("content", NO_JSON, ids=range(len(NO_JSON)))
def test_what_is_no_labels_file_is_refused(tmp_path, content):
    path = tmp_path / "labels.json"
    path.write_bytes(content)
    assert not is_fiftyone(path) or content.startswith(b'{"labels"')
    with pytest.raises(InvalidInputError, match=r"labels\.json"):
        read_fiftyone(tmp_path)


def test_folder_without_labels_is_not_detected(tmp_path):
    assert not is_fiftyone(tmp_path)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_fiftyone(tmp_path)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("manifest", [True, False])
def test_the_importer_of_fiftyone_sees_the_same(tmp_path, manifest):
    importers = pytest.importorskip(
        "fiftyone.utils.data.importers", reason="fiftyone is not installed"
    )
    photos = tmp_path / "photos"
    (photos / "in").mkdir(parents=True)
    original = entries(
        ("a.jpg", "sea"),
        ("a.jpg", "dog", True, 0.5),
        ("in/b c.png", "été"),
        (str(photos / "e.jpg"), "sea", True, 0.25),
        images=["none.jpg"],
        tags=["unused"],
    )
    for image in original.images:
        (photos / image).touch()
    out = tmp_path / "out"
    out.mkdir()
    write_fiftyone(original, out, pictures=photos if manifest else None)
    data = "data.json" if manifest else str(photos)
    importer = importers.FiftyOneImageClassificationDatasetImporter(str(out), data_path=data)
    with importer:
        seen = {path: label and label.classifications for path, _, label in importer}
        assert importer.get_dataset_info() == {"classes": list(original.tags)}
    assert {
        path: {(one.label, one.confidence) for one in found or []} for path, found in seen.items()
    } == {
        str(photos / image): {(one.tag, one.confidence) for one in listed}
        for image, listed in original.by_image().items()
    }
