"""The labels of highest score of which nobody has said anything."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.labels import PartialLabels


class Suggestion(NamedTuple):
    """A label that is not known of a picture, and its score."""

    item: str
    label: Any
    score: float


def best_unsaid(
    items: Sequence[str],
    labels: Sequence[Any],
    scores: npt.NDArray[Any],
    known: PartialLabels | None,
    n_labels: int,
) -> list[Suggestion]:
    """Return the best labels of each item, best first, without those that `known` lists."""
    table = scores.astype(np.float64)
    if known is not None:
        said = known.entries()
        table[said.rows, said.columns] = -np.inf
    best = np.argsort(-table, axis=1, kind="stable")[:, :n_labels]
    return [
        Suggestion(item, labels[j], float(table[i, j]))
        for i, item in enumerate(items)
        for j in best[i]
        if table[i, j] > -np.inf
    ]
