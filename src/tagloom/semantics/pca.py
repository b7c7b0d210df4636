"""Principal components of the descriptors: the decorrelated features that learners see."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted, validate_data

from tagloom.errors import InvalidInputError
from tagloom.validation import check_n_components, is_integer

Array = npt.NDArray[Any]

_ROWS_AT_ONCE = 8192


class DescriptorPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Reduce [visual; semantic] to its leading principal components.

    The learner assumes orthogonal features. Blocks of columns on different scales (the activations
    of a network are large, posteriors small) can be brought to the same total variance first;
    otherwise the block with the largest variance dominates the components.

    Parameters
    ----------
    n_components : float, int or None, default=0.9
        As in scikit-learn's PCA: a float in (0, 1) is the share of the variance to keep, an integer
        is the number of components, None keeps all of them.
    blocks : sequence of int, optional
        Widths of the blocks of columns, each divided by the square root of its total variance.
        None leaves all columns as they are, as the paper does.

    Attributes
    ----------
    pca_ : PCA
        The fitted principal components.
    scales_ : array of shape (n_features,)
        Divisor of each column.
    n_components_ : int
        Number of components kept.

    Examples
    --------
    >>> X = np.array([[100.0, 0.1], [-100.0, 0.1], [100.0, -0.1], [-100.0, -0.1]])
    >>> DescriptorPCA().fit_transform(X).shape
    (4, 1)
    >>> DescriptorPCA(blocks=[1, 1]).fit_transform(X).shape
    (4, 2)
    """

    pca_: PCA
    scales_: Array
    n_components_: int

    def __init__(
        self, n_components: float | None = 0.9, *, blocks: Sequence[int] | None = None
    ) -> None:
        self.n_components = n_components
        self.blocks = blocks

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components; `y` is ignored."""
        check_n_components("n_components", self.n_components)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        self.scales_ = self._block_scales(rows)
        scaled = self._scaled(rows)
        pca = fitted_pca(scaled, self.n_components)
        self.pca_ = PCA(svd_solver="full").fit(scaled) if pca is None else pca
        self.n_components_ = int(self.pca_.n_components_)
        return self

    def transform(self, X: Any) -> Any:
        """Return the components of each row."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self.pca_.transform(self._scaled(rows))

    def _scaled(self, rows: Array) -> Array:
        # Without blocks there is nothing to divide, and the rows need no copy.
        return rows if self.blocks is None else np.asarray(rows / self.scales_)

    def _block_scales(self, rows: Array) -> Array:
        if self.blocks is None:
            return np.ones(rows.shape[1], dtype=rows.dtype)
        widths = list(self.blocks)
        if not all(is_integer(width) and width >= 0 for width in widths):
            raise InvalidInputError(
                f"blocks must be integers, the widths of blocks of columns; got {widths!r}."
            )
        if sum(widths) != rows.shape[1]:
            raise InvalidInputError(
                f"blocks must add up to the {rows.shape[1]} columns of X; "
                f"{widths!r} add up to {sum(widths)}."
            )
        ends = np.cumsum([0, *widths])
        variance = column_variances(rows)
        total = np.array([variance[a:b].sum() for a, b in pairwise(ends)])
        return np.repeat(np.sqrt(np.where(total > 0, total, 1.0)), widths).astype(rows.dtype)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def fitted_pca(rows: npt.NDArray[Any], n_components: float | None) -> PCA | None:
    """Fit a PCA to `n_components`, as in scikit-learn; None where nothing would be reduced.

    The solver is deterministic: the eigenvalues of the covariance where there are at least as many
    rows as columns, because that needs no copy of the rows, else the singular values of the rows.
    """
    if n_components is None or (n_components >= 1 and n_components >= rows.shape[1]):
        return None
    solver = "covariance_eigh" if rows.shape[0] >= rows.shape[1] else "full"
    if n_components >= 1:
        n_components = min(n_components, *rows.shape)
    elif not column_variances(rows).any():
        n_components = 1  # equal rows have no variance to keep a share of
    # If the total variance is 0, the explained variance ratio is 0/0; it is not used.
    with np.errstate(invalid="ignore"):
        return PCA(n_components=n_components, svd_solver=solver).fit(rows)


def column_variances(rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the variance of each column in double precision, in blocks of rows."""
    mean = rows.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        around = rows[start : start + _ROWS_AT_ONCE] - mean
        squares += np.einsum("ij,ij->j", around, around)
    return np.asarray(squares / len(rows))
