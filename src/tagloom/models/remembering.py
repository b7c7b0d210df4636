"""Learners that keep their training items, to ask them as neighbours."""

from abc import abstractmethod
from hashlib import blake2b
from typing import Any

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.models.base import Array, PartialLabelLearner


class RememberingLearner(PartialLabelLearner):
    """A learner that knows its training items again, and takes none for its own neighbour.

    It implements `_training_scores` beside `fit`, which stores the training rows as `_rows`, and
    `_scores`, which takes every row for a new one.
    """

    _rows: Array

    @abstractmethod
    def _training_scores(self) -> Array:
        """Return the scores of the training items."""

    def training_scores(self, X: Any) -> Any:
        """Return the scores of the very rows that `fit` was given; none is its own neighbour."""
        rows = self._checked_rows(X)
        if rows is not self._rows and not np.array_equal(rows, self._rows):
            raise InvalidInputError(
                "training_scores takes the rows that the model was fitted with, and these are "
                "others. For new rows call scores."
            )
        return self._dress(self._training_scores(), X)


def known_again_by(rows: Array) -> tuple[Any, ...]:
    """Return what rows are known again by, even if they are changed where they lie in memory."""
    return blake2b(np.ascontiguousarray(rows).data).hexdigest(), rows.shape, rows.dtype


def refuse_single(rows: Array) -> None:
    """Refuse a single item: it has no neighbour."""
    if len(rows) < 2:
        raise InvalidInputError(
            "At least 2 items are needed, for the only one of 1 sample has no neighbour."
        )
