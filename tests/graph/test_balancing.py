"""Sums of a graph, balanced by rows and columns in turn for long, and where that cannot be done."""

import numpy as np
import pytest
from scipy import sparse

from tagloom.graph import affinity_graph, diffuse
from tagloom.graph.diffusion import balanced


def balanced_sums(A):
    """Return T A T and t."""
    row, column = np.ones(len(A)), np.ones(len(A))
    for _ in range(5000):
        row = 1 / (A @ column)
        column = 1 / (row @ A)
    t = np.sqrt(row * column)
    return t[:, None] * A * t, t


def crowd():
    rng = np.random.default_rng(0)
    return np.vstack([0.01 * rng.normal(size=(30, 2)), rng.normal(size=(170, 2))])


@pytest.mark.parametrize("k", [6, 20])
def test_every_item_has_the_same_sum_and_what_all_share_stays(k):
    graph, plain = affinity_graph(crowd(), k), affinity_graph(crowd(), k, balance=False)
    root = np.sqrt(plain.degrees)
    expected, t = balanced_sums(root[:, None] * plain.S.toarray() * root)
    np.testing.assert_allclose(graph.S.toarray(), expected, atol=2e-3)
    np.testing.assert_allclose(graph.factors, t, rtol=1e-2)
    np.testing.assert_allclose(graph.S.sum(axis=1), 1, atol=2e-3)
    shared = np.ones((200, 1))
    np.testing.assert_allclose(diffuse(graph.S, shared, 0.8), 1, atol=1e-2)
    assert np.ptp(diffuse(plain.S, shared, 0.8)) > 0.1
    new = np.random.default_rng(1).normal(size=(9, 2))
    np.testing.assert_allclose(graph.joined(new).sum(axis=1), 1, rtol=1e-12)


def test_a_star_that_cannot_be_balanced_gives_no_more_than_there_is():
    A = np.zeros((6, 6))
    A[0, 1:] = A[1:, 0] = [1.0, 0.5, 1e-3, 1e-200, 1.0]
    S, t = balanced(sparse.csr_array(A))
    assert np.isfinite(t).all()
    assert (S.sum(axis=1) <= 1 + 1e-12).all()
    assert S.toarray()[0, 1:].sum() == pytest.approx(1)
    assert np.abs(np.linalg.eigvalsh(S.toarray())).max() <= 1 + 1e-12


def test_items_without_edges_stay_without():
    S, t = balanced(sparse.csr_array((3, 3)))
    assert S.nnz == 0
    np.testing.assert_array_equal(t, 1)
