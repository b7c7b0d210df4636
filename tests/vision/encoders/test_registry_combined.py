import numpy as np
import pytest
from PIL import Image

from tagloom.errors import InvalidInputError
from tagloom.vision import CombinedEncoders


def test_features_are_concatenated(make_toy):
    one, other = make_toy("one", size=8), make_toy("other", size=2)
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8))
    expected = [member.encode(member.prepare(picture)) for member in (one, other)]
    for visual_mode, width in (("first", 3), ("all", 6)):
        both = CombinedEncoders([one, other], visual=visual_mode)
        visual, posteriors = both.encode(both.prepare(picture))
        assert len(visual) == both.width == width
        np.testing.assert_array_equal(posteriors, np.concatenate([expected[0][1], expected[1][1]]))
        np.testing.assert_array_equal(visual[:3], expected[0][0])


def test_only_shared_names_are_followed_by_their_source(make_toy):
    one, other = make_toy("one"), make_toy("other")
    other.concepts = ["road", "red", "sky"]
    assert CombinedEncoders([one, other]).concepts == [
        "red (one)",
        "green",
        "blue",
        "road",
        "red (other)",
        "sky",
    ]


def test_combinations_may_be_combined(make_toy):
    one, two, three = make_toy("one"), make_toy("two"), make_toy("three")
    nested = CombinedEncoders([CombinedEncoders([one, two]), three])
    assert nested.members == (one, two, three)
    assert nested.identity != CombinedEncoders([one, two, three]).identity


def test_what_cannot_be_combined_is_refused(make_toy):
    with pytest.raises(InvalidInputError, match=r"different names\. Got: toy, toy"):
        CombinedEncoders([make_toy(), make_toy()])
    with pytest.raises(InvalidInputError, match="Got: none"):
        CombinedEncoders([])
    with pytest.raises(InvalidInputError, match="'first' or 'all'"):
        CombinedEncoders([make_toy()], visual="last")
