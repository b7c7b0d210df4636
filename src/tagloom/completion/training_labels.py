"""Which labels the learner is trained on, and what it assumes of entries nobody has annotated.

Lists of tags are positive-unlabelled (PU) data: without any absence nothing can be learned, so that
unlisted tags are absent for the learner, and the calibration allows for forgotten ones.
"""

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from tagloom.completion.inputs import Options
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State

Flags = npt.NDArray[np.bool_]

# How many times more untagged pictures there may be than forgetting single tags would explain.
_MANY = 1.5
# Tags are lists if there are this many times as many presences as absences.
_FEW = 4


@dataclass(frozen=True, eq=False)
class TrainingLabels:
    """Labels for the learner, restricted to those that can be learned."""

    labels: PartialLabels
    """What the learner is trained on. In PU learning the unlisted tags of pictures that somebody
    has looked at are absent here."""
    known: PartialLabels
    """The annotations of the same labels, with nothing assumed beyond them."""
    without_feedback: PartialLabels
    """What `labels` would be without any feedback on suggestions. Feedback is biased, as entries
    were chosen by their scores: probabilities are calibrated without it."""
    positive_unlabelled: bool
    """Whether unlisted tags are absent for the learner only."""
    unseen: Flags
    """Pictures that nobody has looked at, as far as can be told: nothing is assumed about them."""
    looked_at: Flags
    """Pictures that somebody has looked at for certain, so that an unlisted tag is less probable:
    those with tags, and those of which the owner says so."""
    implied: Flags
    """Entries that nobody has annotated and that a listed tag implies: a man is a person. The
    learner takes them for present."""
    implied_without_feedback: Flags
    """The same, by what was listed before any feedback."""
    rare: PartialLabels
    """Annotations of labels that are not learned: too few, or ignored by the vocabulary."""
    ignored: dict[str, int] = field(default_factory=dict)
    """The labels that the vocabulary ignores, each with the number of its pictures."""
    implications: tuple[tuple[Hashable, Hashable], ...] = ()
    """Pairs of labels, of which the first implies the second."""

    @property
    def too_rare(self) -> dict[str, int]:
        """The labels with too few annotations, each with the number of its pictures."""
        counts = _numbers_of_pictures(self.rare)
        return {label: count for label, count in counts.items() if label not in self.ignored}


def training_labels(
    known: PartialLabels,
    options: Options,
    feedback: PartialLabels | None = None,
    implications: Iterable[tuple[Hashable, Hashable]] = (),
) -> TrainingLabels:
    """Choose the labels that can be learned, and decide what is assumed of unlisted entries.

    `feedback` is the part of `known` that was given on suggestions. The learner is trained on it,
    too, but answering a query does not mean to have gone through all tags of a picture: whether
    tags are lists, and of which pictures, is decided without it. `implications` are pairs of
    labels, of which the first implies the second; they only count where tags are listed.
    """
    first = known if feedback is None else without(known, feedback)
    unprompted = first.entries()
    tagged = np.bincount(unprompted.rows, minlength=known.n_items) > 0
    # Lists remain lists if a few tags are annotated as absent; tables have mostly absences.
    n_absent = int((~unprompted.present).sum())
    positive_unlabelled = not known.unlisted_weight and _FEW * n_absent < unprompted.present.sum()
    ignored = [label for label in known.labels if options.vocabulary.is_ignored(str(label))]
    kept, left = _learnable(known, options.min_pictures, positive_unlabelled, ignored)
    chosen, before, rare = known.select(kept), first.select(kept), known.select(left)
    counts = _numbers_of_pictures(known.select(ignored))
    if not positive_unlabelled:
        # An owner who says what unlisted means has looked at untagged pictures, too.
        unseen = np.asarray((before.states() == int(State.UNKNOWN)).all(axis=1) & ~tagged)
        nothing = np.zeros(chosen.shape, dtype=bool)
        return TrainingLabels(
            chosen, chosen, before, False, unseen, ~unseen, nothing, nothing, rare, counts
        )
    unseen = (
        ~tagged
        if _untagged_are_unseen(unprompted.rows, known.n_items, options.untagged)
        else np.zeros_like(tagged)
    )
    pairs = tuple(implications)
    implied, implied_before = _implied(known, chosen, pairs), _implied(first, before, pairs)
    return TrainingLabels(
        _unlisted_absent(chosen, unseen, implied),
        chosen,
        # Before the feedback its entries were unlisted, and count as such.
        _unlisted_absent(before, unseen, implied_before),
        True,
        unseen,
        tagged | (options.untagged == "seen"),
        implied,
        implied_before,
        rare,
        counts,
        pairs,
    )


def _implied(
    known: PartialLabels,
    chosen: PartialLabels,
    implications: Iterable[tuple[Hashable, Hashable]],
) -> Flags:
    """Return the unknown entries of the chosen labels that a present label implies."""
    states = known.states()
    place = {label: column for column, label in enumerate(known.labels)}
    target = {label: column for column, label in enumerate(chosen.labels)}
    implied = np.zeros(chosen.shape, dtype=bool)
    for narrow, broad in implications:
        if narrow in place and broad in target:
            implied[:, target[broad]] |= states[:, place[narrow]] == int(State.PRESENT)
    return np.asarray(implied & (chosen.states() == int(State.UNKNOWN)))


def _learnable(
    known: PartialLabels,
    min_pictures: int,
    positive_unlabelled: bool,
    ignored: Collection[Hashable],
) -> tuple[list[Hashable], list[Hashable]]:
    """Return the labels to learn, and those that are ignored or have too few annotations.

    Where absences are annotated and none is assumed, a label without any would be everywhere.
    """
    presences = _presences(known)
    enough = presences >= min_pictures
    if not positive_unlabelled:
        enough &= known.counts().absent > 0
    enough &= [label not in ignored for label in known.labels]
    if not enough.any():
        absent = "" if positive_unlabelled else " and is known to be absent from another"
        raise InvalidInputError(
            f"No tag is on {min_pictures} or more pictures{absent}: there is nothing to learn from "
            f"({known.n_labels} tags, {int(presences.sum())} times given, {len(ignored)} of them "
            "ignored). Give more tags."
        )
    named = list(zip(known.labels, enough.tolist(), strict=True))
    return [one for one, learned in named if learned], [
        one for one, learned in named if not learned
    ]


def without(labels: PartialLabels, feedback: PartialLabels) -> PartialLabels:
    """Hide the entries of the feedback; items are the same, labels may differ."""
    place = {label: column for column, label in enumerate(labels.labels)}
    shared = [label for label in feedback.labels if label in place]
    entries = feedback.select(shared).entries()
    columns = np.array([place[label] for label in shared], dtype=np.int64)
    return labels.with_hidden(entries.rows, columns[entries.columns])


def _presences(known: PartialLabels) -> npt.NDArray[np.int64]:
    entries = known.entries()
    return np.bincount(entries.columns[entries.present], minlength=known.n_labels)


def _numbers_of_pictures(known: PartialLabels) -> dict[str, int]:
    return dict(zip(map(str, known.labels), _presences(known).tolist(), strict=True))


def _unlisted_absent(known: PartialLabels, unseen: Flags, implied: Flags) -> PartialLabels:
    """Return the labels with implied tags present and other unlisted tags absent.

    On unseen pictures, of which feedback may be known, the other tags stay unknown.
    """
    entries = known.entries()
    at = np.nonzero(implied)
    rows, columns = (
        np.concatenate(both) for both in zip((entries.rows, entries.columns), at, strict=True)
    )
    labels = known.with_entries(
        rows,
        columns,
        np.concatenate([entries.present, np.ones(len(at[0]), dtype=bool)]),
        weights=np.concatenate([entries.weights, np.ones(len(at[0]))]),
        unlisted_weight=1.0,
    )
    unknown = np.broadcast_to(unseen[:, None], known.shape).copy()
    unknown[rows, columns] = False
    return labels.with_hidden(*np.nonzero(unknown))


def _untagged_are_unseen(rows: npt.NDArray[np.int64], n_items: int, untagged: str) -> bool:
    """Tell whether nobody has looked at the pictures without tags.

    If tags were forgotten one by one, their number on a picture would follow a Poisson distribution
    of some mean mu, and a share exp(-mu) of the pictures would have none. The mean over pictures
    with at least one tag is mu / (1 - exp(-mu)), which gives mu.
    """
    if untagged != "auto":
        return untagged == "unseen"
    per_picture = np.bincount(rows, minlength=n_items)
    n_tagged = int((per_picture > 0).sum())
    mean = per_picture.sum() / max(1, n_tagged)
    mu = 0.0 if mean <= 1 else float(brentq(lambda m: m / -np.expm1(-m) - mean, 1e-9, mean + 1))
    expected = n_tagged * np.exp(-mu) / -np.expm1(-mu) if mu else np.inf
    return bool(n_items - n_tagged > _MANY * expected)
