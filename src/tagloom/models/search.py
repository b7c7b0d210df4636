"""Go through candidates in chains, stage by stage, within a time; do nothing twice."""

import json
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.labels.folds import Fold
from tagloom.models.base import PartialLabelLearner

Params = dict[str, Any]
Criterion = Callable[[PartialLabels, npt.NDArray[Any]], float]
Remembered = MutableMapping[str, Any]

# Candidates are compared, not used: a hundredth of the objective ranks them as its last digit does,
# and one that needs more iterations (weak penalties, few labels) is judged where it stands.
_WHILE_TUNING = {"warm_start": True, "tol": 1e-2, "max_iter": 50, "on_unlearnable": "ignore"}


@dataclass(frozen=True)
class Trial:
    """One candidate, judged on every fold; greater is better."""

    params: Params
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the folds that could judge; they are the same for every candidate."""
        return float(np.mean(self._judged))

    @property
    def spread(self) -> float:
        """Standard deviation over the folds that could judge."""
        return float(np.std(self._judged))

    @property
    def _judged(self) -> list[float]:
        return [score for score in self.scores if np.isfinite(score)] or [float("nan")]


@dataclass(frozen=True)
class Search:
    """How chains of candidates are judged.

    `deadline` is the time, by `time.monotonic`, after which no candidate is begun; the first of
    every chain is judged all the same, and so is a chain that is solved for at once, for then its
    work is done. `remembered` holds the results of whole chains: what is there is not worked out
    again, what is worked out is put there.
    """

    model: PartialLabelLearner
    X: Any
    graphs: Mapping[str, Any]
    judge: Criterion
    folds: Sequence[Fold]
    advance: Callable[[], None]
    deadline: float = np.inf
    remembered: Remembered = field(default_factory=dict)

    def best_of(
        self, stages: Sequence[Mapping[str, Sequence[Any]]], n_jobs: int | None
    ) -> tuple[Trial, list[Trial]]:
        """Take the stages, each from the best of the one before; return the last best and all."""
        trials: list[Trial] = []
        found: Params = {}
        for stage in stages:
            together = self.model._solved_together(stage)
            chains = _chains(stage, found, self.model._carried_along, together)
            at_once = any(name in stage for name in together)
            folds = range(len(self.folds))
            tasks = [(chain, number, at_once) for chain in chains for number in folds]
            tried = _collect(chains, self._in_parallel(tasks, n_jobs), len(self.folds))
            best = _best(tried, len(self.folds))
            found, trials = best.params, trials + tried
        return best, trials

    def _in_parallel(
        self, tasks: Sequence[tuple[Any, ...]], n_jobs: int | None
    ) -> list[list[float]]:
        """Run the tasks in threads, between which the cores are shared out."""
        workers = effective_n_jobs(n_jobs)
        if workers == 1:
            return [self._judged(*task) for task in tasks]
        with threadpool_limits(limits=max(1, effective_n_jobs(-1) // workers)):
            done = Parallel(n_jobs=workers, backend="threading")(
                delayed(self._judged)(*task) for task in tasks
            )
        return list(done)

    def _judged(self, chain: Sequence[Params], number: int, at_once: bool) -> list[float]:
        """Return the scores of a chain on one fold, from memory or by work."""
        key = json.dumps([number, list(chain)], sort_keys=True, default=repr)
        if key in self.remembered:
            results: list[float] = list(self.remembered[key])
            for _ in results:
                self.advance()
            return results
        results = self._run(chain, self.folds[number], np.inf if at_once else self.deadline)
        if len(results) == len(chain):
            self.remembered[key] = results
        return results

    def _run(self, chain: Sequence[Params], fold: Fold, deadline: float) -> list[float]:
        """Fit one chain of candidates on one fold and judge each by what was held out."""
        learner = clone(self.model)
        own = learner.get_params()
        quick = _WHILE_TUNING | learner._while_tuning
        learner.set_params(**{name: value for name, value in quick.items() if name in own})
        results: list[float] = []
        for fitted in learner._fitted_along(chain, self.X, fold.training, self.graphs):
            results.append(self.judge(fold.held_out, np.asarray(fitted.training_scores(self.X))))
            self.advance()
            if time.monotonic() > deadline:
                break
        return results


def _best(trials: Sequence[Trial], n_splits: int) -> Trial:
    """Return the trial of highest mean; where none could be judged there is no best."""
    judged = [trial for trial in trials if np.isfinite(trial.mean)]
    if not judged:
        raise InvalidInputError(
            f"No candidate could be judged in any of {n_splits} folds: too few presences are "
            "known. Pass criterion='squared_error', or more labels."
        )
    return max(judged, key=lambda trial: trial.mean)


def _chains(
    grid: Mapping[str, Sequence[Any]], found: Params, along: Sequence[str], together: Sequence[str]
) -> list[list[Params]]:
    """Arrange the candidates in chains.

    They run along falling values of some parameters, for warm starts, and along those that are
    solved for together as the grid has them: of equals the first is best, and stays the first.
    """
    inside = {name: list(grid[name]) for name in together if name in grid}
    inside |= {name: sorted(grid[name], reverse=True) for name in along if name in grid}
    others = {name: values for name, values in grid.items() if name not in inside}
    return [
        [found | start | step for step in _combinations(inside)] for start in _combinations(others)
    ]


def _combinations(grid: Mapping[str, Sequence[Any]]) -> list[Params]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _collect(
    chains: Sequence[Sequence[Params]], results: Sequence[Sequence[float]], n_folds: int
) -> list[Trial]:
    """Turn results by (chain, fold) into one trial for each candidate that all folds have judged.

    Folds judge candidates of a chain in its order: where time ran out, they fall short by some.
    """
    trials = []
    for number, chain in enumerate(chains):
        by_fold = results[number * n_folds : (number + 1) * n_folds]
        trials += [
            Trial(params, scores)
            for params, scores in zip(chain, zip(*by_fold, strict=False), strict=False)
        ]
    return trials
