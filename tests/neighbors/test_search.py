import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors
from slow_search import slow_neighbors
from threadpoolctl import threadpool_limits

from tagloom.errors import InvalidInputError
from tagloom.neighbors import nearest_neighbors, neighbor_table


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_scikit_learn_over_several_tiles(dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9000, 12)).astype(dtype)
    queries = rng.standard_normal((700, 12)).astype(dtype)
    found = nearest_neighbors(X, 20, queries)
    reference = NearestNeighbors(n_neighbors=20, algorithm="brute").fit(X.astype(np.float64))
    distances, indices = reference.kneighbors(queries.astype(np.float64))
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-6)
    assert (found.recall, found.algorithm) == (1.0, "exact")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_small_integers_with_many_ties_are_ordered_by_position(data):
    n, d = data.draw(st.integers(2, 90)), data.draw(st.integers(1, 4))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)).astype(data.draw(st.sampled_from([np.float32, np.float64])))
    k = data.draw(st.integers(1, n - 1))
    np.testing.assert_array_equal(nearest_neighbors(X, k).indices, slow_neighbors(X, k)[0])
    queries = rng.integers(0, 3, (5, d)).astype(X.dtype)
    np.testing.assert_array_equal(
        nearest_neighbors(X, k, queries).indices, slow_neighbors(X, k, queries)[0]
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2, 9, 33, 70])
def test_every_number_of_neighbors_up_to_all_is_found(n, dtype):
    X = np.random.default_rng(n).standard_normal((n, 3)).astype(dtype)
    expected = slow_neighbors(X, n - 1)
    for k in range(1, n):
        found = nearest_neighbors(X, k)
        np.testing.assert_array_equal(found.indices, expected[0][:, :k])
        np.testing.assert_allclose(found.distances, expected[1][:, :k], rtol=1e-6)


def test_far_from_the_origin_single_precision_still_finds_the_true_order():
    rng = np.random.default_rng(1)
    X = (1e4 + rng.standard_normal((500, 8))).astype(np.float32)
    np.testing.assert_array_equal(nearest_neighbors(X, 7).indices, slow_neighbors(X, 7)[0])


def test_queries_in_double_precision_are_not_rounded_to_that_of_the_base():
    base = (1e4 + np.random.default_rng(1).standard_normal((400, 4))).astype(np.float32)
    queries = 1e4 + 1e-4 * np.random.default_rng(2).standard_normal((50, 4))
    expected = slow_neighbors(base, 5, queries)[0]
    np.testing.assert_array_equal(nearest_neighbors(base, 5, queries).indices, expected)


def test_an_outlier_does_not_spoil_the_others():
    X = np.random.default_rng(2).standard_normal((300, 5))
    X[17] = 1e12
    np.testing.assert_array_equal(nearest_neighbors(X, 5).indices, slow_neighbors(X, 5)[0])


def test_huge_and_tiny_numbers_neither_overflow_nor_vanish():
    X = np.random.default_rng(2).standard_normal((100, 5)).astype(np.float32)
    expected = nearest_neighbors(X, 5).indices
    for power in (-60, 60):
        scaled = X * np.float32(2.0) ** power
        np.testing.assert_array_equal(nearest_neighbors(scaled, 5).indices, expected)


def test_a_row_is_never_its_own_neighbor_but_its_duplicates_are():
    X = np.zeros((300, 3))
    found = nearest_neighbors(X, 4)
    assert not (found.indices == np.arange(300)[:, None]).any()
    assert found.indices[0].tolist() == [1, 2, 3, 4]
    assert found.indices[2].tolist() == [0, 1, 3, 4]
    assert found.indices[299].tolist() == [0, 1, 2, 3]
    assert (found.distances == 0).all()


def test_zero_and_negative_zero_are_the_same_row():
    assert nearest_neighbors([[0.0], [1.0], [-0.0]], 1).indices.tolist() == [[2], [0], [0]]


def test_rows_of_zeros_have_cosine_distance_one_to_everything():
    rng = np.random.default_rng(3)
    X = rng.random((60, 6)) - 0.2
    X[[4, 40]] = 0
    found = nearest_neighbors(X, 59, metric="cosine")
    indices, distances = slow_neighbors(X, 59, metric="cosine")
    np.testing.assert_allclose(found.distances, distances, atol=1e-12)
    np.testing.assert_array_equal(found.indices[0], indices[0])
    assert found.distances[4] == pytest.approx(1.0)


def test_number_of_threads_does_not_matter():
    X = np.random.default_rng(4).standard_normal((3000, 33)).astype(np.float32)
    first = nearest_neighbors(X, 9)
    with threadpool_limits(1):
        second = nearest_neighbors(X, 9)
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_array_equal(first.distances, second.distances)


def test_the_number_of_comparisons_decides_the_algorithm(monkeypatch):
    monkeypatch.setattr("tagloom.neighbors.search._APPROXIMATE_FROM", 200**2)
    X = np.random.default_rng(8).standard_normal((200, 3))
    assert nearest_neighbors(X, 3).algorithm == "approximate"
    assert nearest_neighbors(X[:199], 3).algorithm == "exact"
    assert nearest_neighbors(X, 3, X[:9]).algorithm == "exact"
    monkeypatch.setattr("tagloom.neighbors.search._APPROXIMATE_FROM", 0)
    assert nearest_neighbors(X, 3, X[:50]).algorithm == "approximate"
    assert nearest_neighbors(X, 3, X[:49]).algorithm == "exact"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0], [2.0]], 2), "from 1 to 1"),
        (([[1.0], [2.0]], True), "integer"),
        (([1.0, 2.0], 1), "1 dimension"),
        (([[1.0], [float("nan")]], 1), "nan in row 1, column 0"),
        (([[1.0], [2.0]], 1, [[1.0, 2.0]]), "must have the 1 columns"),
    ],
)
def test_invalid_input_is_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        nearest_neighbors(*arguments)


def test_unknown_choices_are_refused():
    with pytest.raises(InvalidInputError, match="'euclidean', 'cosine'"):
        nearest_neighbors([[1.0], [2.0]], 1, metric="manhattan")
    with pytest.raises(InvalidInputError, match="'exact'"):
        nearest_neighbors([[1.0], [2.0]], 1, algorithm="best")


def test_a_table_leaves_the_neighbors_as_they_are():
    found = nearest_neighbors(np.random.default_rng(0).normal(size=(40, 3)), 5)
    indices, values = found.indices.copy(), np.exp(-found.distances)
    snapshot = values.copy()
    table = neighbor_table(values, found.indices, 40)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(values, snapshot)
    rows = np.repeat(np.arange(40), 5)
    np.testing.assert_array_equal(table.toarray()[rows, indices.ravel()], values.ravel())
