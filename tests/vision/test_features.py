import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.vision import Features, join_features, load_features

quick = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# numpy drops NUL characters at the end of a string; a file's name has none.
names = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=12)


def features(items=("a", "b"), concepts=("x", "y", "z"), seed=0):
    rng = np.random.default_rng(seed)
    posteriors = rng.random((len(items), len(concepts)), dtype=np.float32)
    return Features(list(items), rng.random((len(items), 4)), posteriors, list(concepts))


@quick
@given(items=st.lists(names, unique=True, max_size=5), concepts=st.lists(names, unique=True))
def test_what_is_saved_comes_back(tmp_path, items, concepts):
    before = features(items, concepts)
    before.save(tmp_path / "f.npz")
    after = load_features(tmp_path / "f.npz")
    assert after.items == before.items
    assert after.concepts == before.concepts
    np.testing.assert_array_equal(after.visual, before.visual)
    np.testing.assert_array_equal(after.posteriors, before.posteriors)


def test_names_that_are_no_unicode_come_back(tmp_path):
    features(["bad\udcff.png", "new\nline"]).save(tmp_path / "f.npz")
    assert load_features(tmp_path / "f.npz").items == ["bad\udcff.png", "new\nline"]


def test_equal_features_give_equal_bytes(tmp_path):
    features().save(tmp_path / "one.npz")
    features().save(tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"items": ["a"]}, "one row per item; found 1 items, 2 visual, 2 posteriors"),
        ({"items": ["a", "a"]}, "'items' must differ from each other; repeated: 'a'"),
        ({"concepts": ["x"]}, "found 3 columns and 1 concepts"),
        ({"concepts": ["x", "x", "y"]}, "'concepts' must differ"),
        ({"visual": np.zeros(2)}, r"'visual' must be a matrix .* got shape \(2,\)"),
        ({"visual": [["a"], ["b"]]}, "'visual' must hold numbers"),
        ({"visual": [[1.0, np.nan], [0, 0]]}, "row 0, column 1 is nan"),
    ],
)
def test_what_does_not_fit_is_named(changes, message):
    good = features()
    values = {
        "items": good.items,
        "visual": good.visual,
        "posteriors": good.posteriors,
        "concepts": good.concepts,
    }
    with pytest.raises(InvalidInputError, match=message):
        Features(**(values | changes))


def test_joining_puts_posteriors_side_by_side():
    one = features(concepts=("lake", "cat"), seed=1)
    other = features(concepts=("road", "lake"), seed=2)
    joined = join_features([one, other], ["imagenet", "places"])
    assert joined.concepts == ["lake (imagenet)", "cat", "road", "lake (places)"]
    np.testing.assert_array_equal(joined.posteriors[:, :2], one.posteriors)
    np.testing.assert_array_equal(joined.posteriors[:, 2:], other.posteriors)
    np.testing.assert_array_equal(joined.visual, one.visual)
    both = join_features([one, other], ["imagenet", "places"], visual="all")
    np.testing.assert_array_equal(both.visual[:, 4:], other.visual)


def test_features_of_other_items_are_not_joined():
    with pytest.raises(InvalidInputError, match="two and one are of different items"):
        join_features([features(), features(["b", "a"])], ["one", "two"])
    with pytest.raises(InvalidInputError, match="one source name per part"):
        join_features([features()], [])
