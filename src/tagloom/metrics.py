"""Metrics of scores against partial labels: average precision, top k, ROC AUC and calibration.

Only entries of known truth count.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State, as_partial_labels
from tagloom.validation import check_choice, check_integer

Scores = npt.NDArray[np.floating[Any]]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]
Integers = npt.NDArray[np.int64]
Interpolation = Literal["area", "voc11"]

# Rankings are copied in groups of about this many entries, to stay within the cache.
_ENTRIES_AT_ONCE = 1 << 18
# Rankings shorter than this are counted faster by sorting than by binning (measured).
_LONG = 2000
# Bin numbers have 16 bits, which numpy sorts by counting; the outermost bins are for scores beyond.
_N_BINS = 1 << 16


def average_precision(
    truth: Any, scores: npt.ArrayLike, *, interpolation: Interpolation = "area"
) -> Floats:
    """Return the average precision of each label over the items at which it is known.

    Let P(s) and R(s) be precision and recall of "score at least s" among the known items. Items
    with equal scores share a rank, so that their order does not matter. With n_j items that have
    label j,

    - "area": AP_j is the mean of P(s_i) over those n_j items, which is the area under the steps of
      precision against recall (scikit-learn's ``average_precision_score``);
    - "voc11": AP_j is the mean, over the recalls t = 0, 0.1, ..., 1, of the highest P(s) with
      R(s) >= t (PASCAL VOC 2007, Everingham et al. 2010).

    Items at which the label is unknown are ignored. AP is NaN for a label without known presence.

    Parameters
    ----------
    truth : PartialLabels, DataFrame or array of 1, 0 and NaN
    scores : array of shape (n_items, n_labels)
    interpolation : {"area", "voc11"}

    Examples
    --------
    >>> average_precision([[1, 0], [0, 0], [float("nan"), 0]], [[0.2, 0], [0.1, 0], [0.9, 0]])
    array([ 1., nan])
    """
    return _average_precision(truth, scores, interpolation, axis=0)


def average_precision_per_item(
    truth: Any, scores: npt.ArrayLike, *, interpolation: Interpolation = "area"
) -> Floats:
    """Return the average precision of each item over the labels known of it.

    As `average_precision` with items and labels exchanged: the labels of each item are ranked
    against each other. AP is NaN for an item without known presence.

    Examples
    --------
    >>> average_precision_per_item([[1, 0, 1], [0, 0, 0]], [[0.9, 0.5, 0.1], [0.1, 0.2, 0.3]])
    array([0.83333333,        nan])
    """
    return _average_precision(truth, scores, interpolation, axis=1)


def mean_average_precision(
    truth: Any, scores: npt.ArrayLike, *, interpolation: Interpolation = "area"
) -> float:
    """Return the mean of `average_precision` over the labels for which it is defined."""
    return mean_of_defined(average_precision(truth, scores, interpolation=interpolation))


def mean_average_precision_per_item(
    truth: Any, scores: npt.ArrayLike, *, interpolation: Interpolation = "area"
) -> float:
    """Return the mean of `average_precision_per_item` over the items for which it is defined."""
    return mean_of_defined(average_precision_per_item(truth, scores, interpolation=interpolation))


def mean_of_defined(values: Floats) -> float:
    """Return the mean of what is not NaN; NaN where nothing is left."""
    defined = ~np.isnan(values)
    return float(values[defined].mean()) if defined.any() else float("nan")


def _average_precision(
    truth: Any, scores: npt.ArrayLike, interpolation: Interpolation, axis: int
) -> Floats:
    """Return the average precision of each column (axis 0) or row (axis 1)."""
    check_choice("interpolation", interpolation, tuple(_PRECISION_OF))
    known, table = _truth_and_scores(truth, scores)
    precision_of = _PRECISION_OF[interpolation]
    result = np.full(known.shape[1 - axis], np.nan)
    for start, rankings in _ranking_blocks(known, table, axis):
        rankings.fill_average_precision(result[start:], precision_of)
    return result


@dataclass(frozen=True)
class _Rankings:
    """Scores of one ranking per row, -infinity where the truth is unknown, and the presences."""

    scores: Scores
    present: Flags

    def fill_average_precision(self, result: Floats, precision_of: "_PrecisionOf") -> None:
        """Write the average precision of each ranking that has a presence."""
        for row, scores in enumerate(self.scores):
            presences = np.sort(scores[self.present[row]])
            if len(presences):
                # Unknown entries, at -infinity, are below every presence and never counted.
                n_known = _n_at_least(scores, presences)
                n_found = len(presences) - np.searchsorted(presences, presences)
                result[row] = precision_of(n_found / n_known, n_found)


def _area(precision: Floats, n_found: npt.NDArray[np.integer[Any]]) -> float:
    return float(precision.mean())


def _voc11(precision: Floats, n_found: npt.NDArray[np.integer[Any]]) -> float:
    """Return the mean over t = 0, 0.1, ..., 1 of the best precision at a recall of at least t.

    Recall decreases along the ranking. Integers are compared, because n_found / n >= i / 10 in
    floats would depend on rounding.
    """
    best = np.maximum.accumulate(precision)
    wanted = np.arange(11) * len(precision)
    n_reaching = np.searchsorted(-10 * n_found, -wanted, side="right")
    return float(best[n_reaching - 1].mean())


_PrecisionOf = Callable[[Floats, npt.NDArray[np.integer[Any]]], float]
_PRECISION_OF: dict[str, _PrecisionOf] = {"area": _area, "voc11": _voc11}


def _ranking_blocks(
    known: PartialLabels, scores: Scores, axis: int
) -> Iterator[tuple[int, _Rankings]]:
    """Yield groups of rankings (axis 0: columns, 1: rows) with the number of the first."""
    states, table = _known_part(known, scores, axis)
    n_rankings, length = states.shape[1 - axis], states.shape[axis]
    # Single precision holds half precision exactly and is precise enough to compute with.
    dtype = np.result_type(table.dtype, np.float32)
    step = max(1, _ENTRIES_AT_ONCE // max(1, length))
    for start in range(0, n_rankings, step):
        chosen = slice(start, start + step)
        where = (slice(None), chosen) if axis == 0 else (chosen, slice(None))
        part = states[where].T if axis == 0 else states[where]
        rows = np.array(table[where].T if axis == 0 else table[where], dtype=dtype, order="C")
        unknown = part == int(State.UNKNOWN)
        if unknown.any():
            rows[unknown] = -np.inf
        yield start, _Rankings(rows, np.ascontiguousarray(part == int(State.PRESENT)))


def _known_part(known: PartialLabels, scores: Scores, axis: int) -> tuple[Codes, Scores]:
    """Return states and scores; of sparse labels only the known entries, moved together.

    Rankings of unequal length are padded with unknown entries, which no metric counts.
    """
    if not known.is_sparse or known.unlisted_weight:
        return known.states(), scores
    entries = known.entries()
    ranking = entries.columns if axis == 0 else entries.rows
    order = np.argsort(ranking, kind="stable")
    ranking = ranking[order]
    length = np.bincount(ranking, minlength=known.shape[1 - axis])
    place = np.arange(len(ranking)) - (np.cumsum(length) - length)[ranking]
    shape = (int(length.max(initial=0)), len(length))
    states = np.full(shape, int(State.UNKNOWN), dtype=np.int8)
    states[place, ranking] = entries.present[order]
    moved = np.zeros(shape, dtype=scores.dtype)
    moved[place, ranking] = scores[entries.rows[order], entries.columns[order]]
    return (states, moved) if axis == 0 else (states.T, moved.T)


def _n_at_least(scores: Scores, presences: Scores) -> Integers:
    """Return for each of the sorted `presences` the number of scores that are at least as high.

    This is all that a metric needs of a ranking. Short ones are sorted; in long ones only the few
    scores close to a presence are compared exactly.
    """
    if len(scores) < _LONG:
        return counted_by_sorting(scores, presences)
    return counted_by_bins(scores, presences)


def counted_by_sorting(scores: Scores, presences: Scores) -> Integers:
    """Count by sorting the scores, which is several times faster than an argsort."""
    return len(scores) - np.searchsorted(np.sort(scores), presences)


def counted_by_bins(scores: Scores, presences: Scores) -> Integers:
    """Count by bins of equal width, comparing scores only within bins that hold a presence.

    With b(s) the bin of a score, which does not decrease as s increases,

        #{s_i >= s} = #{b(s_i) > b(s)} + #{b(s_i) = b(s), s_i >= s}.
    """
    low, scale = _bins_over(presences)
    if scale == 0.0:
        return counted_by_sorting(scores, presences)
    bins, wanted = _bins(scores, low, scale), _bins(presences, low, scale)
    holds_presence = np.zeros(_N_BINS, dtype=bool)
    holds_presence[wanted] = True
    close = np.sort(scores[holds_presence[bins]])
    n_close_at_least = len(close) - np.searchsorted(close, presences)
    n_close_beyond = _n_greater(_bins(close, low, scale), wanted)
    bins.sort(kind="stable")
    return _n_greater(bins, wanted) + n_close_at_least - n_close_beyond


def _n_greater(ascending: npt.NDArray[np.uint16], wanted: npt.NDArray[np.uint16]) -> Integers:
    return len(ascending) - np.searchsorted(ascending, wanted, side="right")


def _bins_over(presences: Scores) -> tuple[np.floating, float]:
    """Return the lowest presence and the bins per unit of score, 0 if there can be no bins."""
    low, high = presences[0], presences[-1]
    width = float(high) - float(low)
    most = float(np.finfo(presences.dtype).max)
    if not _N_BINS / most < width <= most:
        return low, 0.0
    return low, (_N_BINS - 3) / width


def _bins(scores: Scores, low: np.floating, scale: float) -> npt.NDArray[np.uint16]:
    """Return b(s) = (s - low) scale + 1, rounded down and clipped to the outermost bins.

    Subtraction, product and rounding are monotone, and so is b.
    """
    with np.errstate(over="ignore"):
        place = scores - low
        place *= scale
    place += 1
    return np.clip(place, 0, _N_BINS - 1, out=place).astype(np.uint16)


@dataclass(frozen=True)
class TopK:
    """Precision, recall and N+ of the k labels of highest score of each item.

    Attributes
    ----------
    k : int
        Labels suggested for each item (all of them where there are fewer than k).
    precision, recall : float
        Means over the labels scored; NaN where there is none.
    f1 : float
        2 precision recall / (precision + recall) of these two means, 0 where both are 0.
    n_plus : int
        Number of labels with recall > 0 (N+).
    n_labels_scored, n_labels_left_out : int
        Numbers of labels with a known presence, and of the others, which are left out of the means.
    n_labels_never_suggested : int
        Labels scored that are suggested for no item of known truth: their precision is 0.
    n_suggested, n_suggested_unknown : int
        Numbers of suggestions, and of those with unknown truth, which are neither right nor wrong.
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
    """Evaluate the k labels of highest score of every item, as is usual in image annotation.

    With S_j the known items for which label j is suggested and T_j those that have it,

        precision_j = |S_j ∩ T_j| / |S_j|  (0 where S_j is empty),   recall_j = |S_j ∩ T_j| / |T_j|,

    and precision and recall are the means over the labels with T_j not empty. This is how TagProp
    (Guillaumin et al. 2009), 2PKNN (Verma and Jawahar 2012) and FastTag (Chen et al. 2013) are
    compared. Public evaluation code gives precision 0 to a label that is never suggested, as here,
    and recall 0 to a label that no item has, which is left out here. A suggestion of unknown truth
    takes one of the k places, but is in no S_j: it is neither right nor wrong.

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
    known, table = _truth_and_scores(truth, scores)
    suggested = _suggested(table, k)
    states = known.states()
    present = states == int(State.PRESENT)
    n_suggested_known = np.sum(suggested & (states != int(State.UNKNOWN)), axis=0)
    n_right = np.sum(suggested & present, axis=0)
    n_present = np.sum(present, axis=0)
    scored = n_present > 0
    precision = mean_of_defined(n_right[scored] / np.maximum(n_suggested_known[scored], 1))
    recall = mean_of_defined(n_right[scored] / n_present[scored])
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

    Ties go to the label that is listed first.

    Examples
    --------
    >>> top_labels([[0.1, 0.7, 0.7, 0.9]], k=2)
    array([[3, 1]])
    """
    table = _as_finite(scores)
    columns = np.nonzero(_suggested(table, k))[1].reshape(len(table), min(k, table.shape[1]))
    order = np.argsort(-np.take_along_axis(table, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def _suggested(scores: Scores, k: int) -> Flags:
    """Mark the k highest scores of each row; ties at the k-th place go to the first columns."""
    check_integer("k", k, at_least=1)
    n_labels = scores.shape[1]
    if k >= n_labels:
        return np.ones(scores.shape, dtype=bool)
    lowest = np.partition(scores, n_labels - k, axis=1)[:, n_labels - k, None]
    chosen = scores >= lowest
    ties = np.flatnonzero(chosen.sum(axis=1) > k)
    tied = scores[ties] == lowest[ties]
    above = scores[ties] > lowest[ties]
    n_left = k - above.sum(axis=1, keepdims=True)
    chosen[ties] = above | (tied & (np.cumsum(tied, axis=1) <= n_left))
    return chosen


def _harmonic_mean(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total != 0 else 0.0


def squared_error(truth: Any, scores: npt.ArrayLike) -> float:
    """Return the weighted mean of (score - truth)^2 over the known entries."""
    known, table = _truth_and_scores(truth, scores)
    weights = known.weights()
    residual = table - (known.states() == int(State.PRESENT))
    total = weights.sum()
    return float((weights * residual**2).sum() / total) if total > 0 else float("nan")


def roc_auc(known: PartialLabels, scores: npt.NDArray[Any]) -> Floats:
    """Return the area under the ROC curve of each label, over its known entries.

    It is the share of pairs of a presence and an absence in which the presence has the higher
    score; ties count half. NaN where a label has no presence or no absence. If a share q of the
    entries that count as absent is present, forgotten whatever their score, its expectation is
    (1 - q) AUC + q/2. That keeps the order of two rankings of one label (Menon et al. 2015), not
    that of means over labels that differ in q.
    """
    states = known.states()
    area = np.full(known.n_labels, np.nan)
    for column in range(known.n_labels):
        present = np.sort(scores[states[:, column] == int(State.PRESENT), column])
        absent = np.sort(scores[states[:, column] == int(State.ABSENT), column])
        if len(present) and len(absent):
            below = np.searchsorted(absent, present, side="left")
            up_to = np.searchsorted(absent, present, side="right")
            area[column] = float((below + up_to).sum()) / (2 * len(present) * len(absent))
    return area


def expected_calibration_error(
    counts: Iterable[int], confidence: Iterable[float], frequency: Iterable[float]
) -> float:
    """Return the mean absolute difference of confidence and observed frequency over bins.

    Bins are weighted by their counts.

    NaN if all bins are empty (Naeini, Cooper and Hauskrecht 2015).

    Examples
    --------
    >>> expected_calibration_error([30, 10], [0.2, 0.75], [0.2, 0.5])
    0.0625
    """
    bins = list(zip(counts, confidence, frequency, strict=True))
    total = sum(n for n, _, _ in bins)
    if not total:
        return float("nan")
    return sum(n * abs(expected - observed) for n, expected, observed in bins) / total


def _truth_and_scores(truth: Any, scores: npt.ArrayLike) -> tuple[PartialLabels, Scores]:
    """Return the truth as partial labels and the scores as floats, after checking their shapes."""
    known = as_partial_labels(truth)
    table = _as_finite(scores)
    if table.shape != known.shape:
        raise InvalidInputError(
            f"Scores must have one row for each item and one column for each label, "
            f"{known.shape}; got {table.shape}."
        )
    return known, table


def _as_finite(scores: npt.ArrayLike) -> Scores:
    """Return the scores as floats; refuse those that are not finite."""
    table = np.asarray(scores)
    if table.dtype.kind != "f":
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"Scores must be numbers; found an array of {table.dtype}."
            ) from None
    finite = np.isfinite(table)
    if not finite.all():
        place = tuple(np.argwhere(~finite)[0].tolist())
        listed = ", ".join(map(str, place))
        raise InvalidInputError(f"Scores must be finite; scores[{listed}] = {table[place]}.")
    return table
