import os
from pathlib import Path

import pytest
from layouts import openclipart, svg

from tagloom.datasets import load_openclipart
from tagloom.errors import InvalidInputError
from tagloom.labels import hide_per_class

DRAWINGS = {
    "animals/cat": ["Animal", " CAT ", "hash", ""],
    "animals/dog": ["animal", "dog"],
    "food/ice": ["food", "ice  cream"],
    "food/cone": ["FOOD", "Ice Cream"],
    "odd/thing": ["unique"],
}


@pytest.fixture
def root(tmp_path):
    return openclipart(tmp_path, DRAWINGS)


def test_keywords_are_normalised_counted_and_joined_with_pictures(root):
    dataset = load_openclipart(root, min_count=2)
    assert dataset.truth.labels == ("animal", "food", "ice cream")
    assert dataset.truth.to_tags() == {
        "animals/cat.png": ["animal"],
        "animals/dog.png": ["animal"],
        "food/cone.png": ["food", "ice cream"],
        "food/ice.png": ["food", "ice cream"],
    }
    assert dataset.truth.is_complete
    assert all(dataset.picture(row).is_file() for row in range(4))
    assert len(dataset.training) + len(dataset.test) == 4
    assert any("1 pictures with no keyword" in note for note in dataset.notes)
    assert any("taken to be absent" in note for note in dataset.notes)


def test_absences_can_be_hidden_one_by_one(root):
    assert hide_per_class(load_openclipart(root, min_count=2).truth, 0.5).n_known == 6


def test_the_meaning_of_unlisted_can_be_given(root):
    assert load_openclipart(root, min_count=2, unlisted="unknown").truth.n_absent == 0
    weighted = load_openclipart(root, min_count=2, unlisted=0.2)
    assert weighted.truth.unlisted_weight == 0.2
    with pytest.raises(InvalidInputError, match="unlisted"):
        load_openclipart(root, min_count=2, unlisted="maybe")


def test_links_malformed_drawings_and_entities_are_passed_over(root):
    home = root / "usr/share/openclipart"
    (home / "png/link.png").symlink_to(home / "png/food/ice.png")
    (home / "svg/link.svg").symlink_to(home / "svg/food/ice.svg")
    (home / "svg/animals/cat.svg").write_text("<svg><unclosed></svg>")
    bomb = '<!DOCTYPE s [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><svg>&b;</svg>'
    svg(home / "svg/odd/thing.svg", [], text=bomb)
    (home / "svg/animals/dog.svg").unlink()
    dataset = load_openclipart(root, min_count=2)
    assert dataset.items == ("food/cone.png", "food/ice.png")
    assert "1 links" in dataset.notes[0]
    assert "'animals/dog.png'" in dataset.notes[1]
    assert "2 drawings" in dataset.notes[2]


@pytest.mark.parametrize("below", ["usr/share/openclipart", "usr/share", "usr"])
def test_folders_below_the_root_will_do(root, below):
    assert len(load_openclipart(root / below, min_count=2).items) == 4


def test_drawings_may_be_elsewhere(root, tmp_path):
    home = root / "usr/share/openclipart"
    other = tmp_path / "other"
    other.mkdir()
    (home / "svg").rename(other / "svg")
    with pytest.raises(InvalidInputError, match=r"svg.*openclipart-svg of Debian"):
        load_openclipart(root, min_count=2)
    assert len(load_openclipart(root, svg=other, min_count=2).items) == 4
    assert len(load_openclipart(home / "png", svg=other / "svg", min_count=2).items) == 4


def test_too_high_a_count_is_an_error(root):
    with pytest.raises(InvalidInputError, match=r"min_count=20.*\('animal', 2\)"):
        load_openclipart(root)


def test_the_real_archive():
    place = os.environ.get("TAGLOOM_OPENCLIPART")
    if not place or not Path(place).is_dir():
        pytest.skip("no clip art (set TAGLOOM_OPENCLIPART to where the packages were unpacked)")
    dataset = load_openclipart(place)
    assert dataset.truth.n_items > 6000
    assert dataset.truth.n_labels > 100
    assert {"animal", "food", "flag"} <= set(dataset.truth.labels)
    assert dataset.truth.counts().present.min() >= 20
    assert dataset.picture(0).is_file()
