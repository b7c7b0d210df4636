"""One cell of a benchmark: a learner on a data set at a rate with a seed, from search to score."""

import time
import traceback
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tagloom.experiments.cells_learning import Learned, learn
from tagloom.experiments.cells_memory import PeakMemory
from tagloom.experiments.cells_quality import examples, per_label, quality
from tagloom.experiments.hiding import read_pattern, with_unlabelled
from tagloom.experiments.inputs import evened
from tagloom.experiments.inputs_files import read_graph, read_pair
from tagloom.experiments.methods import Method, learner_class
from tagloom.experiments.store import Cell, CellStore, as_text
from tagloom.labels import PartialLabels


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
    if not (task.even_rows and "even_rows" in learner_class(task.method)().get_params()):
        return task.method
    return replace(task.method, parameters={**task.method.parameters, "even_rows": False})


def _effort(learned: Learned) -> dict[str, Any]:
    return {
        "n_trials": learned.n_trials,
        "search_seconds": learned.search_seconds,
        "fit_seconds": learned.fit_seconds,
    }
