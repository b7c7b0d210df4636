"""APG-Graph beyond the paper: a linear part, and a part that is smooth on the semantic graph."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_array

from tagloom.checks import check_choice, check_flag, check_number, check_whole
from tagloom.graph import affinity_graph
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import Array
from tagloom.models.diffusion_answers import FIRST, is_linear
from tagloom.models.diffusion_search import SearchableDiffusion
from tagloom.models.evening import EvenRows
from tagloom.models.grids import diffusion_stages
from tagloom.models.least_squares import LeastSquares
from tagloom.models.linear import refuse_too_large
from tagloom.models.parameters import check_on_unlearnable, check_share_below_one, parameter
from tagloom.models.remembering import known_again_by, refuse_single
from tagloom.models.smooth_part import Joint, Said, Smoother
from tagloom.models.targets import check_learnable, informed_part
from tagloom.neighbours import METHODS, METRICS

# What is asked of the last pass alone; all before it is the same whatever these are.
_LAST = ("doubt", "smoothing", "even_scores")


class APGDiffusion(SearchableDiffusion):
    r"""Learn a linear model, then let the semantic graph say what it cannot express.

    The paper's term gamma tr(M'X'LXM) asks the linear scores XM to be smooth on the graph; what M
    cannot express, the graph cannot add. Here the scores may leave the span of X:

        P = UM + b     from lambda ||M||_* + rho/2 ||M||_F^2 + 1/2 sum_known w (u'm + b - y)^2
        G = (1 - a) (I - a S)^{-1} R_Omega(Y - P)  /  ((1 - a) (I - a S)^{-1} W + m)
        F = (1 - s) (I - s S)^{-1} (P + G)

    with U the rows of X brought to about one length, the balanced affinities S of the graph and the
    weights W of what is known; the division is entry by entry. What is known beyond P spreads over
    the graph: G is the mean of what reaches an item, held back by the doubt m. Then the sum is
    smoothed. In a second pass items are described by U joined with the scores F, like items are
    sought anew, and G and F are computed on that graph: completed labels become the semantics. At
    last the scores F of each item may be brought nearer to one length.

    Only what somebody has said is spread: an unlisted tag that is presumed absent teaches M, and no
    neighbour hears of it. A new item x has one row in the equations of G and F, with its affinities
    to the training items; so the model can be used as any other. Training items of which nothing is
    known take part in the graph.

    Parameters
    ----------
    lam : float, default=0.0
        lambda. 0 is ridge regression, label by label, in closed form.
    ridge : float, default=1.0
        rho.
    doubt : float, default=0.1
        m, how much to hear before believing it. Infinity believes nothing: the scores are smoothed
        only.
    smoothing : float in [0, 1), default=0.5
        s. 0 leaves scores as they are.
    even_scores : float in [0, 1], default=0.0
        How far the scores of all items are brought to one length, see `EvenScores`; 0 leaves them.
    even_rows : bool, default=True
        Whether rows are brought to about one length, see `EvenRows`. False takes X as it is.
    reach : float in [0, 1), default=0.8
        a, how far the residuals go.
    n_neighbors : int, default=20
        Neighbours in the graph.
    n_passes : int, default=2
        1 seeks like items by U alone; every further pass by U joined with the scores so far.
    metric : {"euclidean", "cosine"}, default="euclidean"
    method : {"auto", "exact", "approximate"}, default="auto"
        How to search, see `tagloom.neighbours.nearest_neighbours`.
    tol, max_iter
        For lam > 0, as in `APGGraph`.
    warm_start : bool, default=False
        Whether `fit` takes over what the fit before found, where it was given the same data: M and
        the graphs where only `doubt`, `smoothing` and `even_scores` differ.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent.

    Attributes
    ----------
    coef_ : array of shape (n_features, n_labels)
        The paper's M, of rows that were evened.
    intercept_ : array of shape (n_labels,)
        b.
    training_scores_ : array of shape (n_items, n_labels)
        F, evened as was asked.
    graph_ : csr_array
        S of the last pass.
    classes_ : array
        The names of the labels; for a one-dimensional y its two classes.
    learnable_ : array of bool of shape (n_labels,)
        False where known entries do not tell who has the label from who has not.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0, 1], [0, np.nan], [np.nan, 0], [1, 0]])
    >>> APGDiffusion(ridge=0.1).fit(X, Y).complete(X, Y)
    array([[0., 1.],
           [0., 1.],
           [1., 0.],
           [1., 0.]])
    """

    _carried_along: ClassVar[tuple[str, ...]] = ("smoothing", "doubt")

    def __init__(
        self,
        lam: float = 0.0,
        *,
        ridge: float = 1.0,
        doubt: float = 0.1,
        smoothing: float = 0.5,
        even_scores: float = 0.0,
        even_rows: bool = True,
        reach: float = 0.8,
        n_neighbors: int = 20,
        n_passes: int = 2,
        metric: str = "euclidean",
        method: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        warm_start: bool = False,
        on_unlearnable: str = "raise",
    ) -> None:
        self.lam = lam
        self.ridge = ridge
        self.doubt = doubt
        self.smoothing = smoothing
        self.even_scores = even_scores
        self.even_rows = even_rows
        self.reach = reach
        self.n_neighbors = n_neighbors
        self.n_passes = n_passes
        self.metric = metric
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.on_unlearnable = on_unlearnable

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from what is known.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_features), float32 or float64
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown) of shape (n_items, n_labels)
            Items of which nothing is known are welcome: others are reached through them. A
            one-dimensional y with two classes is one label.
        """
        self._check_parameters()
        rows, known = self._read(X, Y)
        self.learnable_ = check_learnable(known, self.on_unlearnable)
        refuse_single(rows)
        refuse_too_large(rows)
        seen = self._seen(rows)
        if not (self.warm_start and self._has_learned_from(seen, known)):
            self._learned_from = None
            self._learn(self._place(rows), known)
            self._known, self._learned_from = known, seen
        # Where rows are not evened, the graphs hold these; else nobody knows who changes them.
        self._rows = rows.copy() if self.even_rows else rows
        last = {name: getattr(self, name) for name in _LAST}
        self._finish(self._smooth(last), last)
        return self

    def search_space(self, X: Any, Y: Any, graph: Any = None) -> list[dict[str, list[Any]]]:
        """Return first ridge, over a range that follows the scale of X, then the smooth part."""
        rows = check_array(X, dtype=[np.float64, np.float32])
        places = EvenRows.of(rows)(rows) if self.even_rows else rows
        return diffusion_stages(places, as_partial_labels(Y))

    def _check_parameters(self) -> None:
        for name in ("lam", "ridge", "tol"):
            check_number(*parameter(self, name), low=0)
        if self.doubt != np.inf:
            check_number(*parameter(self, "doubt"), low=0, inclusive=False)
        for name in ("smoothing", "reach"):
            check_share_below_one(self, name)
        for name in ("n_neighbors", "n_passes", "max_iter"):
            check_whole(*parameter(self, name), at_least=1)
        check_choice(*parameter(self, "metric"), METRICS)
        check_choice(*parameter(self, "method"), METHODS)
        check_number(*parameter(self, "even_scores"), low=0, high=1)
        for name in ("even_rows", "warm_start"):
            check_flag(*parameter(self, name))
        check_on_unlearnable(self)

    def _seen(self, rows: Array) -> tuple[Any, ...]:
        """Return what beside the labels decides all but the last step: rows and parameters."""
        skipped = (*_LAST, "warm_start", "on_unlearnable")
        given = {name: value for name, value in self.get_params().items() if name not in skipped}
        return *known_again_by(rows), *given.items()

    def _has_learned_from(self, seen: tuple[Any, ...], known: PartialLabels) -> bool:
        if getattr(self, "_learned_from", None) != seen:
            return False
        return known is self._known or known == self._known

    def _place(self, rows: Array) -> Array:
        self._even_rows = EvenRows.of(rows) if self.even_rows else None
        self._places = self._placed(rows)
        return self._places

    def _learn(self, places: Array, known: PartialLabels) -> None:
        """Learn M from the items of which something is known."""
        self.linear_ = self._linear().fit(*informed_part(places, known))
        self._passes = []

    def _smooth(self, last: dict[str, float]) -> Array:
        """Return F; graphs are made when they are first asked for."""
        if is_linear(last):
            return self._linear_scores(self._places)
        if not self._passes:
            self._make_passes()
        return self._passes[-1].scores(last["doubt"], last["smoothing"])

    def _make_passes(self) -> None:
        """Find like items pass by pass, and spread the residuals among them."""
        P = self._linear_scores(self._places)
        said = Said.of(self._known, P)
        passes = [self._smoother(self._places, P, said)]
        steps = []
        joints = []
        for _ in range(self.n_passes - 1):
            F = passes[-1].scores(**FIRST)
            steps.append(F)
            joints.append(Joint.of(self._places, F))
            passes.append(self._smoother(joints[-1](self._places, F), P, said))
        # Not before all are there: a fit that is broken off must leave nothing to take over.
        self._passes, self._steps, self._joints = passes, steps, joints

    def _linear(self) -> APGGraph | LeastSquares:
        if self.lam == 0:
            return LeastSquares(self.ridge, on_unlearnable="ignore")
        return APGGraph(
            self.lam,
            ridge=self.ridge,
            tol=self.tol,
            max_iter=self.max_iter,
            on_unlearnable="ignore",
        )

    def _smoother(self, described: Array, P: Array, said: Said) -> Smoother:
        graph = affinity_graph(described, self.n_neighbors, metric=self.metric, method=self.method)
        return Smoother.on(graph, P, said, self.reach)
