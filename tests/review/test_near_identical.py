"""Near-identical pictures stand out from the similar ones around them."""

import numpy as np
import pytest

from tagloom.review.near_identical import NearIdentical


def at_cosine(rng, x, cosine):
    """A vector at a given cosine to x."""
    noise = rng.normal(size=x.shape)
    noise -= (noise @ x) / (x @ x) * x
    return cosine * x / np.linalg.norm(x) + np.sqrt(1 - cosine**2) * noise / np.linalg.norm(noise)


@pytest.fixture
def visual():
    """60 unlike pictures; 60 and 61 show what 0 does, 62 is similar to 1, 63 to 81 are sunsets."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 400))
    sunset = rng.normal(size=400)
    more = [at_cosine(rng, x[0], 0.97), at_cosine(rng, x[0], 0.9), at_cosine(rng, x[1], 0.8)]
    # Each at 0.95 from the middle, and so at about 0.9 from every other one.
    sunsets = [at_cosine(rng, sunset, 0.95) for _ in range(19)]
    scale = rng.uniform(0.1, 10, size=(82, 1))
    return (scale * np.vstack([x, *more, *sunsets])).astype(np.float32)


def test_shots_of_one_scene_are_found_most_similar_first(visual):
    assert NearIdentical(visual).of(0) == [60, 61]
    assert 0 in NearIdentical(visual).of(60)


def test_similar_pictures_are_not_near_identical(visual):
    found = NearIdentical(visual)
    assert found.of(1) == []
    assert found.of(62) == []


def test_among_many_sunsets_none_stands_out_but_the_same_one_twice(visual):
    found = NearIdentical(visual)
    assert [found.of(i) for i in range(63, 82)] == [[]] * 19
    again = NearIdentical(np.vstack([visual, visual[70]]))
    assert again.of(70) == [82]


def test_it_is_mutual(visual):
    found = NearIdentical(visual)
    pairs = {(i, j) for i in range(len(visual)) for j in found.of(i)}
    assert pairs == {(j, i) for i, j in pairs}


@pytest.mark.parametrize("n", [1, 2, 5])
def test_small_collections_and_empty_features_have_none(n):
    assert NearIdentical(np.zeros((n, 3), dtype=np.float32)).of(0) == []
