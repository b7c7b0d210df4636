import numpy as np
import pytest
from slow_search import clustered

from tagloom.neighbors import nearest_neighbors


def recall_of(found, exact):
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
    assert recall_of(found, exact) == pytest.approx(found.recall, abs=0.02)
    assert not (found.indices == np.arange(6000)[:, None]).any()
    assert (np.diff(found.distances, axis=1) >= 0).all()
    right = found.indices == exact.indices
    np.testing.assert_array_equal(found.distances[right], exact.distances[right])


def test_approximate_search_of_other_queries_finds_nearly_all():
    X, queries = clustered(5000), clustered(3000, seed=6)
    found = nearest_neighbors(X, 7, queries, algorithm="approximate")
    exact = nearest_neighbors(X, 7, queries, algorithm="exact")
    assert recall_of(found, exact) == pytest.approx(found.recall, abs=0.02)
    assert found.recall >= 0.95


def test_approximate_search_is_the_same_with_any_number_of_threads(monkeypatch):
    X = clustered(5000)
    first = nearest_neighbors(X, 10, algorithm="approximate")
    monkeypatch.setattr("tagloom.neighbors.exact.cpu_count", lambda: 7)
    second = nearest_neighbors(X, 10, algorithm="approximate")
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_array_equal(first.distances, second.distances)
    assert first.recall == second.recall


def test_approximate_search_of_few_rows_is_exact():
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
    assert recall_of(found, nearest_neighbors(X, k, algorithm="exact")) >= 0.9


def test_approximate_search_ends_where_rows_can_hardly_be_split(monkeypatch):
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
