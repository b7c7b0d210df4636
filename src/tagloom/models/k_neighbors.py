"""Nearest-neighbour voting: only neighbours for which a label is known vote on it.

Similar to TagProp (Guillaumin et al. 2009) and neighbour voting (Li, Snoek and Worring 2009), for
partial labels.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tagloom.labels import PartialLabels
from tagloom.models.base import Array, InstanceBasedLearner, ParamGrids, parameter
from tagloom.neighbors import Neighbors, nearest_neighbors, neighbor_table
from tagloom.semantics.evidence import Evidence, Floats, as_dense, evidence_by_labels, label_rates
from tagloom.validation import check_choice, check_number

WEIGHTINGS = ("distance", "rank", "uniform")

# The default grid.
_NUMBERS = (50, 100, 200, 400)
_BANDWIDTHS = (0.1, 0.25, 0.6)
_SHRINKAGES = (0.1,)
# Tables of at most so many entries are multiplied as dense ones where more than this share is set.
_DENSE_ENTRIES = 1 << 25
_DENSE_SHARE = 0.03
# Votes are counted for so many (item, label) pairs at a time.
_ENTRIES_AT_ONCE = 1 << 22


class KNeighborsTagger(InstanceBasedLearner):
    """Score a label by a weighted vote of the neighbours for which it is known.

    With N(i) the nearest training items, pi_ik the weight of neighbour k, w_kj the observation
    weight of label j there (0: unknown) and the prior rate_j, the share of presences among the
    known entries of the label,

        score_ij = (sum_{k in N(i)} pi_ik w_kj y_kj + m rate_j) / (sum_{k in N(i)} pi_ik w_kj + m).

    A neighbour for which the label is unknown does not vote. Without votes the score is the rate.

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
        m, the pseudo-count of the prior, in votes of the nearest neighbour.
    metric : {"euclidean", "cosine"}, default="euclidean"
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        How to search, see `tagloom.neighbors.nearest_neighbors`.
    warm_start : bool, default=False
        Whether `fit` reuses the neighbours that the previous fit found, if it had the same features
        and at least as many neighbours. The result is the same.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent.

    Attributes
    ----------
    rates_ : array of shape (n_labels,)
        Share of presences among the known entries of each label; 0 where there is none.
    scale_ : float
        Mean distance of a training item to its nearest neighbour.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> Y = [[1, 0], [1, None], [0, 1], [None, 1]]
    >>> KNeighborsTagger(n_neighbors=2).fit(X, Y).predict([[0.05], [5.05]])
    array([[1, 0],
           [0, 1]])
    """

    path_parameters: ClassVar[tuple[str, ...]] = ("n_neighbors", "bandwidth", "shrinkage")

    rates_: Floats
    scale_: float
    _known: PartialLabels
    _training_neighbors: Neighbors
    _searched: tuple[Any, ...]

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

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Return the number of neighbours, the bandwidth of their weights, and the shrinkage."""
        numbers = sorted({min(number, len(X) - 1) for number in _NUMBERS})
        grid: dict[str, list[Any]] = {"n_neighbors": numbers, "shrinkage": list(_SHRINKAGES)}
        if self.weighting == "distance":
            grid["bandwidth"] = list(_BANDWIDTHS)
        return [grid]

    def fit_known(self, rows: Array, known: PartialLabels) -> None:
        """Store the items and their known labels, and find the neighbours of each item."""
        self._training_neighbors = self._find_training_neighbors(rows)
        self.training_rows_ = rows
        self._known = known
        self.scale_ = float(self._training_neighbors.distances[:, 0].mean())
        self.rates_ = label_rates(known)

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        check_choice(*parameter(self, "weighting"), WEIGHTINGS)
        check_number(*parameter(self, "bandwidth"), low=0, inclusive=False)
        check_number(*parameter(self, "shrinkage"), low=0)

    def _find_training_neighbors(self, rows: Array) -> Neighbors:
        """Search, or reuse the nearest of the neighbours that the previous fit found."""
        k = min(self.n_neighbors, len(rows) - 1)
        searched = (*self._search_cache.fingerprint(rows), self.metric, self.algorithm)
        if self.warm_start and getattr(self, "_searched", None) == searched:
            found = self._training_neighbors
            if found.indices.shape[1] >= k:
                return replace(
                    found, indices=found.indices[:, :k], distances=found.distances[:, :k]
                )
        found = self._search_cache.get(
            ("neighbors", *searched, k),
            lambda: nearest_neighbors(rows, k, metric=self.metric, algorithm=self.algorithm),
            n_bytes=16 * len(rows) * k,
        )
        self._searched = searched
        return found

    @property
    def gives_probabilities(self) -> bool:
        """True: the share of the votes for a label estimates its probability."""
        return True

    def score_training_rows(self) -> Array:
        """Return the scores of the training items."""
        return self._votes(self._training_neighbors)

    def score_rows(self, X: Array) -> Array:
        """Return the scores of validated rows."""
        k = min(self.n_neighbors, len(self.training_rows_))
        return self._votes(
            nearest_neighbors(
                self.training_rows_, k, X, metric=self.metric, algorithm=self.algorithm
            )
        )

    def _votes(self, found: Neighbors) -> Array:
        """Return the scores, computed in blocks of labels and items."""
        scores = np.empty((len(found.indices), len(self.rates_)), dtype=self.training_rows_.dtype)
        pi = self._neighbor_weights(found)
        for labels, stored in evidence_by_labels(self._known):
            rates, evidence = self.rates_[labels], _dense_if_faster(stored)
            step = max(1, _ENTRIES_AT_ONCE // max(1, len(rates)))
            for start in range(0, len(scores), step):
                items = slice(start, start + step)
                scores[items, labels] = self._vote_share(*evidence.sums(pi[items]), rates)
        return scores

    def _vote_share(self, present: Floats, total: Floats, rates: Floats) -> Floats:
        """Return the share of votes for a label, shrunk towards its rate."""
        no_vote = total <= 0
        pseudo_count = self.shrinkage + no_vote
        # Where unlisted entries are absent, sums are differences: keep rounding inside [0, 1].
        share = (np.where(no_vote, 0, present) + pseudo_count * rates) / (
            np.where(no_vote, 0, total) + pseudo_count
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
        return neighbor_table(weights, found.indices, len(self.training_rows_))


def _dense_if_faster(evidence: Evidence) -> Evidence:
    """Return the weights as a dense table where that is small and multiplies faster."""
    offset = evidence.offset
    n_entries = offset.shape[0] * offset.shape[1]
    if not isinstance(offset, sparse.csr_array) or n_entries > _DENSE_ENTRIES:
        return evidence
    if offset.nnz < _DENSE_SHARE * n_entries:
        return evidence
    return Evidence(evidence.present, as_dense(offset), evidence.background)
