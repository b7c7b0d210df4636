"""The face that every learner shows: fit on partial labels, score, predict, complete."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tagloom.checks import check_choice, check_same_items
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State, as_partial_labels, is_frame
from tagloom.metrics import mean_average_precision
from tagloom.models.targets import Target, match_labels, missing_in, read_target

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

    def search_space(self, X: Any, Y: Any, graph: Any = None) -> list[dict[str, list[Any]]]:
        """Return where to look for good parameters: a grid for each stage of a search.

        A later stage keeps what the stages before it found best.
        """
        raise InvalidInputError(
            f"{type(self).__name__} does not say where to look for good parameters; pass grid=, a "
            "mapping from parameters to values."
        )

    # Parameters along whose falling values `tune` fits candidates one after the other, so that a
    # warm start can use what was found before.
    _carried_along: ClassVar[tuple[str, ...]] = ("lam",)

    def _solved_together(self, grid: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        """Name parameters whose values, as a grid has them, shall stand in one chain.

        They are for a `_fitted_along` that finds all their models with the first, or nearly so: no
        time is saved by judging only some of them.
        """
        return ()

    def _fitted_along(
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
    def _while_tuning(self) -> dict[str, Any]:
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
