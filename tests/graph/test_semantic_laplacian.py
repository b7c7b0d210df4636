import numpy as np
import pytest
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights, laplacian

W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])


def check(weights, n=3):
    return check_weights(weights, n, name="graph", nodes="items")


def test_laplacian_of_a_path():
    expected = [[1, -1, 0], [-1, 3, -2], [0, -2, 2]]
    np.testing.assert_array_equal(laplacian(check(W)).toarray(), expected)


def test_normalized_laplacian_has_unit_diagonal_and_leaves_isolated_nodes_alone():
    isolated = np.zeros((4, 4))
    isolated[:3, :3] = W
    L = laplacian(check(isolated, 4), normalized=True).toarray()
    np.testing.assert_allclose(np.diag(L), [1, 1, 1, 0])
    assert L[0, 1] == pytest.approx(-1 / np.sqrt(3))


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_matrix, sparse.coo_array, np.ndarray.tolist]
)
def test_any_form_of_matrix_is_read_and_left_unchanged(form):
    given = form(W + np.eye(3))
    snapshot = given.copy()
    np.testing.assert_array_equal(check(given).toarray(), W)
    unchanged = given if isinstance(given, list) else (given != snapshot)
    if sparse.issparse(unchanged):
        assert unchanged.nnz == 0
    elif not isinstance(given, list):
        assert not unchanged.any()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (W[:2], r"graph must be a square matrix with one row for each of the 3 items; got shape"),
        (np.triu(W), r"graph must be symmetric.*graph\[0, 1\] = 0|graph\[1, 2\] = 2.0 but"),
        (-W, r"graph\[0, 1\] = -1.0 is negative \(4 such"),
        (W * np.nan, r"graph\[0, 0\] = nan is not finite"),
        (np.ones(3), r"graph must be a square matrix of weights; got 1 dimension"),
        ([["a", "b"], ["b", "a"]], r"graph must hold numbers"),
    ],
)
def test_bad_graphs_are_refused_with_the_place(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        check(weights)


def test_rounding_errors_are_not_asymmetry():
    nearly = W.copy()
    nearly[0, 1] *= 1 + 1e-12
    check(nearly)
