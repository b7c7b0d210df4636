"""One binary classifier of LIBLINEAR, for one label."""

import math
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

LOSSES = ("squared_hinge", "hinge", "logistic")

# LIBLINEAR penalises the intercept as the weight of one more feature. That feature's value is
# chosen so large that the penalty moves the intercept by less than about a hundredth of itself.
_INTERCEPT_SHARE = 100.0

# The solver of the dual draws from one generator in the whole process: one label at a time.
_one_at_a_time = Lock()


class Classifier(NamedTuple):
    """A linear decision, positive where the label is likely present."""

    m: npt.NDArray[np.float64]
    b: float
    n_iter: int


class Settings(NamedTuple):
    """What all labels have in common."""

    loss: str
    C: float
    tol: float
    max_iter: int
    random_state: int | None
    scale: float
    """Root mean square norm of the rows, in whose units the intercept's feature is chosen."""


def classify(
    X: npt.NDArray[Any],
    present: npt.NDArray[np.bool_],
    weights: npt.NDArray[np.float64],
    settings: Settings,
) -> Classifier:
    """Minimise 1/2 ||m||^2 + C sum_i w_i loss(z_i (x_i'm + b)) with z = 1 present, -1 absent.

    The penalty has an additional 1/2 (b/s)^2, where s is the value of the constant feature: at
    least the norm of a row, and at least so large that C s^2 sum_i w_i = 100.
    """
    s = max(settings.scale, math.sqrt(_INTERCEPT_SHARE / (settings.C * float(weights.sum()))))
    machine = _machine(settings, s)
    if settings.loss == "hinge":
        with _one_at_a_time:
            machine.fit(X, present, sample_weight=weights)
    else:
        machine.fit(X, present, sample_weight=weights)
    n_iter = int(np.max(machine.n_iter_))
    return Classifier(machine.coef_[0], float(machine.intercept_[0]), n_iter)


def _machine(settings: Settings, s: float) -> Any:
    common = {
        "C": settings.C,
        "tol": settings.tol,
        "max_iter": settings.max_iter,
        "intercept_scaling": s,
        "random_state": settings.random_state,
    }
    if settings.loss == "logistic":
        return LogisticRegression(solver="liblinear", **common)
    return LinearSVC(loss=settings.loss, dual=settings.loss == "hinge", **common)
