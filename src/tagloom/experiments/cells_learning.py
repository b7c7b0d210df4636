"""Choose a learner's parameters on what is known and fit it, telling the seconds of each."""

import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.experiments.methods import Method, build_learner
from tagloom.labels import PartialLabels
from tagloom.metrics import mean_average_precision
from tagloom.models import PartialLabelLearner, tune


class Learned(NamedTuple):
    """A fitted learner and how it came about."""

    model: PartialLabelLearner
    params: dict[str, Any]
    n_trials: int
    search_seconds: float
    fit_seconds: float


class _Judge:
    """Mean average precision that notes when it was last asked: there the search ended."""

    def __init__(self) -> None:
        self.last = time.perf_counter()

    def __call__(self, truth: PartialLabels, scores: npt.NDArray[Any]) -> float:
        value = mean_average_precision(truth, scores)
        self.last = time.perf_counter()
        return value


def learn(
    method: Method,
    X: npt.NDArray[Any],
    known: PartialLabels,
    graph: Any,
    folds: int,
    seed: int,
) -> Learned:
    """Tune the learner of a method over its own search space, then fit it on all that is known.

    The folds follow from the labels and the seed alone: they are the same for every learner. Where
    absence is presumed they are of whole items, as the test items are new ones; elsewhere the two
    do not differ, and folds of entries keep more of the rare labels.
    """
    learner = build_learner(method, seed)
    start = time.perf_counter()
    stages = _stages(method, learner.search_space(X, known, graph))
    if not stages:
        return _fitted(learner, X, known, graph)
    judge = _Judge()
    found = tune(
        learner,
        X,
        known,
        graph,
        grid=stages,
        n_splits=folds,
        hold_out="items" if known.unlisted_weight else "entries",
        criterion=judge,
        random_state=seed,
    )
    end = time.perf_counter()
    n_trials = len(found.trials)
    return Learned(found.model, found.best.params, n_trials, judge.last - start, end - judge.last)


def _stages(method: Method, stages: list[dict[str, list[Any]]]) -> list[dict[str, list[Any]]]:
    """Leave out what the method does not search, and stages of which nothing is left."""
    left = ({k: v for k, v in one.items() if k not in method.not_searched} for one in stages)
    return [one for one in left if one]


def _fitted(learner: Any, X: npt.NDArray[Any], known: PartialLabels, graph: Any) -> Learned:
    """Fit a learner that has nothing to search."""
    start = time.perf_counter()
    given = {} if graph is None else {"graph": graph}
    model = learner.fit(np.asarray(X), known, **given)
    return Learned(model, {}, 0, 0.0, time.perf_counter() - start)
