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
def test_integers_are_complete(dtype):
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
    ("value", "message"),
    [(0.5, "found 0.5"), (np.inf, "found inf"), (-1, "-1 is not a label state"), (2, "Y > 0")],
)
@pytest.mark.parametrize("dtype", [float, object])
def test_other_values_are_named_with_place_and_number(value, message, dtype):
    values = np.array([[1, 0, 1], [0, value, value]], dtype=dtype)
    with pytest.raises(InvalidInputError, match=message) as caught:
        PartialLabels.from_array(values, labels=["sea", "sun", "sky"])
    assert "row 1, column 1 (label 'sun')" in str(caught.value)
    assert "2 such values" in str(caught.value)


def test_minus_one_among_integers_is_explained():
    with pytest.raises(InvalidInputError, match=r"replace -1 by NaN \(unknown\) or 0 \(absent\)"):
        PartialLabels.from_array([[1, -1]])


@pytest.mark.parametrize(
    ("values", "message"),
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
def test_anything_but_a_table_is_refused(values, message):
    with pytest.raises(InvalidInputError, match=message):
        as_partial_labels(values)


def test_a_frame_keeps_its_names_or_is_refused():
    with pytest.raises(InvalidInputError, match="from_frame"):
        PartialLabels.from_array(pd.DataFrame([[1]]))
    with pytest.raises(InvalidInputError, match="expects a data frame, found list"):
        PartialLabels.from_frame([[1]])


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


def test_repeated_entries_are_merged():
    known = PartialLabels.from_entries(
        [1, 0, 1], [0, 1, 0], [True, False, True], shape=(2, 2), weights=[0.5, 1, 0.5]
    )
    assert known.states().tolist() == [[-1, 0], [1, -1]]
    assert known.weights().tolist() == [[0, 1], [0.5, 0]]


def test_contradictions_are_named_and_counted():
    with pytest.raises(InvalidInputError) as caught:
        PartialLabels.from_entries(
            [0, 0, 0, 1, 1],
            [1, 1, 1, 0, 0],
            [True, False, True, False, True],
            shape=(2, 2),
            labels=["sea", "sun"],
        )
    message = str(caught.value)
    assert message.startswith("2 entries")
    assert "row 0, column 1 (label 'sun') is present (weight 1) and absent (weight 1)" in message
    assert "row 1, column 0 (label 'sea') is absent (weight 1) and present (weight 1)" in message


def test_weights_can_contradict_and_long_lists_are_cut():
    rows = np.repeat(np.arange(9), 2)
    with pytest.raises(InvalidInputError, match=r"^9 entries.*weight 1.*weight 2.*; \.\.\.\. "):
        PartialLabels.from_entries(rows, rows, True, shape=(9, 9), weights=np.tile([1, 2], 9))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rows": [0, 2]}, "Entry 1 has row 2, but the rows of this table go from 0 to 1"),
        ({"columns": [-1, 0]}, "Entry 0 has column -1"),
        ({"rows": [0.0, 1.0]}, "integers"),
        ({"rows": [[0, 1]]}, "integers"),
        ({"rows": [0]}, "1 rows and 2 columns"),
        ({"present": [True]}, "Expected 2 values in `present`"),
        ({"present": [1, -1]}, "found .*-1.* for entry 1.*with_hidden"),
        ({"present": [1, np.nan]}, "found .*nan.* for entry 1"),
        ({"weights": [1, 1, 1]}, "Expected 2 weights"),
        ({"shape": (2,)}, "two numbers"),
        ({"shape": (2, -1)}, "two numbers"),
        ({"shape": (2, 2**31)}, "too large"),
        ({"unlisted_weight": 1.5}, "weight in .0, 1.*Got 1.5"),
        ({"unlisted_weight": True}, "Got True"),
        ({"unlisted_weight": float("nan")}, "Got nan"),
        ({"unlisted_weight": "absent"}, "Got 'absent'"),
    ],
)
def test_invalid_entries_are_refused(changed, message):
    valid = {"rows": [0, 1], "columns": [1, 0], "present": [True, False], "shape": (2, 2)}
    with pytest.raises(InvalidInputError, match=message):
        PartialLabels.from_entries(**(valid | changed))


def test_an_unsigned_or_empty_list_of_positions_is_fine():
    known = PartialLabels.from_entries(
        np.array([1], np.uint8), np.array([0], np.uint64), True, shape=(2, 2)
    )
    assert known.states().tolist() == [[-1, -1], [1, -1]]
    assert PartialLabels.from_entries([], [], [], shape=(0, 3)).n_known == 0


def test_an_absence_checked_by_hand_outweighs_the_background():
    known = PartialLabels.from_entries([0], [0], [False], shape=(1, 2), unlisted_weight=0.2)
    assert known.weights().tolist() == [[1.0, 0.2]]
    assert known.entries().present.tolist() == [False]


PRESENCES = sparse.csr_array([[1, 0, 0], [0, 0, 3]])
MASK = np.array([[True, True, False], [False, False, True]])


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.dok_array, np.array])
def test_only_the_mask_says_what_is_absent(make):
    known = PartialLabels.from_sparse(PRESENCES, make(MASK), labels=["a", "b", "c"])
    assert known.states().tolist() == [[1, 0, -1], [-1, -1, 1]]


def test_stored_zeros_are_zeros():
    stored = sparse.csr_array((np.array([0.0, 1.0]), ([0, 1], [1, 2])), shape=(2, 3))
    mask = sparse.csr_array((np.array([True, False, True]), ([0, 1, 1], [1, 1, 2])), shape=(2, 3))
    known = PartialLabels.from_sparse(stored, mask)
    assert known.states().tolist() == [[-1, 0, -1], [-1, -1, 1]]


def test_a_nonzero_outside_the_mask_is_named():
    mask = MASK.copy()
    mask[1, 2] = False
    with pytest.raises(InvalidInputError, match=r"row 1 \(item 'q'\), column 2 \(label 'c'\)"):
        PartialLabels.from_sparse(PRESENCES, mask, labels=["a", "b", "c"], items=["p", "q"])


@pytest.mark.parametrize(
    ("Y", "mask", "message"),
    [
        ([[1, 0]], [[True, True]], "expects a scipy sparse matrix, found list"),
        (sparse.csr_array([[1, -1]]), [[True, True]], "found -1 at row 0, column 1"),
        (sparse.csr_array([[1, np.nan]]), [[True, True]], "found nan at row 0, column 1"),
        (sparse.csr_array([[1, 0]]), [[True, np.nan]], "The mask must hold True or False"),
        (sparse.csr_array([[1, 0]]), [[True]], r"shape of the labels, \(1, 2\)"),
        (sparse.csr_array([[1, 2]]), [[None, True]], "The mask must be numbers or booleans"),
        (sparse.coo_array([1, 0]), [True, True], "two dimensions"),
    ],
)
def test_invalid_sparse_input_is_refused(Y, mask, message):
    with pytest.raises(InvalidInputError, match=message):
        PartialLabels.from_sparse(Y, mask)


def test_weights_are_needed_where_labels_are_known():
    weights = sparse.coo_array(([0.5, 0.25, 0.25, 9], ([0, 0, 0, 1], [0, 1, 1, 0])), shape=(2, 3))
    with pytest.raises(InvalidInputError, match=r"found 0\.0 at row 1, column 2"):
        PartialLabels.from_sparse(PRESENCES, MASK, weights=weights)
    full = weights + sparse.csr_array([[0, 0, 0], [0, 0, 2.0]])
    known = PartialLabels.from_sparse(PRESENCES, MASK, weights=full)
    assert known.weights().tolist() == [[0.5, 0.5, 0], [0, 0, 2]]


def test_presences_can_be_multiplied_without_overflow():
    present, mask = PartialLabels.from_array(np.ones((300, 1))).to_sparse()
    assert (present.T @ present).toarray() == 300
    assert mask.dtype == bool


TAGS = {"a.jpg": ["sea", "sun", "sea"], "b.jpg": [], "c.jpg": ("sun",)}


@pytest.mark.parametrize(
    ("unlisted", "code", "weight"), [("unknown", -1, 0.0), ("absent", 0, 1.0), (0.25, 0, 0.25)]
)
def test_unlisted_is_unknown_absent_or_weighted(unlisted, code, weight):
    known = PartialLabels.from_tags(TAGS, unlisted=unlisted)
    assert (known.items, known.labels) == (("a.jpg", "b.jpg", "c.jpg"), ("sea", "sun"))
    assert known.states().tolist() == [[1, 1], [code, code], [code, 1]]
    assert known.weights().tolist() == [[1, 1], [weight, weight], [weight, 1]]
    assert known.unlisted_weight == weight


@pytest.mark.parametrize("unlisted", [None, "missing", 0, 0.0, -0.5, 1.5, True, float("nan"), [1]])
def test_the_three_choices_are_explained(unlisted):
    with pytest.raises(InvalidInputError, match=r'"unknown".*"absent".*weight in \(0, 1\]'):
        PartialLabels.from_tags(TAGS, unlisted=unlisted)


def test_unlisted_has_no_default():
    with pytest.raises(InvalidInputError, match="It was not given"):
        PartialLabels.from_tags(TAGS)


def test_given_labels_keep_their_order():
    known = PartialLabels.from_tags(TAGS, unlisted="unknown", labels=["sun", "snow", "sea"])
    assert known.labels == ("sun", "snow", "sea")
    assert known.states()[0].tolist() == [1, -1, 1]
    assert known.to_tags() == {"a.jpg": ["sea", "sun"], "b.jpg": [], "c.jpg": ["sun"]}


def test_a_series_names_its_items():
    known = PartialLabels.from_tags(pd.Series(TAGS), unlisted="unknown")
    assert known == PartialLabels.from_tags(TAGS, unlisted="unknown")


def test_labels_without_common_order_keep_their_own():
    known = PartialLabels.from_tags([["a", 1]], unlisted="unknown", labels=["b", 1, "a"])
    assert known.to_tags() == [[1, "a"]]


@pytest.mark.parametrize(
    ("tags", "labels", "message"),
    [
        (TAGS, ["sun"], "tag 'sea' of item 'a.jpg'.*given labels: 'sun'.*2 tags"),
        ([[], ["sea"]], ["sun"], "tag 'sea' of item 1"),
        (["sea sun"], None, "Item 0 has the single string 'sea sun'"),
        ({"a.jpg": "sea"}, None, "Item 'a.jpg' has the single string 'sea'"),
        ("sea", None, "found 'sea'"),
        (7, None, "found 7"),
        ([["sea"], None], None, "Item 1 has None"),
        ([["sea"], float("nan")], None, "Item 1 has nan"),
        ([["sea"], [None]], None, "tag None of item 1"),
        ([["sea"], [{"label": "sea"}]], None, "of item 1 cannot be used: a tag must be a name"),
        ([[["sea"]]], ["sea"], "not among the given labels"),
        ([["sea", (["x"],)]], None, "a tag must be a name"),
        ([[(["x"],)]], ["sea"], "not among the given labels"),
        ([["sea", 1]], None, "no common order"),
        (pd.DataFrame({"tags": [["sea"]]}), None, "pass the column"),
    ],
)
def test_invalid_tags_are_refused(tags, labels, message):
    with pytest.raises(InvalidInputError, match=message):
        PartialLabels.from_tags(tags, unlisted="unknown", labels=labels)


def test_no_items_and_no_tags():
    assert PartialLabels.from_tags([], unlisted="absent").shape == (0, 0)
    assert PartialLabels.from_tags([[], []], unlisted="absent").to_tags() == [[], []]
