"""Tables of polars and pyarrow, sparse matrices and tensors as labels."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, as_partial_labels, named_like

NAN = float("nan")
COLUMNS = {"beach": [1, None, 0], "sea": [True, False, None], "dog": [None, 1.0, NAN]}
EXPECTED = PartialLabels.from_array(
    [[1, 1, NAN], [NAN, 0, 1], [0, NAN, NAN]], labels=["beach", "sea", "dog"]
)


@pytest.fixture(params=["polars", "pyarrow"])
def table(request):
    """What makes a table of columns, of either library."""
    module = pytest.importorskip(request.param)
    return module.DataFrame if request.param == "polars" else module.table


def test_null_is_unknown(table):
    assert as_partial_labels(table(COLUMNS)) == EXPECTED
    assert PartialLabels.from_frame(table({"a": [1, 0], "b": [0, 0]})).is_complete


def test_weights_of_a_table_are_read_by_column(table):
    labels, weights = table({"a": [1, None], "b": [0, 1]}), table({"a": [2.0, 1], "b": [3.0, 4]})
    known = PartialLabels.from_frame(labels, weights=weights)
    np.testing.assert_array_equal(known.weights(), [[2, 3], [0, 4]])
    with pytest.raises(InvalidInputError, match="same columns"):
        PartialLabels.from_frame(labels, weights=table({"b": [1, 1], "a": [1, 1]}))


def test_wrong_values_are_refused_with_their_place(table):
    with pytest.raises(InvalidInputError, match=r"found 'yes' at row 1, column 1 \(label 'sea'\)"):
        as_partial_labels(table({"beach": [1, 0], "sea": [None, "yes"]}))
    with pytest.raises(InvalidInputError, match=r"use PartialLabels\.from_frame"):
        PartialLabels.from_array(table(COLUMNS))
    with pytest.raises(InvalidInputError, match="pass the column that holds"):
        PartialLabels.from_tags(table({"tags": [["sea"]]}), unlisted="absent")


def test_columns_of_lists_are_tag_lists(table):
    column = table({"tags": [["sea", "beach"], [], ["sea"]]})["tags"]
    known = PartialLabels.from_tags(column, unlisted="absent")
    np.testing.assert_array_equal(known.to_array(), [[1, 1], [0, 0], [0, 1]])
    assert known.labels == ("beach", "sea")


def test_answers_come_in_the_library_of_the_question(table):
    given = table({"x": [0.5, 1.5]})
    answer = named_like(given, np.array([[1.0, 2.0], [3.0, 4.0]]), ["sea", 7])
    assert type(answer) is type(given)
    assert list(answer["sea"].to_numpy()) == [1.0, 3.0]
    assert list(answer["7"].to_numpy()) == [2.0, 4.0]


def test_stored_zeros_of_a_sparse_matrix_are_absences():
    Y = sparse.coo_array(([1, 0, 1], ([0, 0, 2], [0, 1, 1])), shape=(3, 2))
    for stored in (Y, Y.tocsr(), Y.tocsc()):
        expected = [[1, 0], [NAN, NAN], [NAN, 1]]
        np.testing.assert_array_equal(as_partial_labels(stored).to_array(), expected)


def test_a_sparse_matrix_without_stored_zeros_does_not_say_what_is_unknown():
    Y = sparse.csr_array([[1, 0], [0, 1]])
    with pytest.raises(InvalidInputError, match=r"from_sparse\(Y, mask\)"):
        as_partial_labels(Y)
    assert PartialLabels.from_sparse(Y).n_absent == 0


def test_arrays_of_other_libraries_are_read():
    strict = pytest.importorskip("array_api_strict")
    given = strict.asarray([[1.0, NAN], [0.0, 1.0]])
    np.testing.assert_array_equal(as_partial_labels(given).to_array(), [[1, NAN], [0, 1]])


def test_rows_and_labels_are_chosen_by_position():
    for rows in ([2, 0], np.array([2, 0]), np.array([False, True, True]), slice(1, None), []):
        array = np.asarray(rows, dtype=int) if isinstance(rows, list) else rows
        np.testing.assert_array_equal(EXPECTED[rows].to_array(), EXPECTED.to_array()[array])
    np.testing.assert_array_equal(EXPECTED[[1], ...].to_array(), [[NAN, 0, 1]])
    assert EXPECTED[:, [2, 0]].labels == ("dog", "beach")
    assert EXPECTED[..., :1].labels == ("beach",)
    assert len(EXPECTED) == 3
    assert EXPECTED.ndim == 2


def test_repeated_rows_lose_their_names():
    frame = pd.DataFrame({"sea": [1, 0]}, index=["a.jpg", "b.jpg"])
    known = PartialLabels.from_frame(frame)
    assert known[[1, 0]].items == ("b.jpg", "a.jpg")
    twice = known[[1, 1]]
    assert twice.items is None
    np.testing.assert_array_equal(twice.to_array(), [[0], [0]])


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (1, r"write known\[\[1\]\], or known\[1:2\]"),
        (([0], [0], [0]), "two dimensions"),
        ([5], "no row 5 among 3"),
        (["sea"], "by a list of positions"),
    ],
)
def test_what_cannot_be_chosen_is_refused(key, message):
    with pytest.raises(InvalidInputError, match=message):
        EXPECTED[key]


def test_it_is_not_walked_through():
    with pytest.raises(TypeError, match="not iterable"):
        iter(EXPECTED)


def test_unknown_entries_enter_an_array_only_when_asked_for():
    with pytest.raises(InvalidInputError, match=r"call to_array\(\)"):
        np.asarray(EXPECTED)
    with pytest.raises(InvalidInputError, match=r"call to_array\(\)"):
        np.asarray(EXPECTED, dtype=int)
    np.testing.assert_array_equal(np.asarray(EXPECTED, dtype=float), EXPECTED.to_array())
    assert np.isnan(np.asarray(EXPECTED, dtype=object)[1, 0])
    complete = PartialLabels.from_array([[1, 0]])
    np.testing.assert_array_equal(np.asarray(complete), [[1, 0]])


TABLES = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 4)),
    elements=st.sampled_from([0, 1, NAN]),
)


@given(TABLES)
@settings(max_examples=50, deadline=None)
def test_every_form_of_a_table_says_the_same(Y):
    expected = PartialLabels.from_array(Y)
    rows, columns = np.nonzero(~np.isnan(Y))
    stored = sparse.coo_array((Y[rows, columns], (rows, columns)), shape=Y.shape)
    assert PartialLabels.from_sparse(stored.tocsr()) == expected
    if (Y == 0).any():
        assert as_partial_labels(stored) == expected
    named = PartialLabels.from_array(Y, labels=[f"l{j}" for j in range(Y.shape[1])])
    lists = {f"l{j}": [None if np.isnan(y) else y for y in Y[:, j]] for j in range(Y.shape[1])}
    for library, make in (("polars", "DataFrame"), ("pyarrow", "table")):
        assert as_partial_labels(getattr(pytest.importorskip(library), make)(lists)) == named


@given(TABLES, st.data())
@settings(max_examples=50, deadline=None)
def test_slices_are_those_of_the_array(Y, data):
    known = PartialLabels.from_array(Y)
    n, c = Y.shape
    rows = data.draw(st.lists(st.integers(-n, n - 1), max_size=8) | st.slices(n))
    columns = data.draw(st.lists(st.integers(0, c - 1), unique=True))
    at = rows if isinstance(rows, slice) else np.array(rows, dtype=int)
    np.testing.assert_array_equal(known[rows].to_array(), Y[at])
    expected = Y[at][:, np.array(columns, dtype=int)]
    np.testing.assert_array_equal(known[rows, columns].to_array(), expected)
