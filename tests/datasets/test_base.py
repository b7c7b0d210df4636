import numpy as np
import pytest
from layouts import picture

from tagloom.datasets import Dataset
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.vision import Encoder, Features, Framing
from tagloom.vision.encoders.base import fingerprint


class MeanColour(Encoder):
    name = "mean-colour"
    framing = Framing(8)
    side_needed = 16
    width = 3
    concepts = ("red", "green", "blue")
    identity = fingerprint({"mean": "colour"})

    def prepare(self, picture):
        return self.framing.apply(picture)

    def encode(self, prepared):
        mean = prepared.reshape(-1, 3).mean(axis=0).astype(np.float32)
        return mean, (mean / max(mean.sum(), 1)).astype(np.float32)


def truth(*items):
    return PartialLabels.from_array(np.eye(len(items)), items=items)


@pytest.mark.parametrize(
    ("training", "test", "problem"),
    [
        ([0, 1], [1], "holds a row twice"),
        ([0, 0], [1], "holds a row twice"),
        ([0], [3], "rows from 0 to 2"),
        ([-1], [0], "rows from 0 to 2"),
        ([True, False, True], [1], "np.flatnonzero"),
        ([0.5], [1], "integers"),
        ([[0, 1]], [2], "shape"),
    ],
)
def test_split_that_cannot_be_meant_is_refused(training, test, problem):
    with pytest.raises(InvalidInputError, match=problem):
        Dataset("toy", truth("a", "b", "c"), training, test)


def test_empty_sides_and_single_notes_are_taken():
    dataset = Dataset("toy", truth("a", "b"), [0, 1], [], notes="one note")
    assert dataset.test.dtype == np.int64
    assert dataset.notes == ("one note",)


def test_truth_must_name_items_and_features_must_follow_them():
    with pytest.raises(InvalidInputError, match="name its items"):
        Dataset("toy", PartialLabels.from_array(np.eye(2)), [0], [1])
    features = Features(["b", "a"], np.ones((2, 1)), np.ones((2, 0)), [])
    with pytest.raises(InvalidInputError, match="in their order"):
        Dataset("toy", truth("a", "b"), [0], [1], features=features)
    with pytest.raises(InvalidInputError, match="listed tags of toy must be of the items"):
        Dataset("toy", truth("a", "b"), [0], [1], listed=truth("b", "a"))
    with pytest.raises(InvalidInputError, match=r"shape \(2, 2\) of its truth; found \(2, 3\)"):
        Dataset("toy", truth("a", "b"), [0], [1], salience=np.ones((2, 3)))


def test_set_of_numbers_has_no_pictures():
    dataset = Dataset("toy", truth("a", "b"), [0], [1])
    with pytest.raises(InvalidInputError, match="no pictures"):
        dataset.picture(0)
    with pytest.raises(InvalidInputError, match="neither features nor pictures"):
        dataset.embedded()


def test_embedded_leaves_out_unreadable_pictures_and_keeps_the_split(tmp_path):
    items = ["x/d.png", "b.png", "gone.png", "a.png", "broken.png"]
    for seed, item in enumerate(items):
        picture(tmp_path / item, seed)
    (tmp_path / "gone.png").unlink()
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    picture(tmp_path / "unlisted.png", 9)
    whole = Dataset(
        "toy",
        truth(*items),
        [0, 2, 3],
        [1, 4],
        folder=tmp_path,
        listed=truth(*items).select([3]),
        salience=np.arange(25.0).reshape(5, 5),
    )
    seen = whole.embedded(MeanColour(), cache=tmp_path / "cache")
    assert seen.items == ("x/d.png", "b.png", "a.png")
    assert [seen.items[row] for row in seen.training] == ["x/d.png", "a.png"]
    assert [seen.items[row] for row in seen.test] == ["b.png"]
    np.testing.assert_array_equal(seen.truth.to_array(), np.eye(5)[[0, 1, 3]])
    np.testing.assert_array_equal(seen.listed.to_array(), np.eye(5)[[0, 1, 3], 3:4])
    np.testing.assert_array_equal(seen.salience[:, 0], [0, 5, 15])
    assert "2 pictures" in seen.notes[0]
    assert "'broken.png'" in seen.notes[0]
    alone = Dataset("one", truth("a.png"), [0], [], folder=tmp_path)
    again = alone.embedded(MeanColour(), cache=tmp_path / "cache")
    np.testing.assert_array_equal(again.features.visual[0], seen.features.visual[2])
    assert again.embedded() is again


def test_no_readable_picture_at_all_is_an_error(tmp_path):
    (tmp_path / "note.txt").write_text("hello")
    with pytest.raises(InvalidInputError, match=r"None of the 1 pictures.*'a\.png'"):
        Dataset("toy", truth("a.png"), [0], [], folder=tmp_path).embedded(
            MeanColour(), cache=tmp_path / "cache"
        )
