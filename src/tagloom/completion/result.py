"""All that a completion found out, as the report and the files need it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.completion.calibration import Calibration
from tagloom.completion.suggestions import Question, TagTable
from tagloom.labels import PartialLabels, State
from tagloom.metrics import average_precision, expected_calibration_error, roc_auc

# §§ quality
# How good the result is, measured by what was hidden from the learner.


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
    roc_auc: float
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
    return expected_calibration_error(
        [one.n for one in counted],
        [one.promised for one in counted],
        [one.came_true for one in counted],
    )


def label_qualities(
    known: PartialLabels, said: PartialLabels, held_out: Array, thresholds: Array
) -> list[LabelQuality]:
    """Judge the ranking of each label by entries that were hidden; count what people have said."""
    states = known.states()
    truth = np.where(states == int(State.UNKNOWN), np.nan, states).astype(np.float64)
    ap = average_precision(truth, held_out)
    won = roc_auc(known, held_out)
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


# §§ main result


class Doubt(NamedTuple):
    """A statement that looks wrong."""

    row: int
    column: int
    present: bool
    """What was said."""
    probability: float
    """Of the tag, if nobody had said anything."""
    chance: float
    """That it is wrong."""


class Left(NamedTuple):
    """Something that was left out, and why."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class Completed:
    """The result of completing a collection.

    Attributes
    ----------
    photos : Path
        The folder of the pictures; items are paths in it.
    said : PartialLabels
        What people have said of the items and the labels that could be learned.
    P : array of shape (n_items, n_labels)
        Probabilities: of open entries as they stand; of what was said, as if nobody had said it.
    open_to : array of bool
        Where a suggestion could be made.
    thresholds : array of shape (n_labels,)
    table : TagTable
    doubts : list of Doubt
        Surest first.
    questions : list of Question
        What to ask a person next.
    qualities : list of LabelQuality
        One for each label, also for those that were not learned.
    bins : list of Bin
        The reliability of the probabilities, measured on hidden entries.
    completeness : float
        Estimated share of the presences that are listed; 1 where absences are listed as well.
    affinities : sparse array
        Which pictures are like which: row i holds the neighbours of item i.
    skipped : list of Left
        Pictures that could not be read.
    warnings : list of Left
        What was odd about the tags and what was done about it, with the place.
    too_rare : dict from label to number of presences
        Labels of which too little is known.
    account : dict
        Numbers for people, in the order in which they are told: {"pictures": 5000, ...}.
    """

    photos: Path
    said: PartialLabels
    P: Array
    open_to: npt.NDArray[np.bool_]
    thresholds: npt.NDArray[np.float64]
    table: TagTable
    doubts: list[Doubt]
    questions: list[Question]
    qualities: list[LabelQuality]
    bins: list[Bin]
    completeness: float
    affinities: Any
    skipped: list[Left]
    warnings: list[Left]
    too_rare: dict[str, int]
    account: dict[str, Any]

    @property
    def items(self) -> list[str]:
        """The pictures."""
        return list(self.table.items)

    @property
    def labels(self) -> list[str]:
        """The labels."""
        return list(self.table.labels)

    def carriers(self, row: int, column: int, count: int = 3) -> list[int]:
        """Return the likest pictures that are known to carry a label, likest first."""
        S = self.affinities
        near = slice(S.indptr[row], S.indptr[row + 1])
        neighbours, affinity = S.indices[near], S.data[near]
        order = np.lexsort((neighbours, -affinity))
        return [int(neighbours[k]) for k in order if self._present[neighbours[k], column]][:count]

    @cached_property
    def _present(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.said.states() == int(State.PRESENT))
