"""What the learner is taught, and what it must not take for granted."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from tagloom.completion.options import Options
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State

Flags = npt.NDArray[np.bool_]

# Up to so many times the pictures that forgetting single tags would leave without any.
_MANY = 1.5
# A list has so many times as many tags given as denied.
_FEW = 4


@dataclass(frozen=True, eq=False)
class Taught:
    """What the learner is taught of the labels that can be learned.

    Attributes
    ----------
    known : PartialLabels
        For the learner. Where presences far outnumber absences, tags were listed and not asked for
        one by one: unlisted tags of pictures that somebody has looked at are then presumed absent,
        for without absences nothing can be told apart.
    said : PartialLabels
        What people have said of the same labels, with nothing presumed beyond their own word.
    unasked : PartialLabels
        What `known` would be if nobody had been asked about a suggestion. Answers were asked for
        because of their scores: what scores mean has to be read off what was said without.
    only_presences : bool
        Whether absences are presumed for the learner only.
    unseen : array of bool
        Pictures at which nobody has looked, as far as can be told.
    rare : PartialLabels
        What people have said of labels of which too little is known to be learned.
    """

    known: PartialLabels
    said: PartialLabels
    unasked: PartialLabels
    only_presences: bool
    unseen: Flags
    rare: PartialLabels

    @property
    def too_rare(self) -> dict[str, int]:
        """The labels that are not learned, each with the number of its pictures."""
        labels = [str(label) for label in self.rare.labels]
        return dict(zip(labels, _presences(self.rare).tolist(), strict=True))


def teach(said: PartialLabels, options: Options, later: PartialLabels | None = None) -> Taught:
    """Choose the labels that can be learned and decide what is presumed of the rest.

    `later` is what of it was said about suggestions. It teaches as the rest does, but who has
    answered a question has not gone through the tags of a picture: whether tags were listed, and of
    which pictures, is decided without it.
    """
    first = said if later is None else without(said, later)
    unasked = first.entries()
    tagged = np.bincount(unasked.rows, minlength=said.n_items) > 0
    # Lists of tags on which somebody has denied a few are lists of tags all the same; who was asked
    # tag by tag has denied most.
    n_denied = int((~unasked.present).sum())
    only_presences = not said.unlisted_weight and _FEW * n_denied < unasked.present.sum()
    kept, left = _sorted_out(said, options.least_pictures, only_presences)
    chosen, first, rare = said.select(kept), first.select(kept), said.select(left)
    if not only_presences:
        # An owner who says what unlisted means has looked at pictures without any tag, too.
        silent = (first.states() == int(State.UNKNOWN)).all(axis=1)
        return Taught(chosen, chosen, first, False, np.asarray(silent & ~tagged), rare)
    unseen = (
        ~tagged
        if _left_unseen(unasked.rows, said.n_items, options.untagged)
        else np.zeros_like(tagged)
    )
    # What was not on a list before it was asked about was unlisted, and counts as that.
    known = _presumed(chosen, unseen)
    listed = known if later is None else _presumed(first, unseen)
    return Taught(known, chosen, listed, True, unseen, rare)


def _sorted_out(
    said: PartialLabels, least: int, only_presences: bool
) -> tuple[list[Hashable], list[Hashable]]:
    """Return the labels that can be learned, and those of which too little is known.

    Where absences are told and none is presumed, a label without any would be on every picture.
    """
    presences = _presences(said)
    enough = presences >= least
    if not only_presences:
        enough &= said.counts().absent > 0
    if not enough.any():
        absent = "" if only_presences else " and is known to be absent from another"
        raise InvalidInputError(
            f"No tag is on {least} or more pictures{absent}: there is nothing to learn from "
            f"({said.n_labels} tags, {int(presences.sum())} times given). Give more tags."
        )
    named = list(zip(said.labels, enough.tolist(), strict=True))
    return [one for one, learned in named if learned], [
        one for one, learned in named if not learned
    ]


def without(known: PartialLabels, later: PartialLabels) -> PartialLabels:
    """Hide what was said later; items are the same, labels may be others."""
    place = {label: column for column, label in enumerate(known.labels)}
    shared = [label for label in later.labels if label in place]
    entries = later.select(shared).entries()
    columns = np.array([place[label] for label in shared], dtype=np.int64)
    return known.with_hidden(entries.rows, columns[entries.columns])


def _presences(said: PartialLabels) -> npt.NDArray[np.int64]:
    entries = said.entries()
    return np.bincount(entries.columns[entries.present], minlength=said.n_labels)


def _presumed(said: PartialLabels, unseen: Flags) -> PartialLabels:
    """Return the same with unlisted tags absent, but on pictures at which nobody has looked.

    What was said about suggestions is known of those pictures too.
    """
    entries = said.entries()
    presumed = PartialLabels.from_entries(
        entries.rows,
        entries.columns,
        entries.present,
        shape=said.shape,
        weights=entries.weights,
        labels=said.labels,
        items=said.items,
        unlisted_weight=1.0,
    )
    rows, place = np.flatnonzero(unseen), np.cumsum(unseen) - 1
    asked = unseen[entries.rows]
    silent = np.ones((len(rows), said.n_labels), dtype=bool)
    silent[place[entries.rows[asked]], entries.columns[asked]] = False
    hidden_rows, hidden_columns = np.nonzero(silent)
    return presumed.with_hidden(rows[hidden_rows], hidden_columns)


def _left_unseen(rows: npt.NDArray[np.int64], n_items: int, untagged: str) -> bool:
    """Say whether pictures without tags are ones at which nobody has looked.

    If tags were forgotten one by one, their number on a picture would be Poisson's with a mean mu,
    and a share exp(-mu) of the pictures would have none. On pictures with at least one tag the mean
    is mu / (1 - exp(-mu)), which gives mu.
    """
    if untagged != "auto":
        return untagged == "unseen"
    per_picture = np.bincount(rows, minlength=n_items)
    n_tagged = int((per_picture > 0).sum())
    mean = per_picture.sum() / max(1, n_tagged)
    mu = 0.0 if mean <= 1 else float(brentq(lambda m: m / -np.expm1(-m) - mean, 1e-9, mean + 1))
    expected = n_tagged * np.exp(-mu) / -np.expm1(-mu) if mu else np.inf
    return bool(n_items - n_tagged > _MANY * expected)
