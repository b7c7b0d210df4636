import json
from xml.etree import ElementTree

import pytest
from format_examples import NO_JSON, PRINTABLE, annotations, damaged, names, refusal_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, Annotations
from tagloom.formats.interchange.label_studio import (
    is_label_studio,
    read_label_studio,
    write_label_studio,
)

SHARED = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
ODD_TAGS = ['"quoted"', "'both\"", "a&b", "<b>", "a\tb", "two\nlines", "]]>", "&amp;", "$5", "été"]


def choices(*tags, control="tags", **more):
    return {
        "id": "r",
        "type": "choices",
        "from_name": control,
        "to_name": "image",
        "value": {"choices": list(tags)},
    } | more


SMALL = [
    {
        "id": 1,
        "annotations": [
            {"id": 5, "was_cancelled": False, "result": [choices("sea", "sky")]},
            {"id": 6, "was_cancelled": True, "result": [choices("dog")]},
        ],
        "predictions": [
            {"score": 0.5, "result": [choices("sand", score=0.25), choices("cat", "cow")]},
        ],
        "data": {"image": "/data/local-files/?d=photos/IMG%201.jpg"},
    },
    {
        "id": 2,
        "annotations": [{"result": [choices("dog", control="tags_absent"), {"type": "rating"}]}],
        "predictions": [{"result": [choices("bird")]}],
        "data": {"image": "b.jpg"},
    },
]


@pytest.fixture
def saved(tmp_path):
    def save(content):
        path = tmp_path / "tasks.json"
        path.write_text(json.dumps(content))
        return path

    return save


def entries(*listed, **more):
    return Annotations.of([Annotation(*one) for one in listed], **more)


@SHARED
@given(original=annotations(tags=st.lists(names(PRINTABLE), max_size=5, unique=True)))
def test_what_is_written_is_read_again(tmp_path, original):
    path = tmp_path / "out.json"
    write_label_studio(original, path)
    reading = read_label_studio(path)
    assert reading.annotations == original
    assert is_label_studio(path) == bool(original.images)
    assert reading.warnings == []
    assert reading.lists_absences == (not original.present.all())


def test_shape_is_what_label_studio_imports(tmp_path):
    original = entries(("IMG_1.jpg", "beach", True, 0.75), ("IMG_1.jpg", "sun", True, 0.25))
    config = write_label_studio(
        original, tmp_path / "tasks.json", prefix="photos/", model_version="semantic-diffusion-0.1"
    )
    assert json.loads((tmp_path / "tasks.json").read_text()) == [
        {
            "data": {"image": "/data/local-files/?d=photos/IMG_1.jpg"},
            "predictions": [
                {
                    "model_version": "semantic-diffusion-0.1",
                    "score": 0.5,
                    "result": [
                        {
                            "id": "r1",
                            "type": "choices",
                            "from_name": "tags",
                            "to_name": "image",
                            "value": {"choices": ["beach", "sun"]},
                            "score": 0.5,
                            "meta": {"scores": [0.75, 0.25]},
                        }
                    ],
                }
            ],
        }
    ]
    assert config == tmp_path / "tasks.config.xml"
    root = ElementTree.parse(config).getroot()
    assert [one.get("name") for one in root.iter("Choices")] == ["tags"]


def test_unusual_tags_are_in_the_configuration_unchanged(tmp_path):
    config = write_label_studio(entries(tags=ODD_TAGS), tmp_path / "tasks.json", ask_absent=True)
    root = ElementTree.parse(config).getroot()
    for control in root.iter("Choices"):
        assert [one.get("value") for one in control] == sorted(ODD_TAGS)
    assert [one.get("name") for one in root.iter("Choices")] == ["tags", "tags_absent"]


def test_tags_that_xml_cannot_hold_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"control characters.*x00"):
        write_label_studio(entries(("a.jpg", "\x00")), tmp_path / "tasks.json")
    assert list(tmp_path.iterdir()) == []


def test_export_is_read_with_people_machines_and_absences(saved):
    reading = read_label_studio(saved(SMALL))
    image = "photos/IMG 1.jpg"
    assert reading.annotations == entries(
        (image, "sea"),
        (image, "sky"),
        (image, "sand", True, 0.25),
        (image, "cat", True, 0.5),
        (image, "cow", True, 0.5),
        ("b.jpg", "dog", False),
    )
    assert reading.lists_absences
    assert reading.details["controls"] == "tags, tags_absent"
    assert [warning.what.partition(":")[0] for warning in reading.warnings] == [
        "skipped by the annotator",
        "a result that is not of type choices",
        "a prediction without a score",
    ]


def test_two_people_who_disagree_leave_it_unknown(saved):
    task = {
        "data": {"image": "a.jpg"},
        "annotations": [
            {"result": [choices("sea")]},
            {"result": [choices("sea", control="tags_absent")]},
        ],
    }
    reading = read_label_studio(saved([task]))
    assert reading.annotations == entries(undecided=[("a.jpg", "sea")])
    assert len(reading.contradictions) == 1


def test_only_the_wanted_controls_are_tags(saved):
    task = {
        "data": {"image": "a.jpg"},
        "annotations": [{"result": [choices("sea"), choices("sharp", control="quality")]}],
    }
    assert read_label_studio(saved([task])).annotations.tags == ("sea", "sharp")
    path = saved([task])
    assert read_label_studio(path, controls=["quality"]).annotations.tags == ("sharp",)


def test_short_form(saved):
    path = saved(
        [
            {"image": "a.jpg", "id": 1, "tags": "sea", "annotator": 1, "title": "my dog"},
            {"image": "b.jpg", "id": 2, "tags": {"choices": ["sea", "sky"]}, "lead_time": 2.5},
            {"photo": "c.png", "kind": {"choices": ["x"]}, "tags_absent": "sky", "note": "x"},
            {"image": "d.jpg", "id": 4, "tags": None},
        ]
    )
    assert is_label_studio(path)
    reading = read_label_studio(path)
    assert reading.annotations == entries(
        ("a.jpg", "sea"),
        ("b.jpg", "sea"),
        ("b.jpg", "sky"),
        ("c.png", "x"),
        ("c.png", "sky", False),
        images=["d.jpg"],
    )
    assert reading.details["form"] == "JSON-MIN"
    assert read_label_studio(path, controls=["title"]).annotations.tags == ("my dog", "sky")


def test_names_are_made_relative_to_the_folder(tmp_path, saved):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "IMG 1.jpg").touch()
    assert read_label_studio(saved(SMALL), folder).annotations.images == ("b.jpg", "IMG 1.jpg")


@pytest.mark.parametrize("scores", [[0.5], [0.5, 0.5, 0.5], "x", None])
def test_scores_that_do_not_fit_give_way_to_that_of_the_result(saved, scores):
    result = choices("sea", "sky", score=0.25, meta={"scores": scores})
    task = {"data": {"image": "a.jpg"}, "predictions": [{"result": [result]}]}
    assert {one.confidence for one in read_label_studio(saved([task])).annotations} == {0.25}


def test_score_that_is_no_probability_is_counted(saved):
    result = choices("sea", "sky", meta={"scores": [float("nan"), 7]})
    task = {"data": {"image": "a.jpg"}, "predictions": [{"result": [result]}, 12]}
    reading = read_label_studio(saved([task]))
    assert len(reading.annotations) == 0
    assert [warning.what for warning in reading.warnings] == [
        "a score is not from 0 to 1: left out",
        "only the id of one of its predictions: left out",
    ]


def test_error_names_place_expectation_and_finding(saved):
    task = {"data": {"image": "a.jpg"}, "annotations": [{"result": [choices("sea", 7)]}]}
    with pytest.raises(
        InvalidInputError,
        match=r"json: \[0\]\.annotations\[0\]\.result\[0\]\.value\.choices\[1\]: expected a text",
    ):
        read_label_studio(saved([task]))


def test_any_wrong_value_is_refused_or_warned_of(saved):
    short = [{"image": "a.jpg", "tags": {"choices": ["x"]}, "choice": "y"}]
    for start in (SMALL, short):
        for way, content in damaged(start):
            path = saved(content)
            is_label_studio(path)
            refusal = refusal_of(read_label_studio, path)
            assert refusal is None or str(path) in refusal, way


@pytest.mark.parametrize("content", NO_JSON, ids=range(len(NO_JSON)))
def test_what_is_no_export_is_refused(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert not is_label_studio(path)
    with pytest.raises(InvalidInputError, match=r"x\.json"):
        read_label_studio(path)


def test_hostile_configuration_is_refused(tmp_path, saved):
    path = saved(SMALL)
    (tmp_path / "tasks.config.xml").write_text('<!DOCTYPE v [<!ENTITY a "b">]><View>&a;</View>')
    with pytest.raises(InvalidInputError, match=r"tasks\.config\.xml declares a document type"):
        read_label_studio(path)


@pytest.mark.oracle
@SHARED
@given(
    original=annotations(
        tags=st.lists(st.sampled_from(ODD_TAGS) | names(PRINTABLE), max_size=5, unique=True)
    )
)
def test_label_studio_accepts_what_is_written(tmp_path, original):
    sdk = pytest.importorskip(
        "label_studio_sdk.label_interface", reason="label-studio-sdk is not installed"
    )
    path = tmp_path / "out.json"
    config = write_label_studio(original, path)
    interface = sdk.LabelInterface(config.read_text(encoding="utf-8"))
    judged = 0
    for task in json.loads(path.read_text()):
        for prediction in task.get("predictions", []):
            assert interface.validate_prediction(prediction, return_errors=True) == []
            judged += 1
        for annotation in task.get("annotations", []):
            assert interface.validate_annotation(annotation)
            judged += 1
    assert judged >= len({(one.image, one.confidence is None) for one in original})


@pytest.mark.oracle
def test_label_studio_refuses_what_is_not_in_the_configuration(tmp_path):
    sdk = pytest.importorskip(
        "label_studio_sdk.label_interface", reason="label-studio-sdk is not installed"
    )
    config = write_label_studio(entries(("a.jpg", "sea", True, 0.5)), tmp_path / "out.json")
    (task,) = json.loads((tmp_path / "out.json").read_text())
    (prediction,) = task["predictions"]
    prediction["result"][0]["value"]["choices"] = ["sky"]
    interface = sdk.LabelInterface(config.read_text())
    assert interface.validate_prediction(prediction, return_errors=True) != []
