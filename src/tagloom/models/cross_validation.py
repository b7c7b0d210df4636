"""What scikit-learn's tools need where labels are unknown: folds, scorers and held-out scores.

`cross_val_score`, `GridSearchCV` and the like split by items. `MultilabelStratifiedKFold` gives
them folds in which every label keeps its share of known presences and absences, and `make_scorer`
metrics over the known entries. `cross_val_scores` replaces `cross_val_predict`, to which unknown is
a class of its own. To hold out single entries of items that stay in the training data, use `tune`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.model_selection import check_cv, cross_validate

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.metrics import (
    average_precision,
    average_precision_per_item,
    mean_of_defined,
    roc_auc,
    squared_error,
)
from tagloom.models.base import BOUNDARY, is_column, missing_in, read_target
from tagloom.validation import check_choice, check_flag, check_integer, is_integer

Array = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]
Metric = Callable[[PartialLabels, Array], Any]
Scorer = Callable[..., float]


@dataclass
class MultilabelStratifiedKFold:
    """Folds of items in which every label keeps its share of known presences and absences.

    Iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011): the rarest stratum, a label
    and one of its two states, is dealt out first, each of its items to the fold that is owed most
    of it. Unknown entries belong to no stratum; items without a known entry are dealt out last.
    With plain folds a rare label may have no known presence left to learn from.

    Parameters
    ----------
    n_splits : int, default=5
    shuffle : bool, default=False
        Whether items are dealt out in random order.
    random_state : int, optional
        Seed of that order.

    Examples
    --------
    >>> Y = [[1, None], [1, 0], [0, 1], [0, None], [None, 1], [None, 0]]
    >>> for train, test in MultilabelStratifiedKFold(2).split(Y, Y):
    ...     print(test)
    [0 3 4 5]
    [1 2]
    """

    n_splits: int = 5
    shuffle: bool = False
    random_state: int | None = None

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[Positions, Positions]]:
        """Yield positions of the training items and of the test items of each fold.

        `y` is what `fit` takes: labels in any form. X and groups are not used.
        """
        check_integer("The 'n_splits' parameter", self.n_splits, at_least=2)
        check_flag("The 'shuffle' parameter", self.shuffle)
        known = read_target(y).known
        if known.n_items < self.n_splits:
            raise InvalidInputError(
                f"{self.n_splits} folds need as many items at least; Y has {known.n_items}."
            )
        rng = np.random.default_rng(self.random_state)
        order = rng.permutation(known.n_items) if self.shuffle else np.arange(known.n_items)
        fold = np.empty(known.n_items, dtype=np.int64)
        fold[order] = _dealt_out(known.take(order), self.n_splits)
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def _dealt_out(known: PartialLabels, n_splits: int) -> Positions:
    """Return the fold of each item, dealt out in the order of the items."""
    by_item = _strata(known)
    by_stratum = by_item.tocsc()
    left = np.diff(by_stratum.indptr)
    owed = np.tile(left / n_splits, (n_splits, 1))
    room = np.full(n_splits, known.n_items / n_splits)
    fold = np.full(known.n_items, -1)
    while left.any():
        rarest = int(np.argmin(np.where(left > 0, left, np.iinfo(left.dtype).max)))
        members = by_stratum.indices[slice(*by_stratum.indptr[rarest : rarest + 2])]
        for item in np.sort(members[fold[members] < 0]):
            fold[item] = np.lexsort((-room, -owed[:, rarest]))[0]
            own = by_item.indices[slice(*by_item.indptr[item : item + 2])]
            owed[fold[item], own] -= 1
            room[fold[item]] -= 1
            left[own] -= 1
    for item in np.flatnonzero(fold < 0):
        fold[item] = np.argmax(room)
        room[fold[item]] -= 1
    return fold


def _strata(known: PartialLabels) -> sparse.csr_array:
    """Return which presences (first) and absences of labels each item is listed with."""
    entries = known.entries()
    columns = entries.columns + known.n_labels * ~entries.present
    ones = np.ones(len(columns), dtype=bool)
    shape = (known.n_items, 2 * known.n_labels)
    return sparse.csr_array((ones, (entries.rows, columns)), shape=shape)


METRICS: dict[str, Metric] = {
    "mean_average_precision": average_precision,
    "mean_average_precision_per_item": average_precision_per_item,
    "roc_auc": roc_auc,
    "squared_error": lambda truth, scores: -squared_error(truth, scores),
    "brier_score": lambda truth, chances: -squared_error(truth, chances),
    "log_loss": lambda truth, chances: -_log_loss(truth, chances),
}
_OF_PROBABILITIES = ("brier_score", "log_loss")


def make_scorer(metric: str | Metric, *, response_method: str | None = None) -> Scorer:
    """Return a metric over the known entries as a `scoring` of scikit-learn; greater is better.

    Scorers of scikit-learn refuse labels with unknown entries.

    Parameters
    ----------
    metric : str or callable
        "mean_average_precision" (what `score` returns), "mean_average_precision_per_item",
        "roc_auc" (the mean over labels), "squared_error", or of probabilities "brier_score" and
        "log_loss"; errors are negated. A callable gets PartialLabels and the scores and returns a
        number, or an array of which the mean of the defined values is taken.
    response_method : {"decision_function", "predict_proba"}, optional
        Whether the metric is given scores or probabilities; by default what it is made for.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from tagloom import LeastSquares, PartialLabels
    >>> X, known = [[0.0], [2.0], [1.0], [3.0]], PartialLabels.from_array([[0], [1], [0], [1]])
    >>> cross_val_score(LeastSquares(), X, known, cv=2, scoring=make_scorer("roc_auc"))
    array([1., 1.])
    """
    if isinstance(metric, str) or not callable(metric):
        check_choice("metric", metric, tuple(METRICS))
    if response_method is None:
        by_default = metric in _OF_PROBABILITIES
        response_method = "predict_proba" if by_default else "decision_function"
    check_choice("response_method", response_method, ("decision_function", "predict_proba"))
    return _Scorer(METRICS[metric] if isinstance(metric, str) else metric, response_method)


@dataclass(frozen=True)
class _Scorer:
    """A metric as scikit-learn calls it, with an estimator, X and y."""

    metric: Metric
    response_method: str

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        given = _as_table(estimator, X, self.response_method, is_column(y))
        found = np.asarray(self.metric(_truth(estimator, y), given), dtype=np.float64)
        return mean_of_defined(np.atleast_1d(found))


def _as_table(estimator: Any, X: Any, response_method: str, one_dimensional: bool) -> Array:
    """Return scores or probabilities with one column for each label."""
    found = np.asarray(getattr(estimator, response_method)(X))
    if response_method == "predict_proba":
        return found[:, 1:] if one_dimensional else found
    # Not `scores`: pipelines and searches pass on only what scikit-learn knows.
    scores = found + BOUNDARY
    return scores[:, None] if scores.ndim == 1 else scores


def _truth(estimator: Any, y: Any) -> PartialLabels:
    """Return y as partial labels; a column is present where it is the second of the classes."""
    if not is_column(y):
        return as_partial_labels(y)
    is_second = np.asarray(y) == estimator.classes_[-1]
    return PartialLabels.from_array(np.where(missing_in(y), np.nan, is_second)[:, None])


def _log_loss(truth: PartialLabels, chances: Array) -> float:
    """Return the weighted mean of -log p over the known entries, p that of the known state."""
    weights, present = truth.weights(), truth.states() == 1
    if not weights.any():
        return float("nan")
    p = np.where(present, chances, 1 - chances).astype(np.float64)
    least = np.finfo(np.asarray(chances).dtype).eps
    return float(np.average(-np.log(np.clip(p, least, 1)), weights=weights))


def cross_val_scores(
    estimator: Any,
    X: Any,
    Y: Any,
    *,
    cv: Any = None,
    response_method: str = "decision_function",
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Array:
    """Return the scores of each item by a model that was fitted without it.

    The `cross_val_predict` of scikit-learn cannot be used for scores or probabilities: it numbers
    the distinct values of each column of Y, so that unknown entries become a class.

    Parameters
    ----------
    estimator : learner, or a pipeline that ends in one
        It is not changed.
    X, Y
        As for `fit`.
    cv : int, splitter or iterable of splits, default=5
        A number gives `MultilabelStratifiedKFold`.
    response_method : {"decision_function", "predict_proba"}
        "decision_function" gives scores, near 1 where a label is likely present.
    params : mapping, optional
        Passed to `fit`; what has a row for each item is split like X.
    n_jobs : int, optional
        Number of folds that are fitted side by side.

    Returns
    -------
    array of shape (n_items, n_labels), NaN for items that no fold holds out.
    """
    check_choice("response_method", response_method, ("decision_function", "predict_proba"))
    known = Y if is_column(Y) else as_partial_labels(Y)
    cv = 5 if cv is None else cv
    done = cross_validate(
        estimator,
        X,
        known,
        cv=MultilabelStratifiedKFold(int(cv)) if is_integer(cv) else check_cv(cv),
        params=None if params is None else dict(params),
        n_jobs=n_jobs,
        scoring=_no_score,
        return_estimator=True,
        return_indices=True,
        error_score="raise",
    )
    table: Array | None = None
    for fitted, test in zip(done["estimator"], done["indices"]["test"], strict=True):
        found = _as_table(fitted, take_rows(X, test), response_method, is_column(Y))
        if table is None:
            table = np.full((len(known), found.shape[1]), np.nan, dtype=found.dtype)
        table[test] = found
    assert table is not None
    return table


def _no_score(estimator: Any, X: Any, y: Any) -> float:
    return 0.0


def take_rows(X: Any, rows: Positions) -> Any:
    """Return some rows of an array, a sparse matrix, a list or a data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "column_names"):
        return X.take(rows)
    return np.asarray(X)[rows] if isinstance(X, list | tuple) else X[rows]
