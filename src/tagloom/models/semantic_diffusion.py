"""APG-Graph beyond the paper: a linear part, and a part that is smooth on the semantic graph."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array

from tagloom.graph import AffinityGraph, affinity_graph, diffuse
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import (
    Array,
    RememberingLearner,
    check_learnable,
    check_on_unlearnable,
    check_share_below_one,
    differ_in,
    informed_part,
    known_again_by,
    parameter,
    refuse_single,
    refuse_too_large,
)
from tagloom.models.grids import diffusion_stages
from tagloom.models.least_squares import LeastSquares
from tagloom.models.normalization import RowNormalizer, ScoreNormalizer
from tagloom.neighbors import ALGORITHMS, METRICS
from tagloom.persistence.container import (
    Serialized,
    decoded_parameters,
    deserialize_rows,
    encoded_mapping,
    joined,
    serialize_rows,
)
from tagloom.persistence.savable import SavableLearner, deserialized_face, serialized_face
from tagloom.validation import check_choice, check_flag, check_integer, check_number

# §§ smooth_part
# What a linear model cannot express: the part of the scores that is smooth on a graph.


@dataclass(frozen=True, eq=False)
class Smoother:
    """Scores of a linear model, corrected and smoothed on one graph.

    With P = XM + b, the weights W of what somebody has said (0: nothing), the residuals
    R = W o (Y - P) and the normalised affinities S of the graph,

        told  = (1 - a) (I - a S)^{-1} R     what neighbours have been told beyond P, with alpha a
        heard = (1 - a) (I - a S)^{-1} W     how much of it is to be heard
        G_ij  = told_ij / (heard_ij + m)     its mean, held back by the shrinkage m
        F     = (1 - s) (I - s S)^{-1} (P + G)    smoothed with s.

    Parameters
    ----------
    graph : AffinityGraph
    P, told, heard : arrays of shape (n_items, n_labels)
    alpha : float
        a.
    """

    graph: AffinityGraph
    P: Array
    told: Array
    heard: Array
    alpha: float
    _smoothed: dict[float, Array] = field(default_factory=dict)

    @classmethod
    def on(cls, graph: AffinityGraph, P: Array, said: "Said", alpha: float) -> "Smoother":
        """Spread over the graph what was said."""
        told, heard = (diffuse(graph.S, table, alpha) for table in said)
        return cls(graph, P, told, heard, alpha)

    def scores(self, shrinkage: float, smoothing: float) -> Array:
        """Return F. The smoothed P is kept: it serves for every shrinkage."""
        if smoothing not in self._smoothed:
            self._smoothed[smoothing] = diffuse(self.graph.S, self.P, smoothing)
        G = _held_back(self.told, self.heard, shrinkage)
        return np.asarray(self._smoothed[smoothing] + diffuse(self.graph.S, G, smoothing))

    def extended(
        self, queries: Array, P: Array, F: Array, shrinkage: float, smoothing: float
    ) -> Array:
        """Return the scores of new items: one row each of the equations above.

        With s_x the affinities of a new item x, of which nobody has said anything,

            told(x) = a s_x told,    heard(x) = a s_x heard,
            f(x) = s s_x F + (1 - s) (p(x) + g(x)).
        """
        s_x = self.graph.out_of_sample(queries)
        told, heard = (self.alpha * (s_x @ table) for table in (self.told, self.heard))
        corrected = P + _held_back(told, heard, shrinkage)
        return np.asarray(smoothing * (s_x @ F) + (1 - smoothing) * corrected, dtype=P.dtype)


def _held_back(told: Array, heard: Array, shrinkage: float) -> Array:
    # Solved to a tolerance, sums of weights may fall short of 0 by a rounding.
    return np.asarray(told / (np.maximum(heard, 0) + told.dtype.type(shrinkage)))


@dataclass(frozen=True, eq=False)
class Joint:
    """Descriptor and scores side by side, each as long as the other on average.

    Scores are centred and divided label by label by the root of their spread: labels of strong
    scores have more to say in who is like whom, but not as much more as their scores are stronger.
    """

    mean: Array
    weights: Array

    @classmethod
    def of(cls, X: Array, F: Array) -> "Joint":
        """Learn the sizes from the items of a graph."""
        spread = F.std(axis=0, dtype=np.float64)
        varies = spread > 0
        total = X.var(axis=0, dtype=np.float64).sum()
        size = np.sqrt(total / spread.sum()) if varies.any() else 0.0
        weights = np.divide(size, np.sqrt(spread), out=np.zeros_like(spread), where=varies)
        return cls(F.mean(axis=0, dtype=np.float64), weights)

    def __call__(self, X: Array, F: Array) -> Array:
        """Return [x; scores] for items, those of the graph or new ones."""
        said = (F - self.mean) * self.weights
        return np.hstack([X, said.astype(X.dtype)])


class Said(NamedTuple):
    """What somebody has said, as tables over all items and labels."""

    beyond: Array
    """w_ij (y_ij - p_ij), by how much it differs from P; 0 where nobody has said anything."""
    weight: Array
    """w_ij."""

    @classmethod
    def of(cls, known: PartialLabels, P: Array) -> "Said":
        """Take the listed entries.

        That an unlisted tag is absent is only presumed: nobody has said it, and neighbours hear
        nothing of it.
        """
        entries = known.entries()
        at = entries.rows, entries.columns
        beyond, weight = np.zeros_like(P), np.zeros_like(P)
        weight[at] = entries.weights
        beyond[at] = entries.weights * (entries.present - P[at])
        return cls(beyond, weight)


# §§ diffusion_answers
# What `SemanticDiffusion` answers once it has learned, for its training items and for new ones.


# With these the scores are made that describe items in the next pass. They are not searched: a
# search over the last pass would have to look for neighbours anew for every candidate.
FIRST = {"shrinkage": 0.1, "smoothing": 0.5}


class AnsweringDiffusion(RememberingLearner):
    """A linear part and the graphs that add to it, asked for scores.

    `_places` are the training rows as the linear part and the graphs take them, `_passes` what was
    found on each graph, `_steps` the scores with which items are described in the next, `_smoothed`
    the last F of the training items, and `_last` what was asked of it.
    """

    learnable_: npt.NDArray[np.bool_]
    training_scores_: Array
    linear_: APGGraph | LeastSquares
    _row_normalizer: RowNormalizer | None
    _places: Array
    _smoothed: Array
    _score_normalizer: ScoreNormalizer
    _last: dict[str, float]
    _passes: list[Smoother]
    _joints: list[Joint]
    _steps: list[Array]

    @property
    def coef_(self) -> Array:
        """The paper's M."""
        return np.asarray(self.linear_.coef_)

    @property
    def intercept_(self) -> Array:
        """The intercept b."""
        return np.asarray(self.linear_.intercept_)

    @property
    def n_iter_(self) -> int:
        """Iterations made for M; 1 where it was found in closed form."""
        return int(getattr(self.linear_, "n_iter_", 1))

    @property
    def graph_(self) -> Any:
        """Normalised affinities of the training items in the last pass; None if none was asked."""
        return self._passes[-1].graph.S if self._passes else None

    def affinities(self, X: Any) -> Any:
        """Return the normalised affinities of new items to the training items in the last pass.

        A csr_array with a row s_x for each item, empty if no graph was asked. Every row of X is
        taken for a new item; the training items are joined among themselves by `graph_`.
        """
        rows = self._checked_rows(X).astype(self._rows.dtype, copy=False)
        if not self._passes:
            return sparse.csr_array((len(rows), len(self._rows)), dtype=rows.dtype)
        places = self._placed(rows)
        described = self._described(places, self._linear_scores(places))
        return self._passes[-1].graph.out_of_sample(described)

    def linear_at(self, x: Any, training_row: int | None = None) -> tuple[Array, Array]:
        """Return weights M_x and base b_x: the linear part of the score of one item is x'M_x + b_x.

        They differ from item to item where rows or scores are evened. `training_row` says which of
        the training items x is; else it is a new one.
        """
        row = self._checked_rows(x).astype(self._rows.dtype, copy=False)
        M_x, b_x = self.coef_, self.intercept_
        if self._row_normalizer is not None:
            M_x = M_x / self._row_normalizer.lengths(row)[0]
            b_x = b_x - self._row_normalizer.mean @ M_x
        f = self._new_scores(row) if training_row is None else self._smoothed[[training_row]]
        k, mean = (
            self._score_normalizer.stretch(f, self._last["score_normalization"])[0],
            self._score_normalizer.mean,
        )
        return k * M_x, mean + k * (b_x - mean)

    def _placed(self, rows: Array) -> Array:
        """Return rows as the linear part and the graphs take them."""
        return rows if self._row_normalizer is None else self._row_normalizer(rows)

    def _linear_scores(self, places: Array) -> Array:
        return np.asarray(places @ self.linear_.coef_ + self.linear_.intercept_)

    def _finish(self, F: Array, last: dict[str, float]) -> None:
        """Take these for the scores of the training items, and even them as was asked."""
        self._last, self._smoothed, self._score_normalizer = last, F, ScoreNormalizer.of(F)
        self.training_scores_ = self._evened(F)

    def _evened(self, F: Array) -> Array:
        return self._score_normalizer(F, self._last["score_normalization"])

    def _training_scores(self) -> Array:
        return self.training_scores_.copy()

    def _scores(self, X: Array) -> Array:
        return self._evened(self._new_scores(X.astype(self._rows.dtype, copy=False)))

    def _new_scores(self, rows: Array) -> Array:
        """Return F of new items."""
        places = self._placed(rows)
        P = self._linear_scores(places)
        if is_linear(self._last):
            return P
        asked = self._last["shrinkage"], self._last["smoothing"]
        described = self._described(places, P)
        return self._passes[-1].extended(described, P, self._smoothed, *asked)

    def _described(self, places: Array, P: Array) -> Array:
        """Describe new items as those of the last graph are: by U, or joined with scores."""
        described = places
        for smoother, F, joint in zip(self._passes[:-1], self._steps, self._joints, strict=True):
            described = joint(places, smoother.extended(described, P, F, **FIRST))
        return described


def is_linear(asked: Mapping[str, float]) -> bool:
    """Say whether nothing is left of the graph."""
    return asked["shrinkage"] == np.inf and asked["smoothing"] == 0


# §§ diffusion_saving
# A linear part and the graphs that add to it, as arrays and metadata for a model file, and back.


_LINEAR_KINDS: dict[str, type[APGGraph] | type[LeastSquares]] = {
    "APGGraph": APGGraph,
    "LeastSquares": LeastSquares,
}


class SavableDiffusion(SavableLearner, AnsweringDiffusion):
    """What of `SemanticDiffusion` is kept, and how it is put together again.

    Rows of the graphs are not kept but the training rows: the others are these, evened and joined
    with scores. A loaded learner that is fitted again learns everything anew, also with
    `warm_start`.
    """

    def _serialized(self) -> Serialized:
        metadata = serialized_face(self)
        metadata["size"]["items"] = len(self._rows)
        metadata["linear_kind"] = type(self.linear_).__name__
        metadata["last"] = encoded_mapping(self._last)
        metadata["n_passes_made"] = len(self._passes)
        arrays = {
            "rows": self._rows,
            "learnable": self.learnable_,
            "smoothed": self._smoothed,
        }
        parts: dict[str, Serialized | None] = {"linear": self.linear_._serialized()}
        parts["normalize_rows"] = _serialized_evening(self._row_normalizer)
        parts |= {f"pass{k}": _serialized_pass(one) for k, one in enumerate(self._passes)}
        if self._passes:
            steps = zip(self._joints, self._steps, strict=True)
            parts |= {f"step{k}": _serialized_step(*step) for k, step in enumerate(steps)}
        return joined(parts, Serialized(arrays, metadata))

    @classmethod
    def _deserialized(cls, serialized: Serialized) -> Self:
        arrays, metadata = serialized
        model = deserialized_face(cls, metadata, arrays["rows"].shape[1])
        model._rows, model.learnable_ = arrays["rows"], arrays["learnable"]
        model._row_normalizer = _deserialized_evening(serialized.part("normalize_rows"))
        model._places = model._placed(model._rows)
        model._finish(arrays["smoothed"], decoded_parameters(metadata["last"]))
        model.linear_ = _LINEAR_KINDS[metadata["linear_kind"]]._deserialized(
            serialized.part("linear")
        )
        model._restore_passes(serialized)
        return model

    def _restore_passes(self, serialized: Serialized) -> None:
        n_passes = int(serialized.metadata["n_passes_made"])
        self._passes, self._joints, self._steps = [], [], []
        if n_passes == 0:
            return
        P = self._linear_scores(self._places)
        described = self._places
        for k in range(n_passes):
            self._passes.append(_deserialized_pass(serialized.part(f"pass{k}"), described, P))
            if k + 1 < n_passes:
                joint, F = _deserialized_step(serialized.part(f"step{k}"))
                self._joints.append(joint)
                self._steps.append(F)
                described = joint(self._places, F)


def _serialized_evening(even: RowNormalizer | None) -> Serialized:
    return (
        Serialized({}, {}) if even is None else Serialized({"mean": even.mean}, {"size": even.size})
    )


def _deserialized_evening(serialized: Serialized) -> RowNormalizer | None:
    return (
        RowNormalizer(serialized.arrays["mean"], serialized.metadata["size"])
        if serialized.arrays
        else None
    )


def _serialized_pass(smoother: Smoother) -> Serialized:
    graph = smoother.graph
    arrays = {
        "told": smoother.told,
        "heard": smoother.heard,
        "scales": graph.scales,
        "degrees": graph.degrees,
        "factors": np.asarray(graph.factors),
    }
    metadata = {
        "alpha": smoother.alpha,
        "n_neighbors": graph.n_neighbors,
        "metric": graph.metric,
        "algorithm": graph.algorithm,
    }
    own = Serialized(arrays, encoded_mapping(metadata))
    return joined({"S": serialize_rows(graph.S)}, own)


def _deserialized_pass(serialized: Serialized, described: Array, P: Array) -> Smoother:
    arrays, metadata = serialized
    S = deserialize_rows(serialized.part("S"))
    sought = {name: metadata[name] for name in ("n_neighbors", "metric", "algorithm")}
    sums = arrays["scales"], arrays["degrees"], arrays["factors"]
    graph = AffinityGraph(S, described, *sums, **sought)
    return Smoother(graph, P, arrays["told"], arrays["heard"], metadata["alpha"])


def _serialized_step(joint: Joint, F: Array) -> Serialized:
    return Serialized({"mean": joint.mean, "weights": joint.weights, "F": F}, {})


def _deserialized_step(serialized: Serialized) -> tuple[Joint, Array]:
    arrays = serialized.arrays
    return Joint(arrays["mean"], arrays["weights"]), arrays["F"]


# §§ diffusion_search
# Search the ridge of the linear part of `SemanticDiffusion` for all its values at once.


# With these M has a closed form, and nothing else is asked for.
_NO_GRAPH = {"lam": 0, "shrinkage": inf, "smoothing": 0}


class SearchableDiffusion(SavableDiffusion):
    """How `SemanticDiffusion` walks a chain of candidates that differ in their ridge alone.

    A warm start takes over an M that was found for the same data and parameters. Least squares
    finds M for every ridge of the chain; each is handed to the fit that would find the same.
    """

    warm_start: bool
    _known: PartialLabels
    _learned_from: tuple[Any, ...] | None

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that cannot be meant."""

    @abstractmethod
    def _seen(self, rows: Array) -> tuple[Any, ...]:
        """Return what beside the labels decides M: rows and parameters."""

    @abstractmethod
    def _place(self, rows: Array) -> Array:
        """Learn where rows lie, for the linear part and the graphs, and return it."""

    @abstractmethod
    def _linear(self) -> APGGraph | LeastSquares:
        """Return the learner of M, with its parameters."""

    def _solved_jointly(self, grid: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        if set(grid) == {"score_normalization"}:
            return ("score_normalization",)  # each costs next to nothing once one is there
        others = [values for name, values in grid.items() if name != "ridge"]
        alone = all(len(values) == 1 for values in others)
        asked = {name: grid.get(name, [getattr(self, name)])[0] for name in _NO_GRAPH}
        # Chains of other parameters share their graphs: these are better walked side by side.
        return ("ridge",) if alone and asked == _NO_GRAPH else ()

    def _fit_path(
        self, chain: Sequence[Mapping[str, Any]], X: Any, Y: Any, graphs: Mapping[str, Any]
    ) -> Iterator[Self]:
        linear = [self.set_params(**params)._linear() for params in chain]
        closed = all(isinstance(one, LeastSquares) for one in linear)
        if not (self.warm_start and closed and differ_in("ridge", chain)):
            yield from super()._fit_path(chain, X, Y, graphs)
            return
        for params in chain:
            self.set_params(**params)._check_parameters()
        rows, known = self._read(X, Y)
        check_learnable(known, "ignore")
        wanted = [one.get_params() for one in linear]
        found = linear[0]._fit_path(wanted, *informed_part(self._place(rows), known), {})
        placed = self._row_normalizer, self._places
        for params, one in zip(chain, found, strict=True):
            self._row_normalizer, self._places = placed
            self.set_params(**params)._take_over(copy(one), rows, known)
            fitted: Self = self.fit(X, Y, **graphs)
            yield fitted

    def _take_over(
        self, linear: APGGraph | LeastSquares, rows: Array, known: PartialLabels
    ) -> None:
        """Be as after a fit that has found this M and asked for no graph."""
        self._learned_from = None
        self.linear_, self._passes = linear, []
        self._known, self._learned_from = known, self._seen(rows)


# §§ main semantic_diffusion


# What is asked of the last pass alone; all before it is the same whatever these are.
_LAST = ("shrinkage", "smoothing", "score_normalization")


class SemanticDiffusion(SearchableDiffusion):
    r"""Learn a linear model, then let the semantic graph say what it cannot express.

    The paper's term gamma tr(M'X'LXM) asks the linear scores XM to be smooth on the graph; what M
    cannot express, the graph cannot add. Here the scores may leave the span of X:

        P = UM + b     from lambda ||M||_* + rho/2 ||M||_F^2 + 1/2 sum_known w (u'm + b - y)^2
        G = (1 - a) (I - a S)^{-1} R_Omega(Y - P)  /  ((1 - a) (I - a S)^{-1} W + m)
        F = (1 - s) (I - s S)^{-1} (P + G)

    with U the rows of X brought to about one length, the balanced affinities S of the graph and the
    weights W of what is known; the division is entry by entry. What is known beyond P spreads over
    the graph: G is the mean of what reaches an item, held back by the shrinkage m. Then the sum is
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
    shrinkage : float, default=0.1
        m, how much to hear before believing it. Infinity believes nothing: the scores are smoothed
        only.
    smoothing : float in [0, 1), default=0.5
        s. 0 leaves scores as they are.
    score_normalization : float in [0, 1], default=0.0
        Exponent of the score normalisation, see `ScoreNormalizer`; 0 leaves scores as they are.
    normalize_rows : bool, default=True
        Whether rows are brought to about one length, see `RowNormalizer`. False takes X as it is.
    alpha : float in [0, 1), default=0.8
        a, how far the residuals go.
    n_neighbors : int, default=20
        Neighbours in the graph.
    n_passes : int, default=2
        1 seeks like items by U alone; every further pass by U joined with the scores so far.
    metric : {"euclidean", "cosine"}, default="euclidean"
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        How to search, see `tagloom.neighbors.nearest_neighbors`.
    tol, max_iter
        For lam > 0, as in `APGGraph`.
    warm_start : bool, default=False
        Whether `fit` takes over what the fit before found, where it was given the same data: M and
        the graphs where only `shrinkage`, `smoothing` and `score_normalization` differ.
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
    >>> SemanticDiffusion(ridge=0.1).fit(X, Y).complete(X, Y)
    array([[0., 1.],
           [0., 1.],
           [1., 0.],
           [1., 0.]])
    """

    _path_parameters: ClassVar[tuple[str, ...]] = ("smoothing", "shrinkage")

    def __init__(
        self,
        lam: float = 0.0,
        *,
        ridge: float = 1.0,
        shrinkage: float = 0.1,
        smoothing: float = 0.5,
        score_normalization: float = 0.0,
        normalize_rows: bool = True,
        alpha: float = 0.8,
        n_neighbors: int = 20,
        n_passes: int = 2,
        metric: str = "euclidean",
        algorithm: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        warm_start: bool = False,
        on_unlearnable: str = "raise",
    ) -> None:
        self.lam = lam
        self.ridge = ridge
        self.shrinkage = shrinkage
        self.smoothing = smoothing
        self.score_normalization = score_normalization
        self.normalize_rows = normalize_rows
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.n_passes = n_passes
        self.metric = metric
        self.algorithm = algorithm
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
        self._rows = rows.copy() if self.normalize_rows else rows
        last = {name: getattr(self, name) for name in _LAST}
        self._finish(self._smooth(last), last)
        return self

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> list[dict[str, list[Any]]]:
        """Return first ridge, over a range that follows the scale of X, then the smooth part."""
        rows = check_array(X, dtype=[np.float64, np.float32])
        places = RowNormalizer.of(rows)(rows) if self.normalize_rows else rows
        return diffusion_stages(places, as_partial_labels(Y))

    def _check_parameters(self) -> None:
        for name in ("lam", "ridge", "tol"):
            check_number(*parameter(self, name), low=0)
        if self.shrinkage != np.inf:
            check_number(*parameter(self, "shrinkage"), low=0, inclusive=False)
        for name in ("smoothing", "alpha"):
            check_share_below_one(self, name)
        for name in ("n_neighbors", "n_passes", "max_iter"):
            check_integer(*parameter(self, name), at_least=1)
        check_choice(*parameter(self, "metric"), METRICS)
        check_choice(*parameter(self, "algorithm"), ALGORITHMS)
        check_number(*parameter(self, "score_normalization"), low=0, high=1)
        for name in ("normalize_rows", "warm_start"):
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
        self._row_normalizer = RowNormalizer.of(rows) if self.normalize_rows else None
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
        return self._passes[-1].scores(last["shrinkage"], last["smoothing"])

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
        graph = affinity_graph(
            described, self.n_neighbors, metric=self.metric, algorithm=self.algorithm
        )
        return Smoother.on(graph, P, said, self.alpha)
