"""How good scores are, judged only where the truth is known.

A label with no known presence has no average precision: it is left out, and NaN says so.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State, as_partial_labels

Scores = npt.NDArray[np.floating[Any]]

# Labels are ranked together in groups of about this many entries, to bound the memory of sorting.
_ENTRIES_AT_ONCE = 1 << 22


def average_precision(truth: Any, scores: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the average precision of each label over the items at which it is known.

    AP_j is the mean, over the items that have label j, of the precision among all known items whose
    score is at least as high: ties share one rank, as in scikit-learn. Items of unknown truth take
    no part. NaN stands for a label that no item is known to have.

    Parameters
    ----------
    truth : PartialLabels, DataFrame or array of 1, 0 and NaN
    scores : array of shape (n_items, n_labels)

    Examples
    --------
    >>> average_precision([[1, 0], [0, 0], [float("nan"), 0]], [[0.2, 0], [0.1, 0], [0.9, 0]])
    array([ 1., nan])
    """
    known = as_partial_labels(truth)
    table = _checked_scores(scores, known.shape)
    states, table = _columns_of_known(known, table)
    step = max(1, _ENTRIES_AT_ONCE // max(1, len(states)))
    parts = [
        _average_precision_of(states[:, start : start + step], table[:, start : start + step])
        for start in range(0, known.n_labels, step)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def mean_average_precision(truth: Any, scores: npt.ArrayLike) -> float:
    """Return the mean of `average_precision` over the labels that have one; NaN if none has."""
    per_label = average_precision(truth, scores)
    defined = ~np.isnan(per_label)
    return float(per_label[defined].mean()) if defined.any() else float("nan")


def squared_error(truth: Any, scores: npt.ArrayLike) -> float:
    """Return the weighted mean of (score - truth)^2 over the known entries; NaN if none is."""
    known = as_partial_labels(truth)
    table = _checked_scores(scores, known.shape)
    weights = known.weights()
    residual = table - (known.states() == int(State.PRESENT))
    total = weights.sum()
    return float((weights * residual**2).sum() / total) if total > 0 else float("nan")


def _columns_of_known(known: PartialLabels, scores: Scores) -> tuple[npt.NDArray[np.int8], Scores]:
    """Return states and scores by label; where few are known, only those, pushed together.

    Columns of unequal length are filled up with unknown entries, which no metric counts.
    """
    if not known.is_sparse or known.unlisted_weight:
        return known.states(), scores
    entries = known.entries()
    order = np.argsort(entries.columns, kind="stable")
    rows, columns = entries.rows[order], entries.columns[order]
    length = np.bincount(columns, minlength=known.n_labels)
    place = np.arange(len(columns)) - (np.cumsum(length) - length)[columns]
    shape = (int(length.max(initial=0)), known.n_labels)
    states = np.full(shape, int(State.UNKNOWN), dtype=np.int8)
    states[place, columns] = entries.present[order]
    compact = np.zeros(shape, dtype=scores.dtype)
    compact[place, columns] = scores[rows, columns]
    return states, compact


def _average_precision_of(states: npt.NDArray[np.int8], scores: Scores) -> npt.NDArray[np.float64]:
    """Rank every column at once."""
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked_states = np.take_along_axis(states, order, axis=0)
    ranked_scores = np.take_along_axis(scores, order, axis=0)
    present = ranked_states == int(State.PRESENT)
    known = ranked_states != int(State.UNKNOWN)
    end = _last_of_ties(ranked_scores)
    n_present_above = np.take_along_axis(np.cumsum(present, axis=0), end, axis=0)
    n_known_above = np.take_along_axis(np.cumsum(known, axis=0), end, axis=0)
    precision = n_present_above / np.maximum(n_known_above, 1)
    n_present = present.sum(axis=0)
    total = np.sum(precision, axis=0, where=present)
    no_precision = np.full(len(n_present), np.nan)
    return np.asarray(np.divide(total, n_present, out=no_precision, where=n_present > 0))


def _last_of_ties(ranked: Scores) -> npt.NDArray[np.intp]:
    """Return for each place in sorted columns the last place that holds the same score."""
    n_rows = ranked.shape[0]
    places = np.broadcast_to(np.arange(n_rows)[:, None], ranked.shape)
    is_last = np.ones(ranked.shape, dtype=bool)
    is_last[:-1] = ranked[:-1] != ranked[1:]
    ends = np.where(is_last, places, n_rows - 1)
    return np.minimum.accumulate(ends[::-1], axis=0)[::-1]


def _checked_scores(scores: npt.ArrayLike, shape: tuple[int, int]) -> Scores:
    table = np.asarray(scores)
    if table.dtype.kind != "f":
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"Scores must be numbers; found an array of {table.dtype}."
            ) from None
    if table.shape != shape:
        raise InvalidInputError(
            f"Scores must have one row for each item and one column for each label, {shape}; "
            f"got {table.shape}."
        )
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise InvalidInputError(
            f"Scores must be finite; scores[{row}, {column}] = {table[row, column]}."
        )
    return table
