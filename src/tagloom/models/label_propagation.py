"""Label spreading over a graph of neighbours (Zhou et al. 2004), for partial labels."""

from typing import Any, ClassVar

import numpy as np

from tagloom.graph import AffinityGraph, affinity_graph, diffuse
from tagloom.labels import PartialLabels, State
from tagloom.models.base import Array, InstanceBasedLearner, ParamGrids, parameter
from tagloom.semantics.evidence import label_rates
from tagloom.validation import check_below_one, check_number

# The default grid.
_ALPHAS = (0.5, 0.8, 0.95, 0.99)
_NUMBERS = (10, 20, 50)


class LabelPropagation(InstanceBasedLearner):
    """Spread known labels over the graph of neighbours.

    With the normalised affinities S, observation weights W (0: unknown), labels Y and the share of
    presences rate_j among the known entries of label j,

        V = (1 - a) (I - a S)^{-1} (W o Y),    D = (1 - a) (I - a S)^{-1} W,
        F_ij = (V_ij + m rate_j) / (D_ij + m).

    Unknown labels spread nothing, and others spread through items without known labels. An item
    that no known label reaches scores the rate of the label.

    Parameters
    ----------
    n_neighbors : int, default=20
        Neighbours in the graph.
    alpha : float in [0, 1), default=0.8
        a, the share that an item takes from its neighbours: how far labels spread.
    shrinkage : float, default=0.01
        m, the pseudo-count of the rate, in labels of weight 1.
    metric : {"euclidean", "cosine"}, default="euclidean"
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        How to search, see `tagloom.neighbors.nearest_neighbors`.
    warm_start : bool, default=False
        Whether `fit` reuses the graph of the previous fit, if it had the same features and number
        of neighbours. The result is the same.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent.

    Attributes
    ----------
    rates_ : array of shape (n_labels,)
        Share of presences among the known entries of each label; 0 where there is none.
    graph_ : csr_array
        S.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> Y = [[1, 0], [None, None], [0, 1], [None, None]]
    >>> LabelPropagation(n_neighbors=1).fit(X, Y).predict([[0.05], [5.05]])
    array([[1, 0],
           [0, 1]])
    """

    path_parameters: ClassVar[tuple[str, ...]] = ("alpha",)

    rates_: Array
    _graph: AffinityGraph
    _graph_key: tuple[Any, ...]
    _spread_presences: Array
    _spread_weights: Array

    def __init__(
        self,
        n_neighbors: int = 20,
        *,
        alpha: float = 0.8,
        shrinkage: float = 0.01,
        metric: str = "euclidean",
        algorithm: str = "auto",
        warm_start: bool = False,
        on_unlearnable: str = "raise",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.shrinkage = shrinkage
        self.metric = metric
        self.algorithm = algorithm
        self.warm_start = warm_start
        self.on_unlearnable = on_unlearnable

    @property
    def graph_(self) -> Any:
        """Normalised affinities of the training items."""
        return self._graph.S

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Return the number of neighbours and how far labels spread."""
        numbers = sorted({min(number, len(X) - 1) for number in _NUMBERS})
        return [{"n_neighbors": numbers, "alpha": list(_ALPHAS)}]

    def fit_known(self, rows: Array, known: PartialLabels) -> None:
        """Build the graph and spread the known labels over it."""
        self._graph = self._graph_of(rows)
        self.training_rows_ = rows
        W, WY = _weights_and_presences(known, rows.dtype)
        self.rates_ = label_rates(known)
        self._spread_presences = diffuse(self._graph.S, WY, self.alpha)
        self._spread_weights = diffuse(self._graph.S, W, self.alpha)

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        check_below_one(*parameter(self, "alpha"))
        check_number(*parameter(self, "shrinkage"), low=0, inclusive=False)

    def _graph_of(self, rows: Array) -> AffinityGraph:
        key = (*self._search_cache.fingerprint(rows), self.n_neighbors, self.metric, self.algorithm)
        if self.warm_start and getattr(self, "_graph_key", None) == key:
            return self._graph
        search = {"metric": self.metric, "algorithm": self.algorithm}
        # As published; with Sinkhorn scaling it was worse on scene and on yeast.
        graph = self._search_cache.get(
            ("propagation", *key),
            lambda: affinity_graph(rows, self.n_neighbors, normalization="symmetric", **search),
            # Each edge twice, with its position and its weight.
            n_bytes=rows.nbytes + 2 * 12 * len(rows) * self.n_neighbors,
        )
        self._graph_key = key
        return graph

    @property
    def gives_probabilities(self) -> bool:
        """True: the share of presences among the labels nearby estimates a probability."""
        return True

    def score_training_rows(self) -> Array:
        """Return the scores of the training items."""
        return self._shrunk(self._spread_presences, self._spread_weights)

    def score_rows(self, X: Array) -> Array:
        """Return the scores of validated rows."""
        s_x = self._graph.out_of_sample(X)
        spread = self._spread_presences, self._spread_weights
        return self._shrunk(*(self.alpha * (s_x @ table) for table in spread))

    def _shrunk(self, presences: Array, weights: Array) -> Array:
        """Return the share of presences, shrunk towards the rate of each label."""
        m = self.shrinkage
        # Solved to a tolerance, sums of weights may fall short of 0 by a rounding.
        return np.asarray(
            (presences + m * self.rates_.astype(presences.dtype)) / (np.maximum(weights, 0) + m)
        )


def _weights_and_presences(known: PartialLabels, dtype: Any) -> tuple[Array, Array]:
    """Return W and W o Y."""
    W = known.weights().astype(dtype, copy=False)
    return W, np.where(known.states() == int(State.PRESENT), W, 0).astype(dtype, copy=False)
