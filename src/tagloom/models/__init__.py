"""Learners: scikit-learn estimators that leave unknown labels unknown."""

from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import PartialLabelLearner
from tagloom.models.binary_relevance import BinaryRelevance, ClassifierPerLabel
from tagloom.models.cross_validation import (
    MultilabelStratifiedKFold,
    cross_val_scores,
    make_scorer,
)
from tagloom.models.fasttag import FastTag
from tagloom.models.k_neighbors import KNeighborsTagger
from tagloom.models.kernel_ridge import KernelRidge
from tagloom.models.kernel_svm import KernelSVM
from tagloom.models.label_propagation import LabelPropagation
from tagloom.models.least_squares import LeastSquares
from tagloom.models.maxide import Maxide
from tagloom.models.model_selection import Trial, Tuning, regularization_path, tune
from tagloom.models.semantic_diffusion import SemanticDiffusion

__all__ = [
    "APGGraph",
    "BinaryRelevance",
    "ClassifierPerLabel",
    "FastTag",
    "KNeighborsTagger",
    "KernelRidge",
    "KernelSVM",
    "LabelPropagation",
    "LeastSquares",
    "Maxide",
    "MultilabelStratifiedKFold",
    "PartialLabelLearner",
    "SemanticDiffusion",
    "Trial",
    "Tuning",
    "cross_val_scores",
    "make_scorer",
    "regularization_path",
    "tune",
]
