"""Model selection for partial labels: cross-validated search and the regularisation path.

`tune` hides part of what is known, fold by fold, and keeps the parameters under which it is best
recovered. Candidates are arranged in paths, along which a learner reuses what it computed for the
candidate before. `regularization_path` fits an `APGGraph` for falling lambda with warm starts.
"""

import json
import time
import warnings
from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tagloom.errors import InvalidInputError, TagloomWarning
from tagloom.labels import PartialLabels, State, as_partial_labels, split_items, split_known
from tagloom.labels.parsing import label_positions
from tagloom.labels.splits import Fold, with_certain_absences
from tagloom.linalg import blas_for, side_by_side
from tagloom.metrics import mean_of_defined
from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import ParamGrid as Grid
from tagloom.models.base import PartialLabelLearner, check_learnable, read_target
from tagloom.models.cross_validation import METRICS
from tagloom.models.prior import prior_table, read_prior
from tagloom.models.search_cache import SearchCache
from tagloom.progress import progress_bar
from tagloom.validation import check_choice, check_integer, check_n_jobs, check_number

Params = dict[str, Any]
ParamGrid = Mapping[str, Iterable[Any]]
Stage = ParamGrid | Sequence[ParamGrid]
Scorer = Callable[[PartialLabels, npt.NDArray[Any]], Any]
Checkpoint = MutableMapping[str, Any]

_SCORERS = {name: METRICS[name] for name in ("mean_average_precision", "squared_error")}

_SPLITS = {"entries": split_known, "items": split_items}

# With fewer labels (or folds, where scores are not by label) a standard error means nothing.
_FEWEST_DIFFERENCES = 3

# Candidates are compared, not used: an objective solved to one per cent ranks them as an exact one
# does, and a candidate that needs more iterations (weak penalties, few labels) is scored as it is.
_TUNING_PARAMS = {"warm_start": True, "tol": 1e-2, "max_iter": 50, "on_unlearnable": "ignore"}

# By so many standard errors must a candidate be better than the safest one. Where absences are only
# assumed, what is held out is as incomplete as the rest: an error that no standard error tells.
_STANDARD_ERRORS = 1.0
_STANDARD_ERRORS_OF_LISTS = 2.0

# What the candidates of a search share is kept up to this size, and computed again beyond it.
_CACHE_BYTES = 1 << 30
# Held-out scores of a path of candidates are pooled up to this size; beyond it, with that many
# entries, the mean over folds is as good.
_POOLED_BYTES = 1 << 30


@dataclass(frozen=True)
class Trial:
    """One candidate and its score on every fold and on all of them together; greater is better."""

    params: Params
    scores: tuple[float, ...]
    pooled: float = float("nan")
    """The score of the held-out entries of all folds together, by which candidates are compared."""
    label_scores: npt.NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    """The same for each label; None where scores are not by label."""

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
    search_seconds: float = field(default=float("nan"), compare=False)
    """How long the search took, without the last fit; NaN where it was loaded from a file."""

    def __repr__(self) -> str:
        best = f"{self.best.pooled:.4g} ± {self.best.std:.2g} with {self.best.params}"
        return f"Tuning({type(self.model).__name__}: best of {len(self.trials)} trials {best})"

    def to_frame(self) -> Any:
        """Return the trials as a pandas DataFrame, best first."""
        import pandas as pd

        rows = [{**t.params, "pooled": t.pooled, "mean": t.mean, "std": t.std} for t in self.trials]
        return pd.DataFrame(rows).sort_values("pooled", ascending=False, ignore_index=True)


def tune(
    model: PartialLabelLearner,
    X: Any,
    Y: Any,
    graph: Any = None,
    label_graph: Any = None,
    *,
    prior: Any = None,
    param_grid: ParamGrid | Sequence[Stage] | None = None,
    cv: int = 3,
    hold_out: str = "auto",
    scoring: str | Scorer = "mean_average_precision",
    safest_first: bool | None = None,
    search_labels: Sequence[Hashable] | None = None,
    random_state: int | None = 0,
    max_seconds: float | None = None,
    checkpoint: Checkpoint | None = None,
    n_jobs: int | None = None,
    verbose: bool = True,
) -> Tuning:
    """Choose the parameters under which hidden entries of the training data are best recovered.

    Known entries are split into folds, label by label and stratified by presence and absence; or
    whole items are split, where unlisted entries count as absent. Every candidate sees the same
    folds. Candidates are compared by the held-out entries of all folds together (pooled
    cross-validation; an entry held out in several folds has its mean score): one fold alone has few
    presences, and ranks by chance. Where folds score on different scales this would compare their
    scales: without `safest_first`, average precision counts a score by its rank among all items.
    Candidates that differ only in `lam` are fitted from strong to
    weak with warm starts; a learner may name other parameters along which a fit can reuse the one
    before. Where candidates differ only in the `ridge` of a closed form, what they have in common
    is computed once.

    Parameters
    ----------
    model : PartialLabelLearner
        Gives the parameters that are not in the grid; it is not changed.
    X, Y, graph, label_graph, prior
        As for `fit`. Y is two-dimensional.
    param_grid : mapping from parameter to values, or a sequence of such mappings, optional
        Several mappings are stages of one search: each keeps what was best in the stage before, and
        the best of the last stage is chosen. A stage may also be a list of mappings, whose
        candidates are all tried. By default the `default_param_grid` of the model.
    cv : int, default=3
        Number of folds.
    hold_out : {"auto", "entries", "items"}, default="auto"
        Hold out entries, or items with all of their entries. The two differ where unlisted entries
        count as absent: a held-out presence then becomes one more unlisted entry, a negative
        example; a held-out item gives no example at all. "auto" holds out items there, and entries
        otherwise.
    scoring : {"mean_average_precision", "squared_error"} or callable
        A callable gets the held-out PartialLabels and the scores, and returns a number, or an array
        with one for each label (NaN for none), of which the mean is taken; greater is better.
    safest_first : bool, optional
        Whether the first value of each list in a stage (in its first mapping) is the safest, so
        that another must be better by one standard error to be chosen: the candidate with the
        largest

            mean of the difference to the safest - its standard error

        is, the difference taken label by label, or fold by fold where scores are not by label. The
        folds of few labels are noisy, and the best of many candidates is often the luckiest (the
        one-standard-error rule, Breiman et al. 1984). Where unlisted entries count as absent it
        takes two standard errors: what is held out is then as incomplete as the rest. By default
        True for the own grid of a learner that orders it so, and False for a given grid: then the
        best is chosen.
    search_labels : sequence of labels, optional
        The labels on which candidates are fitted and compared, by default all; the others are
        learned in the last fit only. Labels with hardly any examples cost time and tell candidates
        apart by chance.
    random_state : int, default=0
        Seed of the folds.
    max_seconds : float, optional
        Time after which no further candidate is started, except for the first of every path;
        closed forms are solved for a whole path at its start. What such a search finds depends on
        the speed of the machine.
    checkpoint : mutable mapping from str, optional
        Results of the same search, folds and labels, on the same data, to resume it after an
        interruption: a result that is there is not computed again, and new ones are stored as soon
        as they are known.
    n_jobs : int, optional
        Number of threads that fit paths of candidates side by side; they share the cores.
    verbose : bool, default=True
        Whether to show a progress bar where standard error is a terminal.
    """
    begun = time.perf_counter()
    known = as_partial_labels(Y)
    if prior is not None and not model.takes_prior:
        raise InvalidInputError(
            f"{type(model).__name__} takes no prior scores; LeastSquares and SemanticDiffusion do."
        )
    check_integer("cv", cv, at_least=2)
    check_n_jobs("n_jobs", n_jobs)
    if max_seconds is not None:
        check_number("max_seconds", max_seconds, low=0)
    check_choice("hold_out", hold_out, ("auto", *_SPLITS))
    if hold_out == "auto":
        hold_out = "items" if known.unlisted_weight else "entries"
    given_prior = read_prior(prior, known.n_items, read_target(known).classes, np.float64)
    on_unlearnable = model.get_params(deep=False).get("on_unlearnable", "ignore")
    check_learnable(known, on_unlearnable, given_prior)
    given = {"graph": graph, "label_graph": label_graph, "prior": prior}
    inputs = {name: table for name, table in given.items() if table is not None}
    searched, of_search = _of_labels(known, inputs, search_labels)
    if safest_first is None:
        safest_first = param_grid is None and model.safest_first
    if param_grid is None:
        own = {name: table for name, table in of_search.items() if name == "prior"}
        param_grid = model.default_param_grid(X, Y if searched is known else searched, graph, **own)
    stages = _checked_stages(model, param_grid)
    if scoring != "squared_error":
        _warn_without_absences(searched)
    folds = _folds(searched, cv, hold_out, random_state)
    n_fits = len(folds) * sum(_n_candidates(grid) for stage in stages for grid in stage)
    with progress_bar(n_fits, "tuning", show=verbose) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = _Search(
            model,
            X,
            with_certain_absences(searched),
            of_search,
            _scorer(scoring),
            folds,
            advance,
            safest_first,
            np.inf if max_seconds is None else time.monotonic() + max_seconds,
            {} if checkpoint is None else checkpoint,
            _held_out(folds, most=max(sum(map(_n_candidates, stage)) for stage in stages)),
            scoring == "mean_average_precision" and not safest_first,
        )
        with blas_for(known.n_items, np.shape(X)[1], searched.n_labels):
            best, trials = search.run(stages, n_jobs)
    search_seconds = time.perf_counter() - begun
    fitted = clone(model).set_params(**best.params)
    fitted._search_cache = search.cache
    fitted.fit(X, Y, **inputs)
    del fitted._search_cache
    return Tuning(best, trials, fitted, search_seconds)


def _of_labels(
    known: PartialLabels, inputs: Mapping[str, Any], labels: Sequence[Hashable] | None
) -> tuple[PartialLabels, Mapping[str, Any]]:
    """Return some labels, by default all, and the inputs of a fit to them."""
    labels = known.labels if labels is None else tuple(labels)
    if labels == known.labels:
        return known, inputs
    if not labels:
        raise InvalidInputError("search_labels must name a label at least, or be None for all.")
    if "label_graph" in inputs:
        raise InvalidInputError(
            "search_labels cannot be given with label_graph, which joins all labels of Y. Leave "
            "one of them out."
        )
    chosen = known.select(labels)
    if "prior" not in inputs:
        return chosen, inputs
    table = prior_table(inputs["prior"], read_target(known).classes)
    columns = label_positions(chosen.labels, known.labels)
    return chosen, {**inputs, "prior": table[:, columns]}


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


def _held_out(folds: Sequence[Fold], most: int) -> list[npt.NDArray[np.bool_]] | None:
    """Return the entries that each fold holds out; None where their scores are too many to keep.

    `most` is the largest number of candidates whose scores are kept at a time.
    """
    n_bytes = len(folds) * prod(folds[0].held_out.shape)
    if n_bytes > _POOLED_BYTES:
        return None
    masks = [fold.held_out.states() != int(State.UNKNOWN) for fold in folds]
    n_entries = sum(int(np.count_nonzero(mask)) for mask in masks)
    return masks if n_bytes + 8 * most * n_entries <= _POOLED_BYTES else None


def _n_candidates(grid: Grid) -> int:
    return prod(map(len, grid.values()))


def _checked_stages(
    model: PartialLabelLearner, param_grid: ParamGrid | Sequence[Stage]
) -> list[list[Grid]]:
    stages = [param_grid] if isinstance(param_grid, Mapping) else list(param_grid)
    grids = [[stage] if isinstance(stage, Mapping) else list(stage) for stage in stages]
    if not grids or not all(
        stage and all(isinstance(grid, Mapping) for grid in stage) for stage in grids
    ):
        raise InvalidInputError(
            "param_grid must be a mapping from parameters to lists of values, or a list of such "
            "mappings (or of lists of them), one for each stage of the search; got "
            f"{param_grid!r}."
        )
    return [[_checked_grid(model, grid) for grid in stage] for stage in grids]


def _checked_grid(model: PartialLabelLearner, grid: ParamGrid) -> Grid:
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


class _Path(NamedTuple):
    """Candidates that are fitted one after the other, or jointly."""

    candidates: list[Params]
    is_joint: bool

    @property
    def key(self) -> str:
        """Return what identifies its results in a checkpoint."""
        return json.dumps(self.candidates, sort_keys=True, default=repr)


class _HeldOut(NamedTuple):
    """What a candidate says of the entries that one fold holds out."""

    value: Any
    """Their score, a number or one for each label."""
    scores: npt.NDArray[Any] | None
    """The scores of the learner there; None where they are too many to be kept."""


@dataclass(frozen=True)
class _Search:
    """The search over candidates, stage by stage, in paths.

    `deadline` is the time, by `time.monotonic`, after which no candidate is started; the first of
    every path is scored all the same, and so is a path that is solved jointly, for then its work is
    done. `checkpoint` holds the results of complete paths.
    """

    model: PartialLabelLearner
    X: Any
    truth: PartialLabels
    """What all folds hold out together."""
    inputs: Mapping[str, Any]
    scorer: Scorer
    folds: Sequence[Fold]
    advance: Callable[[], None]
    safest_first: bool
    deadline: float = np.inf
    checkpoint: Checkpoint = field(default_factory=dict)
    held_out: Sequence[npt.NDArray[np.bool_]] | None = None
    """The entries that each fold holds out; None where their scores are too many to be pooled."""
    by_rank: bool = False
    """Whether pooled scores count by their ranks among all items, label by label."""
    cache: SearchCache = field(default_factory=lambda: SearchCache(_CACHE_BYTES))

    def run(
        self, stages: Sequence[Sequence[Grid]], n_jobs: int | None
    ) -> tuple[Trial, list[Trial]]:
        """Run the stages, each from the best of the one before; return the last best and all."""
        trials: list[Trial] = []
        found: Params = {}
        for stage in stages:
            paths = [path for grid in stage for path in self._paths(grid, found)]
            tried = [trial for path in self._scored(paths, n_jobs) for trial in path]
            safest = {name: values[0] for name, values in stage[0].items()}
            best = self._best(tried, safest if self.safest_first else None)
            found, trials = best.params, trials + tried
        return best, trials

    def _best(self, trials: Sequence[Trial], safest: Params | None) -> Trial:
        """Return the trial of highest pooled score, or the one that is surest to beat the safest.

        An error where no trial has a score.
        """
        scored = [trial for trial in trials if np.isfinite(trial.pooled)]
        if not scored:
            raise InvalidInputError(
                f"No candidate could be scored in any of {len(self.folds)} folds: too few "
                "presences are known. Pass scoring='squared_error', or more labels."
            )
        start = [
            one for one in scored if safest is not None and safest.items() <= one.params.items()
        ]
        if not start:
            return max(scored, key=lambda trial: trial.pooled)
        n_errors = _STANDARD_ERRORS_OF_LISTS if self.truth.unlisted_weight else _STANDARD_ERRORS
        return max([start[0], *scored], key=lambda one: _sure_gain(one, start[0], n_errors))

    def _paths(self, grid: Grid, found: Params) -> list["_Path"]:
        jointly = self.model.solved_jointly(grid)
        is_joint = any(name in grid for name in jointly)
        # The first candidate of a path is scored in any case: let it be the safest.
        falls = not self.model.safest_first
        candidates = _paths(grid, found, self.model.path_parameters, jointly, falls)
        return [_Path(path, is_joint) for path in candidates]

    def _scored(self, paths: Sequence["_Path"], n_jobs: int | None) -> Iterator[list[Trial]]:
        """Yield the trials of each path, from the checkpoint or computed fold by fold."""
        stored = [path.key in self.checkpoint for path in paths]
        pending = [path for path, is_stored in zip(paths, stored, strict=True) if not is_stored]
        tasks = [
            partial(self._fit_and_score, path, number)
            for path in pending
            for number in range(len(self.folds))
        ]
        with closing(side_by_side(tasks, effective_n_jobs(n_jobs))) as done:
            for path, is_stored in zip(paths, stored, strict=True):
                if is_stored:
                    results = list(self.checkpoint[path.key])
                    for _ in range(len(results) * len(self.folds)):
                        self.advance()
                else:
                    by_fold = [next(done) for _ in self.folds]
                    results = [self._result(one) for one in zip(*by_fold, strict=False)]
                    if len(results) == len(path.candidates):
                        self.checkpoint[path.key] = results
                yield [
                    _trial(params, *one)
                    for params, one in zip(path.candidates, results, strict=False)
                ]

    def _fit_and_score(self, path: "_Path", number: int) -> list["_HeldOut"]:
        """Fit the candidates of a path on one fold; return what each says of the held-out entries.

        Where time runs out the last candidates are missing.
        """
        fold, held_out = self.folds[number], self.held_out
        learner = clone(self.model)
        learner._search_cache = self.cache
        own = learner.get_params()
        overrides = _TUNING_PARAMS | learner.tuning_params
        learner.set_params(**{name: value for name, value in overrides.items() if name in own})
        results: list[_HeldOut] = []
        # Learners that take no prior scores need not know the word.
        prior = {name: table for name, table in self.inputs.items() if name == "prior"}
        for fitted in learner.fit_path(path.candidates, self.X, fold.training, self.inputs):
            scores = np.asarray(fitted.training_scores(self.X, **prior))
            value = np.asarray(self.scorer(fold.held_out, scores), dtype=float)
            kept = None
            if held_out is not None:
                kept = (_ranks(scores) if self.by_rank else scores)[held_out[number]]
            results.append(_HeldOut(value.tolist(), kept))
            self.advance()
            if not path.is_joint and time.monotonic() > self.deadline:
                break
        return results

    def _result(self, by_fold: Sequence["_HeldOut"]) -> list[Any]:
        """Return the score of a candidate on each fold, and on all of them together."""
        values = [one.value for one in by_fold]
        if self.held_out is None:
            table = np.array(values, dtype=float)
            means = [mean_of_defined(scores) for scores in table.reshape(len(table), -1).T]
            return [values, means if table.ndim > 1 else means[0]]
        tables = [one.scores for one in by_fold if one.scores is not None]
        total = np.zeros(self.truth.shape, dtype=np.result_type(np.float32, *tables))
        count = np.zeros(self.truth.shape, dtype=np.uint16)
        for held, scores in zip(self.held_out, tables, strict=True):
            total[held] += scores
            count[held] += 1
        total /= np.maximum(count, 1)
        return [values, np.asarray(self.scorer(self.truth, total), dtype=float).tolist()]


def _ranks(scores: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Return the rank of each score among those of its label, from 1; equal ones share it."""
    return np.asarray(rankdata(scores, axis=0), dtype=np.float32)


def _paths(
    grid: Mapping[str, Sequence[Any]],
    found: Params,
    along: Sequence[str],
    jointly: Sequence[str],
    falls: bool,
) -> list[list[Params]]:
    """Arrange the candidates in paths.

    A path runs along parameters for which a fit can reuse the one before, of falling values if
    `falls`, and along those that are solved jointly, in the order of the grid: of equally good
    candidates the first is chosen.
    """
    inside = {name: list(grid[name]) for name in (*jointly, *along) if name in grid}
    for name in along if falls else ():
        inside.get(name, []).sort(reverse=True)
    others = {name: values for name, values in grid.items() if name not in inside}
    return [
        [found | start | step for step in _combinations(inside)] for start in _combinations(others)
    ]


def _combinations(grid: Mapping[str, Sequence[Any]]) -> list[Params]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _trial(params: Params, by_fold: Sequence[Any], pooled: Any) -> Trial:
    """Return a trial from the scores of each fold and of all together, numbers or by label."""
    if np.ndim(pooled) == 0:
        return Trial(params, tuple(map(float, by_fold)), float(pooled))
    by_label = np.asarray(pooled, dtype=float)
    folds = tuple(mean_of_defined(np.asarray(scores, dtype=float)) for scores in by_fold)
    return Trial(params, folds, mean_of_defined(by_label), by_label)


def _sure_gain(trial: Trial, safest: Trial, n_errors: float) -> float:
    """Return the mean of the difference to the safest, less its standard errors; 0 for that."""
    if trial is safest:
        return 0.0
    if trial.label_scores is None or safest.label_scores is None:
        differences = np.subtract(trial.scores, safest.scores)
    else:
        differences = trial.label_scores - safest.label_scores
    differences = differences[np.isfinite(differences)]
    if len(differences) < _FEWEST_DIFFERENCES:
        return float(trial.pooled - safest.pooled)
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return float(differences.mean() - n_errors * error)


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
