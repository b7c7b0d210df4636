import dask.array as da
import numpy as np
import pytest
from sklearn import decomposition

from tagloom.dask import PCA
from tagloom.errors import InvalidInputError


@pytest.mark.parametrize("n_components", [3, 0.9])
def test_equals_pca_in_memory_with_columns_far_from_zero(client, rng, n_components):
    X = rng.normal(size=(203, 7)) @ rng.normal(size=(7, 7)) + 1e4
    expected = decomposition.PCA(n_components, svd_solver="full").fit(X)
    found = PCA(n_components).fit(da.from_array(X, chunks=(50, 4)), client=client)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-8)
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-8)
    moved = found.transform(da.from_array(X, chunks=(60, 7)))
    np.testing.assert_allclose(moved.compute(), expected.transform(X), atol=1e-7)
    np.testing.assert_allclose(found.to_local().transform(X), expected.transform(X), atol=1e-7)


def test_equal_rows_keep_one_component(client):
    X = da.ones((20, 3), chunks=(5, 3))
    assert PCA(0.9).fit(X, client=client).n_components_ == 1


def test_more_components_than_columns_are_refused(client):
    with pytest.raises(InvalidInputError, match="from 1 to 3"):
        PCA(4).fit(da.ones((20, 3), chunks=(5, 3)), client=client)


def test_values_that_are_not_finite_are_named_by_row_and_column(client):
    X = np.ones((20, 3))
    X[13, 2] = np.nan
    with pytest.raises(InvalidInputError, match="row 13, column 2"):
        PCA(1).fit(da.from_array(X, chunks=(5, 3)), client=client)


def test_arrays_in_memory_are_refused_with_the_remedy(client):
    with pytest.raises(InvalidInputError, match=r"dask\.array\.from_array"):
        PCA(1).fit(np.ones((4, 2)), client=client)
