"""What learners share whose scores are linear in the features."""

from typing import Any

import numpy as np
import numpy.typing as npt

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
