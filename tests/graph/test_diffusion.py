"""Diffusion against dense solves, affinities against loops, Sinkhorn scaling against iteration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tagloom.errors import InvalidInputError
from tagloom.graph import affinity_graph, diffuse
from tagloom.graph import diffusion as module
from tagloom.graph.diffusion import column_blocks, sinkhorn_scaling


def rows_of(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def solved(S, R, alpha):
    """(1 - a) (I - a S)^{-1} R by a dense solve."""
    dense = S.toarray().astype(np.float64)
    return (1 - alpha) * np.linalg.solve(np.eye(len(dense)) - alpha * dense, R)


def slow_scales(rows, k, queries=None):
    """Distance to the 7th other item, or to the last where there are fewer."""
    points = rows if queries is None else queries
    scales = []
    for i, x in enumerate(points):
        others = np.delete(rows, i, axis=0) if queries is None else rows
        distances = np.sort(np.sqrt(((others - x) ** 2).sum(axis=1)))
        scales.append(distances[min(7, k, len(distances)) - 1])
    return np.array(scales)


def slow_affinity(x, y, own, other):
    d2 = float(((x - y) ** 2).sum())
    if d2 == 0:
        return 1.0
    return float(np.exp(-d2 / (own * other))) if own * other > 0 else 0.0


def slow_affinities(rows, k):
    """Loop over all pairs: joined where one of the two chose the other."""
    n, scales = len(rows), slow_scales(rows, k)
    A = np.zeros((n, n))
    for i in range(n):
        d2 = ((rows - rows[i]) ** 2).sum(axis=1)
        chosen = [j for j in np.lexsort((np.arange(n), d2)) if j != i][:k]
        for j in chosen:
            A[i, j] = A[j, i] = slow_affinity(rows[i], rows[j], scales[i], scales[j])
    return A


def positive_or_one(values):
    """Return 1 for the sum of an isolated item."""
    return np.where(values > 0, values, 1)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    k=st.integers(1, 25),
    columns=st.integers(1, 5),
    alpha=st.floats(0.01, 0.99),
)
def test_diffusion_is_the_dense_solution_and_a_fixed_point(seed, n, k, columns, alpha):
    rng = np.random.default_rng(seed)
    S = affinity_graph(rng.normal(size=(n, 3)), k).S
    R = rng.normal(size=(n, columns))
    G = diffuse(S, R, alpha, tol=1e-10)
    np.testing.assert_allclose(G, solved(S, R, alpha), atol=1e-7)
    np.testing.assert_allclose(G, alpha * (S @ G) + (1 - alpha) * R, atol=1e-7)


def test_it_minimises_its_objective():
    S, R, a = affinity_graph(rows_of(), 6).S, rows_of(d=2, seed=1), 0.7
    smoothness = np.eye(40) - S.toarray()

    def objective(G):
        return ((G - R) ** 2).sum() + a / (1 - a) * np.trace(G.T @ smoothness @ G)

    best = objective(diffuse(S, R, a, tol=1e-10))
    for seed in range(20):
        moved = diffuse(S, R, a, tol=1e-10) + 1e-3 * rows_of(d=2, seed=seed)
        assert objective(moved) > best


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [0.5, 0.99])
def test_the_tolerance_bounds_the_error_in_either_precision(dtype, alpha):
    graph = affinity_graph(rows_of(300).astype(dtype), 8)
    R = rows_of(300, 4, seed=1).astype(dtype)
    G = diffuse(graph.S, R, alpha)
    assert graph.S.dtype == G.dtype == dtype
    error = np.linalg.norm(G - solved(graph.S, R.astype(float), alpha), axis=0)
    # The residual is at most tol (1 - a) ||R||, and (I - a S)^{-1} stretches by at most 1/(1 - a).
    assert (error <= 1.1e-4 * np.linalg.norm(R, axis=0)).all()


def test_alpha_zero_returns_a_copy():
    S, R = affinity_graph(rows_of(), 5).S, rows_of(d=2, seed=1)
    G = diffuse(S, R, 0)
    np.testing.assert_array_equal(G, R)
    assert not np.shares_memory(G, R)


def test_columns_of_zeros_stay_zero_and_do_not_disturb_others():
    S, R = affinity_graph(rows_of(), 5).S, rows_of(d=3, seed=1)
    R[:, 1] = 0
    G = diffuse(S, R, 0.8, tol=1e-10)
    assert not G[:, 1].any()
    np.testing.assert_allclose(G, solved(S, R, 0.8), atol=1e-8)
    assert not diffuse(S, np.zeros((40, 2)), 0.8).any()


def test_columns_of_very_different_sizes_are_each_solved_to_the_tolerance():
    S, R = affinity_graph(rows_of(), 5).S, rows_of(d=3, seed=1) * [1e-12, 1.0, 1e12]
    G, expected = diffuse(S, R, 0.9), solved(S, R, 0.9)
    error = np.linalg.norm(G - expected, axis=0) / np.linalg.norm(R, axis=0)
    assert (error <= 1.1e-4).all()


def test_blocks_of_columns_make_no_difference(monkeypatch):
    S, R = affinity_graph(rows_of(), 5).S, rows_of(d=7, seed=1)
    whole = diffuse(S, R, 0.9, tol=1e-12)
    for entries in (1, 80, 120):
        monkeypatch.setattr(module, "_ENTRIES_AT_ONCE", entries)
        np.testing.assert_allclose(diffuse(S, R, 0.9, tol=1e-12), whole, atol=1e-10)


def small_blocks(monkeypatch, at_once, in_cache):
    monkeypatch.setattr(module, "_ENTRIES_AT_ONCE", at_once)
    monkeypatch.setattr(module, "_ENTRIES_IN_CACHE", in_cache)
    monkeypatch.setattr(module, "_FEWEST_COLUMNS", 1)


def test_the_number_of_threads_makes_no_difference(monkeypatch):
    small_blocks(monkeypatch, at_once=40 * 6, in_cache=40 * 2)
    S, R = affinity_graph(rows_of(), 5).S, rows_of(d=7, seed=1)
    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr(module, "cpu_count", lambda n=n_threads: n)
        found.append(diffuse(S, R, 0.9))
    np.testing.assert_array_equal(*found)


def test_columns_some_at_a_time_are_those_of_all_together_to_the_last_bit(monkeypatch):
    small_blocks(monkeypatch, at_once=40 * 5, in_cache=40 * 2)
    S, R = affinity_graph(rows_of(), 5).S, rows_of(d=7, seed=1)
    parts = list(column_blocks(*R.shape))
    assert [part.indices(7) for part in parts] == [(0, 4, 1), (4, 7, 1)]
    some = np.hstack([diffuse(S, R[:, part], 0.9) for part in parts])
    np.testing.assert_array_equal(some, diffuse(S, R, 0.9))


@pytest.mark.parametrize(
    ("n_items", "width", "n_at_once"),
    [(10_000, 209, 4), (200_000, 24, 1), (1_000_000, 8, 1), (1 << 24, 1, 1)],
)
def test_blocks_are_small_but_have_some_columns_and_fit_in_memory(n_items, width, n_at_once):
    assert module._block_width(n_items) == (width, n_at_once)


def test_integers_and_booleans_are_diffused_like_floats():
    S, R = affinity_graph(rows_of(), 5).S, np.eye(40)[:, :3]
    expected = diffuse(S, R, 0.8)
    for dtype in (np.int64, np.int8, bool):
        np.testing.assert_array_equal(diffuse(S, R.astype(dtype), 0.8), expected)


def test_too_few_iterations_are_warned_of():
    S = affinity_graph(np.linspace(0, 1, 2000)[:, None], 2).S
    with pytest.warns(ConvergenceWarning, match="Lower alpha"):
        diffuse(S, np.eye(2000)[:, :1], 0.999999)


@pytest.mark.parametrize("alpha", [1, 1.0, -0.1, 1.5, np.nan, "far", True])
def test_an_alpha_without_a_solution_is_refused(alpha):
    with pytest.raises(InvalidInputError, match="alpha must be"):
        diffuse(sparse.csr_array(np.zeros((3, 3))), np.ones((3, 1)), alpha)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    d=st.integers(1, 4),
    k=st.integers(1, 35),
    coarse=st.booleans(),
)
def test_affinities_are_those_of_a_loop(seed, n, d, k, coarse):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    if coarse:
        rows = np.round(rows)  # many equal rows and equal distances
    graph = affinity_graph(rows, k)
    A = slow_affinities(rows, min(k, n - 1))
    np.testing.assert_allclose(graph.scales, slow_scales(rows, k), atol=1e-12)
    S = graph.S.toarray()
    np.testing.assert_array_equal(S > 0, A > 0)
    # T A T, except for rows whose sum could not be scaled to 1.
    made = graph.factors[:, None] * A * graph.factors
    sums = np.maximum(made.sum(axis=1)[:, None], made.sum(axis=1))
    np.testing.assert_allclose(S, made / np.where(sums > 0, sums, 1), atol=1e-12)
    np.testing.assert_allclose(S, S.T, rtol=1e-14)
    assert (np.diag(S) == 0).all()
    assert (S.sum(axis=1) <= 1 + 1e-12).all()
    assert np.abs(np.linalg.eigvalsh(S)).max() <= 1 + 1e-12
    symmetric = affinity_graph(rows, k, normalization="symmetric").S.toarray()
    turn = 1 / np.sqrt(positive_or_one(A.sum(axis=1)))
    np.testing.assert_allclose(symmetric, turn[:, None] * A * turn, atol=1e-12)
    assert np.abs(np.linalg.eigvalsh(symmetric)).max() <= 1 + 1e-12


def test_few_items_are_all_joined():
    assert affinity_graph(rows_of(5), 20).S.nnz == 5 * 4
    np.testing.assert_allclose(
        affinity_graph(np.array([[0.0], [3.0]]), 20).S.toarray(), 1 - np.eye(2)
    )


def test_scale_and_place_of_the_features_make_no_difference():
    rows = rows_of()
    near, far = affinity_graph(rows, 6), affinity_graph(1e3 * rows + 1e4, 6)
    np.testing.assert_allclose(far.S.toarray(), near.S.toarray(), atol=1e-8)


def test_cosine_sees_directions_alone():
    rows = rows_of()
    lengths = np.random.default_rng(1).uniform(0.1, 10, size=(40, 1))
    near, far = (affinity_graph(table, 6, metric="cosine") for table in (rows, lengths * rows))
    np.testing.assert_allclose(far.S.toarray(), near.S.toarray(), atol=1e-6)


def test_equal_rows_have_affinity_one():
    rows = np.vstack([np.zeros((3, 2)), rows_of(20, 2) + 5])
    A = slow_affinities(rows, 10)
    graph = affinity_graph(rows, 10, normalization="symmetric")
    assert A[0, 1] == A[1, 2] == 1
    turn = 1 / np.sqrt(A.sum(axis=1))
    np.testing.assert_allclose(graph.S.toarray(), turn[:, None] * A * turn, atol=1e-12)


def test_many_equal_rows_are_joined_only_to_each_other():
    rows = np.vstack([np.zeros((9, 2)), rows_of(20, 2)])
    S = affinity_graph(rows, 12).S.toarray()
    assert np.isfinite(S).all()
    np.testing.assert_allclose(S[:9, :9], (1 - np.eye(9)) / 8)
    assert not S[:9, 9:].any()
    np.testing.assert_allclose(
        affinity_graph(np.ones((6, 2)), 5).S.toarray(), (1 - np.eye(6)) / 5, rtol=1e-12
    )


def test_an_isolated_item_keeps_its_own_score():
    rows = np.vstack([1e-6 * rows_of(20, 2), [[1.0, 0.0]]])
    graph = affinity_graph(rows, 8)
    assert graph.factors[20] == 1
    assert not graph.S.toarray()[20].any()
    assert not graph.S.toarray()[:, 20].any()
    R = rows_of(21, 2, seed=1)
    G = diffuse(graph.S, R, 0.8, tol=1e-10)
    np.testing.assert_allclose(G[20], 0.2 * R[20], atol=1e-9)
    assert graph.out_of_sample(np.array([[1e3, 1e3]])).nnz == 0
    symmetric = affinity_graph(rows, 8, normalization="symmetric")
    assert symmetric.out_of_sample(np.array([[1.0, 0.0]])).toarray()[0, 20] == pytest.approx(1)


def slow_weights(rows, k, x):
    """One new item: its affinities to its k nearest."""
    scales, (own,) = slow_scales(rows, k), slow_scales(rows, k, x[None])
    d2 = ((rows - x) ** 2).sum(axis=1)
    weights = np.zeros(len(rows))
    for j in np.lexsort((np.arange(len(rows)), d2))[:k]:
        weights[j] = slow_affinity(x, rows[j], own, scales[j])
    return weights


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), k=st.integers(1, 45))
def test_a_new_item_is_joined_as_in_a_loop(seed, n, k):
    rng = np.random.default_rng(seed)
    rows, new = rng.normal(size=(n, 2)), rng.normal(size=(4, 2))
    new[0] = rows[0]  # one that is there already
    weights = np.array([slow_weights(rows, k, x) for x in new])
    total = positive_or_one(weights.sum(axis=1))[:, None]
    degrees = positive_or_one(slow_affinities(rows, min(k, n - 1)).sum(axis=1) + weights)
    extended = affinity_graph(rows, k, normalization="symmetric").out_of_sample(new).toarray()
    np.testing.assert_allclose(extended, weights / np.sqrt(total * degrees), atol=1e-12)
    graph = affinity_graph(rows, k)
    extended = graph.out_of_sample(new).toarray()
    scaled = weights * graph.factors
    expected = scaled / positive_or_one(scaled.sum(axis=1))[:, None]
    np.testing.assert_allclose(extended, expected, atol=1e-12)


def test_affinities_of_a_new_item_are_no_larger_than_those_of_an_item_of_the_graph():
    rows = np.vstack([0.1 * rows_of(60, 2), [[5.0, 5.0]]])
    graph = affinity_graph(rows, 10)
    assert graph.S.max() <= 1
    assert graph.out_of_sample(np.array([[5.0, 5.01]])).max() <= 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_other_queries_make_no_difference_to_the_last_bit(dtype):
    graph = affinity_graph(rows_of(200, 5).astype(dtype), 10)
    new = rows_of(60, 5, seed=1).astype(dtype)
    together = graph.out_of_sample(new)
    assert together.dtype == dtype
    for i in (0, 17, 59):
        alone = graph.out_of_sample(new[i : i + 1])
        np.testing.assert_array_equal(alone.toarray()[0], together.toarray()[i])
    assert graph.out_of_sample(new[:0]).shape == (0, 200)


def test_plain_lists_are_rows_too():
    listed = affinity_graph([[0.0], [1.0], [3.0]], 2)
    np.testing.assert_array_equal(
        listed.S.toarray(), affinity_graph(np.array([[0.0], [1.0], [3.0]]), 2).S.toarray()
    )
    assert affinity_graph(np.array([[0], [1], [3]]), 2).S.dtype == np.float64


def test_invalid_parameters_are_refused():
    with pytest.raises(InvalidInputError, match="n_neighbors must be an integer of at least 1"):
        affinity_graph(rows_of(), 0)
    with pytest.raises(InvalidInputError, match="at least 2 items"):
        affinity_graph(rows_of(1), 3)


def slow_sinkhorn(A):
    """Return T A T and t by scaling rows and columns in turn."""
    row, column = np.ones(len(A)), np.ones(len(A))
    for _ in range(5000):
        row = 1 / (A @ column)
        column = 1 / (row @ A)
    t = np.sqrt(row * column)
    return t[:, None] * A * t, t


def dense_and_sparse():
    rng = np.random.default_rng(0)
    return np.vstack([0.01 * rng.normal(size=(30, 2)), rng.normal(size=(170, 2))])


@pytest.mark.parametrize("k", [6, 20])
def test_sinkhorn_scaling_is_doubly_stochastic_and_keeps_a_shared_score(k):
    graph, plain = (
        affinity_graph(dense_and_sparse(), k),
        affinity_graph(dense_and_sparse(), k, normalization="symmetric"),
    )
    root = np.sqrt(plain.degrees)
    expected, t = slow_sinkhorn(root[:, None] * plain.S.toarray() * root)
    np.testing.assert_allclose(graph.S.toarray(), expected, atol=2e-3)
    np.testing.assert_allclose(graph.factors, t, rtol=1e-2)
    np.testing.assert_allclose(graph.S.sum(axis=1), 1, atol=2e-3)
    shared = np.ones((200, 1))
    np.testing.assert_allclose(diffuse(graph.S, shared, 0.8), 1, atol=1e-2)
    assert np.ptp(diffuse(plain.S, shared, 0.8)) > 0.1
    new = np.random.default_rng(1).normal(size=(9, 2))
    np.testing.assert_allclose(graph.out_of_sample(new).sum(axis=1), 1, rtol=1e-12)


def test_a_star_has_no_doubly_stochastic_scaling_but_sums_of_at_most_one():
    A = np.zeros((6, 6))
    A[0, 1:] = A[1:, 0] = [1.0, 0.5, 1e-3, 1e-200, 1.0]
    S, t = sinkhorn_scaling(sparse.csr_array(A))
    assert np.isfinite(t).all()
    assert (S.sum(axis=1) <= 1 + 1e-12).all()
    assert S.toarray()[0, 1:].sum() == pytest.approx(1)
    assert np.abs(np.linalg.eigvalsh(S.toarray())).max() <= 1 + 1e-12


def test_isolated_items_stay_isolated():
    S, t = sinkhorn_scaling(sparse.csr_array((3, 3)))
    assert S.nnz == 0
    np.testing.assert_array_equal(t, 1)


@pytest.mark.parametrize("alpha", [0, 0.8])
def test_a_sparse_table_is_diffused_as_a_dense_one(alpha, monkeypatch):
    monkeypatch.setattr("tagloom.graph.diffusion._ENTRIES_AT_ONCE", 100)
    S = affinity_graph(rows_of(n=40)).S
    R = rows_of(n=40, d=5, seed=1)
    R[R < 0.5] = 0
    np.testing.assert_array_equal(diffuse(S, sparse.csc_array(R), alpha), diffuse(S, R, alpha))
