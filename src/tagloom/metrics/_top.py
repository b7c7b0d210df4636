"""Precision, recall and N+ where every item gets its k labels of highest score."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.checks import check_whole
from tagloom.labels import State
from tagloom.metrics._scores import Flags, Scores, as_numbers, truth_and_scores


@dataclass(frozen=True)
class TopK:
    """What became of the k labels suggested for each item.

    Attributes
    ----------
    k : int
        Labels suggested for each item (all of them where there are fewer than k).
    precision, recall : float
        Means over the labels scored; NaN where there is none.
    f1 : float
        2 precision recall / (precision + recall) of these two means, 0 where both are 0.
    n_plus : int
        Labels with recall > 0 (the field's N+).
    n_labels_scored, n_labels_left_out : int
        Labels with a known presence, and the others, which enter no mean.
    n_labels_never_suggested : int
        Labels scored that no item of known truth was given: their precision counts as 0.
    n_suggested, n_suggested_unknown : int
        Suggestions made, and those of unknown truth, which are neither right nor wrong.
    """

    k: int
    precision: float
    recall: float
    f1: float
    n_plus: int
    n_labels_scored: int
    n_labels_left_out: int
    n_labels_never_suggested: int
    n_suggested: int
    n_suggested_unknown: int


def at_top_k(truth: Any, scores: npt.ArrayLike, k: int = 5) -> TopK:
    """Judge the k labels of highest score of every item, as image annotation does.

    With S_j the known items for which label j is suggested and T_j those that have it,

        precision_j = |S_j ∩ T_j| / |S_j|  (0 where S_j is empty),   recall_j = |S_j ∩ T_j| / |T_j|,

    and precision and recall are the means over the labels with T_j not empty. This is how FastTag,
    TagProp and 2PKNN are compared; public evaluation code gives precision 0 to a label that is
    never suggested, as here, and recall 0 to a label nobody has, which is left out here. A
    suggestion of unknown truth fills one of the k places, but is counted in no S_j: it is neither
    right nor wrong.

    Parameters
    ----------
    truth : PartialLabels, DataFrame or array of 1, 0 and NaN
    scores : array of shape (n_items, n_labels)
    k : int, default 5

    Examples
    --------
    >>> result = at_top_k([[1, 0, 0], [1, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.8, 0.6]], k=1)
    >>> result.precision, result.recall, result.n_plus, result.n_labels_left_out
    (1.0, 0.75, 2, 1)
    """
    known, table = truth_and_scores(truth, scores)
    suggested = _suggested(table, k)
    states = known.states()
    present = states == int(State.PRESENT)
    n_suggested_known = np.sum(suggested & (states != int(State.UNKNOWN)), axis=0)
    n_right = np.sum(suggested & present, axis=0)
    n_present = np.sum(present, axis=0)
    scored = n_present > 0
    precision = _mean(n_right[scored] / np.maximum(n_suggested_known[scored], 1))
    recall = _mean(n_right[scored] / n_present[scored])
    n_suggested = int(suggested.sum())
    return TopK(
        k=k,
        precision=precision,
        recall=recall,
        f1=_harmonic_mean(precision, recall),
        n_plus=int(np.sum(n_right > 0)),
        n_labels_scored=int(scored.sum()),
        n_labels_left_out=int((~scored).sum()),
        n_labels_never_suggested=int(np.sum(scored & (n_suggested_known == 0))),
        n_suggested=n_suggested,
        n_suggested_unknown=n_suggested - int(n_suggested_known.sum()),
    )


def top_labels(scores: npt.ArrayLike, k: int = 5) -> npt.NDArray[np.int64]:
    """Return the columns of the k highest scores of each row, highest first.

    Of labels with the same score the one that is listed first comes first.

    Examples
    --------
    >>> top_labels([[0.1, 0.7, 0.7, 0.9]], k=2)
    array([[3, 1]])
    """
    table = as_numbers(scores)
    columns = np.nonzero(_suggested(table, k))[1].reshape(len(table), min(k, table.shape[1]))
    falling = np.argsort(-np.take_along_axis(table, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, falling, axis=1)


def _suggested(scores: Scores, k: int) -> Flags:
    """Mark the k highest scores of each row; ties at the k-th place go to the first columns."""
    check_whole("k", k, at_least=1)
    n_labels = scores.shape[1]
    if k >= n_labels:
        return np.ones(scores.shape, dtype=bool)
    lowest = np.partition(scores, n_labels - k, axis=1)[:, n_labels - k, None]
    chosen = scores >= lowest
    crowded = np.flatnonzero(chosen.sum(axis=1) > k)
    tied = scores[crowded] == lowest[crowded]
    above = scores[crowded] > lowest[crowded]
    n_left = k - above.sum(axis=1, keepdims=True)
    chosen[crowded] = above | (tied & (np.cumsum(tied, axis=1) <= n_left))
    return chosen


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else float("nan")


def _harmonic_mean(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total != 0 else 0.0
