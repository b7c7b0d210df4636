"""Learners that can be written to a file and read again."""

import math
import os
from abc import abstractmethod
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tagloom.models.base import PartialLabelLearner
from tagloom.optim import Iteration
from tagloom.persistence.container import (
    Facts,
    Serialized,
    build_from,
    decoded_parameters,
    deserialize_names,
    encoded_parameters,
    serialize_names,
    write_model,
)

# §§ main savable


class SavableLearner(PartialLabelLearner):
    """A learner that says what of it has to be kept."""

    @abstractmethod
    def _serialized(self) -> Serialized:
        """Return what has to be kept of the fitted learner."""

    @classmethod
    @abstractmethod
    def _deserialized(cls, serialized: Serialized) -> Self:
        """Return the learner of which `_serialized` told."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, whole or not at all."""
        check_is_fitted(self)
        write_model(path, type(self).__name__, *self._serialized())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`; a damaged, altered or newer file is refused."""
        return build_from(path, cls.__name__, cls._deserialized)


# §§ packing
# A fitted learner with a linear part as arrays and metadata for a model file, and back.


_Model = TypeVar("_Model")


def serialized_face(model: Any) -> Facts:
    """Return what every learner must know again: parameters, names and what was seen."""
    names = getattr(model, "feature_names_in_", None)
    return {
        "parameters": encoded_parameters(model),
        "classes": serialize_names(model.classes_),
        "one_dimensional": model._one_dimensional_,
        "feature_names": None if names is None else names.tolist(),
        "size": {"labels": len(model._label_names), "features": model.n_features_in_},
    }


def deserialized_face(kind: type[_Model], metadata: Facts, n_features: int) -> _Model:
    """Return a learner with the face of which `serialized_face` was told."""
    model: Any = kind(**decoded_parameters(metadata["parameters"]))
    model.classes_ = deserialize_names(metadata["classes"])
    model._one_dimensional_ = metadata["one_dimensional"]
    model.n_features_in_ = n_features
    if metadata["feature_names"] is not None:
        model.feature_names_in_ = np.array(metadata["feature_names"], dtype=object)
    restored: _Model = model
    return restored


def serialized_linear(model: Any) -> Serialized:
    """Return what has to be kept of a fitted linear learner."""
    arrays = {"coef": model.coef_, "intercept": model.intercept_, "learnable": model.learnable_}
    return Serialized(arrays, serialized_face(model))


def deserialized_linear(kind: type[_Model], serialized: Serialized) -> _Model:
    """Return the learner of which `serialized_linear` was told."""
    coef = serialized.arrays["coef"]
    model: Any = deserialized_face(kind, serialized.metadata, len(coef))
    model.coef_, model.intercept_ = coef, serialized.arrays["intercept"]
    model.learnable_ = serialized.arrays["learnable"]
    restored: _Model = model
    return restored


def serialized_solved(model: Any) -> Serialized:
    """Return what has to be kept of a linear learner that a solver has found."""
    arrays, metadata = serialized_linear(model)
    arrays["history"] = np.array(model.history_, dtype=np.float64).reshape(
        -1, len(Iteration._fields)
    )
    metadata |= {
        "rank": model.rank_,
        "objective": model.objective_,
        "gap": model.gap_ if np.isfinite(model.gap_) else None,
    }
    return Serialized(arrays, metadata)


def deserialized_solved(kind: type[_Model], serialized: Serialized) -> _Model:
    """Return the learner of which `serialized_solved` was told."""
    model: Any = deserialized_linear(kind, serialized)
    model.history_ = [_line(*numbers) for numbers in serialized.arrays["history"].tolist()]
    model.rank_, model.n_iter_ = serialized.metadata["rank"], len(model.history_)
    model.objective_ = serialized.metadata["objective"]
    gap = serialized.metadata["gap"]
    model.gap_ = math.nan if gap is None else gap
    restored: _Model = model
    return restored


def _line(k: float, F: float, gap: float, rank: float, step: float, seconds: float) -> Iteration:
    return Iteration(int(k), F, gap, int(rank), step, seconds)
