"""Which labels the learner is trained on, and what it assumes of entries nobody has annotated.

Lists of tags are positive-unlabelled (PU) data: without any absence nothing can be learned, so that
unlisted tags are absent for the learner, and the calibration allows for forgotten ones.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from tagloom.calibration import JudgedByName
from tagloom.completion.inputs import Options
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State

Flags = npt.NDArray[np.bool_]

# How many times more untagged pictures there may be than forgetting single tags would explain.
_MANY = 1.5
# Tags are lists if there are this many times as many presences as absences.
_FEW = 4
# A prior score from which on a picture may well show what a name means: that of a posterior of 1%,
# and never on more than half of the pictures.
_MAY_SHOW = 0.1


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
    by_name: Flags
    """Labels that are judged by what their names mean, as examples are too few or none."""
    never_listed: Flags
    """Those of them that no list holds: that they are unlisted says nothing."""
    ignored: dict[str, int] = field(default_factory=dict)
    """The labels that the vocabulary ignores, each with the number of its pictures."""
    unlinked: tuple[str, ...] = ()
    """Labels that the vocabulary adds, that nobody has annotated, and whose names mean nothing that
    could be seen."""
    implications: tuple[tuple[Hashable, Hashable], ...] = ()
    """Pairs of labels, of which the first implies the second."""

    @property
    def judged(self) -> JudgedByName:
        """Which labels are judged by their names, for the calibration."""
        n_listed = _presences(self.known)
        return JudgedByName(self.by_name, self.never_listed, n_listed)

    @property
    def with_examples(self) -> tuple[Hashable, ...]:
        """The labels with enough examples."""
        return tuple(self.known.labels[column] for column in self.judged.others)

    @property
    def judged_by_name(self) -> tuple[Hashable, ...]:
        """The labels that are judged by their names."""
        return tuple(self.known.labels[column] for column in np.flatnonzero(self.by_name))

    @property
    def too_rare(self) -> dict[str, int]:
        """The labels with too few annotations, each with the number of its pictures."""
        others = {*self.ignored, *self.unlinked}
        return {label: count for label, count in self.not_learned.items() if label not in others}

    @property
    def not_learned(self) -> dict[str, int]:
        """All labels that are not learned, in their order, with the number of their pictures."""
        return _numbers_of_pictures(self.rare)


def training_labels(
    known: PartialLabels,
    options: Options,
    feedback: PartialLabels | None = None,
    implications: Iterable[tuple[Hashable, Hashable]] = (),
    prior: Mapping[Hashable, npt.NDArray[np.floating]] | None = None,
) -> TrainingLabels:
    """Choose the labels that can be learned, and decide what is assumed of unlisted entries.

    `feedback` is the part of `known` that was given on suggestions. The learner is trained on it,
    too, but answering a query does not mean to have gone through all tags of a picture: whether
    tags are lists, and of which pictures, is decided without it. `implications` are pairs of
    labels, of which the first implies the second; they only count where tags are listed.

    `prior` holds the prior scores, one for each picture, of labels whose names mean concepts. With
    them a label is learned that has fewer than `min_pictures`, or none and is added by the
    vocabulary. Where it is not listed it is unknown, and absent only where the prior scores are
    low (reliable negatives, Liu et al. 2003): to take all unlisted entries for absent would unlearn
    what the name says.
    """
    first = known if feedback is None else without(known, feedback)
    unprompted = first.entries()
    tagged = np.bincount(unprompted.rows, minlength=known.n_items) > 0
    # Lists remain lists if a few tags are annotated as absent; tables have mostly absences.
    n_absent = int((~unprompted.present).sum())
    positive_unlabelled = not known.unlisted_weight and _FEW * n_absent < unprompted.present.sum()
    choice = _choose_labels(known, first, options, positive_unlabelled, prior or {})
    chosen, before, rare = (
        known.select(choice.kept),
        first.select(choice.kept),
        known.select(choice.left),
    )
    counts = _numbers_of_pictures(known.select(choice.ignored))
    added = options.vocabulary.added
    unlinked = tuple(tag for tag, n in _numbers_of_pictures(rare).items() if tag in added and not n)
    if not positive_unlabelled:
        # An owner who says what unlisted means has looked at untagged pictures, too.
        unseen = ~before.known_items() & ~tagged
        nothing = np.zeros(chosen.shape, dtype=bool)
        # Where no absence is known, the learner would find a label everywhere.
        hidden = np.zeros(chosen.shape, dtype=bool)
        hidden[:, choice.by_name & (chosen.counts().absent == 0)] = True
        hidden[:, choice.by_name & (chosen.counts().present == 0)] = True
        return TrainingLabels(
            chosen.with_hidden(*np.nonzero(hidden)),
            chosen,
            before,
            False,
            unseen,
            ~unseen,
            nothing,
            nothing,
            rare,
            choice.by_name,
            choice.never_listed,
            counts,
            unlinked,
        )
    unseen = (
        ~tagged
        if _untagged_are_unseen(unprompted.rows, known.n_items, options.untagged)
        else np.zeros_like(tagged)
    )
    pairs = tuple(implications)
    implied, implied_before = _implied(known, chosen, pairs), _implied(first, before, pairs)
    assumed = partial(_unlisted_absent, unseen=unseen, may_show=choice.may_show)
    return TrainingLabels(
        assumed(chosen, implied=implied),
        chosen,
        # Before the feedback its entries were unlisted, and count as such.
        assumed(before, implied=implied_before),
        True,
        unseen,
        tagged | (options.untagged == "seen"),
        implied,
        implied_before,
        rare,
        choice.by_name,
        choice.never_listed,
        counts,
        unlinked,
        pairs,
    )


@dataclass(frozen=True, eq=False)
class _Choice:
    """Which labels are learned (`kept`), and how; the others are `left`, some of them ignored."""

    kept: list[Hashable]
    left: list[Hashable]
    ignored: list[Hashable]
    by_name: Flags
    """Of the kept labels, those that are judged by their names."""
    never_listed: Flags
    may_show: dict[int, Flags]
    """Of these, by their columns: the pictures that may well show what the name means."""


def _choose_labels(
    known: PartialLabels,
    first: PartialLabels,
    options: Options,
    positive_unlabelled: bool,
    prior: Mapping[Hashable, npt.NDArray[np.floating]],
) -> _Choice:
    """Choose the labels to learn: with enough annotations, or judged by their names.

    Where absences are annotated and none is assumed, a label without any would be everywhere.
    """
    vocabulary, labels = options.vocabulary, known.labels
    is_ignored = np.array([vocabulary.is_ignored(str(one)) for one in labels], dtype=bool)
    added = set(vocabulary.added)
    presences, listed = _presences(known), _presences(first)
    wanted = np.array([str(one) in added for one in labels], dtype=bool) | (presences > 0)
    named = np.array([one in prior for one in labels], dtype=bool) & wanted & ~is_ignored
    enough = (presences >= options.min_pictures) & ~is_ignored
    if positive_unlabelled:
        enough &= ~named | (listed >= options.min_pictures)
    else:
        enough &= known.counts().absent > 0
    ignored = [one for one, left in zip(labels, is_ignored.tolist(), strict=True) if left]
    if not enough.any():
        raise _nothing_to_learn(known, options.min_pictures, positive_unlabelled, len(ignored))
    kept = enough | named
    chosen = [one for one, learned in zip(labels, kept.tolist(), strict=True) if learned]
    by_name = ~enough[kept]
    return _Choice(
        chosen,
        [one for one, learned in zip(labels, kept.tolist(), strict=True) if not learned],
        ignored,
        by_name,
        by_name & (listed[kept] == 0),
        {j: _may_show(prior[chosen[j]]) for j in np.flatnonzero(by_name).tolist()},
    )


def _may_show(prior: npt.NDArray[np.floating]) -> Flags:
    return np.asarray(prior >= max(_MAY_SHOW, float(np.median(prior))))


def _nothing_to_learn(
    known: PartialLabels, min_pictures: int, positive_unlabelled: bool, n_ignored: int
) -> InvalidInputError:
    absent = "" if positive_unlabelled else " and is known to be absent from another"
    return InvalidInputError(
        f"No tag is on {min_pictures} or more pictures{absent}: there is nothing to learn from "
        f"({known.n_labels} tags, {int(_presences(known).sum())} times given, {n_ignored} of them "
        "ignored). Give more tags."
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


def _unlisted_absent(
    known: PartialLabels, *, unseen: Flags, implied: Flags, may_show: Mapping[int, Flags]
) -> PartialLabels:
    """Return the labels with implied tags present and other unlisted tags absent.

    On unseen pictures, of which feedback may be known, the other tags stay unknown, and so do
    labels that are judged by their names: without a presence everywhere, else on the pictures that
    may well show what the name means.
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
    n_present = _presences(known) + implied.sum(axis=0)
    for column, shown in may_show.items():
        unknown[:, column] |= shown | (n_present[column] == 0)
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
