"""How far scores are from the truth."""

from typing import Any

import numpy.typing as npt

from tagloom.labels import State
from tagloom.metrics._scores import truth_and_scores


def squared_error(truth: Any, scores: npt.ArrayLike) -> float:
    """Return the weighted mean of (score - truth)^2 over the known entries; NaN if none is."""
    known, table = truth_and_scores(truth, scores)
    weights = known.weights()
    residual = table - (known.states() == int(State.PRESENT))
    total = weights.sum()
    return float((weights * residual**2).sum() / total) if total > 0 else float("nan")
