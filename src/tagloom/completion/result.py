"""The result of a completion, and how good it is by held-out entries."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.calibration import ExpectedPrecision, overall_label_frequency
from tagloom.completion.suggestions import Query, SuspectedError, TagTable
from tagloom.labels import PartialLabels, State
from tagloom.metrics import average_precision, expected_calibration_error, roc_auc
from tagloom.tagger.words import NameReasons
from tagloom.words import TagLinks

Array = npt.NDArray[Any]

# Tags with fewer listings are no examples of how often tags are listed.
_ENOUGH_LISTED, _EXAMPLES = 20, 3


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
    label_frequency: float
    """The estimated share of its presences that is listed; 1 where absences are annotated."""


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
        The reliability diagram of the held-out probabilities of being listed.
    label_frequencies : array of shape (n_labels,)
        The share of each label's presences that are listed (c in PU learning); 1 where absences are
        annotated as well.
    precision : ExpectedPrecision
        The expected share of suggestions that are right, and what that rests on.
    frequencies_estimated : bool
        Whether the label frequencies are our estimate, not the owner's word.
    implied : array of bool
        Entries that a listed tag implies.
    implications : tuple of pairs of labels
        The first implies the second.
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
    unlinked : tuple of str
        Added labels that no picture has and whose names mean no concept.
    links : TagLinks, optional
        What the names of the labels mean.
    names : NameReasons, optional
        Where names are reasons for scores.
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
    label_frequencies: npt.NDArray[np.float64]
    precision: ExpectedPrecision
    frequencies_estimated: bool
    implied: npt.NDArray[np.bool_]
    implications: tuple[tuple[Hashable, Hashable], ...]
    affinities: Any
    skipped: list[Issue]
    warnings: list[Issue]
    too_rare: dict[str, int]
    summary: dict[str, Any]
    ignored: dict[str, int] = field(default_factory=dict)
    unlinked: tuple[str, ...] = ()
    links: TagLinks | None = None
    names: NameReasons | None = None

    @property
    def items(self) -> list[str]:
        """The pictures."""
        return list(self.table.items)

    @property
    def labels(self) -> list[str]:
        """The labels."""
        return list(self.table.labels)

    @property
    def label_frequency(self) -> float:
        """The estimated share of all presences that are listed: c of all labels together."""
        return overall_label_frequency(self.known.counts().present, self.label_frequencies)

    def claims(self) -> list[str]:
        """Return what is claimed of the suggestions, and what that rests on."""
        n_suggested = int((self.is_open & (self.thresholds <= self.P)).sum())
        if not n_suggested:
            return [self._why_nothing()]
        low, high = self.precision.low, self.precision.high
        n = self.precision.n_answers
        listed = bool((self.label_frequencies < 1).any())
        if n:
            basis = f"by {n:,} {'answer' if n == 1 else 'answers'} to such suggestions"
        elif listed:
            basis = "by the lists alone, which cannot prove it: check a sample to know"
        else:
            basis = "measured on held-out tags and absences"
        sentences = [
            f"About {self.precision.value:.0%} of the suggestions should be right "
            f"({low:.0%} to {high:.0%}; {basis})."
        ]
        if listed and self.frequencies_estimated:
            sentences.append(self._frequencies_in_words())
        return sentences

    def _frequencies_in_words(self) -> str:
        n = self.known.counts().present
        order = np.lexsort((-n, self.label_frequencies))
        enough = [j for j in order.tolist() if n[j] >= _ENOUGH_LISTED]
        text = f"An estimated {self.label_frequency:.0%} of the tags that belong are listed"
        if len(enough) < _EXAMPLES * 2:
            return text + "."
        labels, c = self.labels, self.label_frequencies
        rarely = ", ".join(f"{labels[j]} {c[j]:.0%}" for j in enough[:_EXAMPLES])
        mostly = ", ".join(f"{labels[j]} {c[j]:.0%}" for j in enough[: -_EXAMPLES - 1 : -1])
        return f"{text}: of some tags few ({rarely}), of others most ({mostly})."

    def _why_nothing(self) -> str:
        """Say why nothing is suggested, and what to do."""
        if not self.is_open.any():
            return (
                "Nothing is suggested because every tag of every picture is known: unlisted tags "
                "count as absent. Leave --unlisted at unknown to have forgotten tags suggested."
            )
        best = float(self.P[self.is_open].max())
        wanted = float(np.min(self.thresholds))
        return (
            f"Nothing is suggested: the most probable tag has {best:.0%}"
            + (f", and {wanted:.0%} is asked for. " if np.isfinite(wanted) else ". ")
            + "Ask for less with --precision, give more tags, or answer what to annotate next."
        )

    def implied_by(self, row: int, column: int) -> int | None:
        """Return the column of a known tag of the picture that implies a label, if there is one."""
        if not self.implied[row, column]:
            return None
        return next((one for one in self._narrower[column] if self._present[row, one]), None)

    def looks_like(self, row: int, column: int) -> str | None:
        """Say what a picture looks like, where the name of a learned label is a reason for it."""
        if self.names is None:
            return None
        return self.names.text(row, column, str(self.known.labels[column]))

    @cached_property
    def _narrower(self) -> dict[int, list[int]]:
        """For each column those of the labels that imply its label."""
        place = {label: column for column, label in enumerate(self.known.labels)}
        narrower: dict[int, list[int]] = {column: [] for column in place.values()}
        for narrow, broad in self.implications:
            if narrow in place and broad in place:
                narrower[place[broad]].append(place[narrow])
        return narrower

    def neighbors_with(self, row: int, column: int, count: int | None = 3) -> list[int]:
        """Return the nearest neighbours of a picture that are known to have a label, None: all."""
        S = self.affinities
        near = slice(S.indptr[row], S.indptr[row + 1])
        neighbors, affinity = S.indices[near], S.data[near]
        have_it = self._present[neighbors, column]
        neighbors, affinity = neighbors[have_it], affinity[have_it]
        nearest: list[int] = neighbors[np.lexsort((neighbors, -affinity))].tolist()
        return nearest[:count]

    @cached_property
    def _present(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.known.states() == int(State.PRESENT))


def reliability(labels: PartialLabels, P: Array, n_bins: int = 10) -> list[Bin]:
    """Compare held-out probabilities with the labels, bin by bin.

    In PU learning both speak of being listed: whether a tag that is not listed is present cannot be
    measured by hiding listed ones.
    """
    states = labels.states()
    judged = states != int(State.UNKNOWN)
    p, present = P[judged].astype(np.float64), states[judged] == int(State.PRESENT)
    edges = np.linspace(0, 1, n_bins + 1)
    place = np.clip(np.digitize(p, edges) - 1, 0, n_bins - 1)
    bins = []
    for number in range(n_bins):
        inside = place == number
        if inside.any():
            share = float(present[inside].mean())
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
    training: PartialLabels,
    known: PartialLabels,
    held_out: Array,
    thresholds: Array,
    label_frequencies: Array,
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
            float(label_frequencies[j]),
        )
        for j, label in enumerate(training.labels)
    ]


def not_learned(label: str, n_present: int) -> LabelQuality:
    """Return the quality of a label that was too rare to be learned."""
    return LabelQuality(label, n_present, 0, np.inf, np.nan, np.nan, np.nan)
