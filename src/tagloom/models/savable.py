"""Learners that can be written to a file and read again."""

import os
from abc import abstractmethod
from typing import Self

from sklearn.utils.validation import check_is_fitted

from tagloom.models.base import PartialLabelLearner
from tagloom.models.saving import build_from, write_model
from tagloom.packing import Packed


class SavableLearner(PartialLabelLearner):
    """A learner that says what of it has to be kept."""

    @abstractmethod
    def _packed(self) -> Packed:
        """Return what has to be kept of the fitted learner."""

    @classmethod
    @abstractmethod
    def _unpacked(cls, packed: Packed) -> Self:
        """Return the learner of which `_packed` told."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, whole or not at all."""
        check_is_fitted(self)
        write_model(path, type(self).__name__, *self._packed())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`; a damaged, altered or newer file is refused."""
        return build_from(path, cls.__name__, cls._unpacked)
