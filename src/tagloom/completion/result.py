"""The result of a completion, and how good it is by held-out entries."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.completion.calibration import Calibration
from tagloom.completion.suggestions import Query, SuspectedError, TagTable
from tagloom.labels import PartialLabels, State
from tagloom.metrics import average_precision, expected_calibration_error, roc_auc
from tagloom.words import TagLinks

Array = npt.NDArray[Any]


class Issue(NamedTuple):
    """Something odd about the input: what it concerns, and what is wrong with it."""

    name: str
    reason: str


@dataclass(frozen=True)
class Bin:
    """Held-out entries of similar probability: their mean confidence and how many are present."""

    low: float
    high: float
    n: int
    confidence: float
    observed: float
    """The observed frequency of presence."""


@dataclass(frozen=True)
class LabelQuality:
    """What is known of a label, and how well held-out scores rank its pictures."""

    label: str
    n_present: int
    n_absent: int
    threshold: float
    average_precision: float
    """Of held-out presences among absent and unlisted entries; NaN where none is known."""
    roc_auc: float


@dataclass(frozen=True, eq=False)
class CompletionResult:
    """The result of completing a collection.

    Attributes
    ----------
    photos : Path
        The folder of the pictures; items are paths relative to it.
    known : PartialLabels
        The annotations of the labels that could be learned.
    P : array of shape (n_items, n_labels)
        Probabilities of presence: final ones for open entries, held-out ones for known entries.
    is_open : array of bool
        Entries for which a suggestion can be made.
    thresholds : array of shape (n_labels,)
    table : TagTable
    suspected_errors : list of SuspectedError
        Most probable first.
    to_annotate : list of Query
        What to annotate next, most informative first.
    label_quality : list of LabelQuality
        One for each label, including those that were not learned.
    bins : list of Bin
        The reliability diagram of the held-out probabilities.
    label_frequency : float
        The share of the presences that are listed (c in PU learning); 1 where absences are
        annotated as well.
    affinities : sparse array
        Similarities of pictures: row i holds the neighbours of item i.
    skipped : list of Issue
        Pictures that could not be read.
    warnings : list of Issue
        What is odd about the tags, where, and how it was handled.
    too_rare : dict from label to number of presences
        Labels with too few annotations to be learned.
    summary : dict
        Numbers to show, in the order in which they are shown: {"pictures": 5000, ...}.
    ignored : dict from label to number of presences
        Labels that the vocabulary ignores.
    links : TagLinks, optional
        What the names of the labels mean.
    """

    photos: Path
    known: PartialLabels
    P: Array
    is_open: npt.NDArray[np.bool_]
    thresholds: npt.NDArray[np.float64]
    table: TagTable
    suspected_errors: list[SuspectedError]
    to_annotate: list[Query]
    label_quality: list[LabelQuality]
    bins: list[Bin]
    label_frequency: float
    affinities: Any
    skipped: list[Issue]
    warnings: list[Issue]
    too_rare: dict[str, int]
    summary: dict[str, Any]
    ignored: dict[str, int] = field(default_factory=dict)
    links: TagLinks | None = None

    @property
    def items(self) -> list[str]:
        """The pictures."""
        return list(self.table.items)

    @property
    def labels(self) -> list[str]:
        """The labels."""
        return list(self.table.labels)

    def neighbors_with(self, row: int, column: int, count: int = 3) -> list[int]:
        """Return the nearest neighbours of a picture that are known to have a label."""
        S = self.affinities
        near = slice(S.indptr[row], S.indptr[row + 1])
        neighbors, affinity = S.indices[near], S.data[near]
        order = np.lexsort((neighbors, -affinity))
        return [int(neighbors[k]) for k in order if self._present[neighbors[k], column]][:count]

    @cached_property
    def _present(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.known.states() == int(State.PRESENT))


def reliability(
    labels: PartialLabels, P: Array, calibration: Calibration, n_bins: int = 10
) -> list[Bin]:
    """Compare held-out probabilities with the labels, bin by bin.

    In PU learning a present label is listed with probability c only: the share that is listed is
    divided by c, so that both numbers speak of presence.
    """
    states, c = labels.states(), calibration.label_frequency
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
    """Return the expected calibration error over the bins from probability `least` on."""
    counted = [one for one in bins if one.low >= least - 1e-9]
    return expected_calibration_error(
        [one.n for one in counted],
        [one.confidence for one in counted],
        [one.observed for one in counted],
    )


def label_quality(
    training: PartialLabels, known: PartialLabels, held_out: Array, thresholds: Array
) -> list[LabelQuality]:
    """Judge the ranking of each label by held-out scores; counts are those of the annotations."""
    states = training.states()
    truth = np.where(states == int(State.UNKNOWN), np.nan, states).astype(np.float64)
    ap, auc = average_precision(truth, held_out), roc_auc(training, held_out)
    present, absent, _ = known.counts()
    return [
        LabelQuality(
            str(label),
            int(present[j]),
            int(absent[j]),
            float(thresholds[j]),
            float(ap[j]),
            float(auc[j]),
        )
        for j, label in enumerate(training.labels)
    ]


def not_learned(label: str, n_present: int) -> LabelQuality:
    """Return the quality of a label that was too rare to be learned."""
    return LabelQuality(label, n_present, 0, np.inf, np.nan, np.nan)
