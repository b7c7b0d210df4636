"""Votes of neighbours, of those for whom a label is known."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.labels import PartialLabels
from tagloom.models.base import (
    Array,
    RememberingLearner,
    check_learnable,
    check_on_unlearnable,
    known_again_by,
    parameter,
    refuse_single,
)
from tagloom.neighbors import ALGORITHMS, METRICS, Neighbors, nearest_neighbors, neighbor_table
from tagloom.semantics.evidence import Evidence, Floats, as_dense, evidence_by_labels, label_rates
from tagloom.validation import check_choice, check_flag, check_integer, check_number

WEIGHTINGS = ("distance", "rank", "uniform")

_NUMBERS = (50, 100, 200, 400)
_BANDWIDTHS = (0.1, 0.25, 0.6)
_PRIORS = (0.1,)
# Tables of so many entries are multiplied as dense ones where more than this share is stored.
_DENSE_ENTRIES = 1 << 25
_DENSE_SHARE = 0.03
# Votes are counted for so many (item, label) at a time.
_ENTRIES_AT_ONCE = 1 << 22


class KNeighborsTagger(RememberingLearner):
    """Score a label by the neighbours for whom it is known.

    With N(i) the nearest training items, pi_ik the weight of neighbour k, w_kj the observation
    weight of label j there (0: unknown) and a prior rate_j, the share of presences among all that
    is known of the label,

        score_ij = (sum_{k in N(i)} pi_ik w_kj y_kj + m rate_j) / (sum_{k in N(i)} pi_ik w_kj + m).

    A neighbour for whom the label is unknown has no vote. Where nobody votes, the score is the
    rate.

    Parameters
    ----------
    n_neighbors : int, default=50
        All other items where there are fewer.
    weighting : {"distance", "rank", "uniform"}, default="distance"
        With d_k the distance to the k-th neighbour: pi = exp(-(d_k - d_1) / s), where s is
        `bandwidth` times the mean distance of a training item to its nearest neighbour; 1/k; or 1.
        The nearest neighbour always weighs 1.
    bandwidth : float, default=0.2
        Only for "distance".
    shrinkage : float, default=1.0
        m, in votes of the nearest neighbour.
    metric : {"euclidean", "cosine"}, default="euclidean"
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        How to search, see `tagloom.neighbors.nearest_neighbors`.
    warm_start : bool, default=False
        Whether `fit` takes over the neighbours that the fit before found, if it was given the same
        features and asked for no fewer neighbours. The result is the same, and sooner there.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent.

    Attributes
    ----------
    rates_ : array of shape (n_labels,)
        Share of presences among what is known of each label; 0 where nothing is.
    scale_ : float
        Mean distance of a training item to its nearest neighbour.
    classes_ : array
        The names of the labels; for a one-dimensional y its two classes.
    learnable_ : array of bool of shape (n_labels,)
        False where known entries do not tell who has the label from who has not.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> Y = [[1, 0], [1, None], [0, 1], [None, 1]]
    >>> KNeighborsTagger(n_neighbors=2).fit(X, Y).predict([[0.05], [5.05]])
    array([[1, 0],
           [0, 1]])
    """

    _path_parameters: ClassVar[tuple[str, ...]] = ("n_neighbors", "bandwidth", "shrinkage")

    rates_: Floats
    scale_: float
    learnable_: npt.NDArray[np.bool_]

    def __init__(
        self,
        n_neighbors: int = 50,
        *,
        weighting: str = "distance",
        bandwidth: float = 0.2,
        shrinkage: float = 1.0,
        metric: str = "euclidean",
        algorithm: str = "auto",
        warm_start: bool = False,
        on_unlearnable: str = "raise",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weighting = weighting
        self.bandwidth = bandwidth
        self.shrinkage = shrinkage
        self.metric = metric
        self.algorithm = algorithm
        self.warm_start = warm_start
        self.on_unlearnable = on_unlearnable

    def fit(self, X: Any, Y: Any) -> Self:
        """Keep the items and what is known of them, and find who is near whom.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_features), float32 or float64
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown) of shape (n_items, n_labels)
            A one-dimensional y with two classes is one label.
        """
        self._check_parameters()
        rows, known = self._read(X, Y)
        self.learnable_ = check_learnable(known, self.on_unlearnable)
        refuse_single(rows)
        self._among_themselves = self._neighbors_of_each_other(rows)
        self._rows: Array = rows
        self._known: PartialLabels = known
        self.scale_ = float(self._among_themselves.distances[:, 0].mean())
        self.rates_ = label_rates(known)
        return self

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> list[dict[str, list[Any]]]:
        """Return how many neighbours, how fast their votes fade, and the prior's strength."""
        numbers = sorted({min(number, len(X) - 1) for number in _NUMBERS})
        grid: dict[str, list[Any]] = {"n_neighbors": numbers, "shrinkage": list(_PRIORS)}
        if self.weighting == "distance":
            grid["bandwidth"] = list(_BANDWIDTHS)
        return [grid]

    def _check_parameters(self) -> None:
        check_integer(*parameter(self, "n_neighbors"), at_least=1)
        check_choice(*parameter(self, "weighting"), WEIGHTINGS)
        check_number(*parameter(self, "bandwidth"), low=0, inclusive=False)
        check_number(*parameter(self, "shrinkage"), low=0)
        check_choice(*parameter(self, "metric"), METRICS)
        check_choice(*parameter(self, "algorithm"), ALGORITHMS)
        check_flag(*parameter(self, "warm_start"))
        check_on_unlearnable(self)

    def _neighbors_of_each_other(self, rows: Array) -> Neighbors:
        """Search, or take over the nearest of those that the fit before found."""
        k = min(self.n_neighbors, len(rows) - 1)
        found_by = (*known_again_by(rows), self.metric, self.algorithm)
        if self.warm_start and getattr(self, "_found_by", None) == found_by:
            before = self._among_themselves
            if before.indices.shape[1] >= k:
                return replace(
                    before, indices=before.indices[:, :k], distances=before.distances[:, :k]
                )
        found = nearest_neighbors(rows, k, metric=self.metric, algorithm=self.algorithm)
        self._found_by = found_by
        return found

    def _training_scores(self) -> Array:
        return self._votes(self._among_themselves)

    def _scores(self, X: Array) -> Array:
        k = min(self.n_neighbors, len(self._rows))
        return self._votes(
            nearest_neighbors(self._rows, k, X, metric=self.metric, algorithm=self.algorithm)
        )

    def _votes(self, found: Neighbors) -> Array:
        """Return the scores, labels and items in blocks."""
        scores = np.empty((len(found.indices), len(self.rates_)), dtype=self._rows.dtype)
        pi = self._neighbor_weights(found)
        for labels, stored in evidence_by_labels(self._known):
            rates, evidence = self.rates_[labels], _quick_to_multiply(stored)
            step = max(1, _ENTRIES_AT_ONCE // max(1, len(rates)))
            for start in range(0, len(scores), step):
                items = slice(start, start + step)
                scores[items, labels] = self._share(*evidence.sums(pi[items]), rates)
        return scores

    def _share(self, present: Floats, total: Floats, rates: Floats) -> Floats:
        """Return the share of votes for a label, drawn to its rate."""
        nobody = total <= 0
        strength = self.shrinkage + nobody
        # Over an absent background sums are differences: rounding must not lead out of [0, 1].
        share = (np.where(nobody, 0, present) + strength * rates) / (
            np.where(nobody, 0, total) + strength
        )
        return np.asarray(np.clip(share, 0, 1))

    def _neighbor_weights(self, found: Neighbors) -> sparse.csr_array:
        n_queries, k = found.indices.shape
        weights = np.ones((n_queries, k))
        if self.weighting == "rank":
            weights /= np.arange(1, k + 1)
        elif self.weighting == "distance":
            tiny = np.finfo(np.float64).tiny
            s = max(self.bandwidth * self.scale_, tiny)
            weights = np.exp(-(found.distances - found.distances[:, :1]) / s)
        return neighbor_table(weights, found.indices, len(self._rows))


def _quick_to_multiply(evidence: Evidence) -> Evidence:
    """Return the weights as a dense table where that is small and the product is sooner done."""
    offset = evidence.offset
    n_entries = offset.shape[0] * offset.shape[1]
    if not isinstance(offset, sparse.csr_array) or n_entries > _DENSE_ENTRIES:
        return evidence
    if offset.nnz < _DENSE_SHARE * n_entries:
        return evidence
    return Evidence(evidence.present, as_dense(offset), evidence.background)
