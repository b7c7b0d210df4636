"""Choose parameters on the training data alone, by hiding part of what is known."""

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tagloom.checks import check_choice, check_number, check_whole, is_whole
from tagloom.errors import InvalidInputError, TagloomWarning
from tagloom.labels import PartialLabels, as_partial_labels, split_items, split_known
from tagloom.metrics import mean_average_precision, squared_error
from tagloom.models.base import PartialLabelLearner
from tagloom.models.search import Criterion, Remembered, Search, Trial
from tagloom.models.targets import check_learnable
from tagloom.progress import progress_bar

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
        of the last is chosen. By default the `search_space` of the model.
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
    check_whole("n_splits", n_splits, at_least=2)
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise InvalidInputError(f"n_jobs must be a whole number other than 0; got {n_jobs!r}.")
    if seconds is not None:
        check_number("seconds", seconds, low=0)
    check_choice("hold_out", hold_out, tuple(_SPLITS))
    check_learnable(known, getattr(model, "on_unlearnable", "ignore"))
    graphs = {"graph": graph, "label_graph": label_graph}
    given = {name: weights for name, weights in graphs.items() if weights is not None}
    stages = _checked_stages(model, grid if grid is not None else model.search_space(X, Y, graph))
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
