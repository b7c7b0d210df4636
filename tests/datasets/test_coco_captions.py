import numpy as np
import pytest
from layouts import coco_captions

from tagloom.datasets import load_coco_captions
from tagloom.errors import InvalidInputError

LISTED = [[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 0]]
TRUTH = [[0, 1], [1, 0], [1, 1], [0, 0]]


def test_objects_are_the_truth_and_captions_the_listed_tags(tmp_path):
    dataset = load_coco_captions(coco_captions(tmp_path, LISTED, TRUTH))
    assert dataset.items == ("0.jpg", "1.jpg", "2.jpg", "3.jpg")
    assert dataset.truth.labels == ("cat", "stop sign")
    np.testing.assert_array_equal(dataset.truth.to_array(), TRUTH)
    assert dataset.listed.labels == ("sky", "cat", "red")
    np.testing.assert_array_equal(dataset.listed.to_array() == 1, np.array(LISTED, dtype=bool))
    assert dataset.listed.n_absent == 0
    assert dataset.features.visual[:, 0].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(dataset.features.posteriors.sum(axis=1), 1, rtol=1e-5)
    assert sorted([*dataset.training, *dataset.test]) == [0, 1, 2, 3]
    assert "1 of the 2 objects" in dataset.notes[1]


def test_without_stored_features_only_photographs_count(tmp_path):
    root = coco_captions(tmp_path, LISTED, TRUTH, photos=[1, 3])
    dataset = load_coco_captions(root, features=None)
    assert dataset.items == ("1.jpg", "3.jpg")
    assert dataset.features is None
    assert dataset.picture(1).is_file()
    np.testing.assert_array_equal(dataset.truth.to_array(), [TRUTH[1], TRUTH[3]])
    assert dataset.listed.counts().present.tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"listed": np.zeros((4, 2))}, r"listed must hold 0 or 1 for each of 4 ids and 3 words"),
        ({"truth": np.full((4, 2), 2)}, "truth must hold 0 or 1"),
        ({"truth": np.full((4, 2), np.nan)}, "truth must hold 0 or 1"),
        ({"logits": np.zeros((4, 7))}, r"features\.npz cannot be used"),
        ({"pooled": np.zeros((3, 4))}, r"features\.npz cannot be used"),
        ({"ids": np.array(["a", "a", "b", "c"])}, "'a'"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path, changes, problem):
    root = coco_captions(tmp_path, LISTED, TRUTH, changed=changes)
    with pytest.raises(InvalidInputError, match=problem):
        load_coco_captions(root)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"features\.npz is missing.*truth_labels"):
        load_coco_captions(tmp_path)
    np.savez(tmp_path / "features.npz", ids=np.array(["a"]))
    with pytest.raises(InvalidInputError, match="lacks the arrays"):
        load_coco_captions(tmp_path)
    root = coco_captions(tmp_path / "bare", LISTED, TRUTH)
    with pytest.raises(InvalidInputError, match="photos is missing"):
        load_coco_captions(root, features=None)


def test_the_real_set(data_folder):
    root = data_folder / "coco_captions"
    if not (root / "features.npz").is_file():
        pytest.skip(f"no captioned photographs at {root}")
    dataset = load_coco_captions(root)
    assert dataset.truth.shape == (6000, 18)
    assert dataset.listed.shape == (6000, 143)
    assert len(set(dataset.truth.labels) & set(dataset.listed.labels)) == 13
    photographs = load_coco_captions(root, features=None)
    assert photographs.items == dataset.items[:1200]
    assert photographs.picture(1199).is_file()
