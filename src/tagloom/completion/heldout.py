"""Scores as the learner gives them to entries that it was not shown."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.labels import PartialLabels, State, split_items, split_known

Array = npt.NDArray[Any]
Score = Callable[[int, PartialLabels], Array]


def held_out_scores(
    known: PartialLabels, final: Array, score: Score, *, n_splits: int = 4, random_state: int = 0
) -> Array:
    """Hide each listed entry once and note its score; of the others, the score in one of the folds.

    `score(fold, training)` gives the scores of all entries by a learner that knows `training`;
    `final` are those of the learner that knows all.

    Who knows less gives other scores: where unlisted tags are presumed absent and a quarter of the
    presences is hidden, scores are lower by a quarter. With H the scores of the folds and F the
    final ones, H is multiplied by <F, H> / <H, H>, taken over the entries of which nobody has said
    anything.
    """
    entries = known.entries()
    listed = np.zeros(known.shape, dtype=bool)
    listed[entries.rows, entries.columns] = True
    H = np.empty_like(final)
    for number, fold in enumerate(split_known(known, n_splits, random_state)):
        scores = score(number, fold.training)
        others = np.arange(number, len(H), n_splits)
        H[others] = np.where(listed[others], H[others], scores[others])
        shown = fold.training.entries()
        held = listed.copy()
        held[shown.rows, shown.columns] = False
        H[held] = scores[held]
    return np.asarray(H * _slope(final, H, ~listed))


def held_out_pictures(
    known: PartialLabels, final: Array, score: Score, *, n_splits: int = 4, random_state: int = 0
) -> Array:
    """Hide each picture of which something is known once, with all that is known of it.

    So are scored pictures at which nobody has looked: of a picture that was looked at, the learner
    is taught that what is not listed is absent, a hidden presence as well, and scores it lower. The
    scores of the folds are multiplied as in `held_out_scores`, by those of the pictures at which
    nobody has looked, of which the mean over the folds is returned.
    """
    informed = _informed(known)
    H = np.zeros_like(final)
    for number, fold in enumerate(split_items(known, n_splits, random_state)):
        scores = score(number, fold.training)
        held = informed & ~_informed(fold.training)
        H[held] = scores[held]
        H[~informed] += scores[~informed] / n_splits
    where = np.broadcast_to(~informed[:, None], H.shape)
    return np.asarray(H * _slope(final, H, where))


def _informed(known: PartialLabels) -> npt.NDArray[np.bool_]:
    return np.asarray((known.states() != int(State.UNKNOWN)).any(axis=1))


def _slope(F: Array, H: Array, where: npt.NDArray[np.bool_]) -> float:
    below = float(np.square(H, where=where, out=np.zeros_like(H)).sum(dtype=np.float64))
    above = float(np.multiply(F, H, where=where, out=np.zeros_like(H)).sum(dtype=np.float64))
    return above / below if below > 0 and above > 0 else 1.0
