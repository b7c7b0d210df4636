"""Split what is known into folds: learn from some entries, judge by the others."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.checks import check_whole
from tagloom.labels._partial import PartialLabels
from tagloom.labels._types import UNKNOWN, Entries
from tagloom.labels.hiding import Seed, keep_entries, random_rank_in_class


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
    check_whole("n_splits", n_splits, at_least=2)
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
    check_whole("n_splits", n_splits, at_least=2)
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
