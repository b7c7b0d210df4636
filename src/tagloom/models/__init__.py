"""Learners: scikit-learn estimators that take unknown labels as unknown."""

from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import PartialLabelLearner
from tagloom.models.path import regularization_path
from tagloom.models.tuning import Trial, Tuning, tune

__all__ = ["APGGraph", "PartialLabelLearner", "Trial", "Tuning", "regularization_path", "tune"]
