"""Model selection for partial labels: cross-validated search and the regularisation path.

`tune` hides part of what is known, fold by fold, and keeps the parameters under which it is best
recovered. Candidates are arranged in paths, along which a learner reuses what it computed for the
candidate before. `regularization_path` fits an `APGGraph` for falling lambda with warm starts.
"""

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

from tagloom.errors import InvalidInputError, TagloomWarning
from tagloom.labels import PartialLabels, as_partial_labels, split_items, split_known
from tagloom.labels.splits import Fold
from tagloom.linalg import blas_for, limited_blas
from tagloom.metrics import mean_of_defined
from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import PartialLabelLearner, check_learnable, read_target
from tagloom.models.cross_validation import METRICS
from tagloom.models.prior import read_prior
from tagloom.models.search_cache import SearchCache
from tagloom.progress import progress_bar
from tagloom.validation import check_choice, check_integer, check_n_jobs, check_number

Params = dict[str, Any]
ParamGrid = Mapping[str, Iterable[Any]]
Scorer = Callable[[PartialLabels, npt.NDArray[Any]], Any]
Checkpoint = MutableMapping[str, Any]

_SCORERS = {name: METRICS[name] for name in ("mean_average_precision", "squared_error")}

_SPLITS = {"entries": split_known, "items": split_items}

# With fewer labels (or folds, where scores are not by label) a standard error means nothing.
_FEWEST_DIFFERENCES = 3

# Candidates are compared, not used: an objective solved to one per cent ranks them as an exact one
# does, and a candidate that needs more iterations (weak penalties, few labels) is scored as it is.
_TUNING_PARAMS = {"warm_start": True, "tol": 1e-2, "max_iter": 50, "on_unlearnable": "ignore"}

# What the candidates of a search share is kept up to this size, and computed again beyond it.
_CACHE_BYTES = 1 << 30


@dataclass(frozen=True)
class Trial:
    """One candidate and its score on every fold; greater is better."""

    params: Params
    scores: tuple[float, ...]
    label_scores: npt.NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    """The score of each label, the mean over folds; None where scores are not by label."""

    @property
    def mean(self) -> float:
        """Mean over the folds that have a score; these are the same for every candidate."""
        return float(np.mean(self._finite))

    @property
    def std(self) -> float:
        """Standard deviation over the folds that have a score."""
        return float(np.std(self._finite))

    @property
    def _finite(self) -> list[float]:
        return [score for score in self.scores if np.isfinite(score)] or [float("nan")]


@dataclass(frozen=True, repr=False)
class Tuning:
    """The trials of a search, the best of them, and its learner fitted on all training data."""

    best: Trial
    trials: list[Trial]
    model: PartialLabelLearner

    def __repr__(self) -> str:
        best = f"{self.best.mean:.4g} ± {self.best.std:.2g} with {self.best.params}"
        return f"Tuning({type(self.model).__name__}: best of {len(self.trials)} trials {best})"

    def to_frame(self) -> Any:
        """Return the trials as a pandas DataFrame, best first."""
        import pandas as pd

        rows = [{**t.params, "mean": t.mean, "std": t.std} for t in self.trials]
        return pd.DataFrame(rows).sort_values("mean", ascending=False, ignore_index=True)


def tune(
    model: PartialLabelLearner,
    X: Any,
    Y: Any,
    graph: Any = None,
    label_graph: Any = None,
    *,
    prior: Any = None,
    param_grid: ParamGrid | Sequence[ParamGrid] | None = None,
    cv: int = 3,
    hold_out: str = "entries",
    scoring: str | Scorer = "mean_average_precision",
    safest_first: bool | None = None,
    random_state: int | None = 0,
    max_seconds: float | None = None,
    checkpoint: Checkpoint | None = None,
    n_jobs: int | None = None,
    verbose: bool = True,
) -> Tuning:
    """Choose the parameters under which hidden entries of the training data are best recovered.

    Known entries are split into folds, label by label and stratified by presence and absence; or
    whole items are split. Every candidate sees the same folds. Candidates that differ only in `lam`
    are fitted from strong to weak with warm starts; a learner may name other parameters along
    which a fit can reuse the one before. Where candidates differ only in the `ridge` of a closed
    form, what they have in common is computed once.

    Parameters
    ----------
    model : PartialLabelLearner
        Gives the parameters that are not in the grid; it is not changed.
    X, Y, graph, label_graph, prior
        As for `fit`. Y is two-dimensional.
    param_grid : mapping from parameter to values, or a sequence of such mappings, optional
        Several mappings are stages of one search: each keeps what was best in the stage before, and
        the best of the last stage is chosen. By default the `default_param_grid` of the model.
    cv : int, default=3
        Number of folds.
    hold_out : {"entries", "items"}, default="entries"
        Hold out entries to complete partly known items, or items to score new ones. The two differ
        where unlisted entries count as absent: a held-out presence then becomes one more unlisted
        entry, a negative example; a held-out item gives no example at all.
    scoring : {"mean_average_precision", "squared_error"} or callable
        A callable gets the held-out PartialLabels and the scores, and returns a number, or an array
        with one for each label (NaN for none), of which the mean is taken; greater is better.
    safest_first : bool, optional
        Whether the first value of each list in the grid is the safest, so that another must be
        better by one standard error to be chosen: the candidate with the largest

            mean of the difference to the safest - its standard error

        is, the difference taken label by label, or fold by fold where scores are not by label. The
        folds of few labels are noisy, and the best of many candidates is often the luckiest (the
        one-standard-error rule, Breiman et al. 1984). By default True for the own grid of a learner
        that orders it so, and False for a given grid: then the best mean is chosen.
    random_state : int, default=0
        Seed of the folds.
    max_seconds : float, optional
        Time after which no further candidate is started, except for the first of every path;
        closed forms are solved for a whole path at its start. What such a search finds depends on
        the speed of the machine.
    checkpoint : mutable mapping from str, optional
        Results of the same search on the same data, to resume it after an interruption: a result
        that is there is not computed again, and new ones are stored as soon as they are known.
    n_jobs : int, optional
        Number of threads that fit paths of candidates side by side; they share the cores.
    verbose : bool, default=True
        Whether to show a progress bar where standard error is a terminal.
    """
    known = as_partial_labels(Y)
    if prior is not None and not model.takes_prior:
        raise InvalidInputError(
            f"{type(model).__name__} takes no prior scores; LeastSquares and SemanticDiffusion do."
        )
    check_integer("cv", cv, at_least=2)
    check_n_jobs("n_jobs", n_jobs)
    if max_seconds is not None:
        check_number("max_seconds", max_seconds, low=0)
    check_choice("hold_out", hold_out, tuple(_SPLITS))
    given_prior = read_prior(prior, known.n_items, read_target(known).classes, np.float64)
    on_unlearnable = model.get_params(deep=False).get("on_unlearnable", "ignore")
    check_learnable(known, on_unlearnable, given_prior)
    given = {"graph": graph, "label_graph": label_graph, "prior": prior}
    inputs = {name: table for name, table in given.items() if table is not None}
    if safest_first is None:
        safest_first = param_grid is None and model.safest_first
    if param_grid is None:
        own = {} if prior is None else {"prior": prior}
        param_grid = model.default_param_grid(X, Y, graph, **own)
    stages = _checked_stages(model, param_grid)
    if scoring != "squared_error":
        _warn_without_absences(known)
    folds = _folds(known, cv, hold_out, random_state)
    n_fits = len(folds) * sum(prod(map(len, stage.values())) for stage in stages)
    with progress_bar(n_fits, "tuning", show=verbose) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = _Search(
            model,
            X,
            inputs,
            _scorer(scoring),
            folds,
            advance,
            safest_first,
            np.inf if max_seconds is None else time.monotonic() + max_seconds,
            {} if checkpoint is None else checkpoint,
        )
        with blas_for(known.n_items, np.shape(X)[1], known.n_labels):
            best, trials = search.run(stages, n_jobs)
    fitted = clone(model).set_params(**best.params)
    fitted._search_cache = search.cache
    fitted.fit(X, Y, **inputs)
    del fitted._search_cache
    return Tuning(best, trials, fitted)


def _folds(known: PartialLabels, cv: int, hold_out: str, random_state: Any) -> list[Fold]:
    """Split the known entries; every fold must leave some to learn from."""
    counts = known.counts()
    n_known = int(counts.present.sum() + counts.absent.sum())
    if cv > n_known:
        raise InvalidInputError(
            f"cv={cv} folds need as many known entries at least; Y has {n_known:,}. Lower cv."
        )
    folds = list(_SPLITS[hold_out](known, cv, random_state))
    for fold in folds:
        left = fold.training.counts()
        if not (left.present.any() or left.absent.any()):
            raise InvalidInputError(
                f"Y has too few known entries to hold some out: of {n_known:,}, a fold of cv={cv} "
                "leaves none to learn from. Annotate more items, or fit with given parameters."
            )
    return folds


def _checked_stages(
    model: PartialLabelLearner, param_grid: ParamGrid | Sequence[ParamGrid]
) -> list[dict[str, list[Any]]]:
    stages = [param_grid] if isinstance(param_grid, Mapping) else list(param_grid)
    if not stages or not all(isinstance(stage, Mapping) for stage in stages):
        raise InvalidInputError(
            "param_grid must be a mapping from parameters to lists of values, or a list of such "
            f"mappings, one for each stage of the search; got {param_grid!r}."
        )
    return [_checked_grid(model, stage) for stage in stages]


def _checked_grid(model: PartialLabelLearner, grid: ParamGrid) -> dict[str, list[Any]]:
    for name, candidates in grid.items():
        if isinstance(candidates, str) or not isinstance(candidates, Iterable):
            raise InvalidInputError(
                f"param_grid[{name!r}] must be a list of values to try; got {candidates!r}."
            )
    values = {name: list(candidates) for name, candidates in grid.items()}
    unknown = sorted(set(values) - set(model.get_params()))
    if unknown or not all(values.values()):
        raise InvalidInputError(
            f"param_grid must give at least one value for parameters of {type(model).__name__}: "
            f"{sorted(model.get_params())}. Unknown: {unknown}; empty: "
            f"{[name for name, candidates in values.items() if not candidates]}."
        )
    return values


def _warn_without_absences(known: PartialLabels) -> None:
    if known.unlisted_weight or known.counts().absent.any():
        return
    warnings.warn(
        "No absence is known: every candidate ranks the held-out entries first, and the search "
        "cannot tell candidates apart. Say what an unlisted tag means, e.g. a weight of 0.1.",
        TagloomWarning,
        stacklevel=3,
    )


def _scorer(scoring: str | Scorer) -> Scorer:
    if callable(scoring):
        return scoring
    check_choice("scoring", scoring, tuple(_SCORERS))
    return _SCORERS[scoring]


@dataclass(frozen=True)
class _Search:
    """The search over candidates, stage by stage, in paths.

    `deadline` is the time, by `time.monotonic`, after which no candidate is started; the first of
    every path is scored all the same, and so is a path that is solved jointly, for then its work is
    done. `checkpoint` holds the results of complete paths.
    """

    model: PartialLabelLearner
    X: Any
    inputs: Mapping[str, Any]
    scorer: Scorer
    folds: Sequence[Fold]
    advance: Callable[[], None]
    safest_first: bool
    deadline: float = np.inf
    checkpoint: Checkpoint = field(default_factory=dict)
    cache: SearchCache = field(default_factory=lambda: SearchCache(_CACHE_BYTES))

    def run(
        self, stages: Sequence[Mapping[str, Sequence[Any]]], n_jobs: int | None
    ) -> tuple[Trial, list[Trial]]:
        """Run the stages, each from the best of the one before; return the last best and all."""
        trials: list[Trial] = []
        found: Params = {}
        for stage in stages:
            jointly = self.model.solved_jointly(stage)
            paths = _paths(stage, found, self.model.path_parameters, jointly)
            is_joint = any(name in stage for name in jointly)
            folds = range(len(self.folds))
            tasks = [(path, number, is_joint) for path in paths for number in folds]
            tried = _collect(paths, self._in_parallel(tasks, n_jobs), len(self.folds))
            safest = {name: values[0] for name, values in stage.items()}
            best = _best(tried, len(self.folds), safest if self.safest_first else None)
            found, trials = best.params, trials + tried
        return best, trials

    def _in_parallel(self, tasks: Sequence[tuple[Any, ...]], n_jobs: int | None) -> list[list[Any]]:
        """Run the tasks in threads, between which the cores are divided."""
        n_threads = effective_n_jobs(n_jobs)
        if n_threads == 1:
            return [self._path_scores(*task) for task in tasks]
        with limited_blas(max(1, effective_n_jobs(-1) // n_threads)):
            done = Parallel(n_jobs=n_threads, backend="threading")(
                delayed(self._path_scores)(*task) for task in tasks
            )
        return list(done)

    def _path_scores(self, path: Sequence[Params], number: int, is_joint: bool) -> list[Any]:
        """Return the scores of a path on one fold, from the checkpoint or computed."""
        key = json.dumps([number, list(path)], sort_keys=True, default=repr)
        if key in self.checkpoint:
            results: list[Any] = list(self.checkpoint[key])
            for _ in results:
                self.advance()
            return results
        results = self._fit_and_score(
            path, self.folds[number], np.inf if is_joint else self.deadline
        )
        if len(results) == len(path):
            self.checkpoint[key] = results
        return results

    def _fit_and_score(self, path: Sequence[Params], fold: Fold, deadline: float) -> list[Any]:
        learner = clone(self.model)
        learner._search_cache = self.cache
        own = learner.get_params()
        overrides = _TUNING_PARAMS | learner.tuning_params
        learner.set_params(**{name: value for name, value in overrides.items() if name in own})
        results: list[Any] = []
        # Learners that take no prior scores need not know the word.
        prior = {name: table for name, table in self.inputs.items() if name == "prior"}
        for fitted in learner.fit_path(path, self.X, fold.training, self.inputs):
            scores = np.asarray(fitted.training_scores(self.X, **prior))
            results.append(np.asarray(self.scorer(fold.held_out, scores), dtype=float).tolist())
            self.advance()
            if time.monotonic() > deadline:
                break
        return results


def _paths(
    grid: Mapping[str, Sequence[Any]], found: Params, along: Sequence[str], jointly: Sequence[str]
) -> list[list[Params]]:
    """Arrange the candidates in paths.

    A path runs along falling values of some parameters, for warm starts, and along those that are
    solved jointly in the order of the grid: of equally good candidates the first is chosen.
    """
    inside = {name: list(grid[name]) for name in jointly if name in grid}
    inside |= {name: sorted(grid[name], reverse=True) for name in along if name in grid}
    others = {name: values for name, values in grid.items() if name not in inside}
    return [
        [found | start | step for step in _combinations(inside)] for start in _combinations(others)
    ]


def _combinations(grid: Mapping[str, Sequence[Any]]) -> list[Params]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _collect(
    paths: Sequence[Sequence[Params]], results: Sequence[Sequence[Any]], n_folds: int
) -> list[Trial]:
    """Turn results by (path, fold) into one trial for each candidate that all folds have scored.

    A path is scored in its order: where time ran out, the last candidates are missing.
    """
    trials = []
    for number, path in enumerate(paths):
        by_fold = results[number * n_folds : (number + 1) * n_folds]
        trials += [
            _trial(params, scores)
            for params, scores in zip(path, zip(*by_fold, strict=False), strict=False)
        ]
    return trials


def _trial(params: Params, by_fold: Sequence[Any]) -> Trial:
    """Return a trial from one score for each fold, or one for each fold and label."""
    table = np.array(by_fold, dtype=float)
    if table.ndim == 1:
        return Trial(params, tuple(table.tolist()))
    by_label = np.array([mean_of_defined(scores) for scores in table.T])
    return Trial(params, tuple(map(mean_of_defined, table)), by_label)


def _best(trials: Sequence[Trial], n_folds: int, safest: Params | None) -> Trial:
    """Return the trial of highest mean score, or the one that is surest to beat the safest.

    An error where no trial has a score.
    """
    scored = [trial for trial in trials if np.isfinite(trial.mean)]
    if not scored:
        raise InvalidInputError(
            f"No candidate could be scored in any of {n_folds} folds: too few presences are "
            "known. Pass scoring='squared_error', or more labels."
        )
    start = [
        trial for trial in scored if safest is not None and safest.items() <= trial.params.items()
    ]
    if not start:
        return max(scored, key=lambda trial: trial.mean)
    return max(scored, key=lambda trial: _sure_gain(trial, start[0]))


def _sure_gain(trial: Trial, safest: Trial) -> float:
    """Return the mean of the difference to the safest, less its standard error; 0 for that."""
    if trial is safest:
        return 0.0
    if trial.label_scores is None or safest.label_scores is None:
        differences = np.subtract(trial.scores, safest.scores)
    else:
        differences = trial.label_scores - safest.label_scores
    differences = differences[np.isfinite(differences)]
    if len(differences) < _FEWEST_DIFFERENCES:
        return float(trial.mean - safest.mean)
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return float(differences.mean() - error)


def regularization_path(
    model: APGGraph,
    X: Any,
    Y: Any,
    graph: Any = None,
    label_graph: Any = None,
    *,
    lams: Sequence[float] | None = None,
    n_lams: int = 20,
    eps: float = 1e-3,
) -> Iterator[APGGraph]:
    """Yield fitted copies of `model` for falling lam, each with a warm start from the one before.

    Parameters
    ----------
    model : APGGraph
        Gives every parameter but `lam`; it is not changed.
    X, Y, graph, label_graph
        As for `APGGraph.fit`.
    lams : sequence of float, optional
        The values of lam, used from the largest to the smallest. By default `n_lams` values, evenly
        spaced in the logarithm from `model.lam_max(X, Y)`, at which M is 0, down to `eps` times it.
    n_lams : int, default=20
    eps : float in (0, 1], default=1e-3
        Smallest lam, relative to the largest.
    """
    if lams is None:
        check_integer("n_lams", n_lams, at_least=1)
        check_number("eps", eps, low=0, high=1, inclusive=False)
        lams = (model.lam_max(X, Y) * np.geomspace(1.0, eps, n_lams)).tolist()
    previous: APGGraph | None = None
    for lam in sorted(lams, reverse=True):
        fitted = clone(model).set_params(lam=lam, warm_start=True)
        if previous is not None:
            fitted.coef_ = previous.coef_
        fitted.fit(X, Y, graph, label_graph)
        fitted.set_params(warm_start=model.warm_start)
        yield fitted
        previous = fitted
