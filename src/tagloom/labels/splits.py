"""Split what is known into folds: learn from some entries, judge by the others."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.labels.parsing import unlisted_weight
from tagloom.labels.partial import PartialLabels
from tagloom.labels.storage import UNKNOWN, Entries
from tagloom.validation import check_integer

# §§ hiding
# Hide known labels, to see later how well they are recovered.


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


# §§ main folds


class Fold(NamedTuple):
    """What a learner may see, and what it is judged by; every row is in both."""

    training: PartialLabels
    held_out: PartialLabels


def split_known(known: PartialLabels, n_splits: int, random_state: Seed = None) -> Iterator[Fold]:
    """Hold out each listed entry once, spreading the presences and absences of every label evenly.

    Where unlisted entries are unknown, a held-out entry becomes unknown to the learner. Where they
    are presumed absent, only presences are listed, and a held-out presence becomes what a forgotten
    tag looks like: unlisted. It is then judged against the other unlisted entries, taken as absent.
    """
    check_integer("n_splits", n_splits, at_least=2)
    rng = np.random.default_rng(random_state)
    entries = known.entries()
    rank, _ = random_rank_in_class(entries, known.n_labels, rng)
    # Each label begins with another fold: else rare labels would all be held out in the first.
    offset = rng.integers(n_splits, size=known.n_labels)
    fold_of_entry = (rank + offset[entries.columns]) % n_splits
    for fold in range(n_splits):
        held = fold_of_entry == fold
        yield Fold(_learned_from(known, entries, ~held), _judged_by(known, entries, held))


def split_items(known: PartialLabels, n_splits: int, random_state: Seed = None) -> Iterator[Fold]:
    """Hold out each item of which something is known once, with all that is known of it.

    To the learner nothing is known of a held-out item: it is judged as it will be on new items.
    What is unlisted and presumed absent is judged as absent.
    """
    check_integer("n_splits", n_splits, at_least=2)
    informed = np.flatnonzero((known.states() != UNKNOWN).any(axis=1))
    fold_of_item = np.full(known.n_items, -1)
    order = np.random.default_rng(random_state).permutation(len(informed))
    fold_of_item[informed] = order % n_splits
    judged = _presumed_alike(known) if known.unlisted_weight else known
    for fold in range(n_splits):
        held = fold_of_item == fold
        yield Fold(_without_items(known, held), _without_items(judged, ~held))


def _without_items(known: PartialLabels, hidden: npt.NDArray[np.bool_]) -> PartialLabels:
    rows = np.flatnonzero(hidden)
    return known.with_hidden(
        np.repeat(rows, known.n_labels), np.tile(np.arange(known.n_labels), len(rows))
    )


def _presumed_alike(known: PartialLabels) -> PartialLabels:
    """Return the same with what is unlisted absent for certain: a judge knows no half presence."""
    entries = known.entries()
    truth = PartialLabels.from_entries(
        entries.rows,
        entries.columns,
        entries.present,
        shape=known.shape,
        labels=known.labels,
        items=known.items,
        unlisted_weight=1.0,
    )
    return truth.with_hidden(*known.hidden_entries())


def _learned_from(
    known: PartialLabels, entries: Entries, kept: npt.NDArray[np.bool_]
) -> PartialLabels:
    training = keep_entries(known, entries, kept, known.unlisted_weight)
    return training.with_hidden(*known.hidden_entries()) if known.unlisted_weight else training


def _judged_by(
    known: PartialLabels, entries: Entries, held: npt.NDArray[np.bool_]
) -> PartialLabels:
    presumed_absent = known.unlisted_weight > 0
    truth = PartialLabels.from_entries(
        entries.rows[held],
        entries.columns[held],
        entries.present[held],
        shape=known.shape,
        weights=None if presumed_absent else entries.weights[held],
        labels=known.labels,
        unlisted_weight=1.0 if presumed_absent else 0.0,
    )
    if not presumed_absent:
        return truth
    shown = truth.with_hidden(entries.rows[~held], entries.columns[~held])
    return shown.with_hidden(*known.hidden_entries())
