"""Choose parameters on the training data alone, by hiding part of what is known."""

import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from tagloom.errors import InvalidInputError, TagloomWarning
from tagloom.labels import PartialLabels, as_partial_labels, split_items, split_known
from tagloom.labels.splits import Fold
from tagloom.metrics import mean_average_precision, squared_error
from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import PartialLabelLearner, check_learnable
from tagloom.progress import progress_bar
from tagloom.validation import check_choice, check_integer, check_number, is_integer

# §§ search
# Go through candidates in chains, stage by stage, within a time; do nothing twice.


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


# §§ main tuning


Grid = Mapping[str, Iterable[Any]]

_CRITERIA: dict[str, Criterion] = {
    "mean_average_precision": mean_average_precision,
    "squared_error": lambda truth, scores: -squared_error(truth, scores),
}

_SPLITS = {"entries": split_known, "items": split_items}


@dataclass(frozen=True)
class Tuning:
    """What was tried and what is best, with the best learner fitted on all that is known."""

    best: Trial
    trials: list[Trial]
    model: PartialLabelLearner

    def to_frame(self) -> Any:
        """Return the trials as a pandas DataFrame, best first."""
        import pandas as pd

        rows = [{**t.params, "mean": t.mean, "spread": t.spread} for t in self.trials]
        return pd.DataFrame(rows).sort_values("mean", ascending=False, ignore_index=True)


def tune(
    model: PartialLabelLearner,
    X: Any,
    Y: Any,
    graph: Any = None,
    label_graph: Any = None,
    *,
    grid: Grid | Sequence[Grid] | None = None,
    n_splits: int = 3,
    hold_out: str = "entries",
    criterion: str | Criterion = "mean_average_precision",
    random_state: int | None = 0,
    seconds: float | None = None,
    remembered: Remembered | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Tuning:
    """Choose the parameters under which hidden entries of the training data are best recovered.

    Known entries are split into folds, label by label, presences and absences apart, or whole items
    are. Every candidate sees the same folds. Candidates that differ only in `lam` are fitted one
    after the other from strong to weak, each from the solution before; a learner may name other
    parameters along which a fit can use what the fit before it found. Where candidates differ only
    in the `ridge` of a closed form, what they have in common is computed once.

    Parameters
    ----------
    model : PartialLabelLearner
        Gives the parameters that are not in the grid; stays untouched.
    X, Y, graph, label_graph
        As for `fit`. Y is two-dimensional.
    grid : mapping from parameter to values, or a sequence of such mappings, optional
        Several are stages of one search: each keeps what was best in the stage before, and the best
        of the last is chosen. By default the `default_param_grid` of the model.
    n_splits : int, default=3
        Into how many folds what is known is split.
    hold_out : {"entries", "items"}, default="entries"
        Entries are held out to complete what is partly known, items to score new ones. Where
        unlisted entries are presumed absent the two differ: a held-out presence is then one more
        unlisted entry, which the learner is taught to be absent; of a new item it is taught
        nothing.
    criterion : {"mean_average_precision", "squared_error"} or callable, default: the first
        A callable gets the held-out PartialLabels and the scores; greater is better.
    random_state : int, default=0
        Decides the folds.
    seconds : float, optional
        After so long no further candidate is begun, but for the first of every chain; closed forms
        are solved for all of a chain as it begins. A search that is cut short depends on the speed
        of the machine.
    remembered : mutable mapping from str, optional
        Results of the same search, on the same data, that was broken off: what is there is not
        worked out again, and whatever is worked out is put there as soon as it is known.
    n_jobs : int, optional
        How many chains of candidates are worked on at once, by threads that share the cores.
    progress : bool, default=False
        Whether to show a progress bar.
    """
    known = as_partial_labels(Y)
    check_integer("n_splits", n_splits, at_least=2)
    if n_jobs is not None and (not is_integer(n_jobs) or n_jobs == 0):
        raise InvalidInputError(f"n_jobs must be an integer other than 0; got {n_jobs!r}.")
    if seconds is not None:
        check_number("seconds", seconds, low=0)
    check_choice("hold_out", hold_out, tuple(_SPLITS))
    check_learnable(known, getattr(model, "on_unlearnable", "ignore"))
    graphs = {"graph": graph, "label_graph": label_graph}
    given = {name: weights for name, weights in graphs.items() if weights is not None}
    stages = _checked_stages(
        model, grid if grid is not None else model.default_param_grid(X, Y, graph)
    )
    if criterion != "squared_error":
        _warn_of_presences_alone(known)
    folds = list(_SPLITS[hold_out](known, n_splits, random_state))
    n_fits = len(folds) * sum(prod(map(len, stage.values())) for stage in stages)
    with progress_bar(n_fits, "tuning", show=progress) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = Search(
            model,
            X,
            given,
            _judge(criterion),
            folds,
            advance,
            np.inf if seconds is None else time.monotonic() + seconds,
            {} if remembered is None else remembered,
        )
        best, trials = search.best_of(stages, n_jobs)
    fitted = clone(model).set_params(**best.params)
    return Tuning(best, trials, fitted.fit(X, Y, **given))


def _warn_of_presences_alone(known: PartialLabels) -> None:
    if known.unlisted_weight or known.counts().absent.any():
        return
    warnings.warn(
        "No absence is known: whatever is held out is ranked first by every candidate, and the "
        "search chooses nothing. Say what an unlisted tag means, e.g. a weight of 0.1.",
        TagloomWarning,
        stacklevel=3,
    )


def _checked_stages(
    model: PartialLabelLearner, grid: Grid | Sequence[Grid]
) -> list[dict[str, list[Any]]]:
    stages = [grid] if isinstance(grid, Mapping) else list(grid)
    if not stages or not all(isinstance(stage, Mapping) for stage in stages):
        raise InvalidInputError(
            "grid must be a mapping from parameters to lists of values, or a list of such "
            f"mappings, one for each stage of the search; got {grid!r}."
        )
    return [_checked_grid(model, stage) for stage in stages]


def _checked_grid(model: PartialLabelLearner, grid: Grid) -> dict[str, list[Any]]:
    for name, candidates in grid.items():
        if isinstance(candidates, str) or not isinstance(candidates, Iterable):
            raise InvalidInputError(
                f"grid[{name!r}] must be a list of values to try; got {candidates!r}."
            )
    values = {name: list(candidates) for name, candidates in grid.items()}
    unknown = sorted(set(values) - set(model.get_params()))
    if unknown or not all(values.values()):
        raise InvalidInputError(
            f"grid must give at least one value for parameters of {type(model).__name__}: "
            f"{sorted(model.get_params())}. Unknown: {unknown}; empty: "
            f"{[name for name, candidates in values.items() if not candidates]}."
        )
    return values


def _judge(criterion: str | Criterion) -> Criterion:
    if callable(criterion):
        return criterion
    check_choice("criterion", criterion, tuple(_CRITERIA))
    return _CRITERIA[criterion]


# §§ path
# The regularisation path: the same problem from strong to weak nuclear norm.


def regularization_path(
    model: APGGraph,
    X: Any,
    Y: Any,
    graph: Any = None,
    label_graph: Any = None,
    *,
    lams: Sequence[float] | None = None,
    n_lams: int = 20,
    smallest: float = 1e-3,
) -> Iterator[APGGraph]:
    """Yield fitted copies of `model` for falling lam, each started from the one before.

    Parameters
    ----------
    model : APGGraph
        Gives every parameter but `lam`; stays untouched.
    X, Y, graph, label_graph
        As for `APGGraph.fit`.
    lams : sequence of float, optional
        The values of lam; they are taken from the largest to the smallest. By default `n_lams`
        values, evenly spaced in the logarithm from `model.lam_max(X, Y)`, at which M is 0, down to
        `smallest` times it.
    """
    if lams is None:
        check_integer("n_lams", n_lams, at_least=1)
        check_number("smallest", smallest, low=0, high=1, inclusive=False)
        lams = (model.lam_max(X, Y) * np.geomspace(1.0, smallest, n_lams)).tolist()
    before: APGGraph | None = None
    for lam in sorted(lams, reverse=True):
        fitted = clone(model).set_params(lam=lam, warm_start=True)
        if before is not None:
            fitted.coef_ = before.coef_
        fitted.fit(X, Y, graph, label_graph)
        fitted.set_params(warm_start=model.warm_start)
        yield fitted
        before = fitted
