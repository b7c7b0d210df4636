"""Calibrated probabilities for a collection and for new pictures, and what to suggest."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit

from tagloom.calibration.answers import (
    AnswerCorrection,
    ExpectedPrecision,
    expected_precision,
)
from tagloom.calibration.forgetting import (
    Forgetting,
    estimate_forgetting,
    forgotten_at_random,
    judge_clear_entries,
    nothing_forgotten,
)
from tagloom.calibration.listing import ListingModel, fit_listing
from tagloom.labels import PartialLabels, State
from tagloom.metrics import roc_auc
from tagloom.persistence.container import Serialized, joined

Array = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

# A tag whose meaning implies another ("man" implies "person") is listed wrongly now and then, and
# the meaning may be another one.
IMPLIED = 0.95


@dataclass(frozen=True, eq=False)
class Calibration:
    """The probability that an item has a label, given its score.

    Attributes
    ----------
    listing : ListingModel
        The probability of being listed, g.
    forgetting : Forgetting
        From g to the probability of presence, p.
    answers : AnswerCorrection
        What people's answers have added.
    """

    listing: ListingModel
    forgetting: Forgetting
    answers: AnswerCorrection

    def probabilities(
        self, scores: Array, *, unlisted: Flags | bool = False
    ) -> npt.NDArray[np.float32]:
        """Return the probability of presence for scores of learners not shown the entries.

        Where an item is `unlisted`, that of labels missing from a list that could have held them,
        by Bayes' rule (p - g) / (1 - g); otherwise p.
        """
        P = np.empty(scores.shape, dtype=np.float32)
        for column in range(scores.shape[1]):
            p = self.before_answers(scores[:, column], column, unlisted=unlisted)
            P[:, column] = self.answers.apply(p, column)
        return P

    def listed(self, scores: Array) -> npt.NDArray[np.float32]:
        """Return the probability of being listed."""
        G = np.empty(scores.shape, dtype=np.float32)
        for column in range(scores.shape[1]):
            G[:, column] = self.listing.probability(scores[:, column], column)
        return G

    def before_answers(
        self, scores: Array, column: int, *, unlisted: Flags | Floats | bool
    ) -> Floats:
        """Return the probabilities of one label, without regard to answers.

        `unlisted` may be the probability w that a list could have held the label: then they are
        w (p - g) / (1 - g) + (1 - w) p.
        """
        z = self.listing.log_odds_of(scores, column)
        p = self.forgetting.present(z, column)
        if not np.any(unlisted):
            return p
        g = self.listing.ceilings[column] * expit(z)
        w = np.asarray(unlisted, dtype=np.float64)
        return np.asarray(w * np.clip((p - g) / np.maximum(1 - g, 1e-12), 0, 1) + (1 - w) * p)

    def to_state(self) -> Serialized:
        """Return arrays and metadata from which `from_state` restores the calibration."""
        return joined({name: getattr(self, name).to_state() for name in _PARTS})

    @classmethod
    def from_state(cls, state: Serialized) -> "Calibration":
        """Return the calibration that `to_state` has serialised."""
        return cls(*(kind.from_state(state.part(name)) for name, kind in _PARTS.items()))


_PARTS: dict[str, Any] = {
    "listing": ListingModel,
    "forgetting": Forgetting,
    "answers": AnswerCorrection,
}


def calibrate(
    training: PartialLabels,
    scores: Array,
    *,
    positive_unlabelled: bool,
    current: PartialLabels | None = None,
    label_frequency: float | None = None,
    forgetting: Forgetting | None = None,
    random_state: int = 0,
) -> Calibration:
    """Fit a calibration to held-out scores.

    Parameters
    ----------
    training : PartialLabels
        Training labels without feedback on suggestions, which was given because of the scores.
    scores : array of shape (n_items, n_labels)
        Of learners that were not shown the entry.
    positive_unlabelled : bool
        Whether unlisted entries are absent for the learner only, and in truth unknown.
    current : PartialLabels, optional
        Training labels with feedback: they tell about labels that came with the feedback.
    label_frequency : float in (0, 1], optional
        The share of the presences that are listed, where the owner of the lists knows it.
    forgetting : Forgetting, optional
        An earlier estimate, which is kept.
    """
    n_labels = training.n_labels
    fit = partial(fit_listing, training, scores, current=current, random_state=random_state)
    if not positive_unlabelled:
        forgetting = nothing_forgotten(n_labels)
    elif label_frequency is not None:
        forgetting = forgotten_at_random(label_frequency, n_labels)
    if forgetting is not None:
        listing = fit(ceilings=forgetting.ceilings)
    else:
        listing, forgetting = _estimated(fit, training, scores)
    return Calibration(listing, forgetting, AnswerCorrection(np.zeros(n_labels)))


def _estimated(
    fit: Callable[..., ListingModel], training: PartialLabels, scores: Array
) -> tuple[ListingModel, Forgetting]:
    """Fit the listing model without ceilings, read these off it, and fit it once more."""
    states = training.states()
    judged = [states[:, column] != int(State.UNKNOWN) for column in range(training.n_labels)]
    listed = [states[at, column] == int(State.PRESENT) for column, at in enumerate(judged)]

    def by_label(of: Callable[[Array, int], Floats]) -> list[Floats]:
        return [of(scores[at, column], column) for column, at in enumerate(judged)]

    first = fit()
    clear = judge_clear_entries(
        by_label(first.probability),
        by_label(first.common().probability),
        listed,
        roc_auc(training, scores),
    )
    listing = fit(ceilings=clear.ceilings)
    return listing, estimate_forgetting(clear, by_label(listing.log_odds_of), listed)


@dataclass(frozen=True, eq=False)
class CollectionCalibration:
    """Calibrated probabilities for the entries of a collection, and for new pictures.

    Attributes
    ----------
    seen : Calibration
        For held-out entries of pictures that somebody has looked at.
    unseen : Calibration
        For pictures that nobody has looked at: those of the collection without tags, and new ones.
        The learner was not trained to take their tags for absent, and scores them higher.
    is_unseen : array of bool of shape (n_items,)
    is_looked_at : array of bool of shape (n_items,)
        Pictures that somebody has looked at for certain.
    positive_unlabelled : bool
        Whether tags were listed: being unlisted makes a tag less probable.
    looked_at_probability : array of shape (n_items,), optional
        The probability that somebody has looked at a picture, where it is neither certain nor
        unseen (`probability_looked_at`). Models of earlier versions have none.
    """

    seen: Calibration
    unseen: Calibration
    is_unseen: Flags
    is_looked_at: Flags
    positive_unlabelled: bool
    looked_at_probability: Floats | None = None

    @property
    def label_frequencies(self) -> Floats:
        """The share of each label's presences that is listed; 1 where absences are annotated."""
        return self.seen.forgetting.label_frequencies

    @property
    def n_answers(self) -> int:
        """How many answers of people the probabilities rest on."""
        return self.seen.answers.n_answers

    @property
    def _could_be_listed(self) -> Flags:
        """Pictures of which an unlisted tag is less probable for not being listed."""
        return self.is_looked_at & self.positive_unlabelled

    def open_probabilities(
        self, scores: Array, *, listed: Flags, implied: Flags | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the probabilities of open entries, given the scores of the final tagger.

        An entry that a listed tag implies has a probability of at least 0.95.

        Parameters
        ----------
        scores : array of shape (n_items, n_labels)
        listed : array of bool of shape (n_items, n_labels)
            Entries that the tagger was shown, as known or as implied: they score higher, and are
            not among those that are put in order.
        implied : array of bool of shape (n_items, n_labels), optional
        """
        P = self.seen.probabilities(scores, unlisted=self._could_be_listed)
        for column in range(P.shape[1]):
            P[:, column] = self._in_order(P[:, column], scores, listed, column)
        P[self.is_unseen] = self.unseen.probabilities(scores[self.is_unseen])
        if implied is not None:
            for column in np.flatnonzero(implied.any(axis=0)).tolist():
                at = implied[:, column]
                least = self.seen.answers.apply(np.array([IMPLIED], dtype=np.float32), column)
                P[at, column] = np.maximum(P[at, column], least)
        return P

    def before_answers(
        self, scores: Array, of_unseen: Array | None, listed: Flags, column: int
    ) -> Floats:
        """Return the probabilities of a label without regard to answers, if it is open.

        `of_unseen` are the scores of learners that were shown nothing of a picture; `listed` are
        the entries that were known or implied before there were answers.
        """
        p = self.seen.before_answers(scores[:, column], column, unlisted=self._could_be_listed)
        p = self._in_order(p, scores, listed, column)
        if of_unseen is None:
            return p
        unseen = self.unseen.before_answers(of_unseen[:, column], column, unlisted=False)
        return np.where(self.is_unseen, unseen, p)

    def _in_order(self, p: Array, scores: Array, listed: Flags, column: int) -> Array:
        """Put the probabilities of a label into one order, whether or not pictures have tags.

        Pictures with tags have (p - g) / (1 - g), those without any p, although somebody has looked
        at them with a probability w: at the same score they would come first. The order is that of
        w (p - g) / (1 - g) + (1 - w) p instead. Only the order: more is forgotten than lists show,
        so that these values themselves would be too low.
        """
        uncertain = ~self.is_looked_at & ~self.is_unseen
        looked_at = self.looked_at_probability
        if not self.positive_unlabelled or looked_at is None or not uncertain.any():
            return p
        w = np.where(self.is_looked_at, 1.0, looked_at)
        by = self.seen.before_answers(scores[:, column], column, unlisted=w)
        where = ~self.is_unseen & ~listed[:, column]
        return rearranged(p, by, where, ties=scores[:, column])

    def expected_precision(self, p: Array) -> ExpectedPrecision:
        """Return the expected share of presences among entries of these probabilities."""
        return expected_precision(p, self.seen.answers, exact=not self.positive_unlabelled)

    def with_answers(self, answers: AnswerCorrection) -> "CollectionCalibration":
        """Return the calibration corrected by answers."""
        seen, unseen = (replace(one, answers=answers) for one in (self.seen, self.unseen))
        return replace(self, seen=seen, unseen=unseen)

    def to_state(self) -> Serialized:
        """Return arrays and metadata from which `from_state` restores the calibration."""
        parts = {name: getattr(self, name).to_state() for name in ("seen", "unseen")}
        arrays: dict[str, Array] = {
            "is_unseen": self.is_unseen,
            "is_looked_at": self.is_looked_at,
        }
        if self.looked_at_probability is not None:
            arrays["looked_at_probability"] = self.looked_at_probability
        own = Serialized(arrays, {"positive_unlabelled": bool(self.positive_unlabelled)})
        return joined(parts, own)

    @classmethod
    def from_state(cls, state: Serialized) -> "CollectionCalibration":
        """Return the calibration that `to_state` has serialised."""
        return cls(
            Calibration.from_state(state.part("seen")),
            Calibration.from_state(state.part("unseen")),
            state.arrays["is_unseen"].astype(bool),
            state.arrays["is_looked_at"].astype(bool),
            state.metadata["positive_unlabelled"],
            state.arrays.get("looked_at_probability"),
        )


def probability_looked_at(G: Array, n_tagged: int) -> Floats:
    """Return for pictures without tags the probability that somebody has looked at them.

    A zero-inflated model (Lambert 1992). Somebody has looked at a picture with probability pi; then
    its tags are listed independently, with probabilities g_l, and none is with probability
    q = prod_l (1 - g_l). So a picture has no tag with probability 1 - pi + pi q, and pi maximises

        n_tagged log pi + sum_i log(1 - pi + pi q_i),

    which is concave. By Bayes' rule w_i = pi q_i / (1 - pi + pi q_i): where many tags are probable
    and none is listed, nobody has looked.

    Parameters
    ----------
    G : array of shape (n_untagged, n_labels)
        Held-out probabilities of being listed, for the pictures without tags.
    n_tagged : int
        How many pictures have tags.
    """
    q = np.exp(np.log1p(-np.clip(G, 0, 1 - 1e-6)).sum(axis=1, dtype=np.float64))
    if not n_tagged:
        return np.zeros(len(q))

    def slope(pi: float) -> float:
        return float(n_tagged / pi - ((1 - q) / np.maximum(1 - pi + pi * q, 1e-300)).sum())

    # If every q were 0, the share of pictures with tags would be the maximum.
    least = n_tagged / (n_tagged + len(q)) * (1 - 1e-9)
    pi = 1.0 if slope(1.0) >= 0 else float(brentq(slope, least, 1.0))
    return np.asarray(pi * q / np.maximum(1 - pi + pi * q, 1e-300))


def rearranged(estimates: Array, by: Array, where: Flags, *, ties: Array) -> Array:
    """Exchange estimates where told, so that the k-th highest is where `by` is k-th highest.

    Where `by` is equal, `ties` decides; where it is equal everywhere, it says nothing, and the
    estimates stay.

    If the truth rises with `by`, the rearranged estimates are together never farther from it than
    the original ones, in any L^r norm with r >= 1 (Chernozhukov, Fernandez-Val and Galichon 2009).
    Their sum and their number above a threshold stay as they were.
    """
    at = np.flatnonzero(where)
    result = estimates.copy()
    if len(at) and np.ptp(by[at]) > 0:
        result[at[np.lexsort((ties[at], by[at]))]] = np.sort(estimates[at])
    return result


def choose_threshold(P: Array, is_open: Flags, precision: float) -> float:
    """Return the probability from which open entries are suggested, infinity for never.

    The largest set of the most probable entries is suggested whose mean probability reaches
    `precision`: with p_1 >= p_2 >= ... it is p_k for the largest k with (p_1 + ... + p_k) / k >=
    precision. Entries of equal p are suggested together or not at all. All labels share the
    threshold: with calibrated probabilities no other set of that precision is larger.
    """
    p = np.sort(P[is_open].astype(np.float64))[::-1]
    last_of_equals = np.append(p[:-1] > p[1:], True)[: len(p)]
    enough = np.cumsum(p) / np.arange(1, len(p) + 1) >= precision
    found = np.flatnonzero(enough & last_of_equals)
    return float(p[found[-1]]) if len(found) else np.inf
