"""Learners: scikit-learn estimators that take unknown labels as unknown."""

from tagloom.models.apg_diffusion import APGDiffusion
from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import PartialLabelLearner
from tagloom.models.binary_relevance import BinaryRelevance
from tagloom.models.fasttag import FastTag
from tagloom.models.label_propagation import LabelPropagation
from tagloom.models.least_squares import LeastSquares
from tagloom.models.maxide import Maxide
from tagloom.models.model_selection import Trial, Tuning, regularization_path, tune
from tagloom.models.neighbor_tagger import NeighbourTagger
from tagloom.persistence.container import ModelHeader, read_facts
from tagloom.persistence.savable import SavableLearner

__all__ = [
    "APGDiffusion",
    "APGGraph",
    "BinaryRelevance",
    "FastTag",
    "LabelPropagation",
    "LeastSquares",
    "Maxide",
    "ModelHeader",
    "NeighbourTagger",
    "PartialLabelLearner",
    "SavableLearner",
    "Trial",
    "Tuning",
    "read_facts",
    "regularization_path",
    "tune",
]
