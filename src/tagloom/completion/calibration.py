"""From scores to calibrated probabilities, and from those to thresholds for suggestions.

Lists of tags are positive-unlabelled (PU) data: a present tag is listed with some probability c,
the *label frequency*, and a tag that is not listed may be absent or merely forgotten. As in Elkan
and Noto (2008, "Learning classifiers from only positive and unlabeled data") c is assumed to be the
same for all items and labels: an entry of probability p is listed with probability c p.
"""

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

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

_SMALLEST = 1e-4
_PENALTY = 1.0
# All high scores are used and one in twenty of the others, which are many and similar.
_HIGH, _SHARE_OF_LOW = 0.95, 0.05
# Below this ROC AUC (0.5 is chance) the ranking is too poor to estimate the label frequency.
_LEAST_AUC = 0.6
# The best F1 of a label with few annotations may ask for tags that are hardly ever right.
LEAST = 0.25


@dataclass(frozen=True, eq=False)
class Calibration:
    """The probability that an item has a label, given its score.

    With t = max(score, 1e-4) and q the log-odds of the label among its known entries,

        p = 1 / (1 + exp(-w'[log t, t, sqrt t, q, q log t, q t, 1])).

    Attributes
    ----------
    label_frequency : float in (0, 1]
        c, the share of the presences that are listed; 1 where absences are annotated too or
        unlisted entries are absent.
    log_odds : array of shape (n_labels,)
        q.
    weights, mean, scale : arrays of shape (7,), (6,) and (6,)
        w for the standardised terms, the constant last.
    """

    label_frequency: float
    log_odds: Floats
    weights: Floats
    mean: Floats
    scale: Floats

    def probabilities(self, scores: Array) -> npt.NDArray[np.float32]:
        """Return p for scores of learners that were not shown the entries."""
        p = np.empty(scores.shape, dtype=np.float32)
        for column in range(scores.shape[1]):
            of_label = scores[:, column].astype(np.float64)
            terms = _terms(of_label, np.full(len(of_label), self.log_odds[column]))
            p[:, column] = expit(_standardized(terms, self.mean, self.scale) @ self.weights)
        return p

    def if_unlisted(self, p: Array) -> Array:
        """Return the probability of a label that is missing from a list that could have held it.

        By Bayes' rule p (1 - c) / (1 - c p).
        """
        c = self.label_frequency
        # Rounding may lift it above 1.
        return np.minimum(p * (1 - c) / np.maximum(1 - c * p, 1e-12), 1, dtype=p.dtype)


def calibrate(
    training: PartialLabels,
    scores: Array,
    *,
    positive_unlabelled: bool,
    known: PartialLabels | None = None,
    current: PartialLabels | None = None,
    label_frequency: float | None = None,
    random_state: int = 0,
) -> Calibration:
    """Fit a calibration to held-out scores by maximum likelihood.

    Parameters
    ----------
    training : PartialLabels
        Training labels without feedback on suggestions, which is biased: it was given because of
        the scores.
    scores : array of shape (n_items, n_labels)
        Of learners that were not shown the entry, see `held_out_scores`.
    positive_unlabelled : bool
        Whether unlisted entries are absent for the learner only, and in truth unknown.
    known : PartialLabels, optional
        The annotations behind `training`, which tells which absences were annotated.
    current : PartialLabels, optional
        Training labels with feedback: they give q for labels that came with the feedback.
    label_frequency : float in (0, 1], optional
        c, where the owner of the lists knows it; otherwise it is estimated.
    """
    if current is not None and not training.n_present:
        # All of the original annotations have been withdrawn.
        training, known = current, None
    known = training if known is None else known
    entries = _calibration_entries(training, known, scores, np.random.default_rng(random_state))
    q = _log_odds(training, training if current is None else current)
    terms = _terms(entries.scores, q[entries.columns])
    mean, scale = terms.mean(axis=0), terms.std(axis=0)
    scale[scale == 0] = 1.0
    D = _standardized(terms, mean, scale)
    if not positive_unlabelled:
        label_frequency = 1.0
    elif label_frequency is None and _mean_auc(training, scores) < _LEAST_AUC:
        # Then the top of the ranking is as mixed as the rest, and tells nothing of forgotten tags.
        warnings.warn(
            "The pictures hardly tell which of them have a tag: nothing is suggested for tagged "
            "pictures. Give more tags, or the share of the tags that is given (label_frequency).",
            TagloomWarning,
            stacklevel=2,
        )
        label_frequency = 1.0
    elif label_frequency is None:
        label_frequency = _share_listed_at_top(expit(D @ _fit(D, entries, 1.0)), entries)
    return Calibration(label_frequency, q, _fit(D, entries, label_frequency), mean, scale)


@dataclass(frozen=True, eq=False)
class _Entries:
    """Known and presumed entries with their held-out scores."""

    scores: Floats
    columns: npt.NDArray[np.int64]
    present: npt.NDArray[np.bool_]
    absent: npt.NDArray[np.bool_]
    """Annotated as absent, not merely unlisted."""
    weights: Floats


def _calibration_entries(
    training: PartialLabels, known: PartialLabels, scores: Array, rng: np.random.Generator
) -> _Entries:
    """Return all known entries and a weighted sample of the presumed absences."""
    entries = known.entries()
    listed = _Entries(
        scores[entries.rows, entries.columns].astype(np.float64),
        entries.columns,
        entries.present,
        ~entries.present,
        entries.weights,
    )
    if not training.unlisted_weight:
        return listed
    presumed = np.ones(training.shape, dtype=bool)
    presumed[entries.rows, entries.columns] = False
    presumed[training.hidden_entries()] = False
    rows, columns = np.nonzero(presumed)
    others = scores[rows, columns].astype(np.float64)
    high = others >= np.quantile(others, _HIGH) if len(others) else np.zeros(0, dtype=bool)
    kept = high | (rng.random(len(others)) < _SHARE_OF_LOW)
    weights = training.unlisted_weight * np.where(high[kept], 1.0, 1 / _SHARE_OF_LOW)
    return _Entries(
        np.concatenate([listed.scores, others[kept]]),
        np.concatenate([listed.columns, columns[kept]]),
        np.concatenate([listed.present, np.zeros(kept.sum(), dtype=bool)]),
        np.concatenate([listed.absent, np.zeros(kept.sum(), dtype=bool)]),
        np.concatenate([listed.weights, weights]),
    )


def _mean_auc(labels: PartialLabels, scores: Array) -> float:
    """Return the mean ROC AUC of the labels, weighted by presences; 1 where none is defined."""
    auc, n_present = roc_auc(labels, scores), labels.counts().present
    defined = ~np.isnan(auc)
    if not defined.any():
        return 1.0
    return float(np.average(auc[defined], weights=n_present[defined]))


def _log_odds(training: PartialLabels, current: PartialLabels) -> Floats:
    first, now = training.counts(), current.counts()
    new = first.present == 0
    present = np.where(new, now.present, first.present)
    absent = np.where(new, now.absent, first.absent)
    return np.asarray(np.log((present + 0.5) / (absent + 0.5)), dtype=np.float64)


def _terms(scores: Floats, q: Floats) -> Floats:
    t = np.maximum(scores, _SMALLEST)
    log_t = np.log(t)
    return np.stack([log_t, t, np.sqrt(t), q, q * log_t, q * t], axis=1)


def _standardized(terms: Floats, mean: Floats, scale: Floats) -> Floats:
    return np.hstack([(terms - mean) / scale, np.ones((len(terms), 1))])


def _fit(D: Floats, entries: _Entries, label_frequency: float) -> Floats:
    """Return the w that maximises the penalised likelihood of the labels.

    An entry is listed with probability c p, with p the logistic function of D w; an entry that is
    annotated as absent is absent:

        sum_listed log(c p) + sum_unlisted log(1 - c p) + sum_absent log(1 - p) - 1/2 ||w||^2,

    where the constant is not penalised.
    """
    present, weights = entries.present, entries.weights
    c = np.where(entries.absent, 1.0, label_frequency)

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


def _share_listed_at_top(p: Floats, entries: _Entries) -> float:
    """Estimate the label frequency as the share of the most probable entries that are listed.

    At the top nearly all entries are present; those not listed were forgotten. The top ends where
    it holds 150 of the listed presences, or a quarter of them if they are few. With r of them among
    N entries the estimate is (r - 1) / N: the last one is there because it ends the top. So no list
    is ever taken to be complete, which would rule out every suggestion.
    """
    candidates = ~entries.absent
    order = np.flatnonzero(candidates)[np.argsort(-p[candidates], kind="stable")]
    listed = np.cumsum(entries.weights[order] * entries.present[order])
    wanted = min(150.0, 0.25 * float(listed[-1]))
    end = int(np.searchsorted(listed, wanted))
    total = float(np.cumsum(entries.weights[order])[end])
    return float(np.clip((listed[end] - 1) / total, 0.01, 1.0))


@dataclass(frozen=True, eq=False)
class CollectionCalibration:
    """Calibrated probabilities for the entries of a collection, and for new pictures.

    Attributes
    ----------
    seen : Calibration
        For held-out entries of pictures that somebody has looked at, and for new pictures.
    unseen : Calibration
        For pictures of the collection that nobody has looked at. The learner was not trained to
        take their tags for absent, and scores them higher.
    is_unseen : array of bool of shape (n_items,)
    positive_unlabelled : bool
        Whether tags were listed: being unlisted makes a tag less probable.
    """

    seen: Calibration
    unseen: Calibration
    is_unseen: npt.NDArray[np.bool_]
    positive_unlabelled: bool

    def open_probabilities(self, scores: Array) -> npt.NDArray[np.float32]:
        """Return the probabilities of open entries, given the scores of the final tagger."""
        P = self.seen.probabilities(scores)
        if self.positive_unlabelled:
            P = np.asarray(self.seen.if_unlisted(P))
        P[self.is_unseen] = self.unseen.probabilities(scores[self.is_unseen])
        return P

    def to_state(self) -> Serialized:
        """Return arrays and metadata from which `from_state` restores the calibration."""
        parts = {name: _to_state(getattr(self, name)) for name in ("seen", "unseen")}
        own = Serialized(
            {"is_unseen": self.is_unseen}, {"positive_unlabelled": bool(self.positive_unlabelled)}
        )
        return joined(parts, own)

    @classmethod
    def from_state(cls, state: Serialized) -> "CollectionCalibration":
        """Return the calibration that `to_state` has serialised."""
        return cls(
            _from_state(state.part("seen")),
            _from_state(state.part("unseen")),
            state.arrays["is_unseen"].astype(bool),
            state.metadata["positive_unlabelled"],
        )


_ARRAYS = ("log_odds", "weights", "mean", "scale")


def _to_state(calibration: Calibration) -> Serialized:
    arrays = {name: getattr(calibration, name) for name in _ARRAYS}
    return Serialized(arrays, {"label_frequency": calibration.label_frequency})


def _from_state(state: Serialized) -> Calibration:
    arrays = (state.arrays[name] for name in _ARRAYS)
    return Calibration(state.metadata["label_frequency"], *arrays)


def choose_thresholds(P: Array, is_open: npt.NDArray[np.bool_], precision: float | None) -> Floats:
    """Return the probability from which each label is suggested, infinity for never.

    Parameters
    ----------
    P : array of shape (n_items, n_labels)
        Probabilities.
    is_open : array of bool of the same shape
        Entries for which a suggestion can be made.
    precision : float in (0, 1), optional
        The share of suggestions that shall be right: the largest set is suggested whose mean
        probability reaches it. Otherwise the threshold maximises the expected F1, and is at least
        0.25.
    """
    thresholds = np.full(P.shape[1], np.inf)
    for column in range(P.shape[1]):
        p = np.sort(P[is_open[:, column], column].astype(np.float64))[::-1]
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
