import numpy as np
import pytest
from layouts import lear, picture, vectors

from tagloom.datasets import load_espgame, load_iaprtc12, load_lear
from tagloom.errors import InvalidInputError
from tagloom.vision import Features

WORDS = ["sky", "sea", "man"]
SIDES = {
    "train": {"00/25": [1, 0, 0], "00/60": [1, 1, 0], "01/25": [0, 0, 1]},
    "test": {"02/7": [0, 1, 1]},
}


@pytest.mark.parametrize("load", [load_espgame, load_iaprtc12])
def test_lists_dictionary_and_annotations(tmp_path, load):
    lear(tmp_path, load.__name__.removeprefix("load_"), SIDES, WORDS)
    dataset = load(tmp_path, check_counts=False)
    assert dataset.items == ("00/25.jpg", "00/60.jpg", "01/25.jpg", "02/7.jpg")
    assert dataset.truth.labels == tuple(WORDS)
    assert dataset.truth.to_array().tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]]
    assert dataset.training.tolist() == [0, 1, 2]
    assert dataset.picture(3).is_file()


def test_annotations_with_one_width_for_all(tmp_path):
    lear(tmp_path, "espgame", SIDES, WORDS)
    for side, of_entry in SIDES.items():
        table = np.array(list(of_entry.values()), "<u2")
        content = np.array([len(WORDS)], "<i4").tobytes() + table.tobytes()
        (tmp_path / f"espgame_{side}_annot.hvecs").write_bytes(content)
    dataset = load_espgame(tmp_path, check_counts=False)
    assert dataset.truth.to_array().tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]]


@pytest.mark.parametrize("given", [".", "ESP", "ESP/images"])
def test_pictures_may_lie_deeper_or_flatter_than_listed(tmp_path, given):
    sides = {"train": {"images/abc": [1], "images/a.b": [0]}, "test": {"images/deep/c": [1]}}
    lear(tmp_path / "lists", "espgame", sides, ["x"], folder=None)
    for name in ("abc.jpg", "a.b.png", "deep/c.jpg"):
        picture(tmp_path / "pictures/ESP/images" / name)
    folder = tmp_path / "pictures" / given
    dataset = load_espgame(tmp_path / "lists", images=folder, check_counts=False)
    assert [dataset.picture(row).name for row in range(3)] == ["abc.jpg", "a.b.png", "c.jpg"]
    assert all(dataset.picture(row).is_file() for row in range(3))


def test_pictures_elsewhere_are_an_error(tmp_path):
    lear(tmp_path / "lists", "espgame", SIDES, WORDS, folder=None)
    picture(tmp_path / "pictures/25/00.jpg")
    with pytest.raises(InvalidInputError, match=r"None of the 4 pictures of ESP Game.*'00/25'"):
        load_espgame(tmp_path / "lists", images=tmp_path / "pictures", check_counts=False)
    with pytest.raises(InvalidInputError, match="nowhere is missing"):
        load_espgame(tmp_path / "lists", images=tmp_path / "nowhere", check_counts=False)


def test_ambiguous_and_absent_pictures(tmp_path):
    lear(tmp_path, "espgame", {"train": {"a": [1]}, "test": {"b": [0]}}, ["x"], folder=None)
    picture(tmp_path / "images/1/a.jpg")
    dataset = load_espgame(tmp_path, check_counts=False)
    assert dataset.items == ("1/a.jpg", "b")
    assert "'b'" in dataset.notes[0]
    picture(tmp_path / "images/2/a.jpg")
    with pytest.raises(InvalidInputError, match=r"'a' could be each of '1/a.jpg', '2/a.jpg'"):
        load_espgame(tmp_path, check_counts=False)


def test_sizes_of_the_paper_are_asked_for(tmp_path):
    lear(tmp_path, "iaprtc12", SIDES, WORDS)
    with pytest.raises(InvalidInputError, match=r"17,665 .* 1,962 .* 291 labels"):
        load_iaprtc12(tmp_path)


def test_descriptors_instead_of_pictures(tmp_path):
    lear(tmp_path, "espgame", SIDES, WORDS, folder=None)
    with pytest.raises(InvalidInputError, match="features="):
        load_espgame(tmp_path, check_counts=False)
    vectors(tmp_path / "espgame_train_Rgb.hvecs32", [[1, 2], [3, 4], [5, 70000]], "<u4", "<u4")
    vectors(tmp_path / "espgame_test_Rgb.hvecs32", [[7, 8]], "<u4", "<u4")
    vectors(tmp_path / "espgame_train_Gist.fvec", [[0.5], [1.5], [2.5]], "<u4", "<f4")
    vectors(tmp_path / "espgame_test_Gist.fvec", [[3.5]], "<u4", "<f4")
    dataset = load_espgame(tmp_path, features="Rgb, Gist", check_counts=False)
    assert dataset.folder is None
    assert dataset.items[0] == "00/25"
    assert dataset.features.visual.tolist() == [
        [1, 2, 0.5],
        [3, 4, 1.5],
        [5, 70000, 2.5],
        [7, 8, 3.5],
    ]
    assert dataset.features.posteriors.shape == (4, 0)
    with pytest.raises(InvalidInputError, match=r"espgame_train_Hsv with one of the extensions"):
        load_espgame(tmp_path, features="Hsv", check_counts=False)


def test_features_from_a_file_are_put_in_order(tmp_path):
    lear(tmp_path, "espgame", SIDES, WORDS, folder=None)
    names = ["02/7", "01/25", "00/60", "00/25"]
    Features(names, np.arange(4.0)[:, None], np.zeros((4, 0)), []).save(tmp_path / "f.npz")
    dataset = load_espgame(tmp_path, features=tmp_path / "f.npz", check_counts=False)
    assert dataset.features.visual.ravel().tolist() == [3, 2, 1, 0]
    Features(names[1:], np.ones((3, 1)), np.zeros((3, 0)), []).save(tmp_path / "f.npz")
    with pytest.raises(InvalidInputError, match=r"no features of 1 items: '02/7'"):
        load_espgame(tmp_path, features=tmp_path / "f.npz", check_counts=False)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([[1, 0], [1, 1], [0, 0]], "3 rows of 2"),
        ([[1, 0, 0]], "expected 3 rows, found 1 rows of 3"),
        ([[1, 0, 0], [0, 2, 0], [0, 0, 0]], "vector 2, value 2: expected 0 or 1, found 2"),
    ],
)
def test_annotations_that_do_not_fit_are_refused(tmp_path, rows, problem):
    lear(tmp_path, "espgame", SIDES, WORDS)
    vectors(tmp_path / "espgame_train_annot.hvecs", rows)
    with pytest.raises(InvalidInputError, match=problem):
        load_espgame(tmp_path, check_counts=False)


def test_missing_file_and_unknown_name(tmp_path):
    with pytest.raises(InvalidInputError, match=r"espgame_dictionary\.txt is missing.*LEAR group"):
        load_espgame(tmp_path)
    with pytest.raises(InvalidInputError, match="'espgame', 'iaprtc12', 'corel5k'"):
        load_lear(tmp_path, "voc")
