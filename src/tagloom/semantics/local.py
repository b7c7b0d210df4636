"""The local descriptor: the pooled labels of visually similar items."""

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted, validate_data

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.neighbors import ALGORITHMS, METRICS, Neighbors, nearest_neighbors, neighbor_table
from tagloom.semantics.evidence import (
    Floats,
    LabelledMixin,
    as_dense,
    evidence_by_labels,
    label_rates,
    read_labels,
)
from tagloom.semantics.pca import PrincipalAxes, fitted_pca
from tagloom.validation import check_choice, check_integer, check_number

Array = npt.NDArray[Any]

POOLINGS = ("known", "paper")
# Labels of neighbours are summed for this many (item, label) at a time.
_SUMS_AT_ONCE = 1 << 22


class LocalDescriptor(LabelledMixin, TransformerMixin, BaseEstimator):
    """Pool the known labels of each item's visual neighbours: the paper's l.

    An item is never its own neighbour: `fit_transform` searches the neighbours of each training
    item among the others, so that no label leaks into the descriptor of its own item. `transform`
    treats every row as a new item. Equal rows are different items and may be neighbours.

    Parameters
    ----------
    n_neighbors : int, default=50
        The paper's k_v; all other items where there are fewer.
    n_components : int or None, default=128
        Dimensions to which PCA reduces the visual descriptors before the search. They are not
        reduced if it is None or if there are no more columns than that.
    pooling : {"known", "paper"}, default="known"
        "known": (sum of w y + shrinkage * rate) / (sum of w + shrinkage) over the known labels of
        the neighbours, with observation weights w and the label's rate among all training items.
        "paper": (1/k_v) sum of observed labels, where unknown counts as 0.
    shrinkage : float, default=1.0
        Pseudo-count: the weight of the rate in "known", in observations.
    metric : {"euclidean", "cosine"}, default="euclidean"
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        See `tagloom.neighbors.nearest_neighbors`.

    Attributes
    ----------
    labels_ : tuple
        Names of the labels, which are the columns of the descriptor.
    rates_ : array of shape (n_labels,)
        Share of presences among the known entries of each label.
    neighbors_ : Neighbors or None
        The neighbours of the training items, after `fit_transform`.

    Examples
    --------
    >>> visual = [[0.0], [0.1], [5.0], [5.1]]
    >>> local = LocalDescriptor(n_neighbors=1, shrinkage=0)
    >>> local.fit_transform(visual, [[1, 0], [1, None], [0, 1], [None, 1]]).round(2)
    array([[1.  , 0.67],
           [1.  , 0.  ],
           [0.67, 1.  ],
           [0.  , 1.  ]])
    """

    labels_: tuple[Any, ...]
    rates_: Floats
    neighbors_: Neighbors | None

    def __init__(
        self,
        n_neighbors: int = 50,
        *,
        n_components: int | None = 128,
        pooling: str = "known",
        shrinkage: float = 1.0,
        metric: str = "euclidean",
        algorithm: str = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.pooling = pooling
        self.shrinkage = shrinkage
        self.metric = metric
        self.algorithm = algorithm

    def fit(self, X: Any, y: Any = None, *, axes: PrincipalAxes | None = None) -> Self:
        """Store the training items and their known labels.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_features)
            Visual descriptors.
        y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown)
        axes : PrincipalAxes, optional
            Those of X, if they are known.
        """
        self._check_parameters()
        rows, known = self._read(X, y)
        self._pca: PCA | None = fitted_pca(rows, self.n_components, axes)
        self._rows: Array = self._reduced(rows)
        self._set_labels(known)
        return self

    def relabelled(self, y: Any) -> tuple[Self, Array]:
        """Return this descriptor of the same items with other labels, and what describes them.

        It is what `fit_transform` would give, but neighbours are not searched again.
        """
        check_is_fitted(self)
        other = copy(self)
        other._set_labels(read_labels(y, len(self._rows)))
        found = self._search(None) if self.neighbors_ is None else self.neighbors_
        other.neighbors_ = found
        return other, other._pool(found)

    def _set_labels(self, known: PartialLabels) -> None:
        self._known: PartialLabels = known
        self.labels_ = known.labels
        self.rates_ = label_rates(known)
        self.neighbors_ = None

    def fit_transform(self, X: Any, y: Any = None, **given: Any) -> Any:
        """Store the training items and describe each by the others; parameters as for `fit`."""
        self.fit(X, y, **given)
        if len(self._rows) < 2:
            raise InvalidInputError("A single item has no neighbour: at least 2 items are needed.")
        self.neighbors_ = self._search(None)
        return self._pool(self.neighbors_)

    def transform(self, X: Any) -> Any:
        """Describe new items by their visual neighbours among the training items."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self._pool(self._search(self._reduced(rows)))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the labels."""
        check_is_fitted(self)
        return as_text(self.labels_)

    def to_state(self) -> "LocalState":
        """Return what has to be kept of the fitted descriptor."""
        return LocalState(self.n_features_in_, self._pca, self._rows, self._known, self.rates_)

    def from_state(self, state: "LocalState") -> Self:
        """Take over the state of a fitted descriptor; it holds no neighbours of training items."""
        self.n_features_in_, self._pca, self._rows, self._known, self.rates_ = state
        self.labels_ = state.known.labels
        self.neighbors_ = None
        return self

    def _search(self, rows: Array | None) -> Neighbors:
        available = len(self._rows) - (rows is None)
        k = min(self.n_neighbors, available)
        return nearest_neighbors(self._rows, k, rows, metric=self.metric, algorithm=self.algorithm)

    def _pool(self, found: Neighbors) -> Array:
        dtype = self._rows.dtype
        if self.pooling == "paper":
            return _pool_observed(self._known, found, dtype)
        return _pool_known(self._known, found, self.rates_, self.shrinkage, dtype)

    def _reduced(self, rows: Array) -> Array:
        return rows if self._pca is None else np.asarray(self._pca.transform(rows))

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, at_least=1)
        if self.n_components is not None:
            check_integer("n_components", self.n_components, at_least=1)
        check_choice("pooling", self.pooling, POOLINGS)
        check_number("shrinkage", self.shrinkage, low=0)
        check_choice("metric", self.metric, METRICS)
        check_choice("algorithm", self.algorithm, ALGORITHMS)


class LocalState(NamedTuple):
    """What a fitted local descriptor needs to describe new items."""

    n_features: int
    pca: PCA | None
    rows: Array
    """The training items, reduced by `pca`."""
    known: PartialLabels
    rates: Floats


def _pool_observed(known: PartialLabels, found: Neighbors, dtype: npt.DTypeLike) -> Array:
    """Return l_i = (1/k) sum over the neighbours of their observed labels, unknown as 0.

    This is the paper's definition: it does not distinguish unknown from absent and ignores weights.
    """
    pooled = np.empty((len(found.indices), known.n_labels), dtype=dtype)
    for labels, evidence in evidence_by_labels(known):
        observed = (evidence.present > 0).astype(np.float64)
        for part, A in _adjacency_blocks(found, known):
            pooled[part, labels] = as_dense(A @ observed) / found.indices.shape[1]
    return pooled


def _pool_known(
    known: PartialLabels, found: Neighbors, rates: Floats, shrinkage: float, dtype: npt.DTypeLike
) -> Array:
    """Return the share of presences among the known labels of the neighbours, with shrinkage m.

    l_ij = (sum_n w_nj y_nj + m rate_j) / (sum_n w_nj + m), n over the neighbours of i. It is the
    rate if m is 0 and the label is unknown at all neighbours.
    """
    pooled = np.empty((len(found.indices), known.n_labels), dtype=dtype)
    for labels, evidence in evidence_by_labels(known):
        rate = rates[labels]
        for part, A in _adjacency_blocks(found, known):
            present, total = evidence.sums(A)
            nothing = total <= 0
            total += shrinkage + nothing
            present += shrinkage * rate + nothing * rate
            # Over an absent background the sums are differences: rounding could leave [0, 1].
            pooled[part, labels] = np.clip(present / total, 0, 1)
    return pooled


def _adjacency_blocks(
    found: Neighbors, known: PartialLabels
) -> Iterator[tuple[slice, sparse.csr_array]]:
    """Yield the adjacency matrix of some items at a time, few enough for the sums to be small."""
    step = max(1, _SUMS_AT_ONCE // max(1, known.n_labels))
    for start in range(0, len(found.indices), step):
        part = slice(start, start + step)
        near = found.indices[part]
        yield part, neighbor_table(np.ones(near.shape), near, known.n_items)


def as_text(names: Iterable[Any]) -> Array:
    """Return names as the array of strings that scikit-learn expects."""
    return np.array([str(name) for name in names], dtype=object)
