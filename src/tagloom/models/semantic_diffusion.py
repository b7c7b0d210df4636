"""Semantic diffusion: a linear model, corrected and smoothed on a graph of similar items.

The scheme is that of Correct and Smooth (Huang et al. 2021): the residuals of a base model at the
known labels are diffused over a graph and added, then the sum is smoothed by label spreading (Zhou
et al. 2004). It differs in that entries may be unknown (the diffused residuals are divided by the
diffused weights, with shrinkage), in the graph (self-tuning affinities, Zelnik-Manor and Perona
2004, with doubly stochastic scaling, Sinkhorn 1967), and in further passes on graphs that compare
items by their scores too.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array

from tagloom.errors import InvalidInputError
from tagloom.graph import AffinityGraph, affinity_graph
from tagloom.graph.diffusion import ResidualDiffusion, known_residuals
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import (
    Array,
    InstanceBasedLearner,
    ParamGrid,
    ParamGrids,
    PriorMixin,
    check_learnable,
    differ_only_in,
    labelled_part,
    parameter,
    ridge_unit,
)
from tagloom.models.kernels import Kernel, KernelMap
from tagloom.models.least_squares import LeastSquares, prior_grid
from tagloom.models.prior import Prior, read_prior
from tagloom.models.search_cache import fingerprint
from tagloom.models.self_training import SHRINKAGE, SHRINKAGE_OF_LISTS, self_train
from tagloom.normalization import Link, RowNormalizer, ScoreAugmenter, ScoreNormalizer
from tagloom.validation import (
    check_below_one,
    check_choice,
    check_flag,
    check_integer,
    check_number,
)


class LinearGrid(NamedTuple):
    """Candidates of the default grid for the linear part."""

    kernel: str
    ridges: tuple[float, ...]
    """Those of the linear kernel in units of `ridge_unit`."""
    bandwidth: float = 0.5
    normalize_rows: bool = True


# The default grid, found on training items of eight sets, see docs/learner.md and, for what test
# scores took part in, docs/results.md. What comes first is the safest. It has few candidates: the
# more there are, the more win by chance.
_LINEAR_GRIDS = (
    LinearGrid("rational_quadratic", (0.3,), bandwidth=2.0),
    LinearGrid("rational_quadratic", (0.3,), normalize_rows=False),
    LinearGrid("linear", (0.3, 0.1, 0.03)),
)
# Where absence is only assumed, presences among the absences are noise, and the ridge of the kernel
# is larger. What is held out is as incomplete as the rest, so there are fewer candidates still.
# Linear parts are nearly level with the kernel there, and faster, so they come first.
# With many labelled items for few features a narrow kernel is safe, and so is diffusion; the
# smallest set on which this was found has 313.
_LINEAR_GRIDS_OF_LISTS = (
    LinearGrid("linear", (0.3, 0.1)),
    LinearGrid("rational_quadratic", (3.0,), bandwidth=2.0),
)
_LINEAR_GRIDS_OF_TALL_LISTS = (
    LinearGrid("rational_quadratic", (3.0,)),
    LinearGrid("linear", (0.3,)),
)
_FEW_FEATURES, _MANY_ITEMS, _MANY_ITEMS_PER_FEATURE = 100, 300, 5
# Landmarks of the kernel: as many as make a table of so many entries, within these limits.
_MOST_LANDMARKS, _FEWEST_LANDMARKS, _KERNEL_ENTRIES = 2_000, 800, 1 << 26
_SMOOTHINGS = (0.8, 0.5, 0.0)
_SCORE_NORMALIZATIONS = (0.5, 0.0)
# Not for lists: there it is level, for most of what it would learn from was only forgotten.
_ROUNDS = 5

_KERNELS = ("linear", "rbf", "rational_quadratic")

# Parameters of the last step alone: linear part and graphs do not depend on them.
_LAST_STEP = ("shrinkage", "smoothing", "score_normalization")
# For the scores that describe items in the next pass. They are not searched: then every candidate
# would need a neighbour search of its own.
INTERMEDIATE = {"shrinkage": 0.1, "smoothing": 0.5}
# What the features of the linear part depend on besides the rows.
_OF_FEATURES = ("normalize_rows", "kernel", "bandwidth", "n_components", "random_state")
# Tables that a pass keeps in a search: residuals, weights, P smoothed up to three times, and F.
_TABLES_OF_A_PASS = 6
# With these, M has a closed form and no graph is needed.
_CLOSED_FORM = {"lam": 0, "shrinkage": inf, "smoothing": 0}


class SemanticDiffusion(PriorMixin, InstanceBasedLearner):
    r"""A linear model whose residuals and scores diffuse over a graph of similar items.

    The paper's term gamma tr(M'X'LXM) makes the linear scores XM smooth on the graph, but cannot
    add what M cannot express. Here the scores may leave the span of X:

        P = UM + b     from lambda ||M||_* + rho/2 ||M||_F^2 + 1/2 sum_known w (u'm + b - y)^2
        G = (1 - a) (I - a S)^{-1} (W o (Y - P))  /  ((1 - a) (I - a S)^{-1} W + m)
        F = (1 - s) (I - s S)^{-1} (P + G)

    with U the normalised rows of X, S the doubly stochastic affinities of the graph and W the
    weights of the known labels (0: unknown); the division is entry by entry. Residuals at the known
    labels diffuse over the graph: G is the mean residual near an item, with shrinkage m. The sum is
    then smoothed. In a second pass items are compared by U and their scores F together: neighbours
    are searched again, and G and F computed on that graph. Finally the scores F of each item may be
    normalised.

    Labels with prior scores t (see `fit`) have a column of their own in P, theta_j t, learned as in
    `LeastSquares`; it takes part before residuals diffuse.

    Only listed entries diffuse: unlisted tags that count as absent are training data for M alone. A
    new item x is one more row in the equations of G and F, with its affinities to the training
    items; so the model is inductive. Training items without known labels take part in the graph.

    Parameters
    ----------
    lam : float, default=0.0
        lambda. 0 is ridge regression, label by label, in closed form; prior scores need it.
    ridge : float, default=1.0
        rho.
    prior_shrinkage : float, default=10.0
        mu, how strongly the trust in prior scores is shrunk to the common trust, see
        `LeastSquares`.
    prior_weight : float in [0, 1], default=1.0
        How much of that trust is used, see `LeastSquares`.
    shrinkage : float, default=0.1
        m, the pseudo-count of a residual of 0. Infinity turns the correction off: scores are only
        smoothed.
    smoothing : float in [0, 1), default=0.5
        s. 0 leaves scores as they are.
    score_normalization : float in [0, 1], default=0.0
        Exponent of the score normalisation, see `ScoreNormalizer`; 0 leaves scores as they are.
    normalize_rows : bool, default=True
        Whether rows are normalised, see `RowNormalizer`. False takes X as it is.
    alpha : float in [0, 1), default=0.8
        a, how far residuals diffuse.
    n_neighbors : int, default=20
        Neighbours in the graph.
    kernel : {"linear", "rbf", "rational_quadratic"}, default="linear"
        "rbf" and "rational_quadratic" put features z(u) of the kernel exp(-||u - u'||^2 / h) or
        1 / (1 + ||u - u'||^2 / h) in the place of u in the linear part (see
        `tagloom.models.kernels.KernelMap`), so that P = ZM + b is not linear in u. Then rho is that
        of `KernelRidge`: the noise of a label relative to k(u, u) = 1.
    bandwidth : float, default=0.5
        h, in units of the median squared distance between rows.
    n_components : int, optional
        Number of landmarks of the kernel, drawn from the training items; with as many items or
        fewer it is exact. By default 2,000, or fewer for many items, see `default_landmarks`.
    random_state : int, default=0
        Seed of the landmarks.
    self_training : int, default=0
        Rounds of self-training: the linear part is fitted again, to labels whose unknown entries
        are the scores of the round before (see `self_train`), and residuals diffuse again. It needs
        lam = 0, and takes no part where there is no diffusion. The default grid has values of its
        own.
    n_passes : int, default=2
        1 compares items by U alone; every further pass by U and the scores so far.
    metric : {"euclidean", "cosine"}, default="euclidean"
    algorithm : {"auto", "exact", "approximate"}, default="auto"
        How to search, see `tagloom.neighbors.nearest_neighbors`.
    tol, max_iter
        For lam > 0, as in `APGGraph`.
    warm_start : bool, default=False
        Whether `fit` reuses M and the graphs of the previous fit, if it had the same data and
        parameters but for `shrinkage`, `smoothing` and `score_normalization`.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent.

    Attributes
    ----------
    coef_ : array of shape (n_features, n_labels)
        The paper's M, for normalised rows, or for features of the kernel.
    intercept_ : array of shape (n_labels,)
        b.
    trust_ : array of shape (n_labels,), or None
        theta, NaN for labels without prior scores; None where no label has any.
    training_scores_ : array of shape (n_items, n_labels)
        F, after score normalisation.
    graph_ : csr_array
        S of the last pass.

    Examples
    --------
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, None], [None, 0], [1, 0]]
    >>> SemanticDiffusion(ridge=0.1).fit(X, Y).complete(X, Y).tolist()
    [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """

    safest_first = True
    path_parameters: ClassVar[tuple[str, ...]] = ("smoothing", "shrinkage", "score_normalization")

    linear_: APGGraph | LeastSquares
    _row_normalizer: RowNormalizer | None
    _kernel_map: KernelMap | None
    # The training rows, normalised: features of the first graph, and of the linear part or, with a
    # kernel, what these are computed from.
    _U: Array
    _prior: Prior | None
    # By the rounds of self-training; only kept for a warm start.
    _stages: "dict[int, Stage]"
    # One for each graph, and what connects them; none where no graph is needed.
    _passes: "list[ResidualDiffusion]"
    _links: "list[Link]"
    # F of the training items, and the parameters of the step that gave it; none while it is not
    # that of the current M.
    _smoothed: Array
    _last_step: dict[str, float]
    _score_normalizer: ScoreNormalizer
    # What M and the graphs were computed from; None while they are not complete.
    _known: PartialLabels
    _warm_key: tuple[Any, ...] | None

    def __init__(
        self,
        lam: float = 0.0,
        *,
        ridge: float = 1.0,
        prior_shrinkage: float = 10.0,
        prior_weight: float = 1.0,
        shrinkage: float = 0.1,
        smoothing: float = 0.5,
        score_normalization: float = 0.0,
        normalize_rows: bool = True,
        alpha: float = 0.8,
        n_neighbors: int = 20,
        n_passes: int = 2,
        self_training: int = 0,
        kernel: str = "linear",
        bandwidth: float = 0.5,
        n_components: int | None = None,
        random_state: int = 0,
        metric: str = "euclidean",
        algorithm: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        warm_start: bool = False,
        on_unlearnable: str = "raise",
    ) -> None:
        self.lam = lam
        self.ridge = ridge
        self.prior_shrinkage = prior_shrinkage
        self.prior_weight = prior_weight
        self.shrinkage = shrinkage
        self.smoothing = smoothing
        self.score_normalization = score_normalization
        self.normalize_rows = normalize_rows
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.n_passes = n_passes
        self.self_training = self_training
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_components = n_components
        self.random_state = random_state
        self.metric = metric
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.on_unlearnable = on_unlearnable

    @property
    def coef_(self) -> Array:
        """The paper's M."""
        return np.asarray(self.linear_.coef_)

    @property
    def intercept_(self) -> Array:
        """The intercept b."""
        return np.asarray(self.linear_.intercept_)

    @property
    def trust_(self) -> Array | None:
        """How far the prior scores of each label are trusted; None without any."""
        return getattr(self.linear_, "trust_", None)

    @property
    def n_iter_(self) -> int:
        """Iterations made for M; 1 where it was found in closed form."""
        return int(getattr(self.linear_, "n_iter_", 1))

    @property
    def graph_(self) -> Any:
        """Normalised affinities of the training items in the last pass; None without a graph."""
        return self._passes[-1].graph.S if self._passes else None

    @property
    def training_scores_(self) -> Array:
        """The scores of the training items."""
        return self._normalized_scores(self._smoothed)

    def affinities(self, X: Any, prior: Any = None) -> Any:
        """Return the normalised affinities of new items to the training items in the last pass.

        A csr_array with a row s_x for each item, empty without a graph. Every row of X is treated
        as a new item; the affinities among the training items are `graph_`. `prior` is as for
        `scores`.
        """
        rows = self.checked_rows(X).astype(self.training_rows_.dtype, copy=False)
        if not self._passes:
            return sparse.csr_array((len(rows), len(self.training_rows_)), dtype=rows.dtype)
        U = self._normalized(rows)
        given = self._checked_prior(prior, rows)
        features = self._last_features(U, linear_scores(self.linear_, self._mapped(U), given))
        return self._passes[-1].graph.out_of_sample(features)

    def linear_at(self, x: Any, training_row: int | None = None, prior: Any = None) -> "LinearPart":
        """Return weights M_x, base b_x and trust: the linear part of the score of one item.

        It is x'M_x + b_x, and for a label with a prior score t also trust times t. All depend on
        the item where rows or scores are normalised. `training_row` is the position of x among the
        training items; None for a new item, which needs its prior scores.
        """
        row = self.checked_rows(x).astype(self.training_rows_.dtype, copy=False)
        M_x, b_x = self._linear_near(self._normalized(row))
        if self._row_normalizer is not None:
            M_x = M_x / self._row_normalizer.norms(row)[0]
            b_x = b_x - self._row_normalizer.mean @ M_x
        if training_row is None:
            f = self._new_scores(row, self._checked_prior(prior, row))
        else:
            f = self._smoothed[[training_row]]
        k = self._score_normalizer.factors(f, self._last_step["score_normalization"])[0]
        mean = self._score_normalizer.mean
        trust = np.zeros_like(mean) if self.trust_ is None else np.nan_to_num(k * self.trust_)
        return LinearPart(k * M_x, mean + k * (b_x - mean), trust)

    def _linear_near(self, u: Array) -> tuple[Array, Array]:
        """Return M_u and b_u with u'M_u + b_u = P(u); with a kernel they depend on u."""
        if self._kernel_map is None:
            return self.coef_, self.intercept_
        mean = self._kernel_map.kernel.origin
        return self._kernel_map.attribution(u[0], mean, self.coef_, self.intercept_)

    def prior_weights(self) -> tuple[Array, Array] | None:
        """Return k_i and theta_j, so that prior scores add k_i theta_j t_ij to the training scores.

        Before the scores are smoothed; None without prior scores.
        """
        if self.trust_ is None:
            return None
        exponent = self._last_step["score_normalization"]
        k = self._score_normalizer.factors(self._smoothed, exponent)
        return k, np.nan_to_num(self.trust_)

    def default_param_grid(
        self, X: Any, Y: Any, graph: Any = None, prior: Any = None
    ) -> ParamGrids:
        """Return kernel, bandwidth, rows and ridge of the linear part alone; then the rest.

        The rest is smoothing with diffusion, or neither, and score normalisation, which helps more
        often than not: the linear part is chosen with it; where absences are known, also whether
        the linear part trains itself. A learner that does not normalise rows has no candidate that
        does.
        """
        rows = check_array(X, dtype=[np.float64, np.float32])
        known = as_partial_labels(Y)
        is_list = known.unlisted_weight > 0
        n_labelled, n_features = known.known_items().sum(), rows.shape[1]
        is_tall = n_features < _FEW_FEATURES and n_labelled >= max(
            _MANY_ITEMS, _MANY_ITEMS_PER_FEATURE * n_features
        )
        grids: tuple[LinearGrid, ...] = _LINEAR_GRIDS
        if is_list:
            grids = _LINEAR_GRIDS_OF_TALL_LISTS if is_tall else _LINEAR_GRIDS_OF_LISTS
        if not self.normalize_rows:
            grids = tuple(dict.fromkeys(grid._replace(normalize_rows=False) for grid in grids))
        # Of one label, normalisation would change the meaning of the scores, but not their order.
        powers = [*_SCORE_NORMALIZATIONS] if known.n_labels > 1 else [0.0]
        linear_parts: list[ParamGrid] = [
            {
                "kernel": [grid.kernel],
                "bandwidth": [grid.bandwidth],
                "normalize_rows": [grid.normalize_rows],
                "ridge": _scaled_ridges(grid, rows, known),
                "shrinkage": [inf],
                "smoothing": [0.0],
                "score_normalization": powers[:1],
                **prior_grid(known, prior),
            }
            for grid in grids
        ]
        diffused: list[ParamGrid] = [
            {
                "shrinkage": [SHRINKAGE_OF_LISTS if is_list else SHRINKAGE],
                "smoothing": [*_SMOOTHINGS],
                "score_normalization": powers,
                "self_training": [rounds],
            }
            for rounds in ((0,) if is_list or self.lam else (_ROUNDS, 0))
        ]
        alone: ParamGrid = {
            "shrinkage": [inf],
            "smoothing": [0.0],
            "score_normalization": powers,
            "self_training": [0],
        }
        return [linear_parts, diffused if is_list and is_tall else [*diffused, alone]]

    def to_state(self) -> "DiffusionState":
        """Return what has to be kept of the fitted learner."""
        return DiffusionState(
            self.training_rows_,
            self.learnable_,
            self._row_normalizer,
            self._kernel_map,
            self._prior,
            self.linear_,
            self._passes,
            self._links,
            self._smoothed,
            self._last_step,
        )

    def from_state(self, state: "DiffusionState") -> Self:
        """Take over the state of a fitted learner; a further `fit` starts cold all the same."""
        self.training_rows_, self.learnable_ = state.rows, state.learnable
        self._row_normalizer, self._kernel_map = state.row_normalizer, state.kernel_map
        self.linear_ = state.linear
        self._U, self._prior = self._normalized(state.rows), state.prior
        self._passes, self._links = state.passes, state.links
        self._finish(state.smoothed, state.last_step)
        return self

    def fit_known(self, rows: Array, known: PartialLabels, prior: Prior | None = None) -> None:
        """Learn from validated rows and labels."""
        key = self._key(rows, prior)
        if not (self.warm_start and self._is_warm(key, known)):
            self._warm_key, self._last_step = None, {}
            self._prior = prior
            self._stages = {0: self._fit_linear_part(rows, known, prior, key)}
            self._known, self._warm_key = known, key
        # Without row normalisation the graphs hold these rows; with it, guard against changes in X,
        # which may be a view of what others can write.
        may_change = rows.flags.writeable or rows.base is not None
        self.training_rows_ = rows.copy() if self.normalize_rows and may_change else rows
        last_step = {name: getattr(self, name) for name in _LAST_STEP}
        before = {name: last_step[name] for name in ("shrinkage", "smoothing")}
        is_linear = _is_linear(last_step)
        stage = self._stages[0] if is_linear else self._stage(rows, self.self_training)
        is_same = before.items() <= self._last_step.items() and self.linear_ is stage.linear
        self.linear_, self._passes, self._links = stage.linear, stage.passes, stage.links
        F = self._smoothed if is_same else self._smoothed_scores(stage, last_step)
        self._finish(F, last_step)
        if not self.warm_start:
            del self._stages
            self._warm_key = None

    def _fit_linear_part(
        self, rows: Array, known: PartialLabels, prior: Prior | None, key: tuple[Any, ...]
    ) -> "Stage":
        """Find M and P; the features of a kernel, the largest table of a fit, are not kept."""
        Z = self._fit_features(rows)
        linear = self._search_cache.get(
            ("linear", *key, id(known)),
            lambda: self._fit_linear(*labelled_part(Z, known, prior)),
            Z.shape[1] * known.n_labels * Z.itemsize,
        )
        return Stage(linear, linear_scores(linear, Z, prior))

    def _stage(self, rows: Array, n_rounds: int) -> "Stage":
        """Return M and P after some rounds of self-training, with the graph of each pass."""
        if n_rounds not in self._stages:
            before = self._stage(rows, 0)
            linear, P = self._search_cache.get(
                ("self-training", n_rounds, self._warm_key, id(self._known)),
                lambda: self._self_trained(before, rows, n_rounds),
                before.P.nbytes + before.linear.coef_.nbytes,
            )
            self._stages[n_rounds] = Stage(linear, P)
        stage = self._stages[n_rounds]
        if not stage.passes:
            first = self._stages[0].passes[:1] if n_rounds else []
            stage.passes, stage.links = self._search_cache.get(
                ("passes", n_rounds, self._warm_key, id(self._known)),
                lambda: self._make_passes(stage.P, *first),
                stage.P.nbytes * _TABLES_OF_A_PASS * self.n_passes,
            )
        return stage

    def _self_trained(
        self, stage: "Stage", rows: Array, n_rounds: int
    ) -> tuple[LeastSquares, Array]:
        Z, prior, linear = self._fit_features(rows, again=True), self._prior, stage.linear
        assert isinstance(linear, LeastSquares)
        offset = None
        if prior is not None and linear.trust_ is not None:
            offset = prior.contribution(linear.trust_)
        diffusion = stage.passes[-1]
        linear = self_train(linear, Z, self._known, diffusion, n_rounds, offset)
        return linear, linear_scores(linear, Z, prior)

    def _fit_linear(
        self, U: Array, known: PartialLabels, prior: Prior | None
    ) -> APGGraph | LeastSquares:
        learner = self._linear_learner()
        if prior is None:
            return learner.fit(U, known)
        if isinstance(learner, APGGraph):
            raise InvalidInputError(
                f"SemanticDiffusion takes prior scores only with lam=0; got lam={self.lam}."
            )
        return learner.fit(U, known, prior)

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        for name in ("lam", "ridge", "tol"):
            check_number(*parameter(self, name), low=0)
        check_number(*parameter(self, "prior_shrinkage"), low=0, inclusive=False)
        check_number(*parameter(self, "prior_weight"), low=0, high=1)
        if self.shrinkage != np.inf:
            check_number(*parameter(self, "shrinkage"), low=0, inclusive=False)
        for name in ("smoothing", "alpha"):
            check_below_one(*parameter(self, name))
        for name in ("n_passes", "max_iter"):
            check_integer(*parameter(self, name), at_least=1)
        check_integer(*parameter(self, "self_training"), at_least=0)
        if self.self_training and self.lam:
            raise InvalidInputError(
                "SemanticDiffusion trains itself only with lam=0: a nuclear norm has no closed "
                f"form. Got self_training={self.self_training} and lam={self.lam}."
            )
        check_number(*parameter(self, "score_normalization"), low=0, high=1)
        check_flag(*parameter(self, "normalize_rows"))
        check_choice(*parameter(self, "kernel"), _KERNELS)
        check_number(*parameter(self, "bandwidth"), low=0, inclusive=False)
        if self.n_components is not None:
            check_integer(*parameter(self, "n_components"), at_least=1)
        check_integer(*parameter(self, "random_state"), at_least=0)

    def _key(self, rows: Array, prior: Prior | None) -> tuple[Any, ...]:
        """Return what M depends on besides the labels before self-training: rows, parameters."""
        skipped = (*_LAST_STEP, "self_training", "warm_start", "on_unlearnable")
        given = {name: value for name, value in self.get_params().items() if name not in skipped}
        columns = () if prior is None else (*fingerprint(prior.T), *prior.labels.tolist())
        return *self._search_cache.fingerprint(rows), *columns, *given.items()

    def _is_warm(self, key: tuple[Any, ...], known: PartialLabels) -> bool:
        if getattr(self, "_warm_key", None) != key:
            return False
        return known is self._known or known == self._known

    def _fit_features(self, rows: Array, *, again: bool = False) -> Array:
        """Learn row normalisation and kernel; return the features of the linear part.

        `again` is for a fit that has learned them and did not keep the features.
        """
        n_landmarks = 0 if self.kernel == "linear" else self._n_landmarks(len(rows))
        width = rows.shape[1] + n_landmarks
        self._row_normalizer, self._U, self._kernel_map, Z = self._search_cache.get(
            ("features", rows, *(getattr(self, name) for name in _OF_FEATURES)),
            lambda: self._features_again() if again else self._make_features(rows),
            len(rows) * width * rows.itemsize,
        )
        return Z

    def _make_features(
        self, rows: Array
    ) -> tuple[RowNormalizer | None, Array, KernelMap | None, Array]:
        normalizer = RowNormalizer.of(rows) if self.normalize_rows else None
        U = rows if normalizer is None else normalizer(rows)
        if self.kernel == "linear":
            return normalizer, U, None, U
        kernel = Kernel.of(U, self.kernel, bandwidth=self.bandwidth)
        found = KernelMap.of(kernel, U, self._n_landmarks(len(U)), self.random_state)
        return normalizer, U, found, found(U)

    def _features_again(self) -> tuple[RowNormalizer | None, Array, KernelMap | None, Array]:
        return self._row_normalizer, self._U, self._kernel_map, self._mapped(self._U)

    def _n_landmarks(self, n_items: int) -> int:
        return self.n_components or default_landmarks(n_items)

    def _mapped(self, U: Array) -> Array:
        return U if self._kernel_map is None else self._kernel_map(U)

    def _normalized(self, rows: Array) -> Array:
        return rows if self._row_normalizer is None else self._row_normalizer(rows)

    def _linear_learner(self) -> APGGraph | LeastSquares:
        if self.lam == 0:
            return LeastSquares(
                self.ridge,
                prior_shrinkage=self.prior_shrinkage,
                prior_weight=self.prior_weight,
                on_unlearnable="ignore",
            )
        return APGGraph(
            self.lam,
            ridge=self.ridge,
            tol=self.tol,
            max_iter=self.max_iter,
            on_unlearnable="ignore",
        )

    def _smoothed_scores(self, stage: "Stage", last_step: Mapping[str, float]) -> Array:
        """Return F of the training items."""
        if _is_linear(last_step):
            return stage.P
        step = last_step["shrinkage"], last_step["smoothing"]
        return stage.passes[-1].scores(stage.P, *step, keep=self.warm_start)

    def _make_passes(
        self, P: Array, before: ResidualDiffusion | None = None
    ) -> tuple[list[ResidualDiffusion], list[Link]]:
        """Build the graph of each pass, but for one that there was `before` self-training."""
        known = known_residuals(self._known, P)
        if before is None:
            passes = [ResidualDiffusion(self._first_graph(), self.alpha, known)]
        else:
            passes = [before.of_residuals(known.residuals)]
        links: list[Link] = []
        for _ in range(self.n_passes - 1):
            F = passes[-1].scores(P, INTERMEDIATE["shrinkage"], INTERMEDIATE["smoothing"])
            links.append(Link(F, ScoreAugmenter.of(self._U, F)))
            features = links[-1].features(self._U)
            # The graph needs the features again for new items alone, and they are a large table.
            graph = replace(self._graph(np.asarray(features)), rows=features)
            passes.append(ResidualDiffusion(graph, self.alpha, known))
        return passes, links

    def _first_graph(self) -> AffinityGraph:
        return self._search_cache.get(
            ("graph", self._U, self.n_neighbors, self.metric, self.algorithm),
            lambda: self._graph(self._U),
            self._U.nbytes,
        )

    def _graph(self, features: Array) -> AffinityGraph:
        return affinity_graph(
            features, self.n_neighbors, metric=self.metric, algorithm=self.algorithm
        )

    def _finish(self, F: Array, last_step: dict[str, float]) -> None:
        """Set the scores of the training items, after score normalisation."""
        self._last_step, self._smoothed = last_step, F
        self._score_normalizer = ScoreNormalizer.of(F)

    def _normalized_scores(self, F: Array) -> Array:
        return self._score_normalizer(F, self._last_step["score_normalization"])

    def score_training_rows(self) -> Array:
        """Return the scores of the training items."""
        scores = self.training_scores_
        return scores.copy() if scores is self._smoothed else scores

    def score_rows(self, X: Array) -> Array:
        """Return the scores of validated rows."""
        rows = X.astype(self.training_rows_.dtype, copy=False)
        return self._normalized_scores(self._new_scores(rows))

    def score_rows_with_prior(self, X: Array, prior: Prior) -> Array:
        """Return the scores of validated rows and their prior scores."""
        rows = X.astype(self.training_rows_.dtype, copy=False)
        return self._normalized_scores(self._new_scores(rows, prior))

    def _new_scores(self, rows: Array, prior: Prior | None = None) -> Array:
        """Return F of new items."""
        U = self._normalized(rows)
        P = linear_scores(self.linear_, self._mapped(U), prior)
        if _is_linear(self._last_step):
            return P
        step = self._last_step["shrinkage"], self._last_step["smoothing"]
        features = self._last_features(U, P)
        return self._passes[-1].out_of_sample(features, P, self._smoothed, *step)

    def _last_features(self, U: Array, P: Array) -> Array:
        """Return the features of new items in the last pass: U, or U with scores appended."""
        features = U
        for diffusion, (F, augmenter) in zip(self._passes[:-1], self._links, strict=True):
            scores = diffusion.out_of_sample(features, P, F, **INTERMEDIATE)
            features = augmenter(U, scores)
        return features

    def solved_jointly(self, grid: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        """Return the parameters that `fit_path` solves for all at once."""
        linear = ("ridge", "prior_shrinkage")
        others = [values for name, values in grid.items() if name not in linear]
        only_ridge = all(len(values) == 1 for values in others)
        given = {name: grid.get(name, [getattr(self, name)])[0] for name in _CLOSED_FORM}
        # Paths along other parameters share their graphs: these are better fitted side by side.
        return linear if only_ridge and given == _CLOSED_FORM else ()

    def fit_path(
        self, path: Sequence[Mapping[str, Any]], X: Any, Y: Any, inputs: Mapping[str, Any]
    ) -> Iterator[Self]:
        """Fit candidates; where only the linear part differs, find M for all of them at once.

        Least squares finds M for every candidate of the path; each is handed to the warm start of
        the fit that would find the same.
        """
        linear = [self.set_params(**params)._linear_learner() for params in path]
        closed = all(isinstance(one, LeastSquares) for one in linear)
        joint = closed and differ_only_in(("ridge", "prior_shrinkage"), path)
        if not (self.warm_start and joint and len(path) > 1):
            yield from super().fit_path(path, X, Y, inputs)
            return
        for params in path:
            self.set_params(**params).check_parameters()
        rows, known = self.read_data(X, Y)
        check_learnable(known, "ignore")
        prior = read_prior(inputs.get("prior"), len(rows), self.label_names_, rows.dtype)
        candidates = [one.get_params() for one in linear]
        Z = self._fit_features(rows)
        *part, some = labelled_part(Z, known, prior)
        found = linear[0].fit_path(candidates, *part, {} if some is None else {"prior": some})
        features = self._row_normalizer, self._U, self._kernel_map
        for params, one in zip(path, found, strict=True):
            self._row_normalizer, self._U, self._kernel_map = features
            self.set_params(**params)._warm_start_from(copy(one), Z, rows, known, prior)
            fitted: Self = self.fit(X, Y, **inputs)
            yield fitted

    def _warm_start_from(
        self,
        linear: APGGraph | LeastSquares,
        Z: Array,
        rows: Array,
        known: PartialLabels,
        prior: Prior | None,
    ) -> None:
        """Set the state after a fit that found this M and needed no graph."""
        self._warm_key, self._last_step = None, {}
        key = self._key(rows, prior)
        found = self._search_cache.get(
            ("linear", *key, id(known)), lambda: linear, linear.coef_.nbytes
        )
        self._stages = {0: Stage(found, linear_scores(found, Z, prior))}
        self._prior = prior
        self._known, self._warm_key = known, key


@dataclass(eq=False)
class Stage:
    """The linear part of a fit, and the graphs on which its residuals diffuse."""

    linear: APGGraph | LeastSquares
    P: Array
    passes: list[ResidualDiffusion] = field(default_factory=list)
    """One for each graph; none before they are needed."""
    links: list[Link] = field(default_factory=list)
    """What connects them."""


class LinearPart(NamedTuple):
    """The linear part of the scores of one item."""

    weights: Array
    """M_x."""
    base: Array
    """b_x."""
    trust: Array
    """In the prior scores of the item, 0 for labels without any."""


class DiffusionState(NamedTuple):
    """What a fitted `SemanticDiffusion` needs to score items; all else follows from it."""

    rows: Array
    learnable: npt.NDArray[np.bool_]
    row_normalizer: RowNormalizer | None
    kernel_map: KernelMap | None
    prior: Prior | None
    linear: APGGraph | LeastSquares
    passes: list[ResidualDiffusion]
    links: list[Link]
    smoothed: Array
    last_step: dict[str, float]


def default_landmarks(n_items: int) -> int:
    """Return the number of landmarks: 2,000 for up to 33,000 items, at least 800 for more."""
    return min(_MOST_LANDMARKS, max(_FEWEST_LANDMARKS, _KERNEL_ENTRIES // n_items))


def _scaled_ridges(grid: LinearGrid, rows: Array, known: PartialLabels) -> list[float]:
    """Return the ridges of candidates; with a kernel they do not depend on the data."""
    if grid.kernel != "linear":
        return [*grid.ridges]
    unit = ridge_unit(RowNormalizer.of(rows)(rows) if grid.normalize_rows else rows, known)
    return [share * unit for share in grid.ridges]


def linear_scores(linear: APGGraph | LeastSquares, U: Array, prior: Prior | None = None) -> Array:
    """Return P = UM + b, with theta_j t_ij added where there are prior scores."""
    P = linear.score_rows(U)
    if prior is None or not isinstance(linear, LeastSquares) or linear.trust_ is None:
        return P
    return P + prior.contribution(linear.trust_)


def _is_linear(step: Mapping[str, float]) -> bool:
    """Return whether neither correction nor smoothing is left: no graph is needed."""
    return step["shrinkage"] == np.inf and step["smoothing"] == 0
