"""One cell of a benchmark: a learner on a data set at a rate with a seed, from search to score."""

import ctypes
import hashlib
import json
import math
import time
import traceback
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tagloom import metrics
from tagloom.benchmark.inputs import evened, read_graph, read_pair, read_pattern, with_unlabelled
from tagloom.benchmark.methods import Method, build_learner, learner_class
from tagloom.datasets.base import Dataset
from tagloom.io import atomic_write
from tagloom.labels import PartialLabels
from tagloom.metrics import mean_average_precision
from tagloom.models import PartialLabelLearner, tune

# §§ cells_learning
# Choose a learner's parameters on what is known and fit it, telling the seconds of each.


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
    stages = _stages(method, learner.default_param_grid(X, known, graph))
    if not stages:
        return _fitted(learner, X, known, graph)
    judge = _Judge()
    found = tune(
        learner,
        X,
        known,
        graph,
        param_grid=stages,
        cv=folds,
        hold_out="items" if known.unlisted_weight else "entries",
        scoring=judge,
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


# §§ cells_memory
# The most memory that a piece of work took.


_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


class PeakMemory:
    """Measure by how many MiB a process grew at most inside a `with` block: `mib`.

    Linux tells the peak of a process and lets it be reset; elsewhere `mib` is NaN.
    """

    mib: float = math.nan

    def __enter__(self) -> Self:
        _give_back_freed_memory()
        self._before = _reset_peak()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.mib = _peak() - self._before


def _give_back_freed_memory() -> None:
    """Return to the system what earlier work freed: else later work would seem to need less."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> float:
    """Set the peak to what is held now and return it; NaN where that cannot be done."""
    try:
        _CLEAR.write_text("5", encoding="ascii")
    except OSError:
        return math.nan
    return _peak()


def _peak() -> float:
    with suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return math.nan


# §§ cells_quality
# How good the scores of the test items are: per label, per picture, and a few to look at.


TOP = 5
_EXAMPLES = 12

Scores = npt.NDArray[Any]


def quality(truth: PartialLabels, scores: Scores) -> dict[str, Any]:
    """Return every metric of the table of results."""
    ap = metrics.average_precision(truth, scores)
    voc11 = metrics.average_precision(truth, scores, interpolation="voc11")
    top = metrics.at_top_k(truth, scores, k=TOP)
    n_scored = int(np.isfinite(ap).sum())
    return {
        "map": _mean(ap),
        "map_voc11": _mean(voc11),
        "map_per_item": _mean(metrics.average_precision_per_item(truth, scores)),
        f"precision_at_{TOP}": float(top.precision),
        f"recall_at_{TOP}": float(top.recall),
        f"f1_at_{TOP}": float(top.f1),
        f"n_plus_at_{TOP}": int(top.n_plus),
        "n_labels_scored": n_scored,
        "n_labels_left_out": len(ap) - n_scored,
    }


def per_label(truth: PartialLabels, scores: Scores) -> list[dict[str, Any]]:
    """Return the average precision of each label and how many test items have it."""
    ap = metrics.average_precision(truth, scores)
    counts = truth.counts().present
    return [
        {"label": str(label), "ap": float(value), "n_test_presences": int(count)}
        for label, value, count in zip(truth.labels, ap, counts, strict=True)
    ]


def examples(truth: PartialLabels, scores: Scores, seed: int) -> list[dict[str, Any]]:
    """Return the best labels of a few test items, which the seed picks."""
    n_items = truth.n_items
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(n_items, size=min(_EXAMPLES, n_items), replace=False))
    names = truth.items or tuple(range(n_items))
    return [{"item": str(names[row]), "top": _best(truth, scores[row])} for row in rows]


def _best(truth: PartialLabels, scores: Scores) -> list[list[Any]]:
    order = np.argsort(-scores, kind="stable")[:TOP]
    return [[str(truth.labels[column]), float(scores[column])] for column in order]


def _mean(values: Scores) -> float:
    """Return the mean of what is defined, NaN where nothing is."""
    defined = np.asarray(values)[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else float("nan")


# §§ store
# Finished cells on disk: one file each, written whole, found again by what decides their value.


# Raised whenever a cell of the same name would hold other numbers or another form than before.
RESULTS_PROTOCOL = 1


@dataclass(frozen=True)
class Cell:
    """One entry of the grid; `digest` stands for everything that decides its value."""

    dataset: str
    protocol: str
    method: str
    rate: float
    seed: int
    digest: str

    @property
    def file_name(self) -> str:
        """Name of the file, that of no other cell and of no other configuration."""
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
        """Make both folders."""
        for folder in (self.done, self.failed):
            folder.mkdir(parents=True, exist_ok=True)

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """Return a finished cell; None where there is none or its file is damaged."""
        record = _read(self.done / cell.file_name)
        return record if record is not None and record.get("digest") == cell.digest else None

    def write(self, cell: Cell, record: dict[str, Any]) -> None:
        """Keep a finished cell and forget that it failed before."""
        _write(self.done / cell.file_name, _head(cell) | record)
        with suppress(FileNotFoundError):
            (self.failed / cell.file_name).unlink()

    def write_failure(self, cell: Cell, error: str, trace: str) -> None:
        """Keep why a cell failed; it counts as not done."""
        record = _head(cell) | {"cell": cell.columns(), "error": error, "traceback": trace}
        _write(self.failed / cell.file_name, record)


def digest_of(**metadata: Any) -> str:
    """Return a short name for metadata that JSON can hold; other metadata, another name."""
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint(dataset: Dataset) -> str:
    """Return a short name for all that a set holds: items, truth, split and features."""
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
    for array in arrays:
        seen.update(f"{array.dtype.str}{array.shape}".encode())
        seen.update(np.ascontiguousarray(array).tobytes())
    return seen.hexdigest()[:16]


def as_text(metadata: Any) -> str:
    """Return JSON in which numbers of numpy are numbers and NaN is null."""
    return json.dumps(_plain(metadata), sort_keys=True, allow_nan=False)


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


def _head(cell: Cell) -> dict[str, Any]:
    from tagloom import __version__

    return {"results_protocol": RESULTS_PROTOCOL, "version": __version__, "digest": cell.digest}


def _write(path: Path, record: dict[str, Any]) -> None:
    with atomic_write(path) as part:
        part.write_text(as_text(record) + "\n", encoding="utf-8")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


# §§ main cells


@dataclass(frozen=True)
class Task:
    """All that a process needs to work on one cell, but for the truth of the test items.

    `pattern` is the file of what stayed known, `features` the folder of the features that all
    learners see, `semantics` that of the graph and of the descriptors, which depend on the labels.
    `transductive` says that the test items, unlabelled, are there when the learner learns,
    `even_rows` that its features are brought to about one length.
    """

    cell: Cell
    method: Method
    pattern: Path
    features: Path
    semantics: Path
    folds: int
    transductive: bool = False
    even_rows: bool = False


def run_cell(task: Task, truth: PartialLabels, store: CellStore) -> tuple[Cell, str | None]:
    """Work on a cell and store its result at once, or the error; return the cell and the error.

    `truth` is that of the test items. The learner never sees it: it is looked at when the scores
    are there.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            record = _record(task, truth)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        store.write_failure(task.cell, told, traceback.format_exc())
        return task.cell, told
    record["warnings"] = sorted({str(one.message) for one in caught})
    store.write(task.cell, record)
    return task.cell, None


def _record(task: Task, truth: PartialLabels) -> dict[str, Any]:
    known = read_pattern(task.pattern)
    inputs = task.method.inputs
    X = read_pair(task.features if inputs == "features" else task.semantics, inputs)
    if task.even_rows and inputs == "features":
        X = evened(X)
    graph = (
        read_graph(task.semantics, of_all=task.transductive) if task.method.needs_graph else None
    )
    rows = X.training
    if task.transductive:
        rows, known = np.concatenate(X), with_unlabelled(known, len(X.test))
    with PeakMemory() as memory:
        learned = learn(_method(task), rows, known, graph, task.folds, task.cell.seed)
        start = time.perf_counter()
        if task.transductive:
            scores = learned.model.training_scores(rows)[len(X.training) :]
        else:
            scores = learned.model.scores(X.test)
        score_seconds = time.perf_counter() - start
    row = task.cell.columns() | quality(truth, scores) | _effort(learned)
    row |= {"score_seconds": score_seconds, "peak_memory_mib": memory.mib}
    return {
        "row": row | {"parameters": as_text(learned.params)},
        "labels": per_label(truth, scores),
        "examples": examples(truth, scores, task.cell.seed),
    }


def _method(task: Task) -> Method:
    """Return the learner; one that evens rows by itself shall not do it twice."""
    if not (task.even_rows and "normalize_rows" in learner_class(task.method)().get_params()):
        return task.method
    return replace(task.method, parameters={**task.method.parameters, "normalize_rows": False})


def _effort(learned: Learned) -> dict[str, Any]:
    return {
        "n_trials": learned.n_trials,
        "search_seconds": learned.search_seconds,
        "fit_seconds": learned.fit_seconds,
    }
