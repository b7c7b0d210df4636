"""Average precision: over the items that have a label, or over the labels that an item has."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tagloom.checks import check_choice
from tagloom.metrics._lines import PRECISION_OF, blocks_of_lines
from tagloom.metrics._scores import Floats, truth_and_scores

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
