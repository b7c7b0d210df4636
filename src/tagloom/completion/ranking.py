"""How well scores tell who has a label from who has not."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.labels import PartialLabels, State

Array = npt.NDArray[Any]


def comparisons_won(known: PartialLabels, scores: Array) -> npt.NDArray[np.float64]:
    """Return for each label how often a presence has a higher score than what is absent.

    The area under the ROC curve; an equal score is half a win. NaN where there is nothing to
    compare. Where absence is only presumed, presences among the presumed make it a little lower.
    """
    states = known.states()
    won = np.full(known.n_labels, np.nan)
    for column in range(known.n_labels):
        own = np.sort(scores[states[:, column] == int(State.PRESENT), column])
        others = np.sort(scores[states[:, column] == int(State.ABSENT), column])
        if len(own) and len(others):
            below = np.searchsorted(others, own, side="left")
            up_to = np.searchsorted(others, own, side="right")
            won[column] = float((below + up_to).sum()) / (2 * len(own) * len(others))
    return won
