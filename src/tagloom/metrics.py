"""Average precision: over the items that have a label, or over the labels that an item has."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State, as_partial_labels
from tagloom.validation import check_choice, check_integer

# §§ scores
# Scores that can be judged: numbers, finite, one for each (item, label).


Scores = npt.NDArray[np.floating[Any]]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]


def truth_and_scores(truth: Any, scores: npt.ArrayLike) -> tuple[PartialLabels, Scores]:
    """Return both in their own types, or refuse scores that do not fit the truth."""
    known = as_partial_labels(truth)
    table = as_numbers(scores)
    if table.shape != known.shape:
        raise InvalidInputError(
            f"Scores must have one row for each item and one column for each label, "
            f"{known.shape}; got {table.shape}."
        )
    return known, table


def as_numbers(scores: npt.ArrayLike) -> Scores:
    """Return scores as finite floats, or say which is none."""
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


# §§ counting
# How many scores of a line are at least as high as each of its presences.
#
# Only this is needed of a ranking. Sorting the scores answers it, and is the best way for short
# lines. Of a long one only the few scores close to a presence need an exact comparison.


Counts = npt.NDArray[np.int64]

# Below this many scores the dozen calls that cells take cost more than sorting (measured).
_LONG = 2000
# Keys have 16 bits, which numpy sorts by counting; the outermost cells are for scores beyond.
_N_CELLS = 1 << 16


def n_at_least(scores: Scores, presences: Scores) -> Counts:
    """Count for each of the rising `presences` the scores that are as high or higher."""
    if len(scores) < _LONG:
        return counted_by_sorting(scores, presences)
    return counted_by_cells(scores, presences)


def counted_by_sorting(scores: Scores, presences: Scores) -> Counts:
    """Sort the bare scores, which is several times quicker than sorting their places."""
    return len(scores) - np.searchsorted(np.sort(scores), presences)


def counted_by_cells(scores: Scores, presences: Scores) -> Counts:
    """Put the scores into cells of equal width; compare only within cells that hold a presence.

    With c(s) the cell of a score, which never falls as s rises,

        #{s_i >= s} = #{c(s_i) > c(s)} + #{c(s_i) = c(s), s_i >= s}.
    """
    low, scale = _cells_over(presences)
    if scale == 0.0:
        return counted_by_sorting(scores, presences)
    cells, wanted = _cells(scores, low, scale), _cells(presences, low, scale)
    holds_presence = np.zeros(_N_CELLS, dtype=bool)
    holds_presence[wanted] = True
    close = np.sort(scores[holds_presence[cells]])
    n_close_at_least = len(close) - np.searchsorted(close, presences)
    n_close_beyond = _n_greater(_cells(close, low, scale), wanted)
    cells.sort(kind="stable")
    return _n_greater(cells, wanted) + n_close_at_least - n_close_beyond


def _n_greater(rising: npt.NDArray[np.uint16], wanted: npt.NDArray[np.uint16]) -> Counts:
    return len(rising) - np.searchsorted(rising, wanted, side="right")


def _cells_over(presences: Scores) -> tuple[np.floating, float]:
    """Return the lowest presence and the cells per unit of score; 0 where cells cannot be made."""
    low, high = presences[0], presences[-1]
    width = float(high) - float(low)
    most = float(np.finfo(presences.dtype).max)
    if not _N_CELLS / most < width <= most:
        return low, 0.0
    return low, (_N_CELLS - 3) / width


def _cells(scores: Scores, low: np.floating, scale: float) -> npt.NDArray[np.uint16]:
    """Return c(s) = (s - low) scale + 1, rounded down and held between the outermost cells.

    Subtraction, product and rounding never reverse an order, so neither does c.
    """
    with np.errstate(over="ignore"):
        place = scores - low
        place *= scale
    place += 1
    return np.clip(place, 0, _N_CELLS - 1, out=place).astype(np.uint16)


# §§ lines
# Average precision by lines: the columns or the rows of a table, each ranked by itself.


# Lines are copied in groups of about this many entries, to stay within the cache.
_ENTRIES_AT_ONCE = 1 << 18
PrecisionOf = Callable[[Floats, npt.NDArray[np.integer[Any]]], float]


@dataclass(frozen=True)
class Lines:
    """Scores by line, -infinity where the truth is unknown, and which of them are presences."""

    scores: Scores
    present: Flags

    def fill_average_precision(self, result: Floats, precision_of: PrecisionOf) -> None:
        """Write the average precision of each line that has a presence."""
        for line, scores in enumerate(self.scores):
            presences = np.sort(scores[self.present[line]])
            if len(presences):
                # What is unknown lies at -infinity, below every presence, and is never counted.
                n_known = n_at_least(scores, presences)
                n_found = len(presences) - np.searchsorted(presences, presences)
                result[line] = precision_of(n_found / n_known, n_found)


def _area(precision: Floats, n_found: npt.NDArray[np.integer[Any]]) -> float:
    return float(precision.mean())


def _voc11(precision: Floats, n_found: npt.NDArray[np.integer[Any]]) -> float:
    """Take the best precision at recall t or more, t = 0, 0.1, ..., 1, and their mean.

    Recall falls along the line. Integers are compared: n_found / n >= i / 10 in floats would
    hang on the last bit.
    """
    best = np.maximum.accumulate(precision)
    wanted = np.arange(11) * len(precision)
    n_reaching = np.searchsorted(-10 * n_found, -wanted, side="right")
    return float(best[n_reaching - 1].mean())


PRECISION_OF: dict[str, PrecisionOf] = {"area": _area, "voc11": _voc11}


def blocks_of_lines(known: PartialLabels, scores: Scores, axis: int) -> Iterator[tuple[int, Lines]]:
    """Yield groups of lines along `axis` (0: columns, 1: rows) with the number of the first."""
    states, table = _known_part(known, scores, axis)
    n_lines, length = states.shape[1 - axis], states.shape[axis]
    # Half precision is too coarse to compute with; single precision holds it exactly.
    dtype = np.result_type(table.dtype, np.float32)
    step = max(1, _ENTRIES_AT_ONCE // max(1, length))
    for start in range(0, n_lines, step):
        chosen = slice(start, start + step)
        where = (slice(None), chosen) if axis == 0 else (chosen, slice(None))
        part = states[where].T if axis == 0 else states[where]
        lines = np.array(table[where].T if axis == 0 else table[where], dtype=dtype, order="C")
        unknown = part == int(State.UNKNOWN)
        if unknown.any():
            lines[unknown] = -np.inf
        yield start, Lines(lines, np.ascontiguousarray(part == int(State.PRESENT)))


def _known_part(known: PartialLabels, scores: Scores, axis: int) -> tuple[Codes, Scores]:
    """Return states and scores; where few are known, only those, pushed together along `axis`.

    Lines of unequal length are filled up with unknown entries, which no metric counts.
    """
    if not known.is_sparse or known.unlisted_weight:
        return known.states(), scores
    entries = known.entries()
    line = entries.columns if axis == 0 else entries.rows
    order = np.argsort(line, kind="stable")
    line = line[order]
    length = np.bincount(line, minlength=known.shape[1 - axis])
    place = np.arange(len(line)) - (np.cumsum(length) - length)[line]
    shape = (int(length.max(initial=0)), len(length))
    states = np.full(shape, int(State.UNKNOWN), dtype=np.int8)
    states[place, line] = entries.present[order]
    pushed = np.zeros(shape, dtype=scores.dtype)
    pushed[place, line] = scores[entries.rows[order], entries.columns[order]]
    return (states, pushed) if axis == 0 else (states.T, pushed.T)


# §§ main ranking


Interpolation = Literal["area", "voc11"]


def average_precision(
    truth: Any, scores: npt.ArrayLike, *, interpolation: Interpolation = "area"
) -> Floats:
    """Return the average precision of each label over the items at which it is known.

    Let P(s) and R(s) be precision and recall of "score at least s" among the known items. Items of
    one score share one rank, so that their order cannot matter. With n_j items that have label j,

    - "area": AP_j is the mean of P(s_i) over those n_j items, which is the area under the steps of
      precision against recall (scikit-learn's ``average_precision_score``);
    - "voc11": AP_j is the mean, over the recalls t = 0, 0.1, ..., 1, of the highest P(s) with
      R(s) >= t (the measure of PASCAL VOC 2007).

    Items of unknown truth take no part. NaN stands for a label that no item is known to have.

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
    return _by_line(truth, scores, interpolation, axis=0)


def average_precision_per_item(
    truth: Any, scores: npt.ArrayLike, *, interpolation: Interpolation = "area"
) -> Floats:
    """Return the average precision of each item over the labels known of it.

    As `average_precision` with items and labels exchanged: the labels of one item are ranked
    against each other. NaN stands for an item with no known presence.

    Examples
    --------
    >>> average_precision_per_item([[1, 0, 1], [0, 0, 0]], [[0.9, 0.5, 0.1], [0.1, 0.2, 0.3]])
    array([0.83333333,        nan])
    """
    return _by_line(truth, scores, interpolation, axis=1)


def mean_average_precision(
    truth: Any, scores: npt.ArrayLike, *, interpolation: Interpolation = "area"
) -> float:
    """Return the mean of `average_precision` over the labels that have one; NaN if none has."""
    return _mean_of_defined(average_precision(truth, scores, interpolation=interpolation))


def mean_average_precision_per_item(
    truth: Any, scores: npt.ArrayLike, *, interpolation: Interpolation = "area"
) -> float:
    """Return the mean of `average_precision_per_item` over items with a known presence."""
    return _mean_of_defined(average_precision_per_item(truth, scores, interpolation=interpolation))


def _by_line(truth: Any, scores: npt.ArrayLike, interpolation: Interpolation, axis: int) -> Floats:
    check_choice("interpolation", interpolation, tuple(PRECISION_OF))
    known, table = truth_and_scores(truth, scores)
    precision_of = PRECISION_OF[interpolation]
    result = np.full(known.shape[1 - axis], np.nan)
    for start, block in blocks_of_lines(known, table, axis):
        block.fill_average_precision(result[start:], precision_of)
    return result


def _mean_of_defined(values: Floats) -> float:
    defined = ~np.isnan(values)
    return float(values[defined].mean()) if defined.any() else float("nan")


# §§ top
# Precision, recall and N+ where every item gets its k labels of highest score.


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
    check_integer("k", k, at_least=1)
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


# §§ error
# How far scores are from the truth.


def squared_error(truth: Any, scores: npt.ArrayLike) -> float:
    """Return the weighted mean of (score - truth)^2 over the known entries; NaN if none is."""
    known, table = truth_and_scores(truth, scores)
    weights = known.weights()
    residual = table - (known.states() == int(State.PRESENT))
    total = weights.sum()
    return float((weights * residual**2).sum() / total) if total > 0 else float("nan")


# §§ ranking
# How well scores tell who has a label from who has not.


Array = npt.NDArray[Any]


def roc_auc(known: PartialLabels, scores: Array) -> npt.NDArray[np.float64]:
    """Return for each label how often a presence has a higher score than what is absent.

    The area under the ROC curve; an equal score is half a win. NaN where there is nothing to
    compare. Where absence is only presumed, presences among the presumed make it a little lower.
    """
    states = known.states()
    won = np.full(known.n_labels, np.nan)
    for column in range(known.n_labels):
        own = np.sort(scores[states[:, column] == int(State.PRESENT), column])
        others = np.sort(scores[states[:, column] == int(State.ABSENT), column])
        if len(own) and len(others):
            below = np.searchsorted(others, own, side="left")
            up_to = np.searchsorted(others, own, side="right")
            won[column] = float((below + up_to).sum()) / (2 * len(own) * len(others))
    return won
