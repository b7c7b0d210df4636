"""The state of every (picture, tag) during a review, in memory, with running counts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tagloom.tagger.words import NameReasons

Array = npt.NDArray[Any]
Entry = tuple[int, int]

_SPARE_COLUMNS = 64


class EntryState(IntEnum):
    """What is known of one (picture, tag), and what was decided about it in the review.

    The first six states come from the run, the others are decisions. `journal_word` is the state's
    name in `review.sqlite`; `page_word` is its name in answers to the page.
    """

    journal_word: str
    page_word: str

    def __new__(cls, code: int, journal_word: str, page_word: str | None = None) -> "EntryState":
        """Make a state from its code and its names."""
        state = int.__new__(cls, code)
        state._value_ = code
        state.journal_word = journal_word
        state.page_word = page_word or journal_word
        return state

    UNKNOWN = 0, "open"
    SUGGESTED = 1, "suggested"
    PRESENT = 2, "known"
    SUSPECTED_PRESENT = 3, "doubtful", "suspected"
    """Annotated as present, and suspected to be wrong."""
    ABSENT = 4, "absent"
    SUSPECTED_ABSENT = 5, "doubtful-absent", "suspected-absent"
    """Annotated as absent, and suspected to be wrong."""
    ACCEPTED = 6, "accepted"
    ADDED = 7, "added"
    """Typed by the reviewer without having been suggested."""
    REJECTED = 8, "rejected"
    REMOVED = 9, "removed"
    """Annotated as present, and found to be wrong."""
    CONFIRMED = 10, "confirmed", "known"
    """Annotated as present, and found to be right."""


_STATES = tuple(EntryState)
N_STATES = len(_STATES)
VERDICTS = ("accept", "reject", "clear")
UNDECIDED = (EntryState.UNKNOWN, EntryState.SUGGESTED)
"""Nobody has annotated or decided these."""
SUSPECTED = (EntryState.SUSPECTED_PRESENT, EntryState.SUSPECTED_ABSENT)
DECIDED = tuple(s for s in _STATES if s >= EntryState.ACCEPTED)
HAS_TAG = (
    EntryState.PRESENT,
    EntryState.SUSPECTED_PRESENT,
    EntryState.ACCEPTED,
    EntryState.ADDED,
    EntryState.CONFIRMED,
)
"""A person says that the picture has the tag."""
LACKS_TAG = (
    EntryState.ABSENT,
    EntryState.SUSPECTED_ABSENT,
    EntryState.REJECTED,
    EntryState.REMOVED,
)
"""A person says that the picture does not have the tag."""
LISTED = tuple(s for s in _STATES if s not in (EntryState.UNKNOWN, EntryState.ABSENT))
"""Listed with the picture."""

_BY_JOURNAL_WORD = {state.journal_word: state for state in EntryState}


def membership(*states: EntryState) -> npt.NDArray[np.bool_]:
    """Return a lookup table that is True at the codes of these states."""
    table = np.zeros(N_STATES, dtype=bool)
    table[list(states)] = True
    return table


def after_verdict(base: EntryState, verdict: str, *, typed: bool) -> EntryState:
    """Return the state that a verdict leads to.

    Parameters
    ----------
    base : EntryState
        The state before the review.
    verdict : {"accept", "reject", "clear"}
        Whether the picture has the tag, whatever was known before; "clear" takes a decision back.
    typed : bool
        Whether the reviewer typed the name of the tag.
    """
    if verdict == "clear":
        return base
    was_present = base in (EntryState.PRESENT, EntryState.SUSPECTED_PRESENT)
    if verdict == "reject":
        return EntryState.REMOVED if was_present else EntryState.REJECTED
    if was_present:
        return EntryState.CONFIRMED
    return EntryState.ADDED if typed and base == EntryState.UNKNOWN else EntryState.ACCEPTED


def from_journal(word: str, base: EntryState) -> EntryState:
    """Return the state that a word of the journal means; all words but decisions mean the base.

    The suggestions of a run may have changed since the word was written.
    """
    state = _BY_JOURNAL_WORD.get(word, base)
    return state if state in DECIDED else base


class SuspectedError(NamedTuple):
    """A known label that is suspected to be wrong."""

    image: int
    tag: int
    p: float
    error_probability: float
    present: bool


class ToAnnotate(NamedTuple):
    """An entry that is worth annotating next."""

    image: int
    tag: int
    p: float
    acquisition_score: float


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A run as the page needs it; tables of pictures by tags are stored by columns."""

    title: str
    run: str
    """The digest of the run."""
    photos: Path
    images: list[str]
    tags: list[str]
    P: npt.NDArray[np.float32]
    """Probabilities of the tags that were learned; NaN where there is none."""
    column: npt.NDArray[np.int64]
    """The column of each tag in P, -1 for none."""
    states: npt.NDArray[np.int8]
    """The `EntryState` of every entry before the review."""
    thresholds: npt.NDArray[np.float64]
    """For each tag; NaN for those that are never suggested."""
    roc_auc: npt.NDArray[np.float64]
    """For each tag, on held-out labels; NaN where it was not measured."""
    suspected_errors: list[SuspectedError]
    """By falling probability of an error."""
    to_annotate: list[ToAnnotate]
    """By falling acquisition score."""
    affinities: Any
    """The sparse graph of the learner."""
    label_frequency: float
    visual: npt.NDArray[Any]
    """The visual features of the pictures."""
    names: "Callable[[], NameReasons | None]" = lambda: None
    """Returns where the names of tags are reasons for their scores, by the columns of P."""
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    """That the run has learned with."""


_SUGGESTED, _UNKNOWN = int(EntryState.SUGGESTED), int(EntryState.UNKNOWN)


class Collection:
    """A loaded run with the decisions made on it.

    Every state is kept twice, as it was before the review and as it is now, and counted by picture
    and by tag, so that any page of a list is answered without scanning the whole table.

    Attributes
    ----------
    images, tags : lists of str
    per_image, per_tag : arrays of shape (n_images, n_states) and (n_tags, n_states)
        How many entries are in which state.
    chosen_threshold : float or None
        The common probability from which tags are suggested; None for the run's own thresholds.
    """

    def __init__(self, loaded: LoadedRun) -> None:
        self.loaded = loaded
        self.images, self.tags = loaded.images, list(loaded.tags)
        self._image_numbers = {image: i for i, image in enumerate(self.images)}
        self._tag_numbers = {tag: t for t, tag in enumerate(self.tags)}
        self._column = loaded.column
        self._base = loaded.states
        self._now = np.array(loaded.states, order="F")
        self.chosen_threshold: float | None = None
        self._thresholds = loaded.thresholds
        learned = np.flatnonzero(self._column >= 0)
        self._learned = learned[np.argsort(self._column[learned])]
        self._recount()

    def _recount(self) -> None:
        self._histogram: OpenHistogram | None = None
        self.per_image, per_tag = _count_states(self.states)
        spare = self._now.shape[1] - len(per_tag)
        self.per_tag = np.pad(per_tag, ((0, spare), (0, 0)))

    @property
    def states(self) -> npt.NDArray[np.int8]:
        """The current state of every entry, of shape (n_images, n_tags)."""
        return self._now[:, : len(self.tags)]

    def image(self, name: str) -> int | None:
        """Return the number of a picture."""
        return self._image_numbers.get(name)

    def tag(self, name: str) -> int | None:
        """Return the number of a tag, which may be called by another name of it."""
        return self._tag_numbers.get(self.loaded.vocabulary.resolve(name))

    def is_merged(self, t: int) -> bool:
        """Return whether a tag has become another name of a tag."""
        return self.tags[t] in self.loaded.vocabulary.aliases

    def state(self, i: int, t: int) -> EntryState:
        """Return the current state of an entry."""
        return _STATES[int(self._now[i, t])]

    def base(self, i: int, t: int) -> EntryState:
        """Return the state of an entry before the review."""
        return _STATES[int(self._base[i, t])] if t < self._base.shape[1] else EntryState.UNKNOWN

    def threshold(self, t: int) -> float | None:
        """Return the probability from which a tag is suggested; None if it never is."""
        return _finite_or_none(self._thresholds, t)

    def roc_auc(self, t: int) -> float | None:
        """Return the ROC AUC of a tag on held-out labels; None where it was not measured."""
        return _finite_or_none(self.loaded.roc_auc, t)

    def probabilities(self, t: int) -> npt.NDArray[np.float32]:
        """Return the probabilities of a tag for all pictures; NaN where there are none."""
        column = self._column[t] if t < len(self._column) else -1
        if column < 0:
            return np.full(len(self.images), np.nan, dtype=np.float32)
        return self.loaded.P[:, column]

    def probabilities_of(self, i: int, tags: Array) -> npt.NDArray[np.float32]:
        """Return the probabilities of some tags for one picture."""
        p = np.full(len(tags), np.nan, dtype=np.float32)
        known = tags < len(self._column)
        columns = self._column[tags[known]]
        p[np.flatnonzero(known)[columns >= 0]] = self.loaded.P[i, columns[columns >= 0]]
        return p

    def looks_like(self, i: int, t: int) -> str | None:
        """Say what a picture looks like, where the name of a tag is a reason for its score."""
        column = self._column[t] if t < len(self._column) else -1
        names = self._names
        return None if names is None or column < 0 else names.text(i, int(column), self.tags[t])

    @cached_property
    def _names(self) -> "NameReasons | None":
        return self.loaded.names()

    def _probabilities_at(self, entries: list[Entry]) -> npt.NDArray[np.float32]:
        images, tags = np.array(entries).T
        columns = np.append(self._column, -1)[np.minimum(tags, len(self._column))]
        p = self.loaded.P[images, columns] if self.loaded.P.size else np.zeros(len(images))
        return np.where(columns >= 0, p, np.nan)

    def add_tag(self, name: str) -> int:
        """Add a column for a new tag, and return its number."""
        t = len(self.tags)
        if t == self._now.shape[1]:
            more = np.zeros((len(self.images), _SPARE_COLUMNS), dtype=np.int8, order="F")
            self._now = np.asfortranarray(np.hstack([self._now, more]))
            counts = np.zeros((_SPARE_COLUMNS, N_STATES), dtype=np.int64)
            self.per_tag = np.vstack([self.per_tag, counts])
        self.tags.append(name)
        self._tag_numbers[name] = t
        self.per_tag[t, EntryState.UNKNOWN] = len(self.images)
        self.per_image[:, EntryState.UNKNOWN] += 1
        return t

    def suggest_from(self, threshold: float | None) -> None:
        """Suggest what is undecided and at least this probable; None for the run's own choice."""
        self.chosen_threshold = threshold
        self._base = self.loaded.states
        self._thresholds = self.loaded.thresholds
        if threshold is not None:
            self._base = np.array(self.loaded.states, order="F")
            self._thresholds = np.where(self._column >= 0, threshold, np.nan)
            for t in self._learned.tolist():
                base = self._base[:, t]
                suggested = np.where(self.probabilities(t) >= threshold, _SUGGESTED, _UNKNOWN)
                np.copyto(base, suggested, where=_is_undecided(base), casting="unsafe")
        n_loaded = self._base.shape[1]
        now = self._now[:, :n_loaded]
        np.copyto(now, self._base, where=_is_undecided(now))
        self._recount()

    def highest(self) -> npt.NDArray[np.float32]:
        """Return the highest probability among the suggestions of each picture, -1 without one."""
        found = np.full(len(self.images), -1, dtype=np.float32)
        for t in self._learned.tolist():
            suggested = self._now[:, t] == _SUGGESTED
            np.fmax(found, self.probabilities(t), out=found, where=suggested)
        return found

    def uncertainty(self) -> npt.NDArray[np.float32]:
        """Return the sum of p (1 - p) over the undecided entries of each picture."""
        found = np.zeros(len(self.images), dtype=np.float32)
        for t in self._learned.tolist():
            p = self.probabilities(t)
            counted = _is_undecided(self._now[:, t]) & ~np.isnan(p)
            np.add(found, p * (1 - p), out=found, where=counted)
        return found

    def open_entries(self) -> tuple[Array, npt.NDArray[np.bool_], Array, Array]:
        """Return what can be suggested: P, which entries are undecided, thresholds and tags.

        The arrays have a column for each tag that was learned.
        """
        is_open = _is_undecided(self._now[:, self._learned])
        return self.loaded.P, is_open, self._thresholds[self._learned], self._learned

    @property
    def histogram(self) -> "OpenHistogram":
        """The probabilities of the undecided entries, counted once and then kept in step."""
        if self._histogram is None:
            self._histogram = OpenHistogram()
            for t in self._learned.tolist():
                self._histogram.add(self.probabilities(t), self._now[:, t])
        return self._histogram

    def put(self, entries: Iterable[tuple[int, int, EntryState]]) -> list[Entry]:
        """Set the states of some entries, and return those that changed."""
        changed, moved = [], []
        for i, t, state in entries:
            before = int(self._now[i, t])
            if before != state:
                self._now[i, t] = state
                for counts, place in ((self.per_image, i), (self.per_tag, t)):
                    counts[place, before] -= 1
                    counts[place, state] += 1
                changed.append((i, t))
                moved.append((before, int(state)))
        if changed and self._histogram is not None:
            self._histogram.move(self._probabilities_at(changed), np.array(moved))
        return changed


class OpenHistogram:
    """The undecided entries by probability, in bins of 0.01, and the suggestions among them.

    Attributes
    ----------
    counts, sums : arrays of shape (100,)
        How many entries there are in each bin, and the sum of their probabilities.
    n_suggested, sum_suggested : int and float
        The same for the suggestions.
    """

    N_BINS = 100

    def __init__(self) -> None:
        self.counts = np.zeros(self.N_BINS, dtype=np.int64)
        self.sums = np.zeros(self.N_BINS)
        self.n_suggested, self.sum_suggested = 0, 0.0

    def add(self, p: Array, states: Array, sign: int = 1) -> None:
        """Count entries; with a sign of -1 they are taken away."""
        among = _is_undecided(states) & ~np.isnan(p)
        p, suggested = p[among].astype(np.float64), states[among] == _SUGGESTED
        bins = np.minimum((p * self.N_BINS).astype(np.int64), self.N_BINS - 1)
        self.counts += sign * np.bincount(bins, minlength=self.N_BINS)
        self.sums += sign * np.bincount(bins, weights=p, minlength=self.N_BINS)
        self.n_suggested += sign * int(suggested.sum())
        self.sum_suggested += sign * float(p[suggested].sum())

    def move(self, p: Array, before_and_after: Array) -> None:
        """Count entries under their new states."""
        self.add(p, before_and_after[:, 0], -1)
        self.add(p, before_and_after[:, 1])


def _is_undecided(states: Array) -> npt.NDArray[np.bool_]:
    """Return which states are unknown or suggested: the first two."""
    return np.asarray(states <= _SUGGESTED)


def _count_states(states: npt.NDArray[np.int8]) -> tuple[Array, Array]:
    """Count the states by picture and by tag; nearly all entries are unknown."""
    n_images, n_tags = states.shape
    by_tag = states.T.ravel()
    known = np.flatnonzero(by_tag)
    tags, images = np.divmod(known, max(n_images, 1))
    counts = []
    for places, n, of_each in ((images, n_images, n_tags), (tags, n_tags, n_images)):
        found = np.bincount(places * N_STATES + by_tag[known], minlength=n * N_STATES)
        table = found.reshape(n, N_STATES)
        table[:, _UNKNOWN] = of_each - table.sum(axis=1)
        counts.append(table)
    return counts[0], counts[1]


def _finite_or_none(values: Array, t: int) -> float | None:
    """Return the value of a tag; None where it is NaN or the tag was added in the review."""
    value = values[t] if t < len(values) else np.nan
    return float(value) if np.isfinite(value) else None
