import numpy as np
import pytest
from layouts import corel5k

from tagloom.datasets import load_corel5k
from tagloom.errors import InvalidInputError

TRAINING = [("1000", [1, 2]), ("161003", [2, 4])]
TEST = [("1001", [2]), ("161092", [1, 3]), ("161092", [1, 3])]
WORDS = ["city", "sky", "sun", "jet", "never"]


def test_words_of_both_sides_and_the_repeated_picture(tmp_path):
    dataset = load_corel5k(corel5k(tmp_path, TRAINING, TEST, WORDS), check_counts=False)
    assert dataset.items == (
        "1000/1000.jpeg",
        "161000/161003.jpeg",
        "1000/1001.jpeg",
        "161000/161092.jpeg",
    )
    assert dataset.truth.labels == ("city", "sky")
    assert dataset.truth.to_array().tolist() == [[1, 1], [0, 1], [0, 1], [1, 0]]
    assert dataset.training.tolist() == [0, 1]
    assert "161092 twice" in dataset.notes[0]
    assert "3 words" in dataset.notes[1]
    assert "efficientnet_lite0.npz" in dataset.notes[2]


def test_stored_features_follow_the_items(tmp_path):
    root = corel5k(tmp_path, TRAINING, TEST, WORDS)
    features = load_corel5k(root, check_counts=False).features
    assert features.visual[:, 0].tolist() == [1000, 161003, 1001, 161092]
    np.testing.assert_allclose(features.posteriors.sum(axis=1), 1, rtol=1e-5)
    assert len(features.concepts) == 1000
    assert load_corel5k(root, features=None, check_counts=False).features is None
    (root / "efficientnet_lite0.npz").write_bytes(b"PK no zip")
    with pytest.raises(InvalidInputError, match=r"efficientnet_lite0\.npz cannot be read"):
        load_corel5k(root, check_counts=False)
    (root / "efficientnet_lite0.npz").unlink()
    with pytest.raises(InvalidInputError, match=r"efficientnet_lite0\.npz is missing"):
        load_corel5k(root, check_counts=False)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("1000 1\n161003 6\n", "line 2: expected numbers of words from 1 to 5, found 6"),
        ("1000 0\n", "line 1: expected numbers of words"),
        ("1000 1 one\n", "line 1: expected an integer, found 'one'"),
        ("1000 1\n1000 2\n", "line 2: picture 1000 is listed a second time, with other words"),
        ("1000 1\n1001 2\n", "Picture 1001 is in training_label and in test_label"),
    ],
)
def test_bad_labels_are_named(tmp_path, content, problem):
    root = corel5k(tmp_path, TRAINING, TEST, WORDS)
    (root / "training_label").write_text(content)
    with pytest.raises(InvalidInputError, match=problem):
        load_corel5k(root, check_counts=False)


@pytest.mark.parametrize("name", ["words", "training_label", "test_label"])
def test_missing_file_is_named(tmp_path, name):
    root = corel5k(tmp_path, TRAINING, TEST, WORDS)
    (root / name).unlink()
    with pytest.raises(InvalidInputError, match=f"{name} is missing"):
        load_corel5k(root)


def test_text_with_byte_order_mark_and_carriage_returns(tmp_path):
    root = corel5k(tmp_path, TRAINING, TEST, WORDS)
    (root / "words").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(WORDS).encode())
    assert load_corel5k(root, check_counts=False).truth.labels == ("city", "sky")
    (root / "words").write_bytes(b"city\nsk\xff\n")
    with pytest.raises(InvalidInputError, match=r"words, line 2: expected text in UTF-8"):
        load_corel5k(root, check_counts=False)


def test_the_real_set(data_folder):
    root = data_folder / "corel5k"
    if not (root / "words").is_file():
        pytest.skip(f"no Corel5k at {root}")
    dataset = load_corel5k(root)
    assert (len(dataset.training), len(dataset.test), dataset.truth.n_labels) == (4500, 499, 260)
    assert dataset.truth.n_present == 16979
    with np.load(root / "efficientnet_lite0.npz") as stored:
        np.testing.assert_array_equal(dataset.truth.to_array(), stored["Y"])
        assert list(dataset.truth.labels) == stored["words"].tolist()
        np.testing.assert_array_equal(
            np.isin(np.arange(4999), dataset.training), stored["split"] == "train"
        )
    assert dataset.picture(4998).is_file()
