"""Principal components of the descriptors: the decorrelated features that learners see."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted, validate_data

from tagloom.errors import InvalidInputError
from tagloom.linalg import column_variances, limited_blas
from tagloom.validation import check_n_components, is_integer

Array = npt.NDArray[Any]

# Products of single precision are summed over this many rows before they are added in double.
_ROWS_SUMMED = 1024
# Axes with at least this share of the variance of the last one that is kept are solved for with
# the further columns; those below follow from the solution.
_NEAR_THE_LAST = 0.75
# The largest square of what may be added to an eigenvector of norm 1 in this way. The variance that
# is lost is of second order in it: a share of 1e-9 where the largest square was 2e-5.
_MOST_ADDED = 1e-4


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

    def fit(self, X: Any, y: Any = None, *, axes: "PrincipalAxes | None" = None) -> Self:
        """Find the components; `y` is ignored.

        `axes` are the principal axes of the first columns of X, if they are known: those of X are
        then found several times as fast. They are of no use to scaled blocks.
        """
        check_n_components("n_components", self.n_components)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        self.scales_ = self._block_scales(rows)
        scaled = self._scaled(rows)
        pca = fitted_pca(scaled, self.n_components, axes if self.blocks is None else None)
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


class PrincipalAxes(NamedTuple):
    """All principal axes of a table: orthonormal directions, by descending variance."""

    mean: Array
    """Of shape (n_features,), in double precision."""
    axes: Array
    """Of shape (n_axes, n_features), in the precision of the table."""
    variances: npt.NDArray[np.float64]
    """Along each axis; there is none beyond the axes."""


def principal_axes(rows: Array) -> PrincipalAxes:
    """Return the eigenvectors of the covariance, or of the Gram matrix where that is smaller.

    With A the centred rows, A'A / (n - 1) has the eigenvectors u and eigenvalues v that are asked
    for; AA' q = (n - 1) v q has the same eigenvalues, and u = A'q / ||A'q||.
    """
    n, d = rows.shape
    mean = rows.mean(axis=0, dtype=np.float64)
    if n >= d:
        variances, U = _eigh(_products(rows, mean, rows, mean) / (n - 1))
        axes = U.T
    else:
        around = rows - mean
        squares, Q = _eigh(around @ around.T)
        # A centred table has one axis less than rows; what is left of it is rounding.
        kept = squares > np.finfo(np.float64).eps * n * max(squares[0], 0.0)
        axes = (Q[:, kept].T @ around) / np.sqrt(squares[kept])[:, None]
        variances = squares[kept] / (n - 1)
    if not len(axes):  # equal rows: one direction is as good as another
        axes, variances = np.eye(1, d), np.zeros(1)
    return PrincipalAxes(mean, np.ascontiguousarray(axes, dtype=rows.dtype), variances)


def fitted_pca(
    rows: Array, n_components: float | None, axes: PrincipalAxes | None = None
) -> PCA | None:
    """Fit a PCA to `n_components`, as in scikit-learn; None where nothing would be reduced.

    `axes` are those of the first columns, if they are known: the axes of all columns follow.
    """
    if n_components is None or (n_components >= 1 and n_components >= rows.shape[1]):
        return None
    if axes is None:
        axes = principal_axes(rows)
    if axes.axes.shape[1] < rows.shape[1]:
        axes, total = _extended(axes, rows, n_components)
    else:
        total = float(axes.variances.sum())
    # No more axes than rows beyond the first have a variance.
    n_kept = min(
        _n_kept(axes.variances, total, n_components), len(axes.axes), max(1, len(rows) - 1)
    )
    return _as_pca(axes, n_kept, total, rows)


def _extended(axes: PrincipalAxes, rows: Array, n_components: float) -> tuple[PrincipalAxes, float]:
    r"""Return the leading principal axes of a table, given all axes of its first columns.

    Let u_j with variances v_j be the axes of the first columns and Z the further columns. In the
    orthonormal basis of the u_j and the columns of Z, the covariance is

        [ diag(v)  B ]       B = cov(rows u, Z),
        [ B'       D ]       D = cov(Z).

    An eigenvector (a, b) to the eigenvalue t has a_j = B_j b / (t - v_j). The axes with the largest
    v_j are solved for together with Z, which is a Rayleigh-Ritz step; by this formula the others
    are added, which cannot be near an eigenvalue that is kept: t is at least the v_j of the same
    rank (Cauchy's interlacing). The error is of second order in what is added (Löwdin 1951); if
    that is not small, because Z outweighs the first columns, all axes are solved for.
    """
    n, d = len(rows), axes.axes.shape[1]
    Z = rows[:, d:]
    mean = Z.mean(axis=0, dtype=np.float64)
    D = _products(Z, mean, Z, mean) / (n - 1)
    total = float(axes.variances.sum() + np.trace(D))
    B = axes.axes @ (_products(rows[:, :d], axes.mean, Z, mean) / (n - 1)).astype(rows.dtype)
    v = axes.variances
    for m in (_n_solved_for(v, total, n_components), len(v)):
        t, Q = _eigh(np.block([[np.diag(v[:m]), B[:m]], [B[:m].T, D]]))
        n_kept = min(_n_kept(t, total, n_components), len(t))
        t, Q = t[:n_kept], Q[:, :n_kept].astype(rows.dtype)
        minor = (B[m:] @ Q[m:]) / (t - v[m:, None]).astype(rows.dtype)
        added = np.square(minor).sum(axis=0)
        if added.max() <= _MOST_ADDED:
            break
    U = np.concatenate([axes.axes[:m].T @ Q[:m] + axes.axes[m:].T @ minor, Q[m:]])
    U /= np.sqrt(1 + added)
    return PrincipalAxes(np.concatenate([axes.mean, mean]), U.T, t), total


def _n_solved_for(variances: Array, total: float, n_components: float) -> int:
    """Return how many axes may be among those that are kept, or near the last of them."""
    last = min(_n_kept(variances, total, n_components), len(variances)) - 1
    return int((variances >= _NEAR_THE_LAST * variances[last]).sum()) if last >= 0 else 0


def _n_kept(variances: Array, total: float, n_components: float) -> int:
    """Return how many axes are kept: so many, or the fewest with that share of the variance."""
    if n_components >= 1:
        return int(n_components)
    if total <= 0:
        return 1  # equal rows have no variance to keep a share of
    shares = np.cumsum(variances) / total
    return int(np.searchsorted(shares, n_components, side="right")) + 1


def _as_pca(axes: PrincipalAxes, n_kept: int, total: float, rows: Array) -> PCA:
    """Return scikit-learn's PCA with these axes; the largest weight of each is positive."""
    n, dtype = len(rows), rows.dtype
    kept, v = axes.axes[:n_kept], np.maximum(axes.variances[:n_kept], 0)
    largest = np.take_along_axis(kept, np.abs(kept).argmax(axis=1)[:, None], axis=1)
    pca = PCA(n_components=n_kept)
    pca.components_ = np.ascontiguousarray(kept * np.where(largest < 0, -1, 1), dtype=dtype)
    pca.mean_ = axes.mean.astype(dtype)
    pca.explained_variance_ = v.astype(dtype)
    pca.explained_variance_ratio_ = (v / (total if total > 0 else 1.0)).astype(dtype)
    pca.singular_values_ = np.sqrt(v * (n - 1)).astype(dtype)
    pca.n_components_, pca.n_samples_, pca.n_features_in_ = n_kept, n, rows.shape[1]
    n_left = min(rows.shape) - n_kept
    pca.noise_variance_ = max(total - float(v.sum()), 0.0) / n_left if n_left > 0 else 0.0
    return pca


def _eigh(A: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], Array]:
    """Return eigenvalues, in descending order, and eigenvectors of a symmetric matrix.

    In double precision, because the last axis that is kept differs little from the next in its
    variance: rounding would mix them. Half of the work are products of the matrix with one vector,
    for each of which the threads of BLAS would wait for each other: beside other work, two of them
    take eight times as long as one.
    """
    with limited_blas(1):
        values, vectors = eigh(A, driver="evd", check_finite=False)
    return values[::-1], vectors[:, ::-1]


def _products(A: Array, mean_a: Array, B: Array, mean_b: Array) -> npt.NDArray[np.float64]:
    """Return (A - mean_a)'(B - mean_b), in blocks of rows that are summed in double precision."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for start in range(0, len(A), _ROWS_SUMMED):
        part = slice(start, start + _ROWS_SUMMED)
        left = A[part] - mean_a.astype(A.dtype)
        total += left.T @ (left if A is B else B[part] - mean_b.astype(B.dtype))
    return total
