import numpy as np
import pytest
from layouts import mulan_xml

from tagloom.datasets import load_mulan
from tagloom.errors import InvalidInputError

HEADER = """% music
@relation music
@attribute loudness numeric
@attribute 'kind of beat' {slow,quick}
@attribute sad {0,1}
@attribute "quiet, calm" {1,0}
@attribute tempo {10,20}
@data
"""


@pytest.fixture
def pair(tmp_path):
    mulan_xml(tmp_path / "music.xml", ["sad", "quiet, calm"])
    (tmp_path / "music-train.arff").write_text(HEADER + "0.5,slow,1,0,20\n1.5,quick,?,1,10\n")
    (tmp_path / "music-test.arff").write_text(HEADER + "{0 2.5, 1 quick, 2 1}\n")
    return tmp_path


@pytest.mark.parametrize("given", [".", "music", "music-train.arff", "music-test.arff"])
def test_published_split_and_unknown_labels(pair, given):
    dataset = load_mulan(pair / given)
    assert dataset.name == "music"
    assert dataset.truth.labels == ("sad", "quiet, calm")
    # An unlisted nominal value of a sparse row is the first of its list: 1 for "quiet, calm".
    np.testing.assert_array_equal(dataset.truth.to_array(), [[1, 0], [np.nan, 1], [1, 1]])
    assert dataset.features.visual.tolist() == [[0.5, 1, 0, 20], [1.5, 0, 1, 10], [2.5, 0, 1, 10]]
    assert dataset.features.posteriors.shape == (3, 0)
    assert (dataset.training.tolist(), dataset.test.tolist()) == ([0, 1], [2])
    assert dataset.folder is None


def test_whole_file_is_split_by_a_seed(tmp_path):
    mulan_xml(tmp_path / "names.xml", ["sad", "quiet, calm"])
    rows = "".join(f"{i},slow,{i % 2},{int(i < 3)},10\n" for i in range(20))
    (tmp_path / "music.arff").write_text(HEADER + rows)
    dataset = load_mulan(tmp_path / "music.arff", labels=tmp_path / "names.xml", random_state=3)
    assert (len(dataset.training), len(dataset.test)) == (15, 5)
    assert "random_state=3" in dataset.notes[0]
    assert dataset.truth.take(dataset.test).counts().present.min() >= 1
    with pytest.raises(InvalidInputError, match=r"music\.xml is missing.*Mulan project"):
        load_mulan(tmp_path / "music.arff")


def test_missing_feature_and_wrong_labels_are_refused(pair):
    (pair / "music-train.arff").write_text(HEADER + "0.5,slow,1,0,20\n?,quick,1,1,10\n")
    with pytest.raises(InvalidInputError, match=r"line 10: the feature 'loudness' is missing"):
        load_mulan(pair / "music")
    (pair / "music-train.arff").write_text(HEADER + "0.5,slow,1,0,20\n")
    mulan_xml(pair / "music.xml", ["sad", "glad"])
    with pytest.raises(InvalidInputError, match=r"no attribute for 1 of the labels: 'glad'"):
        load_mulan(pair / "music")
    mulan_xml(pair / "music.xml", ["kind of beat"])
    with pytest.raises(InvalidInputError, match=r"'kind of beat' must be 0 or 1"):
        load_mulan(pair / "music")


def test_sides_must_have_the_same_attributes(pair):
    (pair / "music-test.arff").write_text(HEADER.replace("loudness", "noise") + "1,slow,0,0,10\n")
    with pytest.raises(InvalidInputError, match=r"music-test\.arff has other features"):
        load_mulan(pair)
    (pair / "music-test.arff").unlink()
    with pytest.raises(InvalidInputError, match=r"music-test\.arff is missing"):
        load_mulan(pair)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<labels><label name='sad'>", "line 1, column 27: malformed XML"),
        ("<labels></labels>", "names no label"),
        ("<labels><label/></labels>", "found no name"),
        ('<!DOCTYPE l [<!ENTITY a "x">]><l><label name="&a;"/></l>', "declares entities"),
    ],
)
def test_bad_label_file_is_refused(pair, text, problem):
    (pair / "music.xml").write_text(text)
    with pytest.raises(InvalidInputError, match=problem):
        load_mulan(pair)


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_arrays(tmp_path):
    X, Y = np.arange(8.0).reshape(4, 2), np.array([[1, 0], [np.nan, 1], [0, 0], [1, 1]])
    split = np.array(["train", "test", "train", "test"])
    dataset = load_mulan(save(tmp_path / "a.npz", X=X, Y=Y, split=split, labels=["x", "y"]))
    np.testing.assert_array_equal(dataset.truth.to_array(), Y)
    assert dataset.truth.labels == ("x", "y")
    assert dataset.test.tolist() == [1, 3]
    dataset = load_mulan(save(tmp_path / "b.npz", X=X, Y=Y), test_share=0.5)
    assert len(dataset.test) == 2
    assert dataset.truth.labels == ("label 1", "label 2")


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"X": np.ones((2, 1))}, "lacks the arrays 'Y'"),
        ({"X": np.ones((2, 1)), "Y": np.ones((3, 1))}, "one row for each item"),
        ({"X": np.ones((2, 1)), "Y": np.full((2, 1), 2)}, "2"),
        ({"X": np.array([[np.nan], [1]]), "Y": np.ones((2, 1))}, "finite"),
        ({"X": np.array([[1e300], [1]]), "Y": np.ones((2, 1))}, "too large"),
        ({"X": np.array([["a"], ["b"]]), "Y": np.ones((2, 1))}, "must be numbers"),
        ({"X": np.ones((2, 1)), "Y": np.array([["1"], ["0"]])}, "Y must hold 1, 0 and NaN"),
        ({"X": np.ones((2, 1)), "Y": np.ones((2, 1)), "split": ["train"]}, "each of the 2 rows"),
        ({"X": np.ones((2, 1)), "Y": np.ones((2, 1)), "split": ["train", "x"]}, "found 'x'"),
        ({"X": np.ones((2, 1)), "Y": np.ones((2, 1)), "labels": ["a", "b"]}, "found 2 labels"),
        ({"X": np.array([[{}], [{}]]), "Y": np.ones((2, 1))}, "plain arrays"),
    ],
)
def test_bad_arrays_are_refused(tmp_path, arrays, problem):
    with pytest.raises(InvalidInputError, match=problem):
        load_mulan(save(tmp_path / "bad.npz", **arrays))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"no archive"])
def test_damaged_archive_is_refused(tmp_path, content):
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"bad\.npz cannot be read"):
        load_mulan(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("emotions", (391, 202, 6, 72)),
        ("scene", (1211, 1196, 6, 294)),
        ("yeast", (1500, 917, 14, 103)),
        ("bibtex", (4880, 2515, 159, 1836)),
        ("birds", (322, 323, 19, 260)),
        ("flags", (129, 65, 7, 19)),
        ("corel5k_mulan", (4500, 500, 374, 499)),
        ("cal500", (376, 126, 174, 68)),
    ],
)
def test_real_sets_have_their_known_sizes(data_folder, name, sizes):
    path = data_folder / "mulan" / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"no set at {path}")
    dataset = load_mulan(path)
    found = (len(dataset.training), len(dataset.test), dataset.truth.n_labels)
    assert (*found, dataset.features.visual.shape[1]) == sizes
    assert dataset.truth.is_complete


def test_a_split_of_other_words_is_refused_and_not_redrawn(tmp_path):
    arrays = {"X": np.eye(4), "Y": np.array([[1], [0], [1], [0]])}
    path = save(tmp_path / "set.npz", **arrays, split=np.array(["train", "val", "test", "test"]))
    with pytest.raises(InvalidInputError, match="val"):
        load_mulan(path)
