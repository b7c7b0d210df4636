"""Prepare what learners share before any of them begins."""

import traceback
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from tagloom.experiments.cells import Task
from tagloom.experiments.hiding import hidden, save_pattern
from tagloom.experiments.inputs import split_features
from tagloom.experiments.inputs_files import Wanted, prepare_semantic, prepare_visual
from tagloom.experiments.run_plan import Plan
from tagloom.experiments.run_workers import Workers
from tagloom.vision import Features


class Unprepared(NamedTuple):
    """Why the inputs in a folder could not be worked out."""

    folder: Path
    error: str
    trace: str


def prepare(plan: Plan, tasks: Sequence[Task], workers: Workers) -> dict[Path, Unprepared]:
    """Write the patterns and inputs of these tasks; return what could not be, by folder."""
    _write_patterns(plan, tasks)
    training, test = split_features(plan.dataset, standardize=plan.config.standardize)
    on_labels = plan.config.features == "semantic"
    if not on_labels:
        for folder in {task.features for task in tasks}:
            with threadpool_limits(limits=1):
                prepare_visual(training, test, plan.config.energy, folder)
    by_folder: dict[Path, list[Task]] = defaultdict(list)
    for task in tasks:
        by_folder[task.semantics].append(task)
    wanted = {folder: _wanted(group, on_labels) for folder, group in by_folder.items()}
    calls = [
        (training, test, by_folder[folder][0].pattern, plan.config.energy, folder, what)
        for folder, what in wanted.items()
        if what.missing(folder)
    ]
    failed = [one for one in workers.run(_prepared, calls) if one is not None]
    return {one.folder: one for one in failed}


def uses(task: Task, folder: Path) -> bool:
    """Say whether a task reads from a folder."""
    by_itself = task.method.inputs != "features" or task.method.needs_graph
    return task.features == folder or (by_itself and task.semantics == folder)


def _write_patterns(plan: Plan, tasks: Sequence[Task]) -> None:
    dataset = plan.dataset
    cells = {task.pattern: task.cell for task in tasks}
    missing = {path: cell for path, cell in cells.items() if not path.exists()}
    truth = dataset.truth.take(dataset.training) if missing else None
    for path, cell in missing.items():
        if truth is not None:
            known = hidden(truth, cell.protocol, cell.rate, cell.seed, plan.config.unlisted)
            save_pattern(path, known, dataset.training)


def _wanted(tasks: Sequence[Task], on_labels: bool) -> Wanted:
    methods = [task.method for task in tasks]
    return Wanted(
        features=on_labels and any(method.inputs == "features" for method in methods),
        graph=any(task.method.needs_graph and not task.transductive for task in tasks),
        graph_of_all=any(task.method.needs_graph and task.transductive for task in tasks),
        descriptors=any(method.inputs != "features" for method in methods),
    )


def _prepared(
    training: Features,
    test: Features,
    pattern: Path,
    energy: float,
    folder: Path,
    wanted: Wanted,
) -> Unprepared | None:
    """Prepare one setting; one thread, so that the numbers do not depend on how many jobs run."""
    try:
        with threadpool_limits(limits=1):
            prepare_semantic(training, test, pattern, energy, folder, wanted)
    except Exception as error:
        return Unprepared(folder, f"{type(error).__name__}: {error}", traceback.format_exc())
    return None
