"""Answers of people calibrate: what was accepted and rejected tells what a probability is worth.

Given its tag and its score, whether an entry was shown to a person does not depend on the truth:
answers are an honest sample of the probabilities that they were asked about, however these were
chosen.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from tagloom.persistence.container import Serialized

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# Standard deviations of the shift that all labels share, of a label's own, and of the slope around
# 1.
COMMON_SD, _LABEL_SD, _SLOPE_SD = 1.0, 1.0, 0.25
# By how much the log-odds of labels that are judged by their names differ from their common curve.
NAME_SD = 2.0
_NEAREST = 1e-6
# By how much probabilities that were measured on held-out absences and presences are off.
_MEASURED_SD = 0.2
_NEWTON_STEPS = 50


@dataclass(frozen=True, eq=False)
class AnswerCorrection:
    """Platt scaling with partial pooling: logit p' = (1 + s) logit p + u + v_j.

    Attributes
    ----------
    shifts : array of shape (n_labels,)
        u + v_j.
    slope : float
        1 + s.
    n_answers : int
        How many answers it rests on.
    deviation : float
        The standard deviation, of the posterior, of the mean log-odds of such entries as were
        answered; without any answer that of the prior.
    """

    shifts: Floats
    slope: float = 1.0
    n_answers: int = 0
    deviation: float = COMMON_SD

    def apply(self, p: Array, column: int) -> Array:
        """Return p' for probabilities of one label; certainty stays certain."""
        if not self.n_answers:
            return p
        with np.errstate(divide="ignore"):
            z = logit(p.astype(np.float64))
        return np.asarray(expit(self.slope * z + self.shifts[column]), dtype=p.dtype)

    def to_state(self) -> Serialized:
        """Return arrays and metadata from which `from_state` restores it."""
        return Serialized(
            {"shifts": self.shifts},
            {"slope": self.slope, "n_answers": self.n_answers, "deviation": self.deviation},
        )

    @classmethod
    def from_state(cls, state: Serialized) -> "AnswerCorrection":
        """Return what `to_state` has serialised."""
        names = ("slope", "n_answers", "deviation")
        return cls(state.arrays["shifts"], *(state.metadata[name] for name in names))


def fit_answers(
    p: Floats,
    columns: Array,
    present: Array,
    n_labels: int,
    *,
    by_name: npt.NDArray[np.bool_] | None = None,
) -> AnswerCorrection:
    """Fit the correction to answers, at the mode of its posterior, by Newton's method.

    Minimises sum_k log(1 + exp(-+z_k)) + u^2 / 2 s_u^2 + sum_j v_j^2 / 2 s_v^2 + s^2 / 2 s_s^2 with
    z_k = (1 + s) logit p_k + u + v_j. The problem is convex.

    Parameters
    ----------
    p : array of shape (n_answers,)
        The probabilities of the entries, from learners that were not shown the answers.
    columns : array of int of shape (n_answers,)
        Their labels.
    present : array of bool of shape (n_answers,)
        The answers.
    by_name : array of bool of shape (n_labels,), optional
        Labels that were judged by their names: some names mislead, so that their own shift may be
        larger.
    """
    if not len(p):
        return AnswerCorrection(np.zeros(n_labels))
    offset = logit(np.clip(p.astype(np.float64), _NEAREST, 1 - _NEAREST))
    labels, place = np.unique(columns, return_inverse=True)
    D = np.zeros((len(p), 2 + len(labels)))
    D[:, 0], D[:, 1] = offset, 1.0
    D[np.arange(len(p)), 2 + place] = 1.0
    own = np.full(len(labels), _LABEL_SD)
    own[np.zeros(len(labels), dtype=bool) if by_name is None else by_name[labels]] = NAME_SD
    deviations = np.array([_SLOPE_SD, COMMON_SD, *own])
    x, information = _newton(D, offset, present.astype(np.float64), deviations**-2)
    shifts = np.full(n_labels, x[1])
    shifts[labels] += x[2:]
    mean = D.mean(axis=0)
    deviation = min(COMMON_SD, float(np.sqrt(mean @ np.linalg.solve(information, mean))))
    # A negative slope would turn the ranking round.
    return AnswerCorrection(shifts, max(0.1, 1 + float(x[0])), len(p), deviation)


def _newton(D: Floats, offset: Floats, y: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Return the mode and the information there."""

    def loss(x: Floats) -> float:
        z = offset + D @ x
        return float(np.logaddexp(0, np.where(y > 0, -z, z)).sum() + 0.5 * precision @ x**2)

    x = np.zeros(D.shape[1])
    value = loss(x)
    for _ in range(_NEWTON_STEPS):
        q = expit(offset + D @ x)
        slope = D.T @ (q - y) + precision * x
        information = (D.T * (q * (1 - q))) @ D + np.diag(precision)
        direction = np.linalg.solve(information, slope)
        step = 1.0
        while (new := loss(x - step * direction)) > value and step > 1e-6:
            step /= 2
        x, gain, value = x - step * direction, value - new, new
        if gain < 1e-10 * (1 + value):
            break
    return x, information


class ExpectedPrecision(NamedTuple):
    """The expected share of suggestions that are right, with an interval of 95% and its basis."""

    value: float
    """NaN where there are no suggestions."""
    low: float
    high: float
    n_answers: int
    """How many answers it rests on; with none, on the lists alone."""


def expected_precision(p: Array, answers: AnswerCorrection, *, exact: bool) -> ExpectedPrecision:
    """Return the mean of p, and its range if all log-odds are off by two standard deviations.

    With `exact`, absences were annotated: then p was measured, and only answers can tell more.
    """
    if not len(p):
        return ExpectedPrecision(np.nan, np.nan, np.nan, answers.n_answers)
    z = logit(np.clip(p.astype(np.float64), _NEAREST, 1 - _NEAREST))
    off = 1.96 * answers.deviation if answers.n_answers or not exact else 1.96 * _MEASURED_SD
    low, high = (float(expit(z + shift).mean()) for shift in (-off, off))
    return ExpectedPrecision(float(p.mean(dtype=np.float64)), low, high, answers.n_answers)
