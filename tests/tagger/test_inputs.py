import numpy as np
import pytest

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.tagger import align
from tagloom.tagger.inputs import append_features, encode_pictures
from tagloom.vision import EfficientNetLite, Features


def test_rows_follow_the_pictures():
    known = PartialLabels.from_array(
        [[1, 0], [np.nan, 1], [0, 1]], labels=["sea", "sky"], items=["c", "a", "gone"]
    )
    aligned = align(known, ["a", "b", "c"])
    np.testing.assert_array_equal(aligned.known.to_array(), [[np.nan, 1], [np.nan] * 2, [1, 0]])
    assert aligned.known.items == ("a", "b", "c")
    assert aligned.without_picture == ["gone"]
    assert aligned.without_labels == ["b"]


def test_weights_come_along():
    known = PartialLabels.from_array([[1], [0]], items=["b", "a"], weights=[[0.5], [2.0]])
    np.testing.assert_array_equal(align(known, ["a", "b"]).known.weights(), [[2.0], [0.5]])


def test_a_picture_nobody_tagged_is_unknown_even_where_unlisted_means_absent():
    known = PartialLabels.from_tags({"a": ["sea"], "b": []}, unlisted=0.3, labels=["sea", "sky"])
    known = known.with_hidden([1], [0])
    aligned = align(known, ["b", "new", "a"]).known
    np.testing.assert_array_equal(aligned.states(), [[-1, 0], [-1, -1], [1, 0]])
    np.testing.assert_array_equal(aligned.weights(), [[0, 0.3], [0, 0], [1, 0.3]])


def test_without_names_position_serves():
    known = PartialLabels.from_array([[1], [0]])
    assert align(known, ["a", "b"]).known is known
    with pytest.raises(InvalidInputError, match="one row for each of the 3 pictures; got 2"):
        align(known, ["a", "b", "c"])


def test_names_that_never_match_are_an_error_that_shows_both_sides():
    known = PartialLabels.from_array([[1]], items=["/abs/a.jpg"])
    with pytest.raises(InvalidInputError, match=r"'/abs/a.jpg'; pictures are 'a.jpg'"):
        align(known, ["a.jpg"])


def test_pictures_are_appended_once_and_keep_their_features():
    first = Features(["a", "b"], [[1.0], [2.0]], [[0.5], [0.5]], ["x"])
    second = Features(["b", "c"], [[9.0], [3.0]], [[0.1], [0.2]], ["x"])
    both = append_features(first, second)
    assert both.items == ["a", "b", "c"]
    np.testing.assert_array_equal(both.visual, [[1.0], [2.0], [3.0]])
    other = Features(["c"], [[3.0]], [[0.2]], ["y"])
    with pytest.raises(InvalidInputError, match="encoded by another encoder"):
        append_features(first, other)


def test_features_need_no_encoder_but_remember_which_was_named():
    features = Features(["a"], [[1.0]], [[0.5]], ["x"])
    assert encode_pictures(features, None) == (features, None, None)
    lite0 = EfficientNetLite()
    assert encode_pictures(features, lite0).encoder == lite0.metadata()
    fitted = {"name": "another"}
    assert encode_pictures(features, lite0, fitted_with=fitted).encoder is fitted
