"""Learners: scikit-learn estimators that take unknown labels as unknown."""

from tagloom.models.apg_diffusion import APGDiffusion
from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import PartialLabelLearner
from tagloom.models.binary_relevance import BinaryRelevance
from tagloom.models.fasttag import FastTag
from tagloom.models.label_propagation import LabelPropagation
from tagloom.models.least_squares import LeastSquares
from tagloom.models.maxide import Maxide
from tagloom.models.neighbour_tagger import NeighbourTagger
from tagloom.models.path import regularization_path
from tagloom.models.savable import SavableLearner
from tagloom.models.saving import ModelHeader, read_facts
from tagloom.models.search import Trial
from tagloom.models.tuning import Tuning, tune

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
