"""Labels that spread over the graph of neighbours, with no model of the features."""

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tagloom.graph import AffinityGraph, affinity_graph, diffuse
from tagloom.labels import PartialLabels, State
from tagloom.models.base import (
    Array,
    RememberingLearner,
    check_learnable,
    check_on_unlearnable,
    check_share_below_one,
    known_again_by,
    parameter,
    refuse_single,
)
from tagloom.neighbors import ALGORITHMS, METRICS
from tagloom.semantics.evidence import label_rates
from tagloom.validation import check_choice, check_flag, check_integer, check_number

_ALPHAS = (0.5, 0.8, 0.95, 0.99)
_NUMBERS = (10, 20, 50)


class LabelPropagation(RememberingLearner):
    """Let what is known spread over the graph of neighbours.

    With the normalised affinities S, observation weights W (0: unknown), labels Y and the share of
    presences rate_j among all that is known of label j,

        votes = (1 - a) (I - a S)^{-1} (W o Y),    heard = (1 - a) (I - a S)^{-1} W,
        F_ij = (votes_ij + m rate_j) / (heard_ij + m).

    An unknown label spreads nothing; whom nothing reaches has the rate of the label.

    Parameters
    ----------
    n_neighbors : int, default=20
        Neighbours in the graph.
    alpha : float in [0, 1), default=0.8
        a, how far labels go.
    shrinkage : float, default=0.01
        m, in labels heard in full.
    metric : {"euclidean", "cosine"}, default="euclidean"
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        How to search, see `tagloom.neighbors.nearest_neighbors`.
    warm_start : bool, default=False
        Whether `fit` takes over the graph of the fit before, if it was given the same features and
        asked for as many neighbours. The result is the same, and sooner there.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent.

    Attributes
    ----------
    rates_ : array of shape (n_labels,)
        Share of presences among what is known of each label; 0 where nothing is.
    graph_ : csr_array
        S.
    classes_ : array
        The names of the labels; for a one-dimensional y its two classes.
    learnable_ : array of bool of shape (n_labels,)
        False where known entries do not tell who has the label from who has not.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> Y = [[1, 0], [None, None], [0, 1], [None, None]]
    >>> LabelPropagation(n_neighbors=1).fit(X, Y).predict([[0.05], [5.05]])
    array([[1, 0],
           [0, 1]])
    """

    _path_parameters: ClassVar[tuple[str, ...]] = ("alpha",)

    rates_: Array
    learnable_: npt.NDArray[np.bool_]

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

    def fit(self, X: Any, Y: Any) -> Self:
        """Join the items and let what is known of them spread.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_features), float32 or float64
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown) of shape (n_items, n_labels)
            Items of which nothing is known pass on what they hear. A one-dimensional y with two
            classes is one label.
        """
        self._check_parameters()
        rows, known = self._read(X, Y)
        self.learnable_ = check_learnable(known, self.on_unlearnable)
        refuse_single(rows)
        self._graph = self._graph_of(rows)
        self._rows = rows
        W, told = _told(known, rows.dtype)
        self.rates_ = label_rates(known)
        self._votes = diffuse(self._graph.S, told, self.alpha)
        self._heard = diffuse(self._graph.S, W, self.alpha)
        return self

    @property
    def graph_(self) -> Any:
        """Normalised affinities of the training items."""
        return self._graph.S

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> list[dict[str, list[Any]]]:
        """Return how many neighbours are joined and how far labels go."""
        numbers = sorted({min(number, len(X) - 1) for number in _NUMBERS})
        return [{"n_neighbors": numbers, "alpha": list(_ALPHAS)}]

    def _check_parameters(self) -> None:
        check_integer(*parameter(self, "n_neighbors"), at_least=1)
        check_share_below_one(self, "alpha")
        check_number(*parameter(self, "shrinkage"), low=0, inclusive=False)
        check_choice(*parameter(self, "metric"), METRICS)
        check_choice(*parameter(self, "algorithm"), ALGORITHMS)
        check_flag(*parameter(self, "warm_start"))
        check_on_unlearnable(self)

    def _graph_of(self, rows: Array) -> AffinityGraph:
        made_of = (*known_again_by(rows), self.n_neighbors, self.metric, self.algorithm)
        if self.warm_start and getattr(self, "_graph_made_of", None) == made_of:
            return self._graph
        sought = {"metric": self.metric, "algorithm": self.algorithm}
        # As its authors have it; with Sinkhorn scaling it was worse on scene and on yeast.
        graph = affinity_graph(rows, self.n_neighbors, normalization="symmetric", **sought)
        self._graph_made_of = made_of
        return graph

    def _training_scores(self) -> Array:
        return self._shared(self._votes, self._heard)

    def _scores(self, X: Array) -> Array:
        s_x = self._graph.out_of_sample(X)
        return self._shared(self.alpha * (s_x @ self._votes), self.alpha * (s_x @ self._heard))

    def _shared(self, votes: Array, heard: Array) -> Array:
        m = self.shrinkage
        # Solved to a tolerance, sums of weights may fall short of 0 by a rounding.
        return np.asarray(
            (votes + m * self.rates_.astype(votes.dtype)) / (np.maximum(heard, 0) + m)
        )


def _told(known: PartialLabels, dtype: Any) -> tuple[Array, Array]:
    """Return W and W o Y."""
    W = known.weights().astype(dtype, copy=False)
    return W, np.where(known.states() == int(State.PRESENT), W, 0).astype(dtype, copy=False)
