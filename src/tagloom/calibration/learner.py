"""Probabilities from any learner, calibrated on known entries that it was not shown."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from tagloom.calibration.listing import (
    ScoredEntries,
    fit_label_curves,
    fit_shared_curve,
    sampled_entries,
    standardized,
)
from tagloom.errors import InvalidInputError
from tagloom.graph import ItemGraph
from tagloom.labels import PartialLabels, split_items, split_known
from tagloom.models.base import Array, ParamGrids, PartialLabelLearner, alternatives, parameter
from tagloom.models.cross_validation import take_rows
from tagloom.validation import check_choice, check_integer

Floats = npt.NDArray[np.float64]

_SPLITS = {"items": split_items, "entries": split_known}
# Standard deviations of a label's own intercept (around 0) and slope (around 1).
_DEVIATIONS = (2.0, 0.5)
# A step function needs so many held-out presences, and absences, of a label.
_FEWEST_FOR_ISOTONIC = 25


class CalibratedLearner(PartialLabelLearner):
    r"""A learner whose scores become probabilities.

    Known entries are held out in folds and scored by copies of the learner that were not shown
    them; the learner itself is fitted on all of them. To these held-out scores s a curve is fitted:

    - "sigmoid" (Platt 1999): p = 1 / (1 + exp(-a_j - b_j (alpha + beta s))), where alpha and beta
      are shared by all labels and a_j, b_j are those of label j, with normal priors around 0 and 1.
      So a label with few known entries keeps to the shared curve.
    - "isotonic" (Zadrozny and Elkan 2002): a step function for each label with at least 25
      held-out presences and absences, the sigmoid for the others.

    A probability is right for entries that are known as those of Y are: of labels that annotators
    were asked about at random it is that of presence. Where unlisted tags count as absent it is the
    probability of being listed; `tagloom complete` estimates how often tags are forgotten.

    Parameters
    ----------
    estimator : PartialLabelLearner
        It is not changed.
    method : {"sigmoid", "isotonic"}, default="sigmoid"
    n_splits : int, default=3
        Number of folds.
    hold_out : {"items", "entries"}, default="items"
        Hold out items, for probabilities of new ones, or entries, to complete partly known items.
    random_state : int, default=0
        Seed of the folds.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent. They keep their
        scores.

    Attributes
    ----------
    learner_ : PartialLabelLearner
        Fitted on all known entries.
    curves_ : list of Curve
        One for each label.

    Examples
    --------
    >>> import numpy as np
    >>> from tagloom import LeastSquares
    >>> X = np.arange(40.0)[:, None]
    >>> Y = np.where(np.arange(40) % 3 > 0, np.arange(40) > 19, np.nan)[:, None]
    >>> model = CalibratedLearner(LeastSquares()).fit(X, Y)
    >>> model.predict_proba([[0.0], [19.5], [39.0]]).round(2).ravel()
    array([0.  , 0.49, 1.  ])
    """

    learner_: PartialLabelLearner
    curves_: "list[Curve]"

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "sigmoid",
        n_splits: int = 3,
        hold_out: str = "items",
        random_state: int | None = 0,
        on_unlearnable: str = "raise",
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.n_splits = n_splits
        self.hold_out = hold_out
        self.random_state = random_state
        self.on_unlearnable = on_unlearnable

    @property
    def takes_prior(self) -> bool:  # type: ignore[override]
        """Whether the learner's `fit` takes prior scores."""
        return bool(self.estimator.takes_prior)

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether the learner takes sparse features."""
        return bool(getattr(self.estimator, "takes_sparse", False))

    @property
    def safest_first(self) -> bool:  # type: ignore[override]
        """Whether the learner orders its default grid from safe to bold."""
        return bool(self.estimator.safest_first)

    @property
    def gives_probabilities(self) -> bool:
        """True: that is what it is for."""
        return True

    def fit(
        self,
        X: Any,
        y: Any,
        graph: Any = None,
        label_graph: Any = None,
        prior: Any = None,
        *,
        sample_weight: Any = None,
    ) -> Self:
        """Fit the learner, and the curves to held-out scores.

        Parameters
        ----------
        X, y, sample_weight
            As for every learner.
        graph, label_graph, prior
            Passed to the `fit` of the learner where given.
        """
        self.check_parameters()
        rows, known = self.read_training_data(X, y, prior, sample_weight)
        self._check_absences(known)
        given = {"graph": graph, "label_graph": label_graph, "prior": prior}
        inputs = {name: table for name, table in given.items() if table is not None}
        self.learner_ = _quiet(self.estimator).fit(rows, known, **inputs)
        parts = list(self._held_out(rows, known, inputs))
        self.curves_ = fit_curves(_joined(parts), known.n_labels, self.method)
        return self

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        if not isinstance(self.estimator, PartialLabelLearner):
            raise InvalidInputError(
                "The 'estimator' parameter of CalibratedLearner must be a learner of tagloom; got "
                f"{self.estimator!r}. Wrap a classifier of scikit-learn in ClassifierPerLabel, or "
                "use sklearn.calibration.CalibratedClassifierCV inside of it."
            )
        check_choice(*parameter(self, "method"), ("sigmoid", "isotonic"))
        check_choice(*parameter(self, "hold_out"), tuple(_SPLITS))
        if self.hold_out == "entries" and self.estimator.unknown_is_absent:
            raise InvalidInputError(
                f"To {type(self.estimator).__name__} a held-out presence is an absence: its "
                'probabilities cannot be calibrated on held-out entries. Pass hold_out="items".'
            )
        check_integer(*parameter(self, "n_splits"), at_least=2)
        if self.random_state is not None:
            check_integer(*parameter(self, "random_state"), at_least=0)

    def _check_absences(self, known: PartialLabels) -> None:
        if not known.n_absent or not known.n_present:
            missing = "presence" if known.n_absent else "absence"
            raise InvalidInputError(
                f"No {missing} is known: probabilities cannot be calibrated. If Y was made from "
                'lists of tags, say what an unlisted tag means: unlisted="absent", or a weight.'
            )

    def _held_out(
        self, rows: Array, known: PartialLabels, inputs: dict[str, Any]
    ) -> Iterator[ScoredEntries]:
        """Yield the held-out entries of each fold with their scores."""
        rng = np.random.default_rng(self.random_state)
        for fold in _SPLITS[self.hold_out](known, self.n_splits, self.random_state):
            if not fold.training.n_known or not fold.held_out.n_known:
                continue
            learner = _quiet(self.estimator)
            if self.hold_out == "entries":
                learner.fit(rows, fold.training, **inputs)
                scores = learner.training_scores(rows, **_only_prior(inputs))
                yield sampled_entries(fold.held_out, np.asarray(scores), rng)
                continue
            held = fold.held_out.known_items()
            learner.fit(rows[~held], fold.training[~held], **_of_items(inputs, ~held))
            scores = learner.scores(rows[held], **_only_prior(_of_items(inputs, held)))
            yield sampled_entries(fold.held_out[held], np.asarray(scores), rng)

    def default_param_grid(
        self, X: Any, Y: Any, graph: Any = None, prior: Any = None
    ) -> ParamGrids:
        """Return the grid of the learner."""
        given = {} if prior is None else {"prior": prior}
        stages = self.estimator.default_param_grid(X, Y, graph, **given)
        return [
            [{f"estimator__{name}": grid[name] for name in grid} for grid in alternatives(stage)]
            for stage in stages
        ]

    def training_scores(self, X: Any, prior: Any = None) -> Any:
        """Return the probabilities of the rows that `fit` was given; none is its own neighbour."""
        rows = self.checked_rows(X)
        scores = self.learner_.training_scores(rows, *([] if prior is None else [prior]))
        return self._with_names(self._calibrated(np.asarray(scores)), X)

    def _checked_scores(self, rows: Array, prior: Any) -> Array:
        given = {} if prior is None else {"prior": prior}
        return self._calibrated(np.asarray(self.learner_.scores(rows, **given)))

    def score_rows(self, X: Array) -> Array:
        """Return the scores of validated rows."""
        return self._checked_scores(X, None)

    def _calibrated(self, scores: Array) -> Array:
        table = np.clip(scores, 0, 1)
        for j in np.flatnonzero(self.learnable_):
            table[:, j] = self.curves_[j](scores[:, j])
        return table


def _only_prior(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return what `scores` takes beside the rows."""
    return {name: table for name, table in inputs.items() if name == "prior"}


def _of_items(inputs: dict[str, Any], chosen: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Return the inputs of some items: their part of the graph and their prior scores."""
    some = dict(inputs)
    if "graph" in some:
        some["graph"] = ItemGraph(some["graph"])[chosen]
    if "prior" in some:
        some["prior"] = take_rows(some["prior"], np.flatnonzero(chosen))
    return some


def _quiet(estimator: Any) -> Any:
    """Return a copy that leaves the labels that cannot be learned to the caller."""
    return clone(estimator).set_params(on_unlearnable="ignore")


def _joined(parts: list[ScoredEntries]) -> ScoredEntries:
    """Return the entries of all folds; each was scored by a model that was not shown it."""
    if not parts:
        raise InvalidInputError(
            "Y has too few known entries to hold some out: no fold leaves any to learn from and "
            "any to compare with. Annotate more items."
        )
    return ScoredEntries(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.present for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )


class Curve(NamedTuple):
    """From scores of a label to probabilities: a logistic curve, or steps where there are any."""

    intercept: float
    slope: float
    steps: tuple[Floats, Floats] | None = None
    """Scores and the probabilities there, of isotonic regression."""

    def __call__(self, scores: Array) -> Array:
        """Return the probabilities, in the precision of the scores."""
        if self.steps is None:
            return np.asarray(expit(self.intercept + self.slope * scores), dtype=scores.dtype)
        return np.interp(scores, *self.steps).astype(scores.dtype)


def fit_curves(entries: ScoredEntries, n_labels: int, method: str) -> list[Curve]:
    """Fit the shared curve, then that of each label."""
    mean, scale = entries.scores.mean(), entries.scores.std() or 1.0
    D = standardized(entries.scores[:, None], np.array([mean]), np.array([scale]))
    ones = np.ones(n_labels)
    beta, alpha = fit_shared_curve(D, entries, ones)
    a, b = fit_label_curves(
        alpha + beta * D[:, 0], entries, ones[entries.columns], n_labels, _DEVIATIONS
    )
    return [
        Curve(
            float(a[j] + b[j] * (alpha - beta * mean / scale)),
            float(b[j] * beta / scale),
            _steps(entries, j) if method == "isotonic" else None,
        )
        for j in range(n_labels)
    ]


def _steps(entries: ScoredEntries, label: int) -> tuple[Floats, Floats] | None:
    """Return the steps of isotonic regression; None for a label with too few entries."""
    own = entries.columns == label
    present = entries.present[own]
    if min(present.sum(), (~present).sum()) < _FEWEST_FOR_ISOTONIC:
        return None
    model = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    model.fit(entries.scores[own], present, sample_weight=entries.weights[own])
    return model.X_thresholds_, model.y_thresholds_
