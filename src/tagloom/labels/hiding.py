"""Hide known labels, to see later how well they are recovered."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.labels._partial import PartialLabels
from tagloom.labels._reading_tags import unlisted_weight
from tagloom.labels._types import Entries

Seed = int | np.random.Generator | None


def hide_per_class(known: PartialLabels, rate: float, random_state: Seed = None) -> PartialLabels:
    """Keep a share of the presences and of the absences of each label; all else becomes unknown.

    This is the paper's "sample w% of labels from each class": each count is rounded up, so that a
    label that has a known presence keeps one.

    >>> Y = PartialLabels.from_array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> hide_per_class(Y, 0.5, random_state=0)
    PartialLabels(4 items x 2 labels: 3 present, 2 absent, 3 unknown)
    """
    entries = _listed(known, rate)
    order, size = random_rank_in_class(entries, known.n_labels, np.random.default_rng(random_state))
    return keep_entries(known, entries, order < _rounded_up(rate, size))


def hide_uniformly(known: PartialLabels, rate: float, random_state: Seed = None) -> PartialLabels:
    """Keep a share of the known entries, whatever their label and state.

    >>> Y = PartialLabels.from_array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> hide_uniformly(Y, 0.5, random_state=0).n_known
    4
    """
    entries = _listed(known, rate)
    rng = np.random.default_rng(random_state)
    n_kept = round(rate * len(entries.rows))
    kept = np.zeros(len(entries.rows), dtype=bool)
    kept[rng.permutation(len(kept))[:n_kept]] = True
    return keep_entries(known, entries, kept)


def keep_presences(
    known: PartialLabels,
    rate: float,
    *,
    unlisted: Literal["unknown", "absent"] | float | None = None,
    random_state: Seed = None,
) -> PartialLabels:
    """Keep a share of the presences of each label, rounded up; everything else is unlisted.

    This is what collections of tags look like. What an unlisted tag means must be said, as in
    `PartialLabels.from_tags`.

    >>> Y = PartialLabels.from_array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> keep_presences(Y, 0.5, unlisted="unknown", random_state=0)
    PartialLabels(4 items x 2 labels: 3 present, 0 absent, 5 unknown)
    """
    entries = _listed(known, rate)
    order, size = random_rank_in_class(entries, known.n_labels, np.random.default_rng(random_state))
    kept = entries.present & (order < _rounded_up(rate, size))
    return keep_entries(known, entries, kept, unlisted_weight(unlisted))


def known_classes(entries: Entries, n_labels: int) -> npt.NDArray[np.int64]:
    """Return for each entry the number of its class: its label and whether it is present."""
    return entries.columns + n_labels * entries.present


def random_rank_in_class(
    entries: Entries, n_labels: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each entry its place in a random order of its class, and the size of the class."""
    classes = known_classes(entries, n_labels)
    shuffled = rng.permutation(len(classes))
    grouped = shuffled[np.argsort(classes[shuffled], kind="stable")]
    size = np.bincount(classes, minlength=2 * n_labels)
    first = np.cumsum(size) - size
    rank = np.empty(len(classes), dtype=np.int64)
    rank[grouped] = np.arange(len(classes)) - first[classes[grouped]]
    return rank, size[classes]


def _rounded_up(rate: float, size: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the share of each size, rounded up; 0.07 of 100 is 7, whatever floats make of it."""
    return np.asarray(np.ceil(rate * size - 1e-9))


def _listed(known: PartialLabels, rate: float) -> Entries:
    if not 0 < rate <= 1:
        raise InvalidInputError(
            f"rate must be a share in (0, 1] of the labels to keep; got {rate}."
        )
    if known.unlisted_weight:
        raise InvalidInputError(
            "Labels can be hidden only where each known entry is listed; here unlisted entries are "
            f"presumed absent with weight {known.unlisted_weight:g}."
        )
    return known.entries()


def keep_entries(
    known: PartialLabels, entries: Entries, kept: npt.NDArray[np.bool_], unlisted: float = 0.0
) -> PartialLabels:
    """Return the chosen entries of `known` under its names; all else is unlisted."""
    return PartialLabels.from_entries(
        entries.rows[kept],
        entries.columns[kept],
        entries.present[kept],
        shape=known.shape,
        weights=entries.weights[kept],
        labels=known.labels,
        items=known.items,
        unlisted_weight=unlisted,
    )
