"""Principal component analysis of rows in partitions."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn import decomposition
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tagloom.dask import blocks
from tagloom.errors import InvalidInputError
from tagloom.validation import check_number, is_integer

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class PCA(TransformerMixin, BaseEstimator):
    """`sklearn.decomposition.PCA` on a Dask cluster, in one pass over the rows.

    The partitions add up the d x d scatter matrix S = sum_i (x_i - m)(x_i - m)', and the client
    decomposes it; the components are its eigenvectors, with the signs that scikit-learn chooses.

    Parameters
    ----------
    n_components : int or float in (0, 1)
        Their number, or the share of the variance that they must explain together.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
    mean_ : array of shape (n_features,)
    explained_variance_, explained_variance_ratio_ : array of shape (n_components,)
    n_components_ : int
    n_samples_ : int
    """

    def __init__(self, n_components: float) -> None:
        self.n_components = n_components

    components_: Array
    mean_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    n_components_: int
    n_samples_: int

    def fit(self, X: Any, y: object = None, *, client: Any = None) -> Self:
        """Learn from a dask array, `ParquetItems` or `RowBlocks`."""
        rows = blocks.row_blocks(X)
        self._check_n_components(min(rows.width, rows.n_rows))
        moments = moments_of(rows, blocks.get_client(client))
        if moments.n_rows < 2:
            raise InvalidInputError("Principal components need at least 2 rows; found 1.")
        self._decompose(moments, rows.dtype)
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows in the space of the components as a lazy dask array."""
        check_is_fitted(self)
        table = blocks.to_dask_array(X)
        model = blocks.constant((self.mean_, self.components_))
        chunks = (table.chunks[0], (self.n_components_,))
        return table.map_blocks(_projected, model=model, dtype=table.dtype, chunks=chunks)

    def to_local(self) -> decomposition.PCA:
        """Return the fitted PCA as that of scikit-learn, for rows in memory."""
        check_is_fitted(self)
        local = decomposition.PCA(n_components=self.n_components)
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(local, name, value)
        local.n_features_in_ = len(self.mean_)
        local.singular_values_ = np.sqrt(self.explained_variance_ * (self.n_samples_ - 1))
        local.noise_variance_ = 0.0
        return local

    def _check_n_components(self, most: int) -> None:
        name = "The 'n_components' parameter of PCA"
        if is_integer(self.n_components) and 1 <= self.n_components <= most:
            return
        if is_integer(self.n_components):
            raise InvalidInputError(
                f"{name} must be an integer from 1 to {most}, or a share of the variance "
                f"below 1; got {self.n_components!r}."
            )
        check_number(name, self.n_components, low=0, high=1, inclusive=False)

    def _decompose(self, moments: "Moments", dtype: np.dtype[Any]) -> None:
        variances, vectors = np.linalg.eigh(moments.scatter / (moments.n_rows - 1))
        variances = np.maximum(variances[::-1], 0.0)
        total = variances.sum()
        ratios = variances / total if total > 0 else np.zeros_like(variances)
        n = _n_components(self.n_components, ratios)
        components = vectors[:, ::-1].T[:n]
        largest = np.argmax(np.abs(components), axis=1)
        components = components * np.sign(components[np.arange(n), largest])[:, None]
        self.components_ = components.astype(dtype)
        self.mean_ = moments.mean.astype(dtype)
        self.explained_variance_ = variances[:n].astype(dtype)
        self.explained_variance_ratio_ = ratios[:n].astype(dtype)
        self.n_components_, self.n_samples_ = n, moments.n_rows


def _n_components(wanted: float, ratios: Array) -> int:
    """Return the number of components, or the least number that explains that share."""
    if wanted >= 1:
        return int(wanted)
    if not ratios.any():
        return 1  # equal rows have no variance to explain
    return min(len(ratios), int(np.searchsorted(np.cumsum(ratios), wanted, side="right")) + 1)


def _projected(block: Array, model: tuple[Array, Array]) -> Array:
    mean, components = model
    rows: Array = (block - mean) @ components.T
    return rows.astype(block.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Moments:
    """Number of rows n, their mean m and scatter S = sum_i (x_i - m)(x_i - m)'.

    Two sets of rows are merged without cancellation (Chan, Golub and LeVeque 1983), with
    e = m_2 - m_1 and n = n_1 + n_2:

        m = m_1 + (n_2 / n) e,    S = S_1 + S_2 + (n_1 n_2 / n) e e'.
    """

    n_rows: int
    mean: Floats
    scatter: Floats

    @classmethod
    def of_block(cls, block: Any) -> "Moments":
        """Return the moments of one block of rows."""
        blocks.register_sizes(Moments)
        rows = blocks.load_block(block)
        mean = rows.mean(axis=0, dtype=np.float64)
        centred = rows - mean
        return cls(len(rows), mean, centred.T @ centred)

    def __add__(self, other: "Moments") -> "Moments":
        n = self.n_rows + other.n_rows
        difference = other.mean - self.mean
        share = other.n_rows / n
        between = (self.n_rows * share) * np.outer(difference, difference)
        return Moments(n, self.mean + share * difference, self.scatter + other.scatter + between)


def moments_of(rows: blocks.RowBlocks, client: Any) -> Moments:
    """Return mean and scatter of all rows in one pass."""
    terms = [blocks.task(Moments.of_block, block) for block in rows.blocks]
    result: Moments = blocks.compute(client, blocks.tree_sum(terms))
    return result
