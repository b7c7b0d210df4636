"""Probabilities of labels that are judged by their names, as examples are too few or none.

What can be said of a label without a single example? That its name means certain concepts, and how
far names have proved right for the other labels of the collection. So those are scored once more as
if they had no example either, and one curve is fitted from these scores to being listed: a label
without examples is taken for one more of that kind. Between labels the curve averages: of names
that are seen well and of names that mislead.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from tagloom.calibration.answers import NAME_SD, AnswerCorrection
from tagloom.calibration.collection import Calibration
from tagloom.calibration.listing import fit_common_curve
from tagloom.labels import PartialLabels

Array = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_LARGEST_SHIFT = 30.0


@dataclass(frozen=True, eq=False)
class JudgedByName:
    """Labels that are judged by their names, among all labels of a collection.

    Attributes
    ----------
    by_name : array of bool of shape (n_labels,)
    never_listed : array of bool of shape (n_labels,)
        Those that no list could hold, because nobody had the label then.
    n_listed : array of int of shape (n_labels,)
    """

    by_name: Flags
    never_listed: Flags
    n_listed: npt.NDArray[np.int64]

    @property
    def others(self) -> npt.NDArray[np.intp]:
        """The columns of all other labels."""
        return np.flatnonzero(~self.by_name)


def with_names(
    calibration: Calibration,
    judged: JudgedByName,
    training: PartialLabels,
    of_names: Array | None,
    scores: Array,
    *,
    random_state: int = 0,
) -> Calibration:
    """Return a calibration of all labels, given one of those with enough examples.

    With z = a + b h the common curve of n names that were tried, a and b are divided by
    sqrt(1 + pi s^2 / 8 (n + 1/2)): the log-odds of a further name are off by an unknown amount, of
    deviation s / sqrt(n) at least (MacKay 1992), and few names prove little.

    A label that is listed on k pictures is expected on (k + 1) / c of them, with c the median label
    frequency: if its probabilities add up to more, its log-odds are lowered until they do not. One
    that no list could hold is not less probable for not being listed.

    Parameters
    ----------
    calibration : Calibration
        Of the labels with enough examples.
    judged : JudgedByName
    training : PartialLabels
        The training labels, without feedback, of the labels with enough examples.
    of_names : array of shape (n_items, n_labels of `training`), or None
        Scores of learners that were shown no entry of the label; NaN for labels without a name.
    scores : array of shape (n_items, n_labels)
        Of all labels of the collection.
    """
    tried = np.full((len(scores), training.n_labels), np.nan) if of_names is None else of_names
    curve = fit_common_curve(calibration.listing, training, tried, random_state=random_state)
    n_names = int((~np.isnan(tried)).any(axis=0).sum())
    doubt = np.sqrt(1 + np.pi / 8 * NAME_SD**2 / (n_names + 0.5))
    listing, forgetting = calibration.listing, calibration.forgetting

    def all_labels(values: Floats, of_names: float) -> Floats:
        full = np.full(len(judged.by_name), of_names)
        full[judged.others] = values
        return full

    ceilings = all_labels(listing.ceilings, float(np.median(listing.ceilings)))
    ceilings[judged.never_listed] = 0.0
    extended = Calibration(
        replace(
            listing,
            log_odds=all_labels(listing.log_odds, curve.log_odds),
            intercepts=all_labels(listing.intercepts, curve.intercept / doubt),
            slopes=all_labels(listing.slopes, curve.slope / doubt),
            ceilings=ceilings,
        ),
        replace(
            forgetting,
            ceilings=ceilings,
            shifts=all_labels(forgetting.shifts, float(np.median(forgetting.shifts))),
            label_frequencies=all_labels(
                forgetting.label_frequencies, float(np.median(forgetting.label_frequencies))
            ),
        ),
        AnswerCorrection(np.zeros(len(judged.by_name))),
    )
    intercepts = extended.listing.intercepts.copy()
    for column in np.flatnonzero(judged.by_name & ~judged.never_listed).tolist():
        c = max(float(extended.forgetting.label_frequencies[column]), 1e-3)
        expected = (judged.n_listed[column] + 1) / c
        intercepts[column] -= _excess(extended, scores[:, column], column, expected)
    return replace(extended, listing=replace(extended.listing, intercepts=intercepts))


def _excess(calibration: Calibration, scores: Array, column: int, expected: float) -> float:
    """Return by how much to lower the log-odds for the probabilities to add up as expected."""
    z = calibration.listing.log_odds_of(scores, column)

    def surplus(shift: float) -> float:
        return float(calibration.forgetting.present(z - shift, column).sum()) - expected

    if surplus(0.0) <= 0:
        return 0.0
    return float(brentq(surplus, 0.0, _LARGEST_SHIFT))
