"""Learners: scikit-learn estimators that take unknown labels as unknown."""

from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import PartialLabelLearner

__all__ = ["APGGraph", "PartialLabelLearner"]
