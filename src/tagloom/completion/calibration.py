"""From scores to probabilities that mean what they say."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from tagloom.errors import TagloomWarning
from tagloom.labels import PartialLabels
from tagloom.metrics import roc_auc
from tagloom.persistence.container import Serialized, joined

# §§ main calibration


Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

_SMALLEST = 1e-4
_PENALTY = 1.0
# All high scores are used and one in twenty of the others, which are many and alike.
_HIGH, _SHARE_OF_LOW = 0.95, 0.05
# Half is chance; who is right in so few comparisons of two pictures sees next to nothing.
_BLIND = 0.6


@dataclass(frozen=True, eq=False)
class Calibration:
    """The probability that an item has a label, given its score.

    With t = max(score, 1e-4) and q the log-odds of the label among what is said of it,

        p = 1 / (1 + exp(-w'[log t, t, sqrt t, q, q log t, q t, 1])).

    Where only presences are listed, p cannot be seen: what can be seen is whether the label is
    listed, with probability c p. The completeness c is the share of the presences that are listed;
    it is assumed to be the same for all items and labels.

    Attributes
    ----------
    completeness : float in (0, 1]
        c; 1 where absences are listed too or what is unlisted is absent.
    log_odds : array of shape (n_labels,)
        q.
    weights, mean, scale : arrays of shape (7,), (6,) and (6,)
        w for the standardised terms, the constant last.
    """

    completeness: float
    log_odds: Floats
    weights: Floats
    mean: Floats
    scale: Floats

    def probabilities(self, scores: Array) -> npt.NDArray[np.float32]:
        """Return p for a table of scores, of items of which nothing is said."""
        p = np.empty(scores.shape, dtype=np.float32)
        for column in range(scores.shape[1]):
            p[:, column] = self._of_label(scores[:, column].astype(np.float64), column)
        return p

    def _of_label(self, scores: Floats, column: int) -> Floats:
        terms = _terms(scores, np.full(len(scores), self.log_odds[column]))
        return np.asarray(expit(_standard(terms, self.mean, self.scale) @ self.weights))

    def if_unlisted(self, p: Array) -> Array:
        """Return the probability of a label that is not on a list that could have held it.

        By Bayes' rule p (1 - c) / (1 - c p).
        """
        c = self.completeness
        # Rounding may lift it above 1.
        return np.minimum(p * (1 - c) / np.maximum(1 - c * p, 1e-12), 1, dtype=p.dtype)


def calibrate(
    known: PartialLabels,
    scores: Array,
    *,
    only_presences: bool,
    said: PartialLabels | None = None,
    by_now: PartialLabels | None = None,
    completeness: float | None = None,
    random_state: int = 0,
) -> Calibration:
    """Fit by maximum likelihood what held-out scores say about known entries.

    Parameters
    ----------
    known : PartialLabels
        Without answers to suggestions, which were asked for because of their scores.
    scores : array of shape (n_items, n_labels)
        Of learners that did not know the entry, see `held_out_scores`.
    only_presences : bool
        Whether unlisted entries are presumed absent for the learner only, and in truth unknown.
    said : PartialLabels, optional
        What people have said where `known` presumes more, and forgets which absences were denied.
    by_now : PartialLabels, optional
        What is known with the answers: q of labels that came with them.
    completeness : float in (0, 1], optional
        c, where the owner of the lists knows it; else it is estimated.
    """
    if by_now is not None and not known.n_present:
        # All that was said unasked has been taken back.
        known, said = by_now, None
    said = known if said is None else said
    seen = _seen(known, said, scores, np.random.default_rng(random_state))
    q = _log_odds(known, known if by_now is None else by_now)
    terms = _terms(seen.scores, q[seen.columns])
    mean, scale = terms.mean(axis=0), terms.std(axis=0)
    scale[scale == 0] = 1.0
    D = _standard(terms, mean, scale)
    if not only_presences:
        completeness = 1.0
    elif completeness is None and _told_apart(known, scores) < _BLIND:
        # Then the top is as mixed as the rest, and says nothing about what was forgotten.
        warnings.warn(
            "The pictures hardly tell who has a tag from who has not: on tagged pictures nothing "
            "is suggested. Give more tags, or say how complete they are (completeness).",
            TagloomWarning,
            stacklevel=2,
        )
        completeness = 1.0
    elif completeness is None:
        completeness = _listed_at_the_top(expit(D @ _fitted(D, seen, 1.0)), seen)
    return Calibration(completeness, q, _fitted(D, seen, completeness), mean, scale)


@dataclass(frozen=True, eq=False)
class _Seen:
    """Entries whose state is known or presumed, with the scores they had when it was not."""

    scores: Floats
    columns: npt.NDArray[np.int64]
    present: npt.NDArray[np.bool_]
    denied: npt.NDArray[np.bool_]
    weights: Floats


def _seen(
    known: PartialLabels, said: PartialLabels, scores: Array, rng: np.random.Generator
) -> _Seen:
    entries = said.entries()
    listed = _Seen(
        scores[entries.rows, entries.columns].astype(np.float64),
        entries.columns,
        entries.present,
        ~entries.present,
        entries.weights,
    )
    if not known.unlisted_weight:
        return listed
    presumed = np.ones(known.shape, dtype=bool)
    presumed[entries.rows, entries.columns] = False
    presumed[known.hidden_entries()] = False
    rows, columns = np.nonzero(presumed)
    others = scores[rows, columns].astype(np.float64)
    high = others >= np.quantile(others, _HIGH) if len(others) else np.zeros(0, dtype=bool)
    kept = high | (rng.random(len(others)) < _SHARE_OF_LOW)
    weights = known.unlisted_weight * np.where(high[kept], 1.0, 1 / _SHARE_OF_LOW)
    return _Seen(
        np.concatenate([listed.scores, others[kept]]),
        np.concatenate([listed.columns, columns[kept]]),
        np.concatenate([listed.present, np.zeros(kept.sum(), dtype=bool)]),
        np.concatenate([listed.denied, np.zeros(kept.sum(), dtype=bool)]),
        np.concatenate([listed.weights, weights]),
    )


def _told_apart(known: PartialLabels, scores: Array) -> float:
    """Return how often a listed entry beats an unlisted one of its label, over all that is listed.

    1 where there is nothing to compare.
    """
    won, n_present = roc_auc(known, scores), known.counts().present
    compared = ~np.isnan(won)
    if not compared.any():
        return 1.0
    return float(np.average(won[compared], weights=n_present[compared]))


def _log_odds(known: PartialLabels, by_now: PartialLabels) -> Floats:
    first, now = known.counts(), by_now.counts()
    new = first.present == 0
    present = np.where(new, now.present, first.present)
    absent = np.where(new, now.absent, first.absent)
    return np.asarray(np.log((present + 0.5) / (absent + 0.5)), dtype=np.float64)


def _terms(scores: Floats, q: Floats) -> Floats:
    t = np.maximum(scores, _SMALLEST)
    log_t = np.log(t)
    return np.stack([log_t, t, np.sqrt(t), q, q * log_t, q * t], axis=1)


def _standard(terms: Floats, mean: Floats, scale: Floats) -> Floats:
    return np.hstack([(terms - mean) / scale, np.ones((len(terms), 1))])


def _fitted(D: Floats, seen: _Seen, completeness: float) -> Floats:
    """Return w that maximises the likelihood of the lists.

    An entry is listed with probability c p, with p the logistic of D w; what was denied is absent:

        sum_listed log(c p) + sum_unlisted log(1 - c p) + sum_denied log(1 - p) - 1/2 ||w||^2,

    the constant apart.
    """
    present, weights = seen.present, seen.weights
    c = np.where(seen.denied, 1.0, completeness)

    def loss(w: Floats) -> tuple[float, Floats]:
        z = D @ w
        p = expit(z)
        rest = np.maximum(1 - c * p, 1e-12)
        likelihood = np.where(present, log_expit(z), np.log(rest))
        slope = np.where(present, 1 - p, -c * p * (1 - p) / rest)
        penalty = np.append(w[:-1], 0.0) * _PENALTY
        value = -weights @ likelihood + 0.5 * penalty @ w
        return float(value), np.asarray(penalty - D.T @ (weights * slope))

    start = np.zeros(D.shape[1])
    share = weights[present].sum() / weights.sum()
    start[-1] = np.log(share / (1 - share)) if 0 < share < 1 else 0.0
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return np.asarray(found.x)


def _listed_at_the_top(p: Floats, seen: _Seen) -> float:
    """Return the share of the entries of highest probability that are listed.

    At the top nearly all entries are present; what is not listed there was forgotten. The top ends
    where it holds 150 of the listed presences, or a quarter of them if they are few. With r of them
    among N entries the share is (r - 1) / N: the last one is there because it ends the top, and so
    no list is ever taken for complete, which would forbid every suggestion.
    """
    asked = ~seen.denied
    order = np.flatnonzero(asked)[np.argsort(-p[asked], kind="stable")]
    listed = np.cumsum(seen.weights[order] * seen.present[order])
    wanted = min(150.0, 0.25 * float(listed[-1]))
    end = int(np.searchsorted(listed, wanted))
    total = float(np.cumsum(seen.weights[order])[end])
    return float(np.clip((listed[end] - 1) / total, 0.01, 1.0))


# §§ meaning
# What the scores of a collection mean, picture by picture.


_ARRAYS = ("log_odds", "weights", "mean", "scale")


@dataclass(frozen=True, eq=False)
class Meaning:
    """Probabilities of the entries of a collection, and of new pictures.

    Attributes
    ----------
    calibration : Calibration
        For pictures that somebody has looked at, as if a tag had not been said, and for new ones.
    of_unseen : Calibration
        For pictures of the collection at which nobody has looked. The learner was not taught that
        their tags are absent, and scores them higher.
    unseen : array of bool of shape (n_items,)
    from_lists : bool
        Whether tags were listed: a tag that is not on a list is less likely for that.
    """

    calibration: Calibration
    of_unseen: Calibration
    unseen: npt.NDArray[np.bool_]
    from_lists: bool

    def as_if_unsaid(self, scores: Array) -> npt.NDArray[np.float32]:
        """Return probabilities from scores of learners that did not know the entry."""
        return self.calibration.probabilities(scores)

    def as_it_stands(self, scores: Array) -> npt.NDArray[np.float32]:
        """Return the probabilities of open entries, given the scores of the collection."""
        P = self.calibration.probabilities(scores)
        if self.from_lists:
            P = np.asarray(self.calibration.if_unlisted(P))
        P[self.unseen] = self.of_unseen.probabilities(scores[self.unseen])
        return P


def serialize_meaning(meaning: Meaning) -> Serialized:
    """Return what has to be kept of it."""
    parts = {
        "calibration": _serialized(meaning.calibration),
        "of_unseen": _serialized(meaning.of_unseen),
    }
    own = Serialized({"unseen": meaning.unseen}, {"from_lists": bool(meaning.from_lists)})
    return joined(parts, own)


def deserialize_meaning(serialized: Serialized) -> Meaning:
    """Return that of which `serialize_meaning` told."""
    return Meaning(
        _deserialized(serialized.part("calibration")),
        _deserialized(serialized.part("of_unseen")),
        serialized.arrays["unseen"].astype(bool),
        serialized.metadata["from_lists"],
    )


def _serialized(calibration: Calibration) -> Serialized:
    arrays = {name: getattr(calibration, name) for name in _ARRAYS}
    return Serialized(arrays, {"completeness": calibration.completeness})


def _deserialized(serialized: Serialized) -> Calibration:
    arrays = (serialized.arrays[name] for name in _ARRAYS)
    return Calibration(serialized.metadata["completeness"], *arrays)


# §§ thresholds
# From which probability on a tag is suggested, label by label.


# The best F1 of a label of which little is known may ask for tags that are hardly ever right.
LEAST = 0.25


def choose_thresholds(P: Array, open_to: npt.NDArray[np.bool_], precision: float | None) -> Floats:
    """Return for each label the probability from which on it is suggested, infinity for never.

    Parameters
    ----------
    P : array of shape (n_items, n_labels)
        Probabilities.
    open_to : array of bool of the same shape
        Entries for which a suggestion can be made.
    precision : float in (0, 1), optional
        The share of suggestions that shall be right: as many as possible are made whose
        probabilities have this mean. Without it the expected F1 is made as large as possible, by no
        suggestion below 0.25.
    """
    thresholds = np.full(P.shape[1], np.inf)
    for column in range(P.shape[1]):
        p = np.sort(P[open_to[:, column], column].astype(np.float64))[::-1]
        if len(p):
            thresholds[column] = _for_f1(p) if precision is None else _for_precision(p, precision)
    return thresholds


def _for_precision(p: Floats, precision: float) -> float:
    """Return the k-th highest p for the largest k with (p_1 + ... + p_k) / k >= precision.

    Entries of equal p are suggested together or not at all.
    """
    last_of_equals = np.append(p[:-1] > p[1:], True)
    right = np.cumsum(p) / np.arange(1, len(p) + 1) >= precision
    enough = np.flatnonzero(right & last_of_equals)
    return float(p[enough[-1]]) if len(enough) else np.inf


def _for_f1(p: Floats) -> float:
    """Return the k-th highest p for the k at which 2 (p_1 + ... + p_k) / (k + sum p) is largest."""
    f1 = 2 * np.cumsum(p) / (np.arange(1, len(p) + 1) + p.sum())
    best = float(p[int(np.argmax(f1))])
    return max(best, LEAST)
