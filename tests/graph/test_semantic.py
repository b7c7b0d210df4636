import numpy as np
import pytest
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights, laplacian, semantic_graph


def slow_graph(S, k, weight, symmetrize):
    """Write the definition down, pair by pair."""
    n = len(S)
    norms = np.linalg.norm(S, axis=1)
    W = np.zeros((n, n))
    for i in range(n):
        distance = ((S - S[i]) ** 2).sum(axis=1)
        for j in [j for j in np.argsort(distance, kind="stable") if j != i][:k]:
            scale = norms[i] * norms[j] if weight == "cosine" else 1.0
            W[i, j] = max(0.0, S[i] @ S[j] / scale) if scale > 0 else 0.0
    return {"max": np.maximum(W, W.T), "min": np.minimum(W, W.T), "mean": (W + W.T) / 2}[symmetrize]


@pytest.mark.parametrize("weight", ["dot", "cosine"])
@pytest.mark.parametrize("symmetrize", ["max", "mean", "min"])
def test_agrees_with_the_definition(weight, symmetrize):
    rng = np.random.default_rng(0)
    S = rng.random((40, 5)) - 0.3
    S[3] = 0
    S[10] = S[20]
    W = semantic_graph(S, 4, weight=weight, symmetrize=symmetrize)
    np.testing.assert_allclose(W.toarray(), slow_graph(S, 4, weight, symmetrize), atol=1e-12)
    assert isinstance(W, sparse.csr_array)
    assert W.has_canonical_format
    assert (W.data > 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_learners_accept_it_in_either_precision(dtype):
    S = np.random.default_rng(1).random((30, 4)).astype(dtype)
    W = semantic_graph(S)
    assert W.dtype == dtype
    assert (W != W.T).nnz == 0
    checked = check_weights(W, 30, name="graph", nodes="items")
    np.testing.assert_allclose(laplacian(checked).sum(axis=1), 0, atol=1e-5)


def test_descriptors_of_zeros_are_isolated():
    S = np.random.default_rng(2).random((20, 3))
    S[[4, 5, 6]] = 0
    W = semantic_graph(S, 5).toarray()
    assert (W[[4, 5, 6]] == 0).all()
    assert (W[:4].sum(axis=1) > 0).all()
    assert semantic_graph(np.zeros((8, 2)), 3).nnz == 0


def test_equal_items_are_joined_and_none_to_itself():
    W = semantic_graph(np.ones((5, 2)), 2).toarray()
    assert (np.diag(W) == 0).all()
    assert W[0, 1] == W[1, 0] == 2
    assert W[4, 0] == W[4, 1] == 2
    assert W[4, 3] == 0


def test_fewer_items_than_neighbors():
    assert semantic_graph([[1.0], [2.0], [3.0]], 10).toarray().tolist() == [
        [0, 2, 3],
        [2, 0, 6],
        [3, 6, 0],
    ]
    assert semantic_graph([[1.0]]).shape == (1, 1)
    assert semantic_graph(np.empty((0, 3))).shape == (0, 0)


def test_cosine_search_finds_directions():
    S = np.array([[1.0, 0], [100, 1], [0, 1], [1, 100]])
    W = semantic_graph(S, 1, metric="cosine", symmetrize="min").toarray()
    assert np.argwhere(W > 0).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]


def test_integers_and_lists_are_read():
    assert semantic_graph([[1, 0], [1, 1]], 1).toarray().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"weight": "rbf"}, "weight must be one of 'dot', 'cosine'"),
        ({"symmetrize": "or"}, "symmetrize must be one of"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1"),
        ({"metric": "l1"}, "metric must be one of"),
    ],
)
def test_refusals(wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        semantic_graph([[1.0], [2.0]], **wrong)
