import pytest
from layouts import MIR_POTENTIAL, MIR_RELEVANT, mirflickr

from tagloom.datasets import load_mirflickr25k
from tagloom.errors import InvalidInputError


@pytest.fixture
def root(tmp_path):
    return mirflickr(tmp_path, 11, {"sky": [1, 10, 11], "sea": [2, 3], "sea_r1": [3]})


def test_labels_and_alternate_split(root):
    dataset = load_mirflickr25k(root, check_counts=False)
    assert dataset.truth.labels == (*MIR_POTENTIAL, *(f"{name}_r1" for name in MIR_RELEVANT))
    assert dataset.truth.n_labels == 38
    assert dataset.items[:3] == ("im1.jpg", "im2.jpg", "im3.jpg")
    tags = dataset.truth.to_tags()
    assert tags["im3.jpg"] == ["sea", "sea_r1"]
    assert tags["im10.jpg"] == ["sky"]
    assert dataset.truth.is_complete
    assert [dataset.items[row] for row in dataset.test] == [f"im{n}.jpg" for n in (2, 4, 6, 8, 10)]
    assert "odd numbers for training" in dataset.notes[0]


def test_halves_and_other_places(tmp_path):
    root = mirflickr(tmp_path, 5, {}, annotations="elsewhere/lists")
    with pytest.raises(InvalidInputError, match=r"animals\.txt.*LIACS Medialab"):
        load_mirflickr25k(root, check_counts=False)
    dataset = load_mirflickr25k(
        root / "mirflickr", annotations=root / "elsewhere/lists", split="halves", check_counts=False
    )
    assert dataset.training.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("1\n12\n", r"line 2: picture 12 is annotated, but im12\.jpg"),
        ("1\nx\n", "line 2: expected an integer, found 'x'"),
        ("-1\n", "expected an integer"),
        ("0\n", "picture 0"),
    ],
)
def test_bad_numbers_are_named(root, content, problem):
    (root / "mirflickr25k_annotations_v080" / "tree.txt").write_text(content)
    with pytest.raises(InvalidInputError, match=problem):
        load_mirflickr25k(root, check_counts=False)


def test_missing_parts(root, tmp_path):
    with pytest.raises(InvalidInputError, match="12,500 training"):
        load_mirflickr25k(root)
    (root / "mirflickr25k_annotations_v080" / "tree_r1.txt").unlink()
    with pytest.raises(InvalidInputError, match=r"tree_r1\.txt is missing"):
        load_mirflickr25k(root, check_counts=False)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match=r"im<number>\.jpg"):
        load_mirflickr25k(tmp_path / "empty")
    with pytest.raises(InvalidInputError, match="split must be one of"):
        load_mirflickr25k(root, split="thirds")
