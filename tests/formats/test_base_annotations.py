import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, Annotations
from tagloom.io import natural_order

original = st.lists(
    st.builds(
        Annotation,
        st.text(max_size=3),
        st.text(max_size=3),
        st.booleans(),
        st.none() | st.floats(0, 1),
    ),
    unique_by=lambda one: one[:2],
)


@given(original, st.randoms())
def test_order_makes_no_difference(listed, random):
    shuffled = random.sample(listed, len(listed))
    assert Annotations.of(shuffled) == Annotations.of(listed)
    assert list(Annotations.of(shuffled)) == sorted(
        listed, key=lambda one: (natural_order(one.image), one.tag)
    )
    assert len(Annotations.of(listed)) == len(listed)


@given(original)
def test_by_image_holds_everything_once(listed):
    everything = Annotations.of(listed, images=["silent"])
    table = everything.by_image()
    assert [one for entries in table.values() for one in entries] == list(everything)
    assert tuple(table) == everything.images


def test_same_words_of_others_are_not_equal():
    a = Annotations.of([Annotation("a", "x")])
    assert a != Annotations.of([Annotation("a", "x", False)])
    assert a != Annotations.of([Annotation("a", "x", True, 0.5)])
    assert a != Annotations.of([Annotation("a", "x")], tags=["y"])
    assert a != "a"


def test_to_labels_takes_the_word_of_people_only():
    everything = Annotations.of(
        [
            Annotation("a.jpg", "sea"),
            Annotation("b.jpg", "sea", False),
            Annotation("b.jpg", "sky", True, 0.9),
            Annotation("gone.jpg", "sky"),
        ]
    )
    known = everything.to_labels(["b.jpg", "new.jpg", "a.jpg"])
    nan = np.nan
    np.testing.assert_array_equal(known.to_array(), [[0, nan], [nan, nan], [1, nan]])
    closed = everything.to_labels(["b.jpg", "a.jpg"], unlisted="absent")
    np.testing.assert_array_equal(closed.to_array(), [[0, 0], [1, 0]])
    assert everything.to_labels(["a.jpg"], unlisted=0.5).unlisted_weight == 0.5
    with pytest.raises(InvalidInputError, match="unlisted must be"):
        everything.to_labels(["a.jpg"], unlisted="maybe")


def test_nonsense_is_refused():
    with pytest.raises(InvalidInputError, match="may be annotated once"):
        Annotations.of([Annotation("a", "x"), Annotation("a", "x", False)])
    for confidence in (1.5, -0.1, float("nan")):
        with pytest.raises(InvalidInputError, match=r"in \[0, 1\]"):
            Annotations.of([Annotation("a", "x", True, confidence)])
