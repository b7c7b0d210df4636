"""The interface of every learner: fit on partial labels, score, predict, complete, save.

Top to bottom: the abstract classes that learners inherit from, then how a training target is read
and checked, how parameters are checked, and what several default grids are made of.
"""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from tagloom.errors import InvalidInputError, UnlearnableLabelWarning
from tagloom.labels import (
    PartialLabels,
    State,
    as_partial_labels,
    checked_item_weights,
    is_column_table,
    is_frame,
    is_missing,
    named_like,
)
from tagloom.metrics import mean_average_precision, mean_of_defined
from tagloom.models.prior import Prior, read_prior
from tagloom.models.search_cache import SearchCache
from tagloom.neighbors import ALGORITHMS, METRICS
from tagloom.optim import Iteration, Objective, Solution
from tagloom.validation import (
    check_choice,
    check_flag,
    check_integer,
    check_magnitude,
    check_same_items,
    in_main_memory,
    some_of,
)

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
ParamGrid = dict[str, list[Any]]
# One for each stage of a search; a list is of alternatives, whose candidates are all tried.
ParamGrids = Sequence[ParamGrid | list[ParamGrid]]

# Distances and variances are estimated on at most about this many rows.
_SAMPLE_SIZE = 1_000
# Sums over a table are taken for about this many entries at a time, to bound the memory.
_ENTRIES_AT_ONCE = 1 << 24

# A score estimates the label itself: 1 present, 0 absent. The decision boundary is half-way.
BOUNDARY = 0.5


def _gives_probabilities(learner: "PartialLabelLearner") -> bool:
    if learner.gives_probabilities:
        return True
    name = type(learner).__name__
    raise AttributeError(
        f"{name} gives scores, not probabilities. For calibrated ones wrap it: "
        f"tagloom.calibration.CalibratedLearner({name}(...)); without calibration, use `scores`."
    )


class PartialLabelLearner(ClassifierMixin, BaseEstimator, ABC):
    """A scikit-learn classifier that leaves unknown labels unknown.

    To write one of your own, implement `fit_known` and `score_rows`, and `check_parameters` and
    `default_param_grid` if it has parameters; validation, names, weights and the public methods are
    here. One whose `fit` takes more than X and y implements `fit`, which begins with
    `check_parameters` and `read_training_data`. See docs/extending.md.

    Attributes
    ----------
    classes_ : array
        The names of the labels; for a one-dimensional y its two classes.
    one_dimensional_ : bool
        Whether Y was a single column with two classes.
    learnable_ : array of bool of shape (n_labels,)
        False where no entry is known, or all known entries agree.
    """

    takes_prior: ClassVar[bool] = False
    """Whether `fit` takes prior scores."""
    takes_sparse: ClassVar[bool] = False
    """Whether X may be a sparse matrix, which is then never written out."""
    unknown_is_absent: ClassVar[bool] = False
    """Whether the method itself takes unknown entries as absent, as FastTag does."""
    safest_first: ClassVar[bool] = False
    """Whether each list in `default_param_grid` begins with its safest value, see `tune`."""

    on_unlearnable: str = "raise"
    classes_: Array
    one_dimensional_: bool
    learnable_: npt.NDArray[np.bool_]
    n_features_in_: int

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Learn from the known labels.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_features), float32 or float64
        y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown) of shape (n_items, n_labels)
            Items without known labels are allowed. A one-dimensional y with two classes is one
            label.
        sample_weight : array of shape (n_items,), optional
            Multiplies the weights of the known labels of each item. An item of weight 0 takes part
            as one without known labels.
        """
        self.check_parameters()
        self.fit_known(*self.read_training_data(X, y, sample_weight=sample_weight))
        return self

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed; to be extended."""
        check_choice(*parameter(self, "on_unlearnable"), ("raise", "warn", "ignore"))

    def fit_known(self, rows: Array, known: PartialLabels) -> None:
        """Learn from validated rows and labels; to be called by `fit` alone."""
        raise NotImplementedError

    @abstractmethod
    def score_rows(self, X: Array) -> Array:
        """Return the estimated labels of validated rows, one column for each label."""

    def score_rows_with_prior(self, X: Array, prior: Prior) -> Array:
        """Return the same where the learner was fitted with prior scores."""
        raise NotImplementedError

    @property
    def prior_labels(self) -> npt.NDArray[np.bool_] | None:
        """Which labels had prior scores in `fit`; None where no label had any."""
        return None

    def scores(self, X: Any, prior: Any = None) -> Any:
        """Return the estimated labels: near 1 where a label is likely present, near 0 where absent.

        A DataFrame gives a DataFrame with the names of the items and labels; else an array of shape
        (n_items, n_labels). A learner that was fitted with prior scores needs those of X, too.
        """
        return self._with_names(self._checked_scores(self.checked_rows(X), prior), X)

    def training_scores(self, X: Any, prior: Any = None) -> Any:
        """Return the scores of the rows that `fit` was given.

        Where a learner uses neighbours, no row is its own neighbour here; `scores` treats every row
        as a new one.
        """
        return self.scores(X, prior)

    def decision_function(self, X: Any, prior: Any = None) -> Any:
        """Return `scores` - 1/2: positive exactly where `predict` says the label is present."""
        decision = self._checked_scores(self.checked_rows(X), prior) - BOUNDARY
        return decision[:, 0] if self.one_dimensional_ else self._with_names(decision, X)

    def predict(self, X: Any, prior: Any = None) -> Any:
        """Return 1 where a label is likely present and 0 where it is not."""
        present = self._checked_scores(self.checked_rows(X), prior) > BOUNDARY
        if self.one_dimensional_:
            return self.classes_[present[:, 0].astype(int)]
        return self._with_names(present.astype(int), X)

    @property
    def gives_probabilities(self) -> bool:
        """Whether scores are probabilities; if not, `CalibratedLearner` makes some of them."""
        return False

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any, prior: Any = None) -> Any:
        """Return the probability that each label is present.

        An array of shape (n_items, n_labels), or a table with names as by `scores`; for a
        one-dimensional y of shape (n_items, 2), as for any classifier of scikit-learn. Where
        unlisted tags count as absent, it is the probability that a label would be listed.
        """
        chances = self._checked_chances(self.checked_rows(X), prior)
        if self.one_dimensional_:
            return np.hstack([1 - chances, chances])
        return self._with_names(chances, X)

    def _checked_chances(self, rows: Array, prior: Any) -> Array:
        return np.clip(self._checked_scores(rows, prior), 0, 1)

    def complete(self, X: Any, Y: Any, *, fill: str = "labels", prior: Any = None) -> Any:
        """Return Y with the unknown entries filled in; known entries stay as they are.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_features)
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN, of shape (n_items, n_labels)
            Columns with names are matched by name. Unlisted tags that are absent with a weight
            below 1 are filled too: they were not annotated.
        fill : {"labels", "scores"}
            Whether to fill with 0 and 1, or with the scores.
        prior
            As for `scores`.

        Returns
        -------
        DataFrame where Y is one, else an array of floats.
        """
        check_choice("fill", fill, ("labels", "scores"))
        rows = self.checked_rows(X)
        known = self._checked_labels(Y, rows)
        filled = self._checked_scores(rows, prior)
        if fill == "labels":
            filled = (filled > BOUNDARY).astype(filled.dtype)
        states = known.states()
        annotated = states != int(State.UNKNOWN)
        if 0 < known.unlisted_weight < 1:
            annotated = known.is_listed()
        filled[annotated] = states[annotated] == int(State.PRESENT)
        return self._with_names(filled, Y)

    def score(self, X: Any, y: Any, sample_weight: Any = None, prior: Any = None) -> float:
        """Return the mean average precision over the known entries of y.

        For a one-dimensional y it is the accuracy, as for any classifier of scikit-learn. Items
        count with their `sample_weight`.
        """
        check_is_fitted(self)
        if self.one_dimensional_:
            there = ~missing_in(y)
            weight = None if sample_weight is None else np.asarray(sample_weight)[there]
            right = np.asarray(self.predict(X, prior))[there] == np.asarray(y)[there]
            return float(np.average(right, weights=weight))
        rows = self.checked_rows(X)
        known = self._checked_labels(y, rows)
        scores = self._checked_scores(rows, prior)
        if sample_weight is None:
            return mean_average_precision(known, scores)
        return _weighted_average_precision(
            known, scores, checked_item_weights(sample_weight, rows.shape[0])
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file; an interrupted write leaves no partial file.

        `APGGraph`, `LeastSquares` and `SemanticDiffusion` can be saved.
        """
        from tagloom.persistence.codecs import save_learner

        check_is_fitted(self)
        save_learner(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`; a damaged, altered or newer file is an error."""
        from tagloom.persistence.codecs import load_learner

        return load_learner(cls, path)

    @property
    def label_names_(self) -> Array:
        """The names of the labels; the one label of a one-dimensional y is its second class."""
        return self.classes_[1:] if self.one_dimensional_ else self.classes_

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Return the grids that `tune` searches by default, one for each stage of the search.

        One that takes prior scores is given them as `prior`, if there are any. A later stage keeps
        what the stages before it found best. A stage may be a list of grids that are alternatives.
        """
        raise InvalidInputError(
            f"{type(self).__name__} has no default param_grid; pass param_grid=, a mapping from "
            "parameters to values."
        )

    # What the fits of one search share; outside a search nothing is kept.
    _search_cache: SearchCache = SearchCache()

    path_parameters: ClassVar[tuple[str, ...]] = ("lam",)
    """`tune` fits candidates along the values of these, so that warm starts can help.

    The values fall, except for learners whose grids begin with the safest (`safest_first`).
    """

    def solved_jointly(self, grid: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        """Return the parameters of a grid whose values `fit_path` solves for all at once.

        Their candidates form one path, which is never cut short: with the first of them nearly all
        the work is done.
        """
        return ()

    def fit_path(
        self, path: Sequence[Mapping[str, Any]], X: Any, Y: Any, inputs: Mapping[str, Any]
    ) -> Iterator[Self]:
        """Yield this learner fitted with the parameters of each candidate in turn.

        `inputs` are what `fit` is given beside X and Y: graphs or prior scores. Every step gives
        the same bits as a separate fit, and starts only when it is requested; the first step may
        compute what the whole path needs.
        """
        for params in path:
            fitted: Self = self.set_params(**params).fit(X, Y, **inputs)
            yield fitted

    @property
    def tuning_params(self) -> dict[str, Any]:
        """Parameters that replace those `tune` sets for all learners while it compares."""
        return {}

    def read_data(self, X: Any, Y: Any) -> tuple[Array, PartialLabels]:
        """Validate the training data; set the attributes about features, labels and target."""
        X, Y = in_main_memory(X, "X"), in_main_memory(Y, "Y")
        rows = self._validated(X, order="C")
        target = read_target(Y)
        check_same_items(rows.shape[0], target.known.n_items)
        if target.known.n_labels == 0:
            raise InvalidInputError("Y must have at least one label; it has no column.")
        _check_same_order(X, Y)
        self.classes_ = target.classes
        self.one_dimensional_ = target.one_dimensional
        return rows, target.known

    def read_training_data(
        self, X: Any, Y: Any, prior: Any = None, sample_weight: Any = None
    ) -> tuple[Array, PartialLabels]:
        """Validate the training data, and find the labels that can be learned.

        To be called by `fit` itself: warnings are shown where `fit` was called.
        """
        rows, known = self.read_data(X, Y)
        if sample_weight is not None:
            known = known.with_item_weights(sample_weight)
            _check_two_classes(known, self.one_dimensional_)
        given = read_prior(prior, rows.shape[0], self.label_names_, rows.dtype)
        self.learnable_ = check_learnable(known, self.on_unlearnable, given)
        return rows, known

    def checked_rows(self, X: Any) -> Array:
        """Return the rows of X, validated; the learner must be fitted."""
        check_is_fitted(self)
        X = in_main_memory(X, "X")
        return self._validated(X, reset=False)

    def _validated(self, X: Any, **given: Any) -> Array:
        """Return finite rows in float32 or float64: an array, or a csr_array if those are taken."""
        if bool(sparse.issparse(X)) and not self.takes_sparse:
            raise InvalidInputError(
                f"{type(self).__name__} needs dense features, and X is a sparse matrix. Pass "
                "X.toarray() if that fits in memory, or fewer features, for example by "
                "sklearn.decomposition.TruncatedSVD; LeastSquares, BinaryRelevance, APGGraph and "
                "Maxide take sparse features as they are."
            )
        rows: Any = validate_data(
            self, X, dtype=[np.float64, np.float32], accept_sparse="csr", **given
        )
        if bool(sparse.issparse(rows)):
            rows = sparse.csr_array(rows)
            check_magnitude(rows.data)
        else:
            check_magnitude(rows)
        return rows  # type: ignore[no-any-return]

    def _checked_scores(self, rows: Array, prior: Any) -> Array:
        """Return the scores of validated rows, with their prior scores where there are any."""
        given = self._checked_prior(prior, rows)
        return self.score_rows(rows) if given is None else self.score_rows_with_prior(rows, given)

    def _checked_prior(self, prior: Any, rows: Array) -> Prior | None:
        """Return the prior scores of the labels that had some in `fit`."""
        given = read_prior(prior, rows.shape[0], self.label_names_, rows.dtype)
        if self.prior_labels is None:
            if given is not None:
                raise InvalidInputError(
                    f"This {type(self).__name__} was fitted without prior scores, and cannot use "
                    "any now: pass prior to fit as well, if it takes one, or leave it out here."
                )
            return None
        labels = np.flatnonzero(self.prior_labels)
        missing = labels if given is None else np.setdiff1d(labels, given.labels)
        if given is None or len(missing):
            raise InvalidInputError(
                f"This {type(self).__name__} was fitted with prior scores: pass prior= with those "
                f"of these items. Missing: {some_of(self.label_names_[missing].tolist())}."
            )
        return Prior(labels, given.T[:, np.isin(given.labels, labels)])

    def _checked_labels(self, Y: Any, rows: Array) -> PartialLabels:
        known = as_partial_labels(in_main_memory(Y, "Y"))
        check_same_items(rows.shape[0], known.n_items)
        labels = self.label_names_
        positions = list(range(known.n_labels))
        has_names = (
            is_frame(Y) or list(known.labels) != positions or set(labels.tolist()) == set(positions)
        )
        return _matched_labels(known, labels, named=has_names and not self.one_dimensional_)

    def _with_names(self, table: Array, given: Any) -> Any:
        """Return a table with the names of items and labels where `given` is a data frame."""
        return named_like(given, table, self.label_names_.tolist())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = self.takes_sparse
        return tags


def _weighted_average_precision(known: PartialLabels, scores: Array, weights: Floats) -> float:
    """Return the mean over labels of the average precision of weighted items."""
    truth, found = known.to_array(), np.full(known.n_labels, np.nan)
    for j in range(known.n_labels):
        at = ~np.isnan(truth[:, j]) & (weights > 0)
        if truth[at, j].any():
            found[j] = average_precision_score(
                truth[at, j], scores[at, j], sample_weight=weights[at]
            )
    return mean_of_defined(found)


def _check_same_order(X: Any, Y: Any) -> None:
    """Raise where two data frames name the same items in different orders."""
    if not (is_frame(X) and is_frame(Y)) or X.index.equals(Y.index):
        return
    if set(X.index) == set(Y.index):
        raise InvalidInputError(
            "X and Y name the same items in different orders, and rows are matched by position. "
            "Pass Y.loc[X.index]."
        )


def _matched_labels(
    known: PartialLabels, expected: npt.NDArray[Any], *, named: bool
) -> PartialLabels:
    """Return `known` with the expected labels in the expected order.

    Labels with names must have the expected names, in any order; a table without names must have
    the expected number of columns.
    """
    if known.n_labels == len(expected) and (not named or list(known.labels) == list(expected)):
        return known
    if not named:
        raise InvalidInputError(
            f"Y has {known.n_labels} columns; the model was fitted with {len(expected)} labels."
        )
    given, wanted = set(known.labels), set(expected.tolist())
    if given != wanted:
        missing, strange = sorted(wanted - given, key=repr), sorted(given - wanted, key=repr)
        raise InvalidInputError(
            "The labels of Y are not those the model was fitted with. "
            f"Missing: {some_of(missing)}. Unexpected: {some_of(strange)}."
        )
    return known.select(expected.tolist())


class PriorMixin(PartialLabelLearner):
    """A learner that takes prior scores of labels, see `tagloom.models.prior`.

    It has `trust_`, NaN for labels without prior scores, and implements `score_rows_with_prior`.
    """

    takes_prior = True

    def fit(self, X: Any, y: Any, prior: Any = None, *, sample_weight: Any = None) -> Self:
        """Learn from the known labels.

        Parameters
        ----------
        X, y, sample_weight
            As for every learner.
        prior : array or DataFrame of shape (n_items, n_labels), optional
            Prior scores, near 1 where a label is likely present and near 0 where it is not; NaN in
            the columns of labels without any. `scores` and the like then need them, too.
        """
        self.check_parameters()
        rows, known = self.read_training_data(X, y, prior, sample_weight)
        self.fit_known(rows, known, read_prior(prior, rows.shape[0], self.label_names_, rows.dtype))
        return self

    def fit_known(self, rows: Array, known: PartialLabels, prior: Prior | None = None) -> None:
        """Learn from validated rows and labels."""
        raise NotImplementedError

    def prior_weights(self) -> tuple[Array, Array] | None:
        """Return k_i and theta_j, so that prior scores add k_i theta_j t_ij to the training scores.

        k has one value for each training item, or one for all; None without prior scores.
        """
        trust: Array | None = getattr(self, "trust_", None)
        return None if trust is None else (np.ones(1), np.nan_to_num(trust))

    @property
    def prior_labels(self) -> npt.NDArray[np.bool_] | None:
        """Which labels had prior scores in `fit`."""
        trust: Array | None = getattr(self, "trust_", None)
        return None if trust is None else ~np.isnan(trust)


class LinearLearner(PartialLabelLearner):
    """A learner that scores by X M + b."""

    coef_: Array
    intercept_: Array

    def score_rows(self, X: Array) -> Array:
        """Return the scores of validated rows."""
        table: Array = X @ self.coef_
        dtype = np.result_type(table, self.intercept_)
        return np.add(table, self.intercept_, out=table if table.dtype == dtype else None)


class SolvedLearner(LinearLearner):
    """A linear learner whose M is found by an iterative solver of `tagloom.optim`."""

    warm_start: bool
    rank_: int
    n_iter_: int
    objective_: float
    gap_: float
    history_: list[Iteration]

    def _start(self, previous: str, objective: Objective) -> Array | None:
        """Return the M of the previous fit, an attribute, where it is wanted and has the shape."""
        M: Array | None = getattr(self, previous, None) if self.warm_start else None
        if M is None or M.shape != objective.shape:
            return None
        return M.astype(objective.dtype)

    def _keep_solution(self, solution: Solution) -> None:
        self.rank_ = solution.rank
        self.n_iter_ = len(solution.history)
        self.objective_ = solution.objective
        self.gap_ = solution.gap
        self.history_ = solution.history

    def _warn_not_converged(self, solution: Solution, tol: float) -> None:
        """Warn the caller of `fit`; to be called three levels below it."""
        reached = f" with a certificate of {solution.gap:.1e}" if solution.gap >= 0 else ""
        remedy = "raise max_iter or tol, or scale the features to similar size"
        if solution.M.dtype == np.float32:
            remedy += "; or pass X as float64 if tol is below what float32 can hold (about 1e-6)"
        message = (
            f"{type(self).__name__} stopped after {self.n_iter_} iterations{reached}, short of "
            f"tol={tol}: {remedy}."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=5)


class InstanceBasedLearner(PartialLabelLearner):
    """A learner that keeps its training items and recognises them, to use them as neighbours.

    It implements `score_training_rows`, in which no item is its own neighbour, besides
    `score_rows`, which treats every row as a new one. `fit` stores the training rows.
    """

    training_rows_: Array

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        check_integer(*parameter(self, "n_neighbors"), at_least=1)
        check_choice(*parameter(self, "metric"), METRICS)
        check_choice(*parameter(self, "algorithm"), ALGORITHMS)
        check_flag(*parameter(self, "warm_start"))

    def read_data(self, X: Any, Y: Any) -> tuple[Array, PartialLabels]:
        """Validate the training data."""
        rows, known = super().read_data(X, Y)
        if len(rows) < 2:
            raise InvalidInputError(
                "At least 2 items are needed, for the only one of 1 sample has no neighbour."
            )
        return rows, known

    @abstractmethod
    def score_training_rows(self) -> Array:
        """Return the scores of the training items."""

    def training_scores(self, X: Any, prior: Any = None) -> Any:
        """Return the scores of the rows that `fit` was given; none is its own neighbour.

        Their prior scores are those that `fit` was given, and need not be passed.
        """
        rows = self.checked_rows(X)
        if rows is not self.training_rows_ and not np.array_equal(rows, self.training_rows_):
            raise InvalidInputError(
                "training_scores takes the rows that the model was fitted with, and these are "
                "others. For new rows call scores."
            )
        return self._with_names(self.score_training_rows(), X)


@dataclass(frozen=True)
class Target:
    """The training labels, and whether they came as one column with two classes."""

    known: PartialLabels
    classes: npt.NDArray[Any]
    """The names of the labels, or the two classes of a one-dimensional y."""
    one_dimensional: bool


def read_target(Y: Any) -> Target:
    """Read Y: 1, 0 and NaN by item and label, or one complete column with two classes."""
    if Y is None:
        raise InvalidInputError(
            "This estimator requires y to be passed, but the target y is None. "
            "Pass an array of 1, 0 and NaN (unknown), one column for each label."
        )
    if is_column(Y):
        return _read_column(Y)
    known = as_partial_labels(Y)
    return Target(known, _as_names(known.labels), one_dimensional=False)


def is_column(Y: Any) -> bool:
    """Return whether Y has one dimension; what numpy cannot convert to an array is no column."""
    if isinstance(Y, PartialLabels) or sparse.issparse(Y) or is_column_table(Y):
        return False
    try:
        return np.asarray(Y).ndim == 1
    except ValueError:
        return False


def _read_column(y: Any) -> Target:
    """Read a one-dimensional y: one label, present for the second of its two classes."""
    missing = missing_in(y)
    column = column_or_1d(np.ma.getdata(y) if isinstance(y, np.ma.MaskedArray) else np.asarray(y))
    present = _unboxed(column[~missing])
    try:
        assert_all_finite(present, input_name="y")
        check_classification_targets(present)
    except ValueError as error:
        raise InvalidInputError(str(error)) from None
    if type_of_target(present) == "multiclass":
        raise InvalidInputError(
            "Only binary classification is supported. The type of the target is multiclass. "
            "Give Y one column for each class, 1 where it applies and 0 where it does not."
        )
    classes, codes = np.unique(present, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"y holds only one class ({classes.tolist()}); two classes are needed to tell apart."
        )
    table = np.full((len(column), 1), np.nan)
    table[~missing, 0] = codes
    return Target(PartialLabels.from_array(table), classes, one_dimensional=True)


def _check_two_classes(known: PartialLabels, one_dimensional: bool) -> None:
    if one_dimensional and not (known.n_present and known.n_absent):
        raise InvalidInputError(
            "Only one class of y is left where sample_weight is above zero; two are needed."
        )


def missing_in(y: Any) -> npt.NDArray[np.bool_]:
    """Return where a column is unknown: masked, NaN, None or NA."""
    if isinstance(y, np.ma.MaskedArray):
        return np.ma.getmaskarray(y) | missing_in(np.ma.getdata(y))
    column = np.asarray(y)
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=bool)
    return np.array([is_missing(value) for value in column], dtype=bool)


def _unboxed(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return strings, numbers or booleans in an array of their own type instead of objects."""
    if column.dtype.kind != "O" or not len(column):
        return column
    plain = np.array(column.tolist())
    return plain if plain.ndim == 1 and plain.dtype.kind in "iufbU" else column


def _as_names(labels: tuple[Any, ...]) -> npt.NDArray[Any]:
    """Return the names as an array of strings or integers where they are that, else of objects."""
    if labels and all(type(label) is type(labels[0]) for label in labels):
        names = np.asarray(labels)
        if names.ndim == 1 and names.dtype.kind in "iU":
            return names
    boxed = np.empty(len(labels), dtype=object)
    boxed[:] = labels
    return boxed


def check_learnable(
    known: PartialLabels, on_unlearnable: str, prior: Prior | None = None
) -> npt.NDArray[np.bool_]:
    """Return which labels can be learned; raise or warn for the others by `on_unlearnable`.

    A label cannot be learned where no entry is known or all known entries agree. A label known only
    as present is a warning and not an error: tag lists whose unlisted tags are unknown contain
    nothing else. Labels with prior scores need no example.
    """
    counts = known.counts()
    if counts.present.sum() + counts.absent.sum() == 0:
        raise InvalidInputError(
            f"Y is all unknown: none of its {known.n_items} x {known.n_labels} entries is 0 or 1. "
            "There is nothing to learn from."
        )
    bare = np.ones(known.n_labels, dtype=bool)
    bare[[] if prior is None else prior.labels] = False
    nothing = (counts.present == 0) & (counts.absent == 0) & bare
    only_absent = (counts.present == 0) & (counts.absent > 0) & bare
    only_present = (counts.present > 0) & (counts.absent == 0)
    drop = (
        'Drop these columns, or pass on_unlearnable="warn" to learn the others beside them; in '
        "cross-validation, MultilabelStratifiedKFold shares out what is known of each label."
    )
    _report_unlearnable(known, nothing, f"have no known entry. {drop}", on_unlearnable)
    _report_unlearnable(known, only_absent, f"are known only to be absent. {drop}", on_unlearnable)
    _report_unlearnable(
        known,
        only_present,
        "are known only to be present: every item will score as having them. If Y was made from "
        'lists of tags, say what an unlisted tag means: unlisted="absent", or a weight like 0.1.',
        "warn" if on_unlearnable == "raise" else on_unlearnable,
    )
    return np.asarray((counts.present > 0) & (counts.absent > 0))


def _report_unlearnable(
    known: PartialLabels, which: npt.NDArray[np.bool_], what: str, on_unlearnable: str
) -> None:
    if on_unlearnable == "ignore" or not which.any():
        return
    columns = np.flatnonzero(which)
    names = some_of(known.labels[j] for j in columns)
    message = f"{len(columns)} of {known.n_labels} labels {what} They are: {names}."
    if on_unlearnable == "raise":
        raise InvalidInputError(message)
    warnings.warn(message, UnlearnableLabelWarning, stacklevel=5)


def labelled_part(
    rows: Array, known: PartialLabels, prior: Prior | None
) -> tuple[Array, PartialLabels, Prior | None]:
    """Return the items with a known entry; the arguments themselves where that is all of them.

    Unlisted entries that count as absent are known entries here.
    """
    labelled = np.flatnonzero(known.known_items())
    if len(labelled) == len(rows):
        return rows, known, prior
    some = None if prior is None else prior.take(labelled)
    return rows[labelled], known.take(labelled), some


def parameter(model: Any, name: str) -> tuple[str, Any]:
    """Return what a message calls a parameter, and its value: the first arguments of a check."""
    return f"The '{name}' parameter of {type(model).__name__}", getattr(model, name)


def differ_only_in(names: Sequence[str], candidates: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether candidates agree in all parameters but perhaps these."""
    rest = [{key: one[key] for key in one if key not in names} for one in candidates]
    return all(one == rest[0] for one in rest)


def squared_norm(X: Any, *, centred: bool) -> float:
    """Return ||X||_F^2, of the centred rows if `centred`; 1 where it is 0."""
    if bool(sparse.issparse(X)):
        total = float(np.sum(np.square(X.tocsr().data, dtype=np.float64)))
        mean = np.asarray(X.mean(axis=0), dtype=np.float64)
        total -= X.shape[0] * float(np.sum(mean**2)) if centred else 0.0
    else:
        rows = np.asarray(X)
        mean = rows.mean(axis=0, dtype=np.float64) if centred else np.zeros(rows.shape[1])
        total = float(sum(np.sum(squares) for squares in _squares(rows, mean)))
    return total if total > 0 else 1.0


def _squares(rows: Array, mean: Floats) -> Iterator[Floats]:
    """Yield (x - mean)^2 in double precision, for some rows at a time."""
    step = max(1, _ENTRIES_AT_ONCE // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        yield (rows[start : start + step] - mean) ** 2


def loss_curvature(X: Any, known: PartialLabels, fit_intercept: bool) -> float:
    """Return (mean weight of an entry) * ||X||_F^2: the scale of the squared loss of one label.

    Unknown entries have weight 0; rows are centred where there is an intercept.
    """
    entries = known.entries()
    n_entries = known.n_items * known.n_labels
    n_unlisted = n_entries - len(entries.rows) - len(known.hidden_entries()[0])
    total = entries.weights.sum() + known.unlisted_weight * n_unlisted
    return float(total / n_entries) * squared_norm(X, centred=fit_intercept)


def alternatives(stage: ParamGrid | list[ParamGrid]) -> list[ParamGrid]:
    """Return the grids of a stage."""
    return stage if isinstance(stage, list) else [stage]


def ridge_unit(X: Any, known: PartialLabels) -> float:
    """Return the ridge that shrinks the directions in which rows vary by about half.

    It is the total weight of the known entries of a label, on average over labels, times the
    variance of the rows along such a direction.
    """
    weight = loss_curvature(X, known, fit_intercept=True) / squared_norm(X, centred=True)
    return weight * known.n_items * effective_variance(X)


def effective_variance(rows: Any) -> float:
    r"""Return tr(C^2)/tr(C) of the covariance C of rows, on a sample; 1 where C is 0.

    The mean of the eigenvalues of C, each weighted by itself: the variance along a direction in
    which rows vary. It is tr(C) over the participation ratio tr(C)^2/tr(C^2), the effective number
    of such directions.
    """
    if bool(sparse.issparse(rows)):
        # The matrix of inner products of the centred rows has the same eigenvalues.
        sample = rows.tocsr()[:: 1 + rows.shape[0] // _SAMPLE_SIZE].astype(np.float64)
        C = (sample @ sample.T).toarray() / sample.shape[0]
        C -= C.mean(axis=0)
        C -= C.mean(axis=1)[:, None]
    else:
        sample = sample_rows(np.asarray(rows))
        centred = sample - sample.mean(axis=0)
        C = centred.T @ centred / len(sample)
    total = float(np.trace(C))
    return float(np.sum(C**2)) / total if total > 0 else 1.0


def sample_rows(rows: Array) -> Floats:
    """Return at most about a thousand rows, evenly spaced, in double precision."""
    return np.asarray(rows[:: 1 + len(rows) // _SAMPLE_SIZE], dtype=np.float64)
