"""What learners share whose scores are linear in the features."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.models.base import PartialLabelLearner

Array = npt.NDArray[Any]


class LinearLearner(PartialLabelLearner):
    """A learner that scores by X M + b."""

    coef_: Array
    intercept_: Array
    learnable_: npt.NDArray[np.bool_]

    def _scores(self, X: Array) -> Array:
        table: Array = X @ self.coef_ + self.intercept_
        return table


def refuse_too_large(X: Array) -> None:
    """Refuse features whose sums of squares no number can hold: all that follows would be wrong."""
    if not np.isfinite(np.einsum("ij,ij->", X, X, dtype=np.float64)):
        raise InvalidInputError(
            f"The features are too large: the largest is {np.abs(X).max():.3g}, and sums of "
            "squares overflow. Scale them, for example by sklearn.preprocessing.StandardScaler."
        )
