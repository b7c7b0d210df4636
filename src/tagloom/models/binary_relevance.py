"""Binary relevance: one classifier for each label, by LIBLINEAR (Fan et al. 2008) or your own."""

import math
import warnings
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.validation import has_fit_parameter

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.models.base import (
    BOUNDARY,
    Array,
    LinearLearner,
    ParamGrids,
    PartialLabelLearner,
    parameter,
    squared_norm,
)
from tagloom.models.least_squares import Column, columns_of
from tagloom.validation import check_choice, check_integer, check_n_jobs, check_number

LOSSES = ("squared_hinge", "hinge", "logistic")

# The default grid, in units of 1 / (mean squared norm of the centred rows).
_C_SHARES = (0.03, 0.15, 0.8, 4.0)

# LIBLINEAR penalises the intercept as the weight of one more feature. The value of that feature is
# large enough for the penalty to move the intercept by about one per cent only.
_INTERCEPT_SHARE = 100.0

# The dual solver has one random generator for the whole process: one label at a time.
_dual_solver = Lock()


class BinaryRelevance(LinearLearner):
    """A linear classifier for each label, trained on its known entries.

    Minimises for every label j by LIBLINEAR

        1/2 ||m_j||^2 + C sum_{i : (i,j) known} w_ij loss(z_ij (x_i'm_j + b_j)),

    with z_ij 1 where the label is present and -1 where it is absent, and loss(t) = max(0, 1 - t)^2
    ("squared_hinge"), max(0, 1 - t) ("hinge") or log(1 + exp(-t)) ("logistic"). Labels are
    learned independently. Unknown entries take no part. With d the decision x'm + b, the score is
    1/(1 + exp(-d)) for the logistic loss and 1/2 + d/2 for the others.

    LIBLINEAR penalises the intercept. Here the features are centred first and the constant feature
    is given a value so large that the penalty hardly matters.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
        "hinge" is solved in the dual, the others in the primal, which takes a large constant
        feature better.
    tol : float, default=1e-2
        Where LIBLINEAR stops: in the primal the norm of the gradient relative to that at 0, and
        smaller for rare labels; in the dual (tenfold) the violation of optimality.
    max_iter : int, default=1000
        Iterations after which it stops; one ConvergenceWarning says for how many labels.
    n_jobs : int, optional
        Number of workers that fit labels side by side: threads, but processes for "hinge", because
        LIBLINEAR's dual solver has one random generator per process. The result is the same.
    random_state : int, default=0
        Seed of the dual solver.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent. A label whose known
        entries all agree scores 1 or 0 everywhere; one without known entries scores 0.

    Attributes
    ----------
    coef_ : array of shape (n_features, n_labels)
    intercept_ : array of shape (n_labels,)
        Of the decision d.
    n_iter_ : int
        Most iterations that any label took.

    Examples
    --------
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, None], [None, 0], [1, 0]]
    >>> BinaryRelevance(C=10.0).fit(X, Y).predict(X).tolist()
    [[0, 1], [0, 1], [1, 0], [1, 0]]
    """

    takes_sparse = True
    n_iter_: int

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_hinge",
        tol: float = 1e-2,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        on_unlearnable: str = "raise",
    ) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.on_unlearnable = on_unlearnable

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Return C in units of 1 / (mean squared norm of the centred rows)."""
        unit = np.shape(X)[0] / squared_norm(X, centred=True)
        return [{"C": [share * unit for share in _C_SHARES]}]

    def fit_known(self, rows: Array, known: PartialLabels) -> None:
        """Learn from validated rows and labels."""
        counts = known.counts()
        M = np.zeros((rows.shape[1], known.n_labels))
        b = np.full(known.n_labels, -np.inf if self.loss == "logistic" else -1.0)
        b[(counts.present > 0) & (counts.absent == 0)] *= -1
        # Sparse rows would not be sparse any more.
        is_sparse = sparse.issparse(rows)
        origin = np.zeros(1) if is_sparse else rows.mean(axis=0, dtype=np.float64)
        learned = self._classifiers(rows if is_sparse else rows - origin, list(columns_of(known)))
        for j, found in zip(np.flatnonzero(self.learnable_), learned, strict=True):
            M[:, j], b[j] = found.m, found.b - float(np.sum(origin * found.m))
        self.coef_, self.intercept_ = M.astype(rows.dtype), b.astype(rows.dtype)
        self.n_iter_ = max((found.n_iter for found in learned), default=1)
        self._warn_not_converged([found.n_iter for found in learned])

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        check_number(*parameter(self, "C"), low=0, inclusive=False)
        check_choice(*parameter(self, "loss"), LOSSES)
        check_number(*parameter(self, "tol"), low=0, inclusive=False)
        check_integer(*parameter(self, "max_iter"), at_least=1)
        check_n_jobs(*parameter(self, "n_jobs"))
        if self.random_state is not None:
            check_integer(*parameter(self, "random_state"), at_least=0)

    def _classifiers(self, X: Array, columns: list[Column]) -> "list[Classifier]":
        scale = float(np.sqrt(squared_norm(X, centred=False) / X.shape[0]))
        tol = 10 * self.tol if self.loss == "hinge" else self.tol
        settings = Settings(self.loss, self.C, tol, self.max_iter, self.random_state, scale)
        wanted = [columns[j] for j in np.flatnonzero(self.learnable_)]
        backend = "loky" if self.loss == "hinge" else "threading"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return list(
                Parallel(n_jobs=self.n_jobs, backend=backend)(
                    delayed(classify)(X, column, settings) for column in wanted
                )
            )

    def _warn_not_converged(self, n_iter: list[int]) -> None:
        n_short = sum(number >= self.max_iter for number in n_iter)
        if n_short:
            warnings.warn(
                f"LIBLINEAR stopped after {self.max_iter} iterations, short of tol={self.tol}, for "
                f"{n_short} of {len(n_iter)} labels: raise max_iter or tol, lower C, or scale "
                "the features to similar size.",
                ConvergenceWarning,
                stacklevel=4,
            )

    @property
    def gives_probabilities(self) -> bool:
        """True for the logistic loss, whose scores are those of a maximum likelihood fit."""
        return self.loss == "logistic"

    def score_rows(self, X: Array) -> Array:
        """Return the scores of validated rows."""
        decision = super().score_rows(X)
        if self.loss == "logistic":
            return np.asarray(expit(decision))
        return np.asarray(BOUNDARY + decision / 2)


class Classifier(NamedTuple):
    """A linear decision, positive where the label is likely present."""

    m: npt.NDArray[np.float64]
    b: float
    n_iter: int


class Settings(NamedTuple):
    """The parameters that all labels share."""

    loss: str
    C: float
    tol: float
    max_iter: int
    random_state: int | None
    scale: float
    """Root mean square norm of the rows, in whose units the intercept's feature is chosen."""


def classify(X: Array, column: Column, settings: Settings) -> Classifier:
    """Minimise 1/2 ||m||^2 + C sum_i w_i loss(z_i (x_i'm + b)) with z = 1 present, -1 absent.

    The penalty has an additional 1/2 (b/s)^2, where s is the value of the constant feature: at
    least the norm of a row, and at least so large that C s^2 sum_i w_i = 100.
    """
    rows, present, weights = column.known()
    X = X[rows]
    s = max(settings.scale, math.sqrt(_INTERCEPT_SHARE / (settings.C * float(weights.sum()))))
    machine = _machine(settings, s)
    if settings.loss == "hinge":
        with _dual_solver:
            machine.fit(X, present, sample_weight=weights)
    else:
        machine.fit(X, present, sample_weight=weights)
    n_iter = int(np.max(machine.n_iter_))
    return Classifier(machine.coef_[0], float(machine.intercept_[0]), n_iter)


def _machine(settings: Settings, s: float) -> Any:
    common = {
        "C": settings.C,
        "tol": settings.tol,
        "max_iter": settings.max_iter,
        "intercept_scaling": s,
        "random_state": settings.random_state,
    }
    if settings.loss == "logistic":
        return LogisticRegression(solver="liblinear", **common)
    return LinearSVC(loss=settings.loss, dual=settings.loss == "hinge", **common)


class ClassifierPerLabel(PartialLabelLearner):
    """Any classifier of scikit-learn, a copy of it for each label, trained on its known entries.

    Labels are learned independently. Unknown entries take no part. Observation weights are passed
    as `sample_weight`; a classifier that takes none is refused where weights differ. The score is

        1/2 + d / (2 (1 + |d|))    of the decision d of `decision_function`,

    which rises with d, however large; or else the probability of `predict_proba`.

    Parameters
    ----------
    estimator : classifier
        With `decision_function` or `predict_proba`. It is not changed.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent. A label whose known
        entries all agree scores 1 or 0 everywhere; one without known entries scores 0.

    Attributes
    ----------
    estimators_ : list of classifier or float
        The fitted classifiers; for labels that cannot be learned the score of every item.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, None], [None, 0], [1, 0]]
    >>> ClassifierPerLabel(LogisticRegression()).fit(X, Y).predict([[0.0], [3.0]]).tolist()
    [[0, 1], [1, 0]]
    """

    takes_sparse = True
    estimators_: list[Any]

    def __init__(self, estimator: Any, *, on_unlearnable: str = "raise") -> None:
        self.estimator = estimator
        self.on_unlearnable = on_unlearnable

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Return nothing to search: the parameters are those of the given classifier."""
        return []

    def fit_known(self, rows: Array, known: PartialLabels) -> None:
        """Learn from validated rows and labels."""
        self.estimators_ = [
            self._classifier(rows, column) if learnable else float(column.present.any())
            for column, learnable in zip(columns_of(known), self.learnable_, strict=True)
        ]

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        check_scores(self.estimator)

    def _classifier(self, X: Array, column: Column) -> Any:
        rows, present, weights = column.known()
        given = {"sample_weight": weights}
        if not has_fit_parameter(self.estimator, "sample_weight"):
            if np.any(weights != weights[0]):
                raise InvalidInputError(
                    f"Labels have entries of different weights, and {type(self.estimator).__name__}"
                    " takes no sample_weight. Use a classifier that does, or equal weights."
                )
            given = {}
        return clone(self.estimator).fit(X[rows], present.astype(int), **given)

    @property
    def gives_probabilities(self) -> bool:
        """Whether the classifier has `predict_proba`."""
        return hasattr(self.estimator, "predict_proba")

    def _checked_chances(self, rows: Array, prior: Any) -> Array:
        return self._by_label(rows, lambda one: one.predict_proba(rows)[:, 1])

    def score_rows(self, X: Array) -> Array:
        """Return the scores of validated rows."""
        return self._by_label(X, lambda one: _scores_of(one, X))

    def _by_label(self, rows: Array, answer: Callable[[Any], Array]) -> Array:
        table = np.empty((rows.shape[0], len(self.estimators_)), dtype=rows.dtype)
        for j, one in enumerate(self.estimators_):
            table[:, j] = one if isinstance(one, float) else answer(one)
        return table


def check_scores(estimator: Any) -> None:
    """Require a classifier that says how sure it is."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise InvalidInputError(
            "The 'estimator' parameter of ClassifierPerLabel must be a classifier of "
            f"scikit-learn, with fit and get_params; got {estimator!r}."
        )
    if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
        raise InvalidInputError(
            f"{type(estimator).__name__} has neither decision_function nor predict_proba: it "
            "cannot rank items. Use a classifier that has one of them."
        )


def _scores_of(classifier: Any, X: Array) -> Array:
    """Return scores in [0, 1], above 1/2 where the classifier says present."""
    if not hasattr(classifier, "decision_function"):
        return np.asarray(classifier.predict_proba(X))[:, 1]
    d = np.asarray(classifier.decision_function(X), dtype=np.float64)
    d = d[:, -1] if d.ndim == 2 else d
    return np.asarray(BOUNDARY + d / (2 * (1 + np.abs(d))))
