"""The face that every learner shows: fit on partial labels, score, predict, complete."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from tagloom.errors import InvalidInputError, UnlearnableLabelWarning
from tagloom.labels import PartialLabels, State, as_partial_labels, is_frame, is_missing
from tagloom.metrics import mean_average_precision
from tagloom.validation import check_choice, check_number, check_same_items, is_integer, some_of

# §§ targets
# What a learner is taught: Y in any form becomes `PartialLabels`, checked for what it teaches.


@dataclass(frozen=True)
class Target:
    """What is known, and whether it came as one column of two classes."""

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
    if _is_column(Y):
        return _read_column(Y)
    known = as_partial_labels(Y)
    return Target(known, _as_names(known.labels), one_dimensional=False)


def _is_column(Y: Any) -> bool:
    """Say whether Y has one dimension; what numpy cannot make an array of is not a column."""
    if isinstance(Y, PartialLabels) or sparse.issparse(Y):
        return False
    try:
        return np.asarray(Y).ndim == 1
    except ValueError:
        return False


def _read_column(y: Any) -> Target:
    """Read a one-dimensional y: one label, present for the second of its two classes."""
    missing = missing_in(y)
    column = column_or_1d(np.ma.getdata(y) if isinstance(y, np.ma.MaskedArray) else np.asarray(y))
    present = _plain(column[~missing])
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


def _plain(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return strings, numbers or booleans that came boxed as objects in an array of their own."""
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


def check_learnable(known: PartialLabels, on_unlearnable: str) -> npt.NDArray[np.bool_]:
    """Return which labels can be learned; complain of the others as `on_unlearnable` says.

    Nothing tells the items that have a label from those that do not where no entry is known or all
    known entries agree. A label known only as present is a warning and not an error: lists of tags
    whose unlisted tags are unknown hold nothing else.
    """
    counts = known.counts()
    if counts.present.sum() + counts.absent.sum() == 0:
        raise InvalidInputError(
            f"Y is all unknown: none of its {known.n_items} x {known.n_labels} entries is 0 or 1. "
            "There is nothing to learn from."
        )
    nothing = (counts.present == 0) & (counts.absent == 0)
    only_absent = (counts.present == 0) & (counts.absent > 0)
    only_present = (counts.present > 0) & (counts.absent == 0)
    drop = 'Drop these columns, or pass on_unlearnable="warn" to learn the others beside them.'
    _complain(known, nothing, f"have no known entry. {drop}", on_unlearnable)
    _complain(known, only_absent, f"are known only to be absent. {drop}", on_unlearnable)
    _complain(
        known,
        only_present,
        "are known only to be present: every item will score as having them. If Y was made from "
        'lists of tags, say what an unlisted tag means: unlisted="absent", or a weight like 0.1.',
        "warn" if on_unlearnable == "raise" else on_unlearnable,
    )
    return np.asarray((counts.present > 0) & (counts.absent > 0))


def informed_rows(known: PartialLabels) -> npt.NDArray[np.int64]:
    """Return the items of which something is known, be it by presumption."""
    if not known.unlisted_weight:
        return np.unique(known.entries().rows)
    n_hidden = np.bincount(known.hidden_entries()[0], minlength=known.n_items)
    return np.flatnonzero(n_hidden < known.n_labels)


def informed_part(
    rows: npt.NDArray[Any], known: PartialLabels
) -> tuple[npt.NDArray[Any], PartialLabels]:
    """Return the items of which something is known; the very same where that is all of them."""
    informed = informed_rows(known)
    if len(informed) == len(rows):
        return rows, known
    return rows[informed], known.take(informed)


def _complain(
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


def match_labels(known: PartialLabels, expected: npt.NDArray[Any], *, named: bool) -> PartialLabels:
    """Return `known` with the expected labels in the expected order.

    Where it carries names they must be the same names, in whatever order; an unnamed table must
    have as many columns.
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


# §§ main base


# A score estimates the label itself: 1 present, 0 absent. Half-way lies the boundary.
BOUNDARY = 0.5

Array = npt.NDArray[Any]


class PartialLabelLearner(ClassifierMixin, BaseEstimator, ABC):
    """A scikit-learn classifier that takes unknown labels as unknown.

    A learner implements `fit` and `_scores`; reading, naming and answering is done here.
    """

    classes_: Array
    n_features_in_: int

    @abstractmethod
    def _scores(self, X: Array) -> Array:
        """Return the estimated labels of checked rows, one column for each label."""

    def scores(self, X: Any) -> Any:
        """Return the estimated labels: near 1 where a label is likely present, near 0 where absent.

        A DataFrame gives a DataFrame with the names of the items and labels; else an array of shape
        (n_items, n_labels).
        """
        return self._dress(self._scores(self._checked_rows(X)), X)

    def training_scores(self, X: Any) -> Any:
        """Return the scores of the very rows that `fit` was given.

        Where a learner asks neighbours, no row is its own neighbour here; `scores` takes every row
        for a new one.
        """
        return self.scores(X)

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> list[dict[str, list[Any]]]:
        """Return where to look for good parameters: a grid for each stage of a search.

        A later stage keeps what the stages before it found best.
        """
        raise InvalidInputError(
            f"{type(self).__name__} has no default param_grid; pass param_grid=, a mapping from "
            "parameters to values."
        )

    # Parameters along whose falling values `tune` fits candidates one after the other, so that a
    # warm start can use what was found before.
    _path_parameters: ClassVar[tuple[str, ...]] = ("lam",)

    def _solved_jointly(self, grid: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        """Name parameters whose values, as a grid has them, shall stand in one chain.

        They are for a `_fit_path` that finds all their models with the first, or nearly so: no
        time is saved by judging only some of them.
        """
        return ()

    def _fit_path(
        self, chain: Sequence[Mapping[str, Any]], X: Any, Y: Any, graphs: Mapping[str, Any]
    ) -> Iterator[Self]:
        """Yield this learner fitted with the parameters of each candidate in turn.

        Every step must give the bits of a fit by itself, and is begun only when it is asked for;
        with the first, a learner may do what the whole chain needs.
        """
        for params in chain:
            # Not every learner takes graphs, so the abstract class promises no `fit`.
            fitted: Self = self.set_params(**params).fit(X, Y, **graphs)
            yield fitted

    @property
    def _tuning_params(self) -> dict[str, Any]:
        """Parameters that `tune` shall set otherwise than for other learners as it compares."""
        return {}

    def decision_function(self, X: Any) -> Any:
        """Return `scores` - 1/2: positive exactly where `predict` says the label is present."""
        decision = self._scores(self._checked_rows(X)) - BOUNDARY
        return decision[:, 0] if self._one_dimensional_ else self._dress(decision, X)

    def predict(self, X: Any) -> Any:
        """Return 1 where a label is likely present and 0 where it is not."""
        present = self._scores(self._checked_rows(X)) > BOUNDARY
        if self._one_dimensional_:
            return self.classes_[present[:, 0].astype(int)]
        return self._dress(present.astype(int), X)

    def complete(self, X: Any, Y: Any, *, fill: str = "labels") -> Any:
        """Return Y with what is unknown filled in; what is known stays as it is.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_features)
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN, of shape (n_items, n_labels)
            Columns with names are matched by name. Unlisted tags that are absent with a weight
            below 1 are filled too: nobody has said anything of them.
        fill : {"labels", "scores"}
            Whether to fill with 0 and 1, or with the scores.

        Returns
        -------
        DataFrame where Y is one, else an array of floats.
        """
        check_choice("fill", fill, ("labels", "scores"))
        rows = self._checked_rows(X)
        known = self._checked_labels(Y, rows)
        filled = self._scores(rows)
        if fill == "labels":
            filled = (filled > BOUNDARY).astype(filled.dtype)
        states = known.states()
        said = states != int(State.UNKNOWN)
        if 0 < known.unlisted_weight < 1:
            said = _listed(known)
        filled[said] = states[said] == int(State.PRESENT)
        return self._dress(filled, Y)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean average precision over the known entries of y.

        For a one-dimensional y it is the accuracy, as for any classifier of scikit-learn.
        """
        check_is_fitted(self)
        if self._one_dimensional_:
            known = ~missing_in(y)
            weight = None if sample_weight is None else np.asarray(sample_weight)[known]
            right = np.asarray(self.predict(X))[known] == np.asarray(y)[known]
            return float(np.average(right, weights=weight))
        rows = self._checked_rows(X)
        return mean_average_precision(self._checked_labels(y, rows), self._scores(rows))

    def _read(self, X: Any, Y: Any) -> tuple[Array, PartialLabels]:
        """Check the training data and note what was seen: features, labels, kind of target."""
        rows = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        target: Target = read_target(Y)
        check_same_items(len(rows), target.known.n_items)
        if target.known.n_labels == 0:
            raise InvalidInputError("Y must have at least one label; it has no column.")
        _refuse_other_order(X, Y)
        self.classes_ = target.classes
        self._one_dimensional_ = target.one_dimensional
        return rows, target.known

    def _checked_rows(self, X: Any) -> Array:
        check_is_fitted(self)
        rows: Array = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return rows

    def _checked_labels(self, Y: Any, rows: Array) -> PartialLabels:
        known = as_partial_labels(Y)
        check_same_items(len(rows), known.n_items)
        labels = self._label_names
        positions = list(range(known.n_labels))
        has_names = (
            is_frame(Y) or list(known.labels) != positions or set(labels.tolist()) == set(positions)
        )
        return match_labels(known, labels, named=has_names and not self._one_dimensional_)

    @property
    def _label_names(self) -> Array:
        """The names of the labels; the one label of a one-dimensional y is its second class."""
        return self.classes_[1:] if self._one_dimensional_ else self.classes_

    def _dress(self, table: Array, question: Any) -> Any:
        """Give the answer the names of items and labels where the question had names."""
        if not is_frame(question):
            return table
        import pandas as pd

        return pd.DataFrame(table, index=question.index, columns=self._label_names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags


def _refuse_other_order(X: Any, Y: Any) -> None:
    """Refuse two data frames that name the same items in different orders: one would mislead."""
    if not (is_frame(X) and is_frame(Y)) or X.index.equals(Y.index):
        return
    if set(X.index) == set(Y.index):
        raise InvalidInputError(
            "X and Y name the same items in different orders, and rows are matched by position. "
            "Pass Y.loc[X.index]."
        )


def _listed(known: PartialLabels) -> npt.NDArray[np.bool_]:
    """Return where somebody has said something, whatever is presumed of the rest."""
    entries = known.entries()
    listed = np.zeros(known.shape, dtype=bool)
    listed[entries.rows, entries.columns] = True
    return listed


# §§ parameters
# How learners name and check the parameters that they share.


ON_UNLEARNABLE = ("raise", "warn", "ignore")


def parameter(model: Any, name: str) -> tuple[str, Any]:
    """Return what to call a parameter in a message, and its value: the start of every check."""
    return f"The '{name}' parameter of {type(model).__name__}", getattr(model, name)


def check_n_jobs(model: Any) -> None:
    """Refuse a number of workers that is not an integer other than 0, or None."""
    name, given = parameter(model, "n_jobs")
    if given is not None and (not is_integer(given) or given == 0):
        raise InvalidInputError(f"{name} must be None or an integer other than 0; got {given!r}.")


def check_share_below_one(model: Any, name: str) -> None:
    """Refuse what is not a number in [0, 1)."""
    what, given = parameter(model, name)
    check_number(what, given, low=0, high=1)
    if given == 1:
        raise InvalidInputError(f"{what} must be a number in [0, 1); got {given!r}.")


def check_on_unlearnable(model: Any) -> None:
    """Refuse an unheard-of way to treat labels that cannot be learned."""
    check_choice(*parameter(model, "on_unlearnable"), ON_UNLEARNABLE)


def differ_in(name: str, candidates: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether candidates have all parameters in common but perhaps this one."""
    rest = [{key: one[key] for key in one if key != name} for one in candidates]
    return all(one == rest[0] for one in rest)


# §§ linear
# What learners share whose scores are linear in the features.


class LinearLearner(PartialLabelLearner):
    """A learner that scores by X M + b."""

    coef_: Array
    intercept_: Array
    learnable_: npt.NDArray[np.bool_]

    def _scores(self, X: Array) -> Array:
        table: Array = X @ self.coef_ + self.intercept_
        return table


def refuse_too_large(X: Array) -> None:
    """Refuse features whose sums of squares no number can hold: all that follows would be wrong."""
    if not np.isfinite(np.einsum("ij,ij->", X, X, dtype=np.float64)):
        raise InvalidInputError(
            f"The features are too large: the largest is {np.abs(X).max():.3g}, and sums of "
            "squares overflow. Scale them, for example by sklearn.preprocessing.StandardScaler."
        )


# §§ remembering
# Learners that keep their training items, to ask them as neighbours.


class RememberingLearner(PartialLabelLearner):
    """A learner that knows its training items again, and takes none for its own neighbour.

    It implements `_training_scores` beside `fit`, which stores the training rows as `_rows`, and
    `_scores`, which takes every row for a new one.
    """

    _rows: Array

    @abstractmethod
    def _training_scores(self) -> Array:
        """Return the scores of the training items."""

    def training_scores(self, X: Any) -> Any:
        """Return the scores of the very rows that `fit` was given; none is its own neighbour."""
        rows = self._checked_rows(X)
        if rows is not self._rows and not np.array_equal(rows, self._rows):
            raise InvalidInputError(
                "training_scores takes the rows that the model was fitted with, and these are "
                "others. For new rows call scores."
            )
        return self._dress(self._training_scores(), X)


def known_again_by(rows: Array) -> tuple[Any, ...]:
    """Return what rows are known again by, even if they are changed where they lie in memory."""
    return blake2b(np.ascontiguousarray(rows).data).hexdigest(), rows.shape, rows.dtype


def refuse_single(rows: Array) -> None:
    """Refuse a single item: it has no neighbour."""
    if len(rows) < 2:
        raise InvalidInputError(
            "At least 2 items are needed, for the only one of 1 sample has no neighbour."
        )
