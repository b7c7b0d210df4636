"""All formats of other programs together."""

import pytest

from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, Annotations, read_tags
from tagloom.formats.interchange.coco import is_coco, read_coco, write_coco
from tagloom.formats.interchange.fiftyone import is_fiftyone, read_fiftyone, write_fiftyone
from tagloom.formats.interchange.label_studio import (
    is_label_studio,
    read_label_studio,
    write_label_studio,
)
from tagloom.formats.interchange.voc import is_voc, read_voc, write_voc
from tagloom.formats.registry import detect_format

FORMATS = {
    "coco": (is_coco, read_coco, write_coco),
    "fiftyone": (is_fiftyone, read_fiftyone, write_fiftyone),
    "label studio": (is_label_studio, read_label_studio, write_label_studio),
    "voc": (is_voc, read_voc, write_voc),
}
ORIGINAL = Annotations.of(
    [Annotation("a.jpg", "sea"), Annotation("a.jpg", "sky", False), Annotation("b.jpg", "sea")],
    images=["c.jpg"],
)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "original", [ORIGINAL, ORIGINAL.without_suggestions(), Annotations.of([], tags=["sea"])]
)
def test_each_format_is_detected_by_its_own_reader_alone(tmp_path, name, original):
    path = tmp_path if name == "voc" else tmp_path / "out.json"
    FORMATS[name][2](original, path)
    seen = [other for other, (detect, *_) in FORMATS.items() if detect(path)]
    # Label Studio's file of no tasks is an empty list, which anything may write.
    assert seen == ([name] if original.images or name != "label studio" else [])


@pytest.mark.parametrize("name", FORMATS)
def test_the_registry_reads_each_format_under_its_title(tmp_path, name):
    path = tmp_path if name == "voc" else tmp_path / "out.json"
    FORMATS[name][2](ORIGINAL, path)
    assert read_tags(path).format == detect_format(path).title


@pytest.mark.parametrize("name", FORMATS)
def test_what_one_writes_the_others_refuse(tmp_path, name):
    path = tmp_path if name == "voc" else tmp_path / "out.json"
    FORMATS[name][2](ORIGINAL, path)
    for other, (_, read, _) in FORMATS.items():
        if other != name:
            with pytest.raises(InvalidInputError):
                read(path)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "original",
    [
        Annotations.of([Annotation("a\udcff.jpg", "sea")]),
        Annotations.of([Annotation("a.jpg", "\ud800")]),
        Annotations.of([Annotation("", "sea")]),
        Annotations.of([Annotation("a.jpg", "")]),
    ],
)
def test_names_that_no_file_can_hold_are_refused(tmp_path, name, original):
    path = tmp_path if name == "voc" else tmp_path / "out.json"
    with pytest.raises(InvalidInputError, match="UTF-8"):
        FORMATS[name][2](original, path)
    assert list(tmp_path.iterdir()) == []
