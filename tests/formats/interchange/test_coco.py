import json

import pytest
from format_examples import NO_JSON, annotations, damaged, refusal_of
from hypothesis import HealthCheck, given, settings

from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, Annotations
from tagloom.formats.interchange.coco import is_coco, read_coco, write_coco

SHARED = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
SMALL = {
    "info": {},
    "images": [
        {"id": 7, "file_name": "a.jpg", "neg_category_ids": [2]},
        {"id": 9, "file_name": "b.jpg", "not_exhaustive_category_ids": [2]},
    ],
    "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "sea"}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 1, "bbox": [0, 0, 5, 5]},
        {"id": 2, "image_id": 9, "category_id": 1, "bbox": [1, 0, 5, 5], "score": 0.5},
    ],
}


@pytest.fixture
def saved(tmp_path):
    def save(content):
        path = tmp_path / "coco.json"
        path.write_text(json.dumps(content))
        return path

    return save


def entries(*listed, images=("a.jpg", "b.jpg"), tags=("dog", "sea"), undecided=()):
    original = [Annotation(*one) for one in listed]
    return Annotations.of(original, images=images, tags=tags, undecided=undecided)


@SHARED
@given(original=annotations())
def test_what_is_written_is_read_again(tmp_path, original):
    path = tmp_path / "out.json"
    write_coco(original, path)
    reading = read_coco(path)
    assert reading.annotations == original
    assert is_coco(path)
    assert reading.warnings == []
    assert reading.duplicates == 0
    assert reading.lists_absences == (not original.present.all())


def test_boxes_become_presences_and_lvis_absences(saved):
    reading = read_coco(saved(SMALL))
    assert reading.annotations == entries(
        ("a.jpg", "dog"), ("a.jpg", "sea", False), ("b.jpg", "dog", True, 0.5)
    )
    assert reading.lists_absences
    assert reading.details == {"annotations": "2", "presences": "2"}


def with_annotations(*more, **image):
    images = [SMALL["images"][0] | image, SMALL["images"][1]]
    return SMALL | {"images": images, "annotations": [*SMALL["annotations"], *more]}


def test_many_boxes_are_one_presence_and_only_exact_repeats_are_duplicates(saved):
    box = SMALL["annotations"][0]
    reading = read_coco(
        saved(with_annotations(box | {"id": 3, "bbox": [9, 9, 1, 1]}, box | {"id": 4}))
    )
    assert len(reading.annotations) == 3
    assert reading.duplicates == 1
    assert reading.warnings == []


def test_highest_score_counts_and_people_override_machines(saved):
    machine = SMALL["annotations"][1]
    more = [machine | {"id": 3, "score": 0.75}, machine | {"id": 4, "image_id": 7}]
    reading = read_coco(saved(with_annotations(*more)))
    assert reading.annotations == entries(
        ("a.jpg", "dog"), ("a.jpg", "sea", False), ("b.jpg", "dog", True, 0.75)
    )


def test_present_and_absent_is_left_unknown(saved):
    reading = read_coco(saved(with_annotations(neg_category_ids=[1])))
    assert reading.annotations == entries(("b.jpg", "dog", True, 0.5), undecided=[("a.jpg", "dog")])
    assert len(reading.contradictions) == 1


def test_absence_that_is_called_open_is_unknown(saved):
    content = with_annotations(not_exhaustive_category_ids=[2])
    assert ("a.jpg", "sea") not in {one[:2] for one in read_coco(saved(content)).annotations}


@pytest.mark.parametrize(
    ("odd", "where", "what"),
    [
        ({"image_id": 8}, "annotations[2].image_id", "no picture"),
        ({"category_id": 8}, "annotations[2].category_id", "no category"),
        ({"category_id": None}, "annotations[2]", "without category_id"),
        ({"score": float("nan")}, "annotations[2].score", "not from 0 to 1"),
        ({"score": 97}, "annotations[2].score", "not from 0 to 1"),
        ({"id": 1}, "annotations[2].id", "another annotation"),
    ],
)
def test_what_cannot_be_taken_is_counted(saved, odd, where, what):
    more = {"id": 3, "image_id": 9, "category_id": 2, "score": 0.1} | odd
    reading = read_coco(saved(with_annotations(more, more | {"bbox": [1, 1, 1, 1]})))
    found = [warning for warning in reading.warnings if what in warning.what]
    assert len(found) == 1
    assert f"{where} and 1 more" in found[0].where
    assert len(reading.annotations) == (4 if "id" in odd else 3)


@pytest.mark.parametrize("key", ["images", "categories"])
def test_one_id_for_two_names_is_refused(saved, key):
    name = {"images": "file_name", "categories": "name"}[key]
    content = SMALL | {key: [*SMALL[key], {"id": SMALL[key][0]["id"], name: "other"}]}
    with pytest.raises(InvalidInputError, match=rf"{key}\[2\]\.id: expected an id of its own"):
        read_coco(saved(content))


def test_one_name_for_two_ids_is_one_picture(saved):
    content = SMALL | {"images": [*SMALL["images"], {"id": 10, "file_name": "a.jpg"}]}
    reading = read_coco(saved(content))
    assert reading.annotations.images == ("a.jpg", "b.jpg")
    assert "1 entries have a file_name" in reading.warnings[0].what


def test_error_names_place_expectation_and_finding(saved):
    content = with_annotations({"id": 3, "image_id": 7, "category_id": [1]})
    with pytest.raises(
        InvalidInputError,
        match=r"coco\.json: annotations\[2\]\.category_id: expected an integer.*found a list",
    ):
        read_coco(saved(content))


def test_bare_results_are_refused_with_the_reason(saved):
    with pytest.raises(InvalidInputError, match="bare list of results"):
        read_coco(saved([{"image_id": 1, "category_id": 1, "score": 0.5}]))


def test_any_wrong_value_is_refused_or_warned_of(saved):
    for way, content in damaged(SMALL):
        path = saved(content)
        is_coco(path)
        refusal = refusal_of(read_coco, path)
        assert refusal is None or str(path) in refusal, way


@pytest.mark.parametrize("content", NO_JSON, ids=range(len(NO_JSON)))
def test_what_is_no_coco_is_refused(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert not is_coco(path) or content.startswith(b'{"images"')
    with pytest.raises(InvalidInputError, match=r"x\.json"):
        read_coco(path)


def test_missing_file_and_folder_are_not_detected(tmp_path):
    for path in (tmp_path, tmp_path / "none.json"):
        assert not is_coco(path)
        with pytest.raises(InvalidInputError, match="cannot be read"):
            read_coco(path)


def test_deep_outline_is_no_traceback(saved, tmp_path):
    path = tmp_path / "deep.json"
    text = json.dumps(with_annotations({"id": 3, "image_id": 7, "category_id": 1, "bbox": "@"}))
    for depth in (900, 960, 980, 990):
        path.write_text(text.replace('"@"', "[" * depth + "]" * depth))
        refusal = refusal_of(read_coco, path)
        assert refusal is None or "nested" in refusal


def test_names_are_made_relative_to_the_folder(tmp_path, saved):
    folder = tmp_path / "photos"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.jpg").touch()
    content = SMALL | {"images": [{"id": 7, "file_name": "C:\\photos\\in\\a.jpg"}]}
    assert read_coco(saved(content), folder).annotations.images == ("in/a.jpg",)
    assert read_coco(saved(content)).annotations.images == ("C:\\photos\\in\\a.jpg",)


def test_sizes_come_from_the_pictures(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    Image.new("RGB", (6, 4)).save(tmp_path / "a.jpg")
    (tmp_path / "b.jpg").write_bytes(b"no picture")
    path = tmp_path / "out.json"
    warnings = write_coco(entries(("a.jpg", "dog"), ("b.jpg", "dog")), path, pictures=tmp_path)
    written = json.loads(path.read_text())
    assert [(one["width"], one["height"]) for one in written["images"]] == [(6, 4), (0, 0)]
    assert [one["bbox"] for one in written["annotations"]] == [[0, 0, 6, 4], [0, 0, 0, 0]]
    assert written["annotations"][0]["area"] == 24
    assert [warning.where for warning in warnings] == ["b.jpg"]


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_the_library_of_coco_finds_its_way(tmp_path):
    coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")
    Image = pytest.importorskip("PIL.Image")
    Image.new("RGB", (6, 4)).save(tmp_path / "a.jpg")
    original = entries(
        ("a.jpg", "dog"), ("a.jpg", "sea", True, 0.25), ("b.jpg", "été"), tags=["dog", "none"]
    )
    path = tmp_path / "out.json"
    write_coco(original, path, pictures=tmp_path)
    loaded = coco.COCO(str(path))
    loaded.info()
    (dog,) = loaded.getCatIds(catNms=["dog"])
    assert len(loaded.getCatIds()) == len(original.tags)
    assert len(loaded.getCatIds(supNms=["tag"])) == len(original.tags)
    (image,) = loaded.getImgIds(catIds=[dog])
    assert loaded.loadImgs([image])[0]["file_name"] == "a.jpg"
    assert len(loaded.getAnnIds()) == 3
    assert len(loaded.getAnnIds(imgIds=[image], iscrowd=False, areaRng=[1, 100])) == 2
    (found,) = loaded.loadAnns(loaded.getAnnIds(imgIds=[image], catIds=[dog]))
    assert loaded.annToMask(found).sum() == 24
    assert loaded.getAnnIds(catIds=loaded.getCatIds(catNms=["none"])) == []


@pytest.mark.oracle
@SHARED
@given(original=annotations())
def test_the_library_of_coco_sees_the_same_presences(tmp_path, original):
    coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")
    path = tmp_path / "out.json"
    write_coco(original, path)
    loaded = coco.COCO(str(path))
    seen = {
        (loaded.imgs[one["image_id"]]["file_name"], loaded.cats[one["category_id"]]["name"])
        for one in loaded.loadAnns(loaded.getAnnIds())
    }
    assert seen == {(one.image, one.tag) for one in original if one.present}
    assert {image["file_name"] for image in loaded.imgs.values()} == set(original.images)
