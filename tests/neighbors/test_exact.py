from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_search import clustered, slow_neighbors

from tagloom.neighbors import nearest_neighbors
from tagloom.neighbors.exact import exact_neighbors, exact_self_search, group_minima


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 12, 200])
def test_self_search_is_the_same_as_a_search_of_all_queries(k, dtype, monkeypatch):
    monkeypatch.setattr("tagloom.neighbors.exact.TILE_ROWS", 900)
    monkeypatch.setattr("tagloom.neighbors.exact.TILE_QUERIES", 128)
    X = clustered(3000, 8, dtype=dtype)
    halved, full = exact_self_search(X, k), exact_neighbors(X, X, k)
    np.testing.assert_array_equal(halved[0], full[0])
    np.testing.assert_array_equal(halved[1], full[1])


def test_many_ties_are_pruned_correctly(monkeypatch):
    monkeypatch.setattr("tagloom.neighbors.exact.TILE_ROWS", 256)
    monkeypatch.setattr("tagloom.neighbors.exact._FEWEST_PAIRS", 1000)
    # Rows of five ones among 14 places: hundreds are equally near.
    places = np.array(list(combinations(range(14), 5)))
    X = np.zeros((len(places), 14), dtype=np.float32)
    np.put_along_axis(X, places, 1, axis=1)
    halved, full = exact_self_search(X, 9), exact_neighbors(X, X, 9)
    np.testing.assert_array_equal(halved[0], full[0])
    np.testing.assert_array_equal(halved[0][:200], slow_neighbors(X, 9, X[:200])[0])


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
