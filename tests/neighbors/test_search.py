from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from tagloom.errors import InvalidInputError
from tagloom.neighbors import nearest_neighbors
from tagloom.neighbors.exact import exact_among_themselves, exact_neighbors, group_minima


def slow_neighbors(base, k, queries=None, metric="euclidean"):
    """Sort all distances in double precision, ties by position."""
    base = np.asarray(base, dtype=np.float64)
    asked = base if queries is None else np.asarray(queries, dtype=np.float64)
    indices, distances = [], []
    for i, x in enumerate(asked):
        if metric == "cosine":
            norms = np.linalg.norm(x) * np.linalg.norm(base, axis=1)
            d = 1 - np.divide(base @ x, norms, out=np.zeros(len(base)), where=norms > 0)
        else:
            d = ((base - x) ** 2).sum(axis=1)
        order = [j for j in np.lexsort((np.arange(len(d)), d)) if queries is not None or j != i]
        indices.append(order[:k])
        distances.append(d[order[:k]] if metric == "cosine" else np.sqrt(d[order[:k]]))
    return np.array(indices), np.array(distances)


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
def test_small_whole_numbers_with_many_ties_are_ordered_by_position(data):
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


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 15, 16, 31, 32, 63, 64, 125, 250, 499])
def test_groups_of_rows_of_any_size_lose_no_neighbor(k, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((500, 4)).astype(np.float32)
    queries = rng.standard_normal((20, 4)).astype(np.float32)
    expected, _ = slow_neighbors(X, k, queries)
    np.testing.assert_array_equal(nearest_neighbors(X, k, queries).indices, expected)
    # The last tile holds fewer rows than neighbours are sought.
    monkeypatch.setattr("tagloom.neighbors.exact.TILE_ROWS", 166)
    np.testing.assert_array_equal(nearest_neighbors(X, k, queries).indices, expected)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 300), k=st.integers(1, 80), seed=st.integers(0, 2**32 - 1))
def test_minima_of_groups_bound_the_kth_smallest_and_are_values_of_other_rows(n, k, seed):
    values = np.random.default_rng(seed).permuted(np.tile(np.arange(n), (3, 1)), axis=1)
    minima = group_minima(values.astype(np.float32), k)
    assert minima.shape[1] >= min(n, k)
    for row in minima:
        assert len(set(row)) == len(row)
        assert row.min() == 0
        if n >= k:
            assert np.sort(row)[k - 1] >= k - 1


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


def test_cosine_counts_rows_of_zeros_as_unlike_everything():
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


def clustered(n, d=10, seed=5, dtype=np.float32):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(1, n // 50), d))
    return (centres[rng.integers(len(centres), size=n)] + rng.standard_normal((n, d))).astype(dtype)


def share(found, exact):
    pairs = zip(found.indices, exact.indices, strict=True)
    return np.mean([len(np.intersect1d(a, b)) for a, b in pairs]) / exact.indices.shape[1]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_approximate_search_reports_the_recall_it_has(metric, dtype):
    X = clustered(6000, dtype=dtype)
    X[100:120] = X[50]
    found = nearest_neighbors(X, 10, algorithm="approximate", metric=metric)
    exact = nearest_neighbors(X, 10, algorithm="exact", metric=metric)
    assert found.algorithm == "approximate"
    assert 0.95 <= found.recall < 1
    assert share(found, exact) == pytest.approx(found.recall, abs=0.02)
    assert not (found.indices == np.arange(6000)[:, None]).any()
    assert (np.diff(found.distances, axis=1) >= 0).all()
    right = found.indices == exact.indices
    np.testing.assert_array_equal(found.distances[right], exact.distances[right])


def test_approximate_search_of_other_queries_finds_nearly_all():
    X, queries = clustered(5000), clustered(3000, seed=6)
    found = nearest_neighbors(X, 7, queries, algorithm="approximate")
    exact = nearest_neighbors(X, 7, queries, algorithm="exact")
    assert share(found, exact) == pytest.approx(found.recall, abs=0.02)
    assert found.recall >= 0.95


def test_approximate_search_is_the_same_with_any_number_of_threads(monkeypatch):
    X = clustered(5000)
    first = nearest_neighbors(X, 10, algorithm="approximate")
    monkeypatch.setattr("tagloom.neighbors.exact.cpu_count", lambda: 7)
    second = nearest_neighbors(X, 10, algorithm="approximate")
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_array_equal(first.distances, second.distances)
    assert first.recall == second.recall


def test_approximate_search_of_few_rows_finds_all_that_was_asked_for():
    X = np.random.default_rng(6).standard_normal((90, 3))
    found = nearest_neighbors(X, 80, algorithm="approximate")
    np.testing.assert_array_equal(found.indices, nearest_neighbors(X, 80).indices)
    assert found.recall == 1


@pytest.mark.parametrize("k", [1, 50, 100])
def test_approximate_search_of_one_neighbor_and_of_many(k):
    X = clustered(4000, 4)
    found = nearest_neighbors(X, k, algorithm="approximate")
    assert found.indices.shape == (4000, k)
    assert found.indices.min() >= 0
    assert all(len(np.unique(row)) == k for row in found.indices)
    assert share(found, nearest_neighbors(X, k, algorithm="exact")) >= 0.9


def test_approximate_search_ends_where_rows_can_hardly_be_parted(monkeypatch):
    monkeypatch.setattr("tagloom.neighbors.approximate._SAMPLE", 10)
    monkeypatch.setattr("tagloom.neighbors.approximate._MOST_PARTITIONS", 3)
    X = np.zeros((2500, 6))
    X[:, 0] = 1e-30 * np.random.default_rng(9).permutation(2500)
    X[0] = 1
    found = nearest_neighbors(X, 5, algorithm="approximate")
    assert found.indices.min() >= 0
    assert 0 <= found.recall <= 1


def test_approximate_search_of_thousands_of_equal_rows():
    X = np.vstack([np.zeros((4000, 3)), clustered(3000, 3, dtype=np.float64)])
    found = nearest_neighbors(X, 4, algorithm="approximate")
    assert found.indices[2].tolist() == [0, 1, 3, 4]
    assert found.indices[3999].tolist() == [0, 1, 2, 3]


def test_comparisons_decide_how_is_searched(monkeypatch):
    monkeypatch.setattr("tagloom.neighbors.search._APPROXIMATE_FROM", 200**2)
    X = np.random.default_rng(8).standard_normal((200, 3))
    assert nearest_neighbors(X, 3).algorithm == "approximate"
    assert nearest_neighbors(X[:199], 3).algorithm == "exact"
    assert nearest_neighbors(X, 3, X[:9]).algorithm == "exact"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 12, 200])
def test_half_the_products_find_what_all_find(k, dtype, monkeypatch):
    monkeypatch.setattr("tagloom.neighbors.exact.TILE_ROWS", 900)
    monkeypatch.setattr("tagloom.neighbors.exact.TILE_QUERIES", 128)
    X = clustered(3000, 8, dtype=dtype)
    halved, all_of_them = exact_among_themselves(X, k), exact_neighbors(X, X, k)
    np.testing.assert_array_equal(halved[0], all_of_them[0])
    np.testing.assert_array_equal(halved[1], all_of_them[1])


def test_ties_without_end_are_decided_early_and_rightly(monkeypatch):
    monkeypatch.setattr("tagloom.neighbors.exact.TILE_ROWS", 256)
    monkeypatch.setattr("tagloom.neighbors.exact._FEWEST_PAIRS", 1000)
    # Rows of five ones among 14 places: hundreds are equally near.
    places = np.array(list(combinations(range(14), 5)))
    X = np.zeros((len(places), 14), dtype=np.float32)
    np.put_along_axis(X, places, 1, axis=1)
    halved, all_of_them = exact_among_themselves(X, 9), exact_neighbors(X, X, 9)
    np.testing.assert_array_equal(halved[0], all_of_them[0])
    np.testing.assert_array_equal(halved[0][:200], slow_neighbors(X, 9, X[:200])[0])


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
def test_what_cannot_be_searched_is_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        nearest_neighbors(*arguments)


def test_unknown_words_are_refused():
    with pytest.raises(InvalidInputError, match="'euclidean', 'cosine'"):
        nearest_neighbors([[1.0], [2.0]], 1, metric="manhattan")
    with pytest.raises(InvalidInputError, match="'exact'"):
        nearest_neighbors([[1.0], [2.0]], 1, algorithm="best")
