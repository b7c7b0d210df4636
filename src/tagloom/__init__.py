"""Learn from incomplete labels: fill in what is missing, tag what is new, show why."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tagloom.calibration import CalibratedLearner as CalibratedLearner
    from tagloom.labels import PartialLabels as PartialLabels
    from tagloom.models import APGGraph as APGGraph
    from tagloom.models import BinaryRelevance as BinaryRelevance
    from tagloom.models import ClassifierPerLabel as ClassifierPerLabel
    from tagloom.models import FastTag as FastTag
    from tagloom.models import KernelRidge as KernelRidge
    from tagloom.models import KernelSVM as KernelSVM
    from tagloom.models import KNeighborsTagger as KNeighborsTagger
    from tagloom.models import LabelPropagation as LabelPropagation
    from tagloom.models import LeastSquares as LeastSquares
    from tagloom.models import Maxide as Maxide
    from tagloom.models import MultilabelStratifiedKFold as MultilabelStratifiedKFold
    from tagloom.models import SemanticDiffusion as SemanticDiffusion
    from tagloom.models import cross_val_scores as cross_val_scores
    from tagloom.models import make_scorer as make_scorer
    from tagloom.models import regularization_path as regularization_path
    from tagloom.models import tune as tune
    from tagloom.tagger import SemanticTagger as SemanticTagger

# Names are fetched on first use: `import tagloom` costs nothing, and the program's --help needs
# none of the numerical libraries.
_HOME = {
    "SemanticDiffusion": "tagloom.models",
    "APGGraph": "tagloom.models",
    "BinaryRelevance": "tagloom.models",
    "CalibratedLearner": "tagloom.calibration",
    "ClassifierPerLabel": "tagloom.models",
    "FastTag": "tagloom.models",
    "KernelRidge": "tagloom.models",
    "KernelSVM": "tagloom.models",
    "LabelPropagation": "tagloom.models",
    "LeastSquares": "tagloom.models",
    "Maxide": "tagloom.models",
    "KNeighborsTagger": "tagloom.models",
    "MultilabelStratifiedKFold": "tagloom.models",
    "PartialLabels": "tagloom.labels",
    "SemanticTagger": "tagloom.tagger",
    "cross_val_scores": "tagloom.models",
    "make_scorer": "tagloom.models",
    "regularization_path": "tagloom.models",
    "tune": "tagloom.models",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tagloom' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
