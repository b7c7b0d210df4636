"""What is the case for every picture and tag just now, in memory, with running counts."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.review.loading import Loaded
from tagloom.review.states import N_STATES, UNDECIDED, EntryState, among

Array = npt.NDArray[Any]
Entry = tuple[int, int]

_SPARE_COLUMNS = 64
_ROWS_AT_ONCE = 2000
_IS_UNDECIDED = among(*UNDECIDED)


class Collection:
    """A loaded run with the decisions made on it.

    Every state is kept twice, as it was before the review and as it is now, and counted by picture
    and by tag, so that a page of any list is answered without looking at the whole table.

    Attributes
    ----------
    images, tags : lists of str
    per_image, per_tag : arrays of shape (n_images, n_states) and (n_tags, n_states)
        How many entries are in which state.
    surest, unclear : arrays of shape (n_images,)
        The highest probability among the suggestions of a picture, -1 where there is none; and
        the sum of p (1 - p) over its undecided entries, what is not known of it.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.images, self.tags = loaded.images, list(loaded.tags)
        self._number = {image: i for i, image in enumerate(self.images)}
        self._tag_number = {tag: t for t, tag in enumerate(self.tags)}
        self._column, self._thresholds = loaded.column, loaded.thresholds
        self._base = loaded.states
        self._now = np.array(loaded.states, order="F")
        self.per_image, self.per_tag = _counted(self._now)
        learned = np.flatnonzero(self._column >= 0)
        self._learned = learned[np.argsort(self._column[learned])]
        self.surest, self.unclear = np.zeros((2, len(self.images)), dtype=np.float32)
        for start in range(0, len(self.images), _ROWS_AT_ONCE):
            stop = min(start + _ROWS_AT_ONCE, len(self.images))
            self._refresh_keys(np.arange(start, stop))

    @property
    def states(self) -> npt.NDArray[np.int8]:
        """The state of every entry now, of shape (n_images, n_tags)."""
        return self._now[:, : len(self.tags)]

    def image(self, name: str) -> int | None:
        """Return the number of a picture."""
        return self._number.get(name)

    def tag(self, name: str) -> int | None:
        """Return the number of a tag."""
        return self._tag_number.get(name)

    def state(self, i: int, t: int) -> EntryState:
        """Return the state of an entry now."""
        return EntryState(int(self._now[i, t]))

    def base(self, i: int, t: int) -> EntryState:
        """Return the state of an entry from before the review."""
        return EntryState(int(self._base[i, t])) if t < self._base.shape[1] else EntryState.OPEN

    def threshold(self, t: int) -> float | None:
        """Return from which probability on a tag is suggested; None for never."""
        return _told(self._thresholds, t)

    def quality(self, t: int) -> float | None:
        """Return how well a tag is ranked, 0.5 being chance; None where it was not measured."""
        return _told(self.loaded.qualities, t)

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

    def add_tag(self, name: str) -> int:
        """Make room for a tag that nobody had, and return its number."""
        t = len(self.tags)
        if t == self._now.shape[1]:
            more = np.zeros((len(self.images), _SPARE_COLUMNS), dtype=np.int8, order="F")
            self._now = np.asfortranarray(np.hstack([self._now, more]))
            counts = np.zeros((_SPARE_COLUMNS, N_STATES), dtype=np.int64)
            self.per_tag = np.vstack([self.per_tag, counts])
        self.tags.append(name)
        self._tag_number[name] = t
        self.per_tag[t, EntryState.OPEN] = len(self.images)
        self.per_image[:, EntryState.OPEN] += 1
        return t

    def put(self, entries: Iterable[tuple[int, int, EntryState]]) -> list[Entry]:
        """Set the states of some entries, and return those that changed."""
        changed = []
        for i, t, state in entries:
            before = int(self._now[i, t])
            if before != state:
                self._now[i, t] = state
                for counts, place in ((self.per_image, i), (self.per_tag, t)):
                    counts[place, before] -= 1
                    counts[place, state] += 1
                changed.append((i, t))
        if changed:
            self._refresh_keys(np.unique([i for i, _ in changed]))
        return changed

    def _refresh_keys(self, images: Array) -> None:
        p, state = self.loaded.P[images], self._now[np.ix_(images, self._learned)]
        suggested, open_to = state == EntryState.SUGGESTED, _IS_UNDECIDED[state]
        self.surest[images] = np.fmax.reduce(np.where(suggested, p, -1.0), axis=1, initial=-1.0)
        self.unclear[images] = np.nansum(np.where(open_to, p * (1 - p), 0), axis=1)


def _told(values: Array, t: int) -> float | None:
    """Return what is known of a tag; those that came later have nothing."""
    value = values[t] if t < len(values) else np.nan
    return float(value) if np.isfinite(value) else None


def _counted(states: npt.NDArray[np.int8]) -> tuple[Array, Array]:
    per_image = np.zeros((states.shape[0], N_STATES), dtype=np.int64)
    per_tag = np.zeros((states.shape[1], N_STATES), dtype=np.int64)
    rows = np.arange(states.shape[0])
    for t in range(states.shape[1]):
        per_tag[t] = np.bincount(states[:, t], minlength=N_STATES)
        per_image[rows, states[:, t]] += 1
    return per_image, per_tag
