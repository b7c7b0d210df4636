"""Every learner, as the common suite runs it: to join, a learner adds one line."""

from tagloom.calibration import CalibratedLearner
from tagloom.models import (
    APGGraph,
    BinaryRelevance,
    FastTag,
    KernelRidge,
    KernelSVM,
    KNeighborsTagger,
    LabelPropagation,
    LeastSquares,
    Maxide,
    SemanticDiffusion,
)

LEARNERS = [
    APGGraph(lam=0.3),
    APGGraph(lam=0.0, ridge=1.0),
    APGGraph(solver="paper"),
    LeastSquares(ridge=1.0),
    BinaryRelevance(C=1.0),
    BinaryRelevance(C=1.0, loss="hinge"),
    BinaryRelevance(C=1.0, loss="logistic"),
    Maxide(lam=0.3),
    Maxide(lam=0.3, solver="published"),
    FastTag(noise=0.1, beta=0.1),
    FastTag(noise=0.1, beta=0.1, n_layers=2),
    KNeighborsTagger(n_neighbors=15),
    KernelRidge(),
    KernelRidge("laplacian"),
    KernelRidge("linear", gamma=1.0, ridge=1.0),
    KernelRidge(n_components=60, bandwidth=4.0),
    KernelSVM(tol=1e-9),
    LabelPropagation(n_neighbors=10),
    SemanticDiffusion(ridge=1.0),
    SemanticDiffusion(lam=0.3, n_passes=1),
    CalibratedLearner(LeastSquares(ridge=1.0)),
]


def name_of(learner) -> str:
    return repr(learner)
