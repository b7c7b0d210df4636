import numpy as np
import pytest
from sklearn.base import clone

from tagloom.errors import InvalidInputError
from tagloom.linalg import column_variances
from tagloom.semantics import DescriptorPCA
from tagloom.semantics.pca import principal_axes


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((80, 12)) * np.geomspace(100, 0.1, 12)


@pytest.mark.parametrize("n_rows", [80, 9])
@pytest.mark.parametrize("n_components", [0.5, 0.9, 0.999])
def test_fewest_components_that_keep_the_share_of_variance(rows, n_rows, n_components):
    rows = rows[:n_rows]
    Z = clone(DescriptorPCA(n_components)).fit_transform(rows)
    total = rows.var(axis=0).sum()
    assert Z.var(axis=0).sum() >= n_components * total
    assert Z[:, :-1].var(axis=0).sum() < n_components * total
    covariance = Z.T @ Z
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-8 * total)


def test_all_components_keep_distances(rows):
    Z = DescriptorPCA(None).fit_transform(rows)
    np.testing.assert_allclose(
        np.linalg.norm(Z[0] - Z[1:], axis=1), np.linalg.norm(rows[0] - rows[1:], axis=1)
    )


@pytest.mark.parametrize("n_components", [1, 5, 12, 40])
def test_a_number_of_components(rows, n_components):
    Z = DescriptorPCA(n_components).fit_transform(rows)
    assert Z.shape == (80, min(n_components, 12))


def test_blocks_get_the_same_variance(rows):
    pca = DescriptorPCA(None, blocks=[3, 9]).fit(rows)
    scaled = rows / pca.scales_
    assert scaled[:, :3].var(axis=0).sum() == pytest.approx(1)
    assert scaled[:, 3:].var(axis=0).sum() == pytest.approx(1)


def test_new_rows_are_transformed_alike_and_keep_their_precision(rows):
    single = rows.astype(np.float32)
    pca = DescriptorPCA(blocks=[6, 6]).fit(single)
    assert pca.transform(single[:1]).dtype == np.float32
    np.testing.assert_allclose(pca.transform(single)[:5], pca.transform(single[:5]), rtol=1e-4)
    assert len(pca.get_feature_names_out()) == pca.n_components_


def test_rows_without_any_variance(rows):
    assert (DescriptorPCA().fit_transform(np.ones((5, 3))) == 0).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1"),
        ({"n_components": 1.5}, "n_components must be"),
        ({"n_components": 1.0}, r"a share of the variance in \(0, 1\)"),
        ({"blocks": [3, 4]}, "add up to 7"),
        ({"blocks": [3.5, 8.5]}, "integers"),
    ],
)
def test_invalid_parameters_are_refused(rows, wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        DescriptorPCA(**wrong).fit(rows)


def test_variances_of_columns_taken_a_few_rows_at_a_time(monkeypatch):
    X = (100 + np.random.default_rng(0).standard_normal((50, 3))).astype(np.float32)
    monkeypatch.setattr("tagloom.linalg._ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(column_variances(X), X.astype(np.float64).var(axis=0), rtol=1e-12)


@pytest.mark.parametrize("n_components", [4, 20, 0.7, 0.9, 0.99])
@pytest.mark.parametrize("n_rows", [300, 30])
@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_axes_of_some_columns_lead_to_those_of_all(n_components, n_rows, size):
    """Also where the further columns outweigh them, and where there are fewer rows than axes."""
    rng = np.random.default_rng(1)
    first = rng.standard_normal((n_rows, 40)) * np.geomspace(10, 0.5, 40) + 5
    more = size * (first[:, :6] @ rng.standard_normal((6, 5)) / 40 + rng.random((n_rows, 5)))
    X = np.hstack([first, more])
    direct = DescriptorPCA(n_components).fit_transform(X)
    extended = DescriptorPCA(n_components).fit_transform(X, axes=principal_axes(first))
    assert extended.shape == direct.shape
    scale = np.abs(direct @ direct.T).max()
    np.testing.assert_allclose(extended @ extended.T, direct @ direct.T, atol=1e-4 * scale)


def test_small_further_columns_change_the_axes_to_second_order():
    rng = np.random.default_rng(2)
    first = rng.standard_normal((300, 40)) * np.geomspace(10, 0.5, 40)
    more = 0.02 * (first[:, :6] @ rng.standard_normal((6, 5)) / 6 + rng.random((300, 5)))
    X = np.hstack([first, more])
    direct = DescriptorPCA(0.8).fit_transform(X)
    extended = DescriptorPCA(0.8).fit_transform(X, axes=principal_axes(first))
    alone = DescriptorPCA(0.8).fit_transform(first)
    scale = np.abs(direct @ direct.T).max()
    error = np.abs(extended @ extended.T - direct @ direct.T).max()
    assert np.abs(alone @ alone.T - direct @ direct.T).max() > 1e-5 * scale
    assert error < 1e-8 * scale


def test_principal_axes_of_few_rows_span_them():
    rows = np.random.default_rng(3).standard_normal((7, 20)).astype(np.float32) + 3
    found = principal_axes(rows)
    assert found.axes.shape == (6, 20)
    np.testing.assert_allclose(found.axes @ found.axes.T, np.eye(6), atol=1e-5)
    np.testing.assert_allclose(
        found.variances.sum(), rows.astype(np.float64).var(axis=0, ddof=1).sum(), rtol=1e-5
    )
    assert principal_axes(np.ones((3, 5))).axes.shape == (1, 5)
