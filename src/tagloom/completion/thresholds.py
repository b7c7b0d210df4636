"""From which probability on a tag is suggested, label by label."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# The best F1 of a label of which little is known may ask for tags that are hardly ever right.
LEAST = 0.25


def choose_thresholds(P: Array, open_to: npt.NDArray[np.bool_], precision: float | None) -> Floats:
    """Return for each label the probability from which on it is suggested, infinity for never.

    Parameters
    ----------
    P : array of shape (n_items, n_labels)
        Probabilities.
    open_to : array of bool of the same shape
        Entries for which a suggestion can be made.
    precision : float in (0, 1), optional
        The share of suggestions that shall be right: as many as possible are made whose
        probabilities have this mean. Without it the expected F1 is made as large as possible, by no
        suggestion below 0.25.
    """
    thresholds = np.full(P.shape[1], np.inf)
    for column in range(P.shape[1]):
        p = np.sort(P[open_to[:, column], column].astype(np.float64))[::-1]
        if len(p):
            thresholds[column] = _for_f1(p) if precision is None else _for_precision(p, precision)
    return thresholds


def _for_precision(p: Floats, precision: float) -> float:
    """Return the k-th highest p for the largest k with (p_1 + ... + p_k) / k >= precision.

    Entries of equal p are suggested together or not at all.
    """
    last_of_equals = np.append(p[:-1] > p[1:], True)
    right = np.cumsum(p) / np.arange(1, len(p) + 1) >= precision
    enough = np.flatnonzero(right & last_of_equals)
    return float(p[enough[-1]]) if len(enough) else np.inf


def _for_f1(p: Floats) -> float:
    """Return the k-th highest p for the k at which 2 (p_1 + ... + p_k) / (k + sum p) is largest."""
    f1 = 2 * np.cumsum(p) / (np.arange(1, len(p) + 1) + p.sum())
    best = float(p[int(np.argmax(f1))])
    return max(best, LEAST)
