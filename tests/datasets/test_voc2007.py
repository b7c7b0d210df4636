import numpy as np
import pytest
from layouts import VOC_CLASSES, voc2007

from tagloom.datasets import load_voc2007
from tagloom.errors import InvalidInputError


def states(seed, ids):
    rng = np.random.default_rng(seed)
    return {name: rng.integers(-1, 2, 20).tolist() for name in ids}


@pytest.fixture
def sides():
    return {
        "trainval": states(0, ["000005", "000007", "000009"]),
        "test": states(1, ["000001", "000002"]),
    }


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("below", [".", "VOCdevkit", "VOCdevkit/VOC2007"])
def test_states_become_present_absent_unknown(tmp_path, sides, below, end):
    voc2007(tmp_path, sides, end=end)
    dataset = load_voc2007(tmp_path / below, check_counts=False)
    assert dataset.truth.labels == tuple(VOC_CLASSES)
    assert [dataset.items[row] for row in dataset.test] == ["000001.jpg", "000002.jpg"]
    written = np.array([*sides["trainval"].values(), *sides["test"].values()], dtype=float)
    expected = np.where(written == 0, np.nan, (written > 0).astype(float))
    np.testing.assert_array_equal(dataset.truth.to_array(), expected)
    assert all(dataset.picture(row).is_file() for row in range(5))
    assert "5,011 training" in dataset.notes[0]


def test_other_size_is_refused_unless_allowed(tmp_path, sides):
    voc2007(tmp_path, sides)
    with pytest.raises(InvalidInputError, match=r"4,952 test.*here it has 3.*check_counts=False"):
        load_voc2007(tmp_path)


def test_missing_parts_are_named(tmp_path, sides):
    with pytest.raises(InvalidInputError, match=r"ImageSets.*page of the PASCAL VOC project"):
        load_voc2007(tmp_path)
    voc2007(tmp_path, sides)
    main = tmp_path / "VOCdevkit/VOC2007/ImageSets/Main"
    (main / "cow_test.txt").unlink()
    with pytest.raises(InvalidInputError, match=r"cow_test\.txt is missing"):
        load_voc2007(tmp_path, check_counts=False)


@pytest.mark.parametrize("line", ["000007 2", "000007", "000007 1 1", "000007 x"])
def test_bad_line_is_named(tmp_path, sides, line):
    voc2007(tmp_path, sides)
    path = tmp_path / "VOCdevkit/VOC2007/ImageSets/Main/dog_trainval.txt"
    path.write_text(f"000005 1\n\n{line}\n000009 -1\n")
    with pytest.raises(InvalidInputError, match=r"dog_trainval\.txt, line 3: expected the id"):
        load_voc2007(tmp_path, check_counts=False)


def test_classes_must_list_the_same_pictures(tmp_path, sides):
    voc2007(tmp_path, sides)
    path = tmp_path / "VOCdevkit/VOC2007/ImageSets/Main/dog_trainval.txt"
    path.write_text("000005 1\n000009 -1\n")
    with pytest.raises(InvalidInputError, match=r"dog_trainval\.txt lists other pictures"):
        load_voc2007(tmp_path, check_counts=False)


def test_missing_pictures_are_noted(tmp_path, sides):
    home = voc2007(tmp_path, sides) / "VOC2007"
    (home / "JPEGImages/000009.jpg").unlink()
    dataset = load_voc2007(tmp_path, check_counts=False)
    assert any("1 listed pictures" in note and "000009.jpg" in note for note in dataset.notes)
