"""Prior scores: what is known of a label before its first example, and how far to trust it.

A prior score t_ij estimates label j of item i from something other than examples: from the
concepts that the name of the label means, or from an encoder of text and images. A learner with
prior scores adds theta_j t_ij to its score. The trust theta_j is learned for each label and shrunk
to a common one, theta_0, which alone counts for labels without examples (an empirical Bayes
estimate, Efron and Morris 1975).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.labels import is_frame
from tagloom.validation import some_of

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class Prior(NamedTuple):
    """The prior scores of the labels that have some."""

    labels: npt.NDArray[np.intp]
    """Positions of these labels, ascending."""
    T: Array
    """Their scores, one row for each item and one column for each of these labels."""

    def take(self, rows: Any) -> "Prior":
        """Return some items."""
        return Prior(self.labels, self.T[rows])

    def contribution(self, trust: Array) -> Array:
        """Return theta_j t_ij for all labels; 0 where a label has no prior scores."""
        table = np.zeros((len(self.T), len(trust)), dtype=self.T.dtype)
        table[:, self.labels] = self.T * trust[self.labels].astype(self.T.dtype)
        return table


def read_prior(prior: Any, n_items: int, labels: Array, dtype: Any) -> Prior | None:
    """Return the labels with prior scores; None where there are none.

    A table with names, a DataFrame, is matched by name.
    """
    if prior is None or isinstance(prior, Prior):
        return prior
    table = prior_table(prior, labels)
    if len(table) != n_items:
        raise InvalidInputError(
            f"prior must have one row for each item: X has {n_items} rows, prior has {len(table)}."
        )
    missing = np.isnan(table)
    wrong = missing.any(axis=0) & ~missing.all(axis=0) | np.isinf(table).any(axis=0)
    if wrong.any():
        raise InvalidInputError(
            "prior must hold a finite score for every item, or NaN for every item of a label "
            f"without prior scores. Others: {some_of(labels[wrong].tolist())}."
        )
    columns = np.flatnonzero(~missing.all(axis=0)) if n_items else np.arange(0)
    if not len(columns):
        return None
    return Prior(columns, np.ascontiguousarray(table[:, columns], dtype=dtype))


def prior_table(prior: Any, labels: Array) -> Floats:
    """Return prior scores as an array with a column for each label, NaN for no score."""
    if is_frame(prior):
        given = list(prior.columns)
        if set(given) != set(labels.tolist()):
            raise InvalidInputError(
                f"The columns of prior must be the labels, {some_of(labels.tolist())}; "
                f"got {some_of(given)}."
            )
        prior = np.asarray(prior)[:, [given.index(label) for label in labels.tolist()]]
    try:
        table = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError("prior must be a table of numbers, NaN for no score.") from None
    if table.ndim != 2 or table.shape[1] != len(labels):
        raise InvalidInputError(
            f"prior must have a column for each of the {len(labels)} labels; its shape is "
            f"{table.shape}."
        )
    return table


class Trust(NamedTuple):
    """theta_j for all labels with prior scores, and theta_0."""

    each: Floats
    common: float


def shrunk_trust(
    with_label: Floats, with_itself: Floats, shrinkage: float, weight: float = 1.0
) -> Trust:
    r"""Return the trust in each prior column, shrunk to a common one.

    With p_j = t_j'P_j y_j and q_j = t_j'P_j t_j, where P_j leaves of a column what the features do
    not explain, theta_j and theta_0 minimise together

        1/2 sum_j (q_j theta_j^2 - 2 p_j theta_j) + mu/2 sum_j (theta_j - theta_0)^2,

    so that

        theta_j = (p_j + mu theta_0) / (q_j + mu),
        theta_0 = sum_j p_j / (q_j + mu)  /  sum_j q_j / (q_j + mu).

    mu is a pseudo-count: that of items whose prior score is 1. No theta is negative: a score that
    misleads is ignored, not reversed. A label that nothing is known of (q_j = 0) gets theta_0, and
    where that is so of all, theta_0 = 1: prior scores are taken at their word. The trust of the
    other labels is multiplied by the weight.
    """
    known = with_itself > 0
    if not known.any():
        return Trust(np.ones_like(with_itself), 1.0)
    below = with_itself[known] + shrinkage
    above = np.sum(with_label[known] / below) / np.sum(with_itself[known] / below)
    common = max(0.0, float(above))
    each = np.full_like(with_itself, common)
    each[known] = weight * np.maximum(0.0, (with_label[known] + shrinkage * common) / below)
    return Trust(each, common)
