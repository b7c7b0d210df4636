import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, as_partial_labels

NAN = float("nan")


@pytest.mark.parametrize(
    "values",
    [
        [[1, 0], [NAN, 1]],
        [[True, False], [None, True]],
        np.array([[1, 0], [NAN, 1]], dtype=np.float16),
        np.array([[1, 0.0], [pd.NA, np.True_]], dtype=object),
        np.array([[1, 0], [pd.NaT, np.int8(1)]], dtype=object),
        np.ma.masked_array([[1, 0], [0, 1]], mask=[[0, 0], [1, 0]]),
        np.ma.masked_array([[1, 0], [99, 1]], mask=[[0, 0], [1, 0]]),
        np.ma.masked_array([[1, 0], ["?", 1]], mask=[[0, 0], [1, 0]], dtype=object),
    ],
)
def test_every_way_to_write_unknown_is_unknown(values):
    assert PartialLabels.from_array(values).states().tolist() == [[1, 0], [-1, 1]]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64])
def test_whole_numbers_are_complete(dtype):
    known = PartialLabels.from_array(np.array([[1, 0], [0, 1]], dtype=dtype))
    assert known.is_complete
    assert known.states().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "Float64", "float32", object])
def test_nullable_frames(dtype):
    column = [1, 0, None] if dtype is object else pd.array([1, 0, None], dtype=dtype)
    frame = pd.DataFrame({"sea": column, "sun": [True, False, True]}, index=list("abc"))
    known = PartialLabels.from_frame(frame)
    assert known.states().tolist() == [[1, 1], [0, 0], [-1, 1]]
    assert (known.items, known.labels) == (("a", "b", "c"), ("sea", "sun"))


def test_names_of_a_frame_survive_the_round_trip():
    columns = pd.MultiIndex.from_tuples([("scene", "sea"), ("scene", "sun")])
    index = pd.date_range("2024-01-01", periods=2)
    known = PartialLabels.from_frame(pd.DataFrame([[1, NAN], [0, 1]], index, columns))
    assert known.labels == (("scene", "sea"), ("scene", "sun"))
    assert PartialLabels.from_frame(known.to_frame()) == known


def test_text_in_a_frame_is_not_taken_for_numbers():
    frame = pd.DataFrame({"sea": ["1", "0"]}, index=["a", "b"])
    with pytest.raises(InvalidInputError, match=r"found '1' at row 0 \(item 'a'\).*2 such values"):
        PartialLabels.from_frame(frame)


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.5, "found 0.5"), (np.inf, "found inf"), (-1, "-1 is not a label state"), (2, "Y > 0")],
)
@pytest.mark.parametrize("dtype", [float, object])
def test_other_values_are_named_with_place_and_number(value, said, dtype):
    values = np.array([[1, 0, 1], [0, value, value]], dtype=dtype)
    with pytest.raises(InvalidInputError, match=said) as caught:
        PartialLabels.from_array(values, labels=["sea", "sun", "sky"])
    assert "row 1, column 1 (label 'sun')" in str(caught.value)
    assert "2 such values" in str(caught.value)


def test_minus_one_among_whole_numbers_tells_what_to_do():
    with pytest.raises(InvalidInputError, match=r"replace -1 by NaN \(unknown\) or 0 \(absent\)"):
        PartialLabels.from_array([[1, -1]])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, 0], "two dimensions"),
        (np.zeros((1, 1, 1)), "two dimensions"),
        ([[1], [0, 1]], "same length"),
        (np.array([["1", "0"]]), "numbers or booleans"),
        ([[1j]], "numbers or booleans"),
        (np.array([[[1], 0]], dtype=object), r"found \[1\]"),
        ([[1, "sea"]], "numbers or booleans"),
        (sparse.csr_array([[1, 0]]), r"from_sparse\(Y, mask\)"),
        (sparse.csr_matrix([[1, 0]]), "could be absent or unknown"),
        ([["sea"], ["sea", "sun"]], r"from_tags\(tags, unlisted"),
        ([[], {"sea"}], r"from_tags\(tags, unlisted"),
        ({"a.jpg": ["sea"]}, r"from_tags\(tags, unlisted"),
    ],
)
def test_what_is_no_table_is_refused(values, said):
    with pytest.raises(InvalidInputError, match=said):
        as_partial_labels(values)


def test_a_frame_keeps_its_names_or_is_refused():
    with pytest.raises(InvalidInputError, match="from_frame"):
        PartialLabels.from_array(pd.DataFrame([[1]]))
    with pytest.raises(InvalidInputError, match="expects a data frame, found list"):
        PartialLabels.from_frame([[1]])


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"labels": ["sea"]}, "Expected 2 label names.* found 1"),
        ({"items": ["a", "b"]}, "Expected 1 item names.* found 2"),
        ({"labels": ["sea", "sea"]}, "label names must differ.*'sea'"),
        ({"labels": ["sea", None]}, "position 1 is missing"),
        ({"labels": [NAN, "sea"]}, "position 0 is missing"),
        ({"labels": [["sea"], ["sun"]]}, "hashable"),
        ({"labels": "ab"}, "single string 'ab'"),
    ],
)
def test_names_are_checked(names, said):
    with pytest.raises(InvalidInputError, match=said):
        PartialLabels.from_array([[1, 0]], **names)


def test_names_become_plain_python():
    known = PartialLabels.from_array([[1, 0]], labels=np.array(["a", "b"]), items=np.array([7]))
    assert repr(known.labels + known.items) == "('a', 'b', 7)"


@pytest.mark.parametrize("weight", [0, -1, NAN, np.inf])
def test_weights_of_known_entries_are_positive(weight):
    weights = [[1, 5], [weight, weight]]
    with pytest.raises(InvalidInputError, match=r"row 1, column 0.*2 such weights"):
        PartialLabels.from_array([[1, 0], [0, 1]], weights=weights)
    known = PartialLabels.from_array([[1, 0], [NAN, NAN]], weights=weights)
    assert known.weights().tolist() == [[1, 5], [0, 0]]
    with pytest.raises(InvalidInputError, match=r"row 1, column 0.*1 such weights"):
        PartialLabels.from_entries([0, 1], [0, 0], True, shape=(2, 2), weights=[1, weight])


def test_weights_have_the_shape_of_the_labels():
    with pytest.raises(InvalidInputError, match=r"shape of the labels, \(1, 2\)"):
        PartialLabels.from_array([[1, 0]], weights=[1, 1])
    with pytest.raises(InvalidInputError, match="must be numbers"):
        PartialLabels.from_array([[1]], weights=[["heavy"]])
    frame = pd.DataFrame({"sea": [1], "sun": [0]})
    with pytest.raises(InvalidInputError, match="same columns"):
        PartialLabels.from_frame(frame, weights=frame[["sun", "sea"]] + 1)
    with pytest.raises(InvalidInputError, match="same index"):
        PartialLabels.from_frame(frame, weights=frame.set_axis(["a"]) + 1)
