"""A fitted linear learner as arrays and facts for a model file, and back."""

import math
from typing import Any, TypeVar

import numpy as np

from tagloom.models.saving import Arrays, pack_names, plain_parameters, unpack_names
from tagloom.optim import Iteration

_Model = TypeVar("_Model")


def packed(model: Any) -> tuple[Arrays, dict[str, Any]]:
    """Return what has to be kept of a fitted model."""
    history = np.array(model.history_, dtype=np.float64).reshape(-1, len(Iteration._fields))
    arrays = {
        "coef": model.coef_,
        "intercept": model.intercept_,
        "learnable": model.learnable_,
        "history": history,
    }
    names = getattr(model, "feature_names_in_", None)
    facts = {
        "parameters": plain_parameters(model),
        "classes": pack_names(model.classes_),
        "one_dimensional": model._one_dimensional_,
        "feature_names": None if names is None else names.tolist(),
        "rank": model.rank_,
        "objective": model.objective_,
        "gap": model.gap_ if np.isfinite(model.gap_) else None,
    }
    return arrays, facts


def unpacked(kind: type[_Model], arrays: Arrays, facts: dict[str, Any]) -> _Model:
    """Return the model of which `packed` was told."""
    model: Any = kind(**facts["parameters"])
    model.coef_, model.intercept_ = arrays["coef"], arrays["intercept"]
    model.learnable_ = arrays["learnable"]
    model.classes_ = unpack_names(facts["classes"])
    model._one_dimensional_ = facts["one_dimensional"]
    model.n_features_in_ = len(model.coef_)
    if facts["feature_names"] is not None:
        model.feature_names_in_ = np.array(facts["feature_names"], dtype=object)
    model.history_ = [_line(*numbers) for numbers in arrays["history"].tolist()]
    model.rank_, model.n_iter_ = facts["rank"], len(model.history_)
    model.objective_ = facts["objective"]
    model.gap_ = math.nan if facts["gap"] is None else facts["gap"]
    restored: _Model = model
    return restored


def _line(k: float, F: float, gap: float, rank: float, step: float, seconds: float) -> Iteration:
    return Iteration(int(k), F, gap, int(rank), step, seconds)
