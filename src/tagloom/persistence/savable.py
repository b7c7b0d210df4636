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
    Packed,
    build_from,
    decoded_parameters,
    encoded_parameters,
    pack_names,
    unpack_names,
    write_model,
)

# §§ main savable


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


# §§ packing
# A fitted learner with a linear part as arrays and facts for a model file, and back.


_Model = TypeVar("_Model")


def packed_face(model: Any) -> Facts:
    """Return what every learner must know again: parameters, names and what was seen."""
    names = getattr(model, "feature_names_in_", None)
    return {
        "parameters": encoded_parameters(model),
        "classes": pack_names(model.classes_),
        "one_dimensional": model._one_dimensional_,
        "feature_names": None if names is None else names.tolist(),
        "size": {"labels": len(model._label_names), "features": model.n_features_in_},
    }


def unpacked_face(kind: type[_Model], facts: Facts, n_features: int) -> _Model:
    """Return a learner with the face of which `packed_face` was told."""
    model: Any = kind(**decoded_parameters(facts["parameters"]))
    model.classes_ = unpack_names(facts["classes"])
    model._one_dimensional_ = facts["one_dimensional"]
    model.n_features_in_ = n_features
    if facts["feature_names"] is not None:
        model.feature_names_in_ = np.array(facts["feature_names"], dtype=object)
    restored: _Model = model
    return restored


def packed_linear(model: Any) -> Packed:
    """Return what has to be kept of a fitted linear learner."""
    arrays = {"coef": model.coef_, "intercept": model.intercept_, "learnable": model.learnable_}
    return Packed(arrays, packed_face(model))


def unpacked_linear(kind: type[_Model], packed: Packed) -> _Model:
    """Return the learner of which `packed_linear` was told."""
    coef = packed.arrays["coef"]
    model: Any = unpacked_face(kind, packed.facts, len(coef))
    model.coef_, model.intercept_ = coef, packed.arrays["intercept"]
    model.learnable_ = packed.arrays["learnable"]
    restored: _Model = model
    return restored


def packed_solved(model: Any) -> Packed:
    """Return what has to be kept of a linear learner that a solver has found."""
    arrays, facts = packed_linear(model)
    arrays["history"] = np.array(model.history_, dtype=np.float64).reshape(
        -1, len(Iteration._fields)
    )
    facts |= {
        "rank": model.rank_,
        "objective": model.objective_,
        "gap": model.gap_ if np.isfinite(model.gap_) else None,
    }
    return Packed(arrays, facts)


def unpacked_solved(kind: type[_Model], packed: Packed) -> _Model:
    """Return the learner of which `packed_solved` was told."""
    model: Any = unpacked_linear(kind, packed)
    model.history_ = [_line(*numbers) for numbers in packed.arrays["history"].tolist()]
    model.rank_, model.n_iter_ = packed.facts["rank"], len(model.history_)
    model.objective_ = packed.facts["objective"]
    gap = packed.facts["gap"]
    model.gap_ = math.nan if gap is None else gap
    restored: _Model = model
    return restored


def _line(k: float, F: float, gap: float, rank: float, step: float, seconds: float) -> Iteration:
    return Iteration(int(k), F, gap, int(rank), step, seconds)
