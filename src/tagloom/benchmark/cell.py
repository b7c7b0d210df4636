"""One cell of a benchmark, from search to score, and the store of finished cells.

A cell is a data set, a protocol, a rate, a seed and a method. Finished cells are JSON files, each
named after everything that determines it.
"""

import ctypes
import hashlib
import json
import math
import time
import traceback
import warnings
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tagloom import metrics
from tagloom.benchmark.inputs import (
    TrainTest,
    add_unlabelled,
    append_prior,
    normalize_rows,
    read_features,
    read_graph,
    read_pattern,
    shuffle_prior,
)
from tagloom.benchmark.methods import Method, build_learner
from tagloom.datasets.base import Dataset
from tagloom.io import atomic_write, parse_json
from tagloom.labels import PartialLabels
from tagloom.models import PartialLabelLearner, tune
from tagloom.models.base import ParamGrid, ParamGrids, alternatives
from tagloom.models.prior import Prior, read_prior

RESULTS_VERSION = 6
"""Version of the results, part of the name of every cell.

Raise it with every change that alters the numbers of a learner, a protocol or a metric, or the
contents of a cell: finished cells of another version are computed again. Moving or rewording code
does not change it.
"""

TOP_K = 5
_N_EXAMPLES = 12

Scores = npt.NDArray[Any]


@dataclass(frozen=True)
class Cell:
    """One combination of dataset, protocol, method, rate and seed.

    `digest` stands for everything that determines the result.
    """

    dataset: str
    protocol: str
    method: str
    rate: float
    seed: int
    digest: str

    @property
    def file_name(self) -> str:
        """The name of its file, unique among cells and configurations."""
        return f"{self.protocol}_{self.rate:g}_seed{self.seed}_{self.method}_{self.digest}.json"

    def columns(self) -> dict[str, Any]:
        """Return the leading columns of its row."""
        return {name: value for name, value in asdict(self).items() if name != "digest"}


class CellStore:
    """The folders of finished and of failed cells."""

    def __init__(self, folder: Path) -> None:
        self.done = folder / "cells"
        self.failed = folder / "failed"

    def make(self) -> None:
        """Create both folders."""
        for folder in (self.done, self.failed):
            folder.mkdir(parents=True, exist_ok=True)

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """Return a finished cell; None if it is missing or damaged."""
        try:
            record = parse_json((self.done / cell.file_name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        found = isinstance(record, dict) and record.get("digest") == cell.digest
        return record if found else None

    def write(self, cell: Cell, record: dict[str, Any]) -> None:
        """Store a finished cell and remove an earlier failure."""
        _write(self.done, cell, record)
        with suppress(FileNotFoundError):
            (self.failed / cell.file_name).unlink()

    def write_failure(self, cell: Cell, error: str, trace: str) -> None:
        """Store why a cell failed; it counts as unfinished."""
        _write(self.failed, cell, {"cell": cell.columns(), "error": error, "traceback": trace})


def _write(folder: Path, cell: Cell, record: dict[str, Any]) -> None:
    from tagloom import __version__

    head = {
        "results_version": RESULTS_VERSION,
        "version": __version__,
        "digest": cell.digest,
    }
    with atomic_write(folder / cell.file_name) as part:
        part.write_text(to_json(head | record) + "\n", encoding="utf-8")


def to_json(value: Any) -> str:
    """Return JSON in which NumPy numbers are numbers and NaN is null."""
    return json.dumps(_plain(value), sort_keys=True, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def digest_of(**metadata: Any) -> str:
    """Return a short hash of metadata that JSON can hold."""
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint(dataset: Dataset) -> str:
    """Return a short hash of a data set: items, truth, split and features."""
    seen = hashlib.sha256()
    names = [dataset.name, list(dataset.items), [str(label) for label in dataset.truth.labels]]
    seen.update(json.dumps(names).encode())
    entries = dataset.truth.entries()
    arrays: list[Any] = [entries.rows, entries.columns, entries.present, entries.weights]
    arrays += [*dataset.truth.hidden_entries(), np.float64(dataset.truth.unlisted_weight)]
    arrays += [dataset.training, dataset.test]
    if dataset.features is not None:
        seen.update(json.dumps(dataset.features.concepts).encode())
        arrays += [dataset.features.visual, dataset.features.posteriors]
    seen.update(_serialised(arrays))
    return seen.hexdigest()[:16]


def digest_of_arrays(*arrays: npt.NDArray[Any]) -> str:
    """Return a short hash of arrays."""
    return hashlib.sha256(_serialised(arrays)).hexdigest()[:16]


def _serialised(arrays: Iterable[Any]) -> bytes:
    """Return types, shapes and values of arrays."""
    parts = ((f"{one.dtype.str}{one.shape}".encode(), one.tobytes()) for one in arrays)
    return b"".join(chain.from_iterable(parts))


@dataclass(frozen=True)
class Task:
    """Everything a process needs to run one cell, except the truth of the test items."""

    cell: Cell
    method: Method
    pattern: Path
    """The file of the labels that stayed known."""
    features: Path
    """The folder of the features that all learners share."""
    semantics: Path
    """The folder of the graph and the descriptors, which depend on the known labels."""
    cv: int
    """Number of folds of the search."""
    transductive: bool = False
    """Whether the learner is given the unlabelled test items, too."""
    normalize_rows: str = "never"
    """Whether the rows of the shared features are normalised, or the search decides."""
    search_labels: int | None = None
    """On how many labels parameters are chosen; None for all."""


def run_cell(task: Task, truth: PartialLabels, store: CellStore) -> tuple[Cell, str | None]:
    """Run a cell and store its result, or its error, at once; return the cell and the error.

    `truth` holds the labels of the test items. The learner never sees it: it is used only once the
    scores are there.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            record = _record(task, truth)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        store.write_failure(task.cell, message, traceback.format_exc())
        return task.cell, message
    record["warnings"] = sorted({str(one.message) for one in caught})
    store.write(task.cell, record)
    return task.cell, None


def _record(task: Task, truth: PartialLabels) -> dict[str, Any]:
    tables, known, prior = _feature_tables(task), read_pattern(task.pattern), _prior(task)
    needs_graph = task.method.needs_graph
    graph = read_graph(task.semantics, transductive=task.transductive) if needs_graph else None
    own = None if prior is None else prior.training
    if task.transductive:
        known = add_unlabelled(known, len(tables[0].test))
        own = None if prior is None else np.concatenate(prior)
    with PeakMemory() as memory:
        X, fitted = tune_rows_and_fit(task, tables, known, graph, own)
        start = time.perf_counter()
        if task.transductive:
            scores = fitted.model.training_scores(np.concatenate(X), **_given(prior=own))
            scores = scores[len(X.training) :]
        else:
            test = None if prior is None else prior.test
            scores = fitted.model.scores(X.test, **_given(prior=test))
        score_seconds = time.perf_counter() - start
    row = task.cell.columns() | evaluate(truth, scores)
    row |= {
        "n_trials": fitted.n_trials,
        "search_seconds": fitted.search_seconds,
        "fit_seconds": fitted.fit_seconds,
        "score_seconds": score_seconds,
        "peak_memory_mib": memory.mib,
        "parameters": to_json(fitted.params),
    }
    return {
        "row": row,
        "labels": evaluate_labels(truth, scores),
        "examples": examples(truth, scores, task.cell.seed),
    }


def _feature_tables(task: Task) -> list[TrainTest]:
    """Return the features of a learner; where the search decides about them, all candidates.

    A learner that normalises rows by itself needs no candidate for it.
    """
    inputs = task.method.inputs
    X = read_features(task.features if inputs == "features" else task.semantics, inputs)
    if task.method.words == "columns":
        X = append_prior(X, read_features(task.semantics, "prior"))
    if inputs != "features" or task.normalize_rows == "never":
        return [X]
    if task.normalize_rows == "always":
        return [normalize_rows(X)]
    return [X] if _normalizes_rows(task.method) else [X, normalize_rows(X)]


def _prior(task: Task) -> TrainTest | None:
    """Return the prior scores of a method that takes some."""
    if task.method.words in (None, "columns"):
        return None
    prior = read_features(task.semantics, "prior")
    return shuffle_prior(prior, task.cell.seed) if task.method.words == "shuffled" else prior


class PriorScores(PartialLabelLearner):
    """Scores by the prior alone, 0 for labels without one: what is known without any example."""

    takes_prior = True
    _given: npt.NDArray[np.bool_]

    def __init__(self, on_unlearnable: str = "ignore") -> None:
        self.on_unlearnable = on_unlearnable

    def fit(self, X: Any, y: Any, prior: Any = None) -> Self:  # type: ignore[override]
        """Note which labels have prior scores; nothing is learned."""
        rows, _ = self.read_training_data(X, y)
        given = read_prior(prior, len(rows), self.label_names_, rows.dtype)
        self._given = np.isin(np.arange(len(self.classes_)), () if given is None else given.labels)
        return self

    def default_param_grid(
        self, X: Any, Y: Any, graph: Any = None, prior: Any = None
    ) -> ParamGrids:
        """Return nothing to search."""
        return []

    @property
    def prior_labels(self) -> npt.NDArray[np.bool_] | None:
        """Which labels had prior scores in `fit`."""
        return self._given if self._given.any() else None

    def score_rows(self, X: Scores) -> Scores:
        """Return the scores of validated rows."""
        return np.zeros((len(X), len(self.classes_)), dtype=X.dtype)

    def score_rows_with_prior(self, X: Scores, prior: Prior) -> Scores:
        """Return the scores of validated rows and their prior scores."""
        return prior.contribution(np.ones(len(self.classes_)))


def _method(task: Task) -> Method:
    """Return the method; a learner that normalises rows by itself must not do so twice."""
    method = task.method
    if not (task.normalize_rows == "always" and _normalizes_rows(method)):
        return method
    parameters = {**method.parameters, "normalize_rows": False}
    return replace(method, parameters=parameters, fixed=(*method.fixed, "normalize_rows"))


def _normalizes_rows(method: Method) -> bool:
    """Return whether the learner of a method normalises rows by itself."""
    return "normalize_rows" in build_learner(method, 0).get_params()


class Fitted(NamedTuple):
    """A fitted learner, its chosen parameters, and the time that search and fit took."""

    model: PartialLabelLearner
    params: dict[str, Any]
    held_out: float
    """Score of the chosen parameters on held-out labels; NaN where nothing was searched."""
    n_trials: int
    search_seconds: float
    fit_seconds: float


def tune_rows_and_fit(
    task: Task, tables: list[TrainTest], known: PartialLabels, graph: Any, prior: Any
) -> tuple[TrainTest, Fitted]:
    """Tune and fit the learner on each table of features; keep the one that held-out labels favour.

    Every table has a search of its own over the same folds, because a grid may depend on the
    features. Of several tables the second has normalised rows.
    """
    method, is_choice = _method(task), len(tables) > 1
    labels = _search_labels(known, task)
    fits = []
    for X in tables:
        rows = np.concatenate(X) if task.transductive else X.training
        search = (rows, known, graph, task.cv, task.cell.seed, prior)
        fits.append(tune_and_fit(method, *search, always_search=is_choice, search_labels=labels))
    if not is_choice:
        return tables[0], fits[0]
    best = max(range(len(fits)), key=lambda number: fits[number].held_out)
    return tables[best], fits[best]._replace(
        params=fits[best].params | {"normalize_rows": best == 1},
        n_trials=sum(fit.n_trials for fit in fits),
        search_seconds=sum(fit.search_seconds for fit in fits),
    )


def _search_labels(known: PartialLabels, task: Task) -> list[Hashable] | None:
    """Draw the labels on which parameters are chosen; None where they are all.

    A label with fewer presences than folds would say nothing in some of them; where all have so
    few, none is drawn.
    """
    if task.search_labels is None or task.search_labels >= known.n_labels:
        return None
    usable = np.flatnonzero(known.counts().present >= task.cv)
    if not len(usable):
        return None
    rng = np.random.default_rng(task.cell.seed)
    drawn = rng.choice(usable, size=min(task.search_labels, len(usable)), replace=False)
    return [known.labels[label] for label in np.sort(drawn)]


def tune_and_fit(
    method: Method,
    X: npt.NDArray[Any],
    known: PartialLabels,
    graph: Any,
    cv: int,
    seed: int,
    prior: npt.NDArray[Any] | None = None,
    *,
    always_search: bool = False,
    search_labels: Sequence[Hashable] | None = None,
) -> Fitted:
    """Tune the learner of a method over its own parameter grid, then fit it on all known labels.

    The folds depend on the labels and the seed alone, so they are the same for every learner.
    Where unlisted labels count as absent, folds hold out whole items, because the test items are
    new. Otherwise they hold out entries, which keeps more of the rare labels; the two then agree.
    With `always_search` a learner without a grid is scored on the folds, too.
    """
    learner = build_learner(method, seed)
    start = time.perf_counter()
    own = _given(prior=prior)
    grid = _without(learner.default_param_grid(X, known, graph, **own), method)
    if not grid and not always_search:
        return _fit(learner, X, known, **_given(graph=graph, prior=prior))
    found = tune(
        learner,
        X,
        known,
        graph,
        prior=prior,
        param_grid=grid or [{}],
        cv=cv,
        safest_first=learner.safest_first,
        search_labels=search_labels,
        random_state=seed,
        verbose=False,
    )
    seconds = time.perf_counter() - start
    return Fitted(
        found.model,
        found.best.params,
        found.best.pooled,
        len(found.trials),
        found.search_seconds,
        seconds - found.search_seconds,
    )


def _without(stages: ParamGrids, method: Method) -> list[list[ParamGrid]]:
    """Remove fixed parameters from the stages of a grid, and stages that are then empty.

    Of alternatives with different values of a fixed parameter only those with its own are left.
    """
    kept = []
    for stage in stages:
        grids = alternatives(stage)
        for name in method.fixed:
            own = method.parameters.get(name)
            grids = [grid for grid in grids if own in grid.get(name, ())] or grids
        left = [{n: v for n, v in grid.items() if n not in method.fixed} for grid in grids]
        kept.append([grid for n, grid in enumerate(left) if grid and grid not in left[:n]])
    return [stage for stage in kept if stage]


def _given(**inputs: Any) -> dict[str, Any]:
    """Return the inputs that there are; learners need not know the others."""
    return {name: table for name, table in inputs.items() if table is not None}


def _fit(learner: Any, X: npt.NDArray[Any], known: PartialLabels, **inputs: Any) -> Fitted:
    """Fit a learner that has nothing to search."""
    start = time.perf_counter()
    model = learner.fit(np.asarray(X), known, **inputs)
    return Fitted(model, {}, math.nan, 0, 0.0, time.perf_counter() - start)


def evaluate(truth: PartialLabels, scores: Scores) -> dict[str, Any]:
    """Return every metric of the table of results."""
    ap = metrics.average_precision(truth, scores)
    voc11 = metrics.average_precision(truth, scores, interpolation="voc11")
    top = metrics.at_top_k(truth, scores, k=TOP_K)
    n_scored = int(np.isfinite(ap).sum())
    return {
        "map": metrics.mean_of_defined(ap),
        "map_voc11": metrics.mean_of_defined(voc11),
        "map_per_item": metrics.mean_average_precision_per_item(truth, scores),
        f"precision_at_{TOP_K}": float(top.precision),
        f"recall_at_{TOP_K}": float(top.recall),
        f"f1_at_{TOP_K}": float(top.f1),
        f"n_plus_at_{TOP_K}": int(top.n_plus),
        "n_labels_scored": n_scored,
        "n_labels_left_out": len(ap) - n_scored,
    }


def evaluate_labels(truth: PartialLabels, scores: Scores) -> list[dict[str, Any]]:
    """Return the average precision of each label and its number of test presences."""
    ap = metrics.average_precision(truth, scores)
    counts = truth.counts().present
    return [
        {"label": str(label), "ap": float(value), "n_test_presences": int(count)}
        for label, value, count in zip(truth.labels, ap, counts, strict=True)
    ]


def examples(truth: PartialLabels, scores: Scores, seed: int) -> list[dict[str, Any]]:
    """Return the top labels of a few test items, which the seed selects."""
    n_items = truth.n_items
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(n_items, size=min(_N_EXAMPLES, n_items), replace=False))
    names = truth.items or tuple(range(n_items))
    return [{"item": str(names[row]), "top": _top_labels(truth, scores[row])} for row in rows]


def _top_labels(truth: PartialLabels, scores: Scores) -> list[list[Any]]:
    order = np.argsort(-scores, kind="stable")[:TOP_K]
    return [[str(truth.labels[column]), float(scores[column])] for column in order]


class PeakMemory:
    """Measure by how many MiB the process grew at most inside a `with` block: `mib`.

    Linux reports the peak of a process and allows it to be reset; elsewhere `mib` is NaN.
    """

    mib: float = math.nan
    _status = Path("/proc/self/status")
    _reset = Path("/proc/self/clear_refs")

    def __enter__(self) -> Self:
        # Return freed memory to the system first; otherwise later work would seem to need less.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        try:
            self._reset.write_text("5", encoding="ascii")
        except OSError:
            self._start = math.nan
        else:
            self._start = self._peak()
        return self

    def __exit__(self, *exception: object) -> None:
        self.mib = self._peak() - self._start

    def _peak(self) -> float:
        with suppress(OSError):
            for line in self._status.read_text(encoding="ascii").splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        return math.nan
