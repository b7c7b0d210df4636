"""The probability that a tag is listed for a picture, given its score.

Listing can be observed, presence cannot: what a listed or an unlisted tag says about the picture is
left to `tagloom.calibration.forgetting`. Where absences are annotated as well, to be listed is to
be present, and this is the whole calibration.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from tagloom.labels import PartialLabels
from tagloom.linalg import limited_blas
from tagloom.persistence.container import Serialized

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

_SMALLEST = 1e-4
_PENALTY = 1.0
# All high scores are used and one in twenty of the others, which are many and similar.
_HIGH, _SHARE_OF_LOW = 0.95, 0.05
# Standard deviations of a label's own intercept (around 0) and slope (around 1).
_INTERCEPT_SD, _SLOPE_SD = 0.3, 0.1
# The same for a curve of labels that were scored in another way.
_COMMON_INTERCEPT_SD, _COMMON_SLOPE_SD = 2.0, 0.5
_STEPS = 50


@dataclass(frozen=True, eq=False)
class ListingModel:
    """Logistic regression of being listed on the score, shared by all labels and then adapted.

    With t = max(score, 1e-4) and q_j the log-odds of label j among its known entries,

        h = w'[log t, t, sqrt t, q_j, q_j log t, q_j t, 1],    z = a_j + b_j h,    g = m_j / (1 +
        exp(-z)).

    Attributes
    ----------
    log_odds : array of shape (n_labels,)
        q.
    weights, mean, scale : arrays of shape (7,), (6,) and (6,)
        w for the standardised terms, the constant last.
    intercepts, slopes : arrays of shape (n_labels,)
        a and b.
    ceilings : array of shape (n_labels,)
        m, above which the probability cannot rise; 1 unless entries are forgotten at random.
    """

    log_odds: Floats
    weights: Floats
    mean: Floats
    scale: Floats
    intercepts: Floats
    slopes: Floats
    ceilings: Floats

    def log_odds_of(self, scores: Array, column: int) -> Floats:
        """Return z for scores of one label, by a learner that was not shown the entries."""
        terms = _terms(scores.astype(np.float64), np.full(len(scores), self.log_odds[column]))
        h = standardized(terms, self.mean, self.scale) @ self.weights
        return np.asarray(self.intercepts[column] + self.slopes[column] * h)

    def probability(self, scores: Array, column: int) -> Floats:
        """Return g."""
        return np.asarray(self.ceilings[column] * expit(self.log_odds_of(scores, column)))

    def common(self) -> "ListingModel":
        """Return the model with one curve for all labels."""
        return replace(
            self,
            intercepts=np.zeros_like(self.intercepts),
            slopes=np.ones_like(self.slopes),
        )

    def to_state(self) -> Serialized:
        """Return arrays from which `from_state` restores the model."""
        return Serialized({name: getattr(self, name) for name in _ARRAYS}, {})

    @classmethod
    def from_state(cls, state: Serialized) -> "ListingModel":
        """Return the model that `to_state` has serialised."""
        return cls(*(state.arrays[name] for name in _ARRAYS))


_ARRAYS = ("log_odds", "weights", "mean", "scale", "intercepts", "slopes", "ceilings")


def fit_listing(
    training: PartialLabels,
    scores: Array,
    *,
    current: PartialLabels | None = None,
    ceilings: Floats | None = None,
    random_state: int = 0,
) -> ListingModel:
    """Fit the model to held-out scores by penalised maximum likelihood.

    First the common w, with a penalty of 1/2 ||w||^2 (the constant is free); then, with h fixed,
    each label's a and b, with independent normal priors around 0 and 1: labels with few listings
    keep to the common curve.

    Parameters
    ----------
    training : PartialLabels
        Training labels. Feedback on suggestions does not belong here: it was given because of the
        scores.
    scores : array of shape (n_items, n_labels)
        Of learners that were not shown the entry.
    current : PartialLabels, optional
        Training labels with feedback: they give q for labels that came with the feedback.
    ceilings : array of shape (n_labels,), optional
        m; 1 by default.
    """
    m = np.ones(training.n_labels) if ceilings is None else ceilings
    if current is not None and not training.n_present:
        # All of the original annotations have been withdrawn.
        training = current
    entries = sampled_entries(training, scores, np.random.default_rng(random_state))
    q = _log_odds(training, training if current is None else current)
    terms = _terms(entries.scores, q[entries.columns])
    mean, scale = terms.mean(axis=0), terms.std(axis=0)
    scale[scale == 0] = 1.0
    D = standardized(terms, mean, scale)
    weights = fit_shared_curve(D, entries, m)
    deviations = (_INTERCEPT_SD, _SLOPE_SD)
    a, b = fit_label_curves(D @ weights, entries, m[entries.columns], training.n_labels, deviations)
    return ListingModel(q, weights, mean, scale, a, b, m)


class CommonCurve(NamedTuple):
    """q, a and b that several labels share."""

    log_odds: float
    intercept: float
    slope: float


def fit_common_curve(
    model: ListingModel, training: PartialLabels, scores: Array, *, random_state: int = 0
) -> CommonCurve:
    """Fit one a and b for labels that were scored in another way than those of the model.

    `training` has the same labels as the model, and `scores` are NaN for those that take no part.
    """
    columns = np.flatnonzero(~np.isnan(scores).any(axis=0))
    if not len(columns):
        return CommonCurve(float(np.mean(model.log_odds)), 0.0, 1.0)
    some = training.select([training.labels[column] for column in columns])
    entries = sampled_entries(some, scores[:, columns], np.random.default_rng(random_state))
    q = float(np.mean(model.log_odds[columns]))
    terms = _terms(entries.scores, np.full(len(entries.scores), q))
    h = standardized(terms, model.mean, model.scale) @ model.weights
    together = replace(entries, columns=np.zeros_like(entries.columns))
    m = model.ceilings[columns][entries.columns]
    a, b = fit_label_curves(h, together, m, 1, (_COMMON_INTERCEPT_SD, _COMMON_SLOPE_SD))
    return CommonCurve(q, float(a[0]), float(b[0]))


@dataclass(frozen=True, eq=False)
class ScoredEntries:
    """Entries with their held-out scores; weights stand for the entries that were left out."""

    scores: Floats
    columns: npt.NDArray[np.int64]
    present: npt.NDArray[np.bool_]
    weights: Floats


def sampled_entries(
    training: PartialLabels, scores: Array, rng: np.random.Generator
) -> ScoredEntries:
    """Return all annotated entries and a weighted sample of those that are absent as unlisted."""
    entries = training.entries()
    listed = ScoredEntries(
        scores[entries.rows, entries.columns].astype(np.float64),
        entries.columns,
        entries.present,
        entries.weights,
    )
    if not training.unlisted_weight:
        return listed
    unlisted = np.ones(training.shape, dtype=bool)
    unlisted[entries.rows, entries.columns] = False
    unlisted[training.hidden_entries()] = False
    others = scores[unlisted].astype(np.float64)
    high = others >= np.quantile(others, _HIGH) if len(others) else np.zeros(0, dtype=bool)
    kept = high | (rng.random(len(others)) < _SHARE_OF_LOW)
    weights = training.unlisted_weight * np.where(high[kept], 1.0, 1 / _SHARE_OF_LOW)
    # The places of those that are kept, without those of the many that are not.
    unlisted[unlisted] = kept
    return ScoredEntries(
        np.concatenate([listed.scores, others[kept]]),
        np.concatenate([listed.columns, np.nonzero(unlisted)[1]]),
        np.concatenate([listed.present, np.zeros(kept.sum(), dtype=bool)]),
        np.concatenate([listed.weights, weights]),
    )


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


def standardized(terms: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return the terms in units of their scale, and a column of ones."""
    return np.hstack([(terms - mean) / scale, np.ones((len(terms), 1))])


def fit_shared_curve(D: Floats, entries: ScoredEntries, ceilings: Floats) -> Floats:
    """Return the w that minimises the loss plus 1/2 ||w||^2, the constant excepted.

    A product with D takes less time than threads of BLAS need to wait for each other.
    """
    weights, m = entries.weights, ceilings[entries.columns]

    def loss(w: Floats) -> tuple[float, Floats]:
        value, slope = _loss(D @ w, entries.present, m)
        penalty = np.append(w[:-1], 0.0) * _PENALTY
        return float(weights @ value + 0.5 * penalty @ w), penalty + D.T @ (weights * slope)

    start = np.zeros(D.shape[1])
    share = weights[entries.present].sum() / weights.sum()
    start[-1] = np.log(share / (1 - share)) if 0 < share < 1 else 0.0
    with limited_blas(1):
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return np.asarray(found.x)


def _loss(z: Floats, present: npt.NDArray[np.bool_], m: Floats) -> tuple[Floats, Floats]:
    """Return the loss and its slope: -log g if listed, else -log(1 - g), with g = m sigmoid(z)."""
    p = expit(z)
    rest = np.maximum(1 - m * p, 1e-12)
    value = np.where(present, -np.log(m) - log_expit(z), -np.log(rest))
    return value, np.where(present, p - 1, m * p * (1 - p) / rest)


def fit_label_curves(
    h: Floats, entries: ScoredEntries, m: Floats, n_labels: int, deviations: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return each label's a and b at the mode of their posterior, by Fisher scoring.

    For each label: minimise the loss plus a^2 / 2 s_a^2 + (b - 1)^2 / 2 s_b^2. All labels step
    together; a step that does not lower a label's loss is halved. The information of an entry is m
    p (1 - p)^2 / (1 - m p) with p = sigmoid(a + b h) and m its ceiling.
    """
    columns, v = entries.columns, entries.weights
    precision = np.array(deviations) ** -2.0

    def total(values: Floats) -> Floats:
        return np.asarray(np.bincount(columns, values, minlength=n_labels), dtype=np.float64)

    def loss(a: Floats, b: Floats) -> tuple[Floats, Floats]:
        value, slope = _loss(a[columns] + b[columns] * h, entries.present, m)
        prior = precision[0] * a**2 + precision[1] * (b - 1) ** 2
        return total(v * value) + 0.5 * prior, v * slope

    a, b, step = np.zeros(n_labels), np.ones(n_labels), np.ones(n_labels)
    value, slope = loss(a, b)
    for _ in range(_STEPS):
        p = expit(a[columns] + b[columns] * h)
        information = v * m * p * (1 - p) ** 2 / np.maximum(1 - m * p, 1e-12)
        slope_a = total(slope) + precision[0] * a
        slope_b = total(slope * h) + precision[1] * (b - 1)
        aa, ab = total(information) + precision[0], total(information * h)
        bb = total(information * h**2) + precision[1]
        determinant = aa * bb - ab**2
        new_a = a - step * (bb * slope_a - ab * slope_b) / determinant
        new_b = b - step * (aa * slope_b - ab * slope_a) / determinant
        new = loss(new_a, new_b)[0]
        better = new <= value
        a, b = np.where(better, new_a, a), np.where(better, new_b, b)
        gain = np.max(np.where(better, value - new, np.inf), initial=0)
        step = np.where(better, np.minimum(1.0, 2 * step), step / 2)
        value, slope = loss(a, b)
        if gain < 1e-9 * (1 + value.max(initial=0)):
            break
    return a, b
