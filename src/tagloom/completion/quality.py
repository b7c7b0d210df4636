"""How good the result is, measured by what was hidden from the learner."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.completion.calibration import Calibration
from tagloom.completion.ranking import comparisons_won
from tagloom.labels import PartialLabels, State
from tagloom.metrics import average_precision

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Bin:
    """Entries of like probability: how many, what was promised and what came true."""

    low: float
    high: float
    n: int
    promised: float
    came_true: float


@dataclass(frozen=True)
class LabelQuality:
    """One label: what is known, and how well hidden entries are told apart."""

    label: str
    n_present: int
    n_absent: int
    threshold: float
    average_precision: float
    """Of hidden presences among entries that are absent or unlisted; NaN where none is known."""
    comparisons_won: float
    """How often a hidden presence has a higher score than such an entry; a half is chance."""


def reliability(
    known: PartialLabels, P: Array, calibration: Calibration, n_bins: int = 10
) -> list[Bin]:
    """Compare held-out probabilities with what is known.

    Where only presences are listed, c times the probability is promised to be listed; the share
    that is listed is divided by c, so that both speak of presence.
    """
    states, c = known.states(), calibration.completeness
    judged = states != int(State.UNKNOWN)
    p, present = P[judged].astype(np.float64), states[judged] == int(State.PRESENT)
    edges = np.linspace(0, 1, n_bins + 1)
    place = np.clip(np.digitize(p, edges) - 1, 0, n_bins - 1)
    bins = []
    for number in range(n_bins):
        inside = place == number
        if inside.any():
            share = min(1.0, float(present[inside].mean()) / c)
            low, high = float(edges[number]), float(edges[number + 1])
            bins.append(Bin(low, high, int(inside.sum()), float(p[inside].mean()), share))
    return bins


def calibration_error(bins: list[Bin], *, least: float = 0.0) -> float:
    """Return the mean distance between promised and true, over entries from `least` on."""
    counted = [one for one in bins if one.low >= least - 1e-9]
    n = sum(one.n for one in counted)
    if not n:
        return float("nan")
    return sum(one.n * abs(one.promised - one.came_true) for one in counted) / n


def label_qualities(
    known: PartialLabels, said: PartialLabels, held_out: Array, thresholds: Array
) -> list[LabelQuality]:
    """Judge the ranking of each label by entries that were hidden; count what people have said."""
    states = known.states()
    truth = np.where(states == int(State.UNKNOWN), np.nan, states).astype(np.float64)
    ap = average_precision(truth, held_out)
    won = comparisons_won(known, held_out)
    present, absent, _ = said.counts()
    return [
        LabelQuality(
            str(label),
            int(present[j]),
            int(absent[j]),
            float(thresholds[j]),
            float(ap[j]),
            float(won[j]),
        )
        for j, label in enumerate(known.labels)
    ]
