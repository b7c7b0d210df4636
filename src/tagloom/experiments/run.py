"""Run a benchmark: prepare what learners share, work on the cells, keep each at once."""

import shutil
from collections.abc import Callable, Sequence
from itertools import groupby

from tagloom import __version__
from tagloom.errors import UnwritableFileError
from tagloom.experiments.cells import Task, run_cell
from tagloom.experiments.run_inputs import prepare, uses
from tagloom.experiments.run_plan import Plan
from tagloom.experiments.run_workers import Workers
from tagloom.experiments.store import Cell
from tagloom.progress import progress_bar

Failures = dict[Cell, str]


def run_plan(plan: Plan, *, show_progress: bool = False) -> Failures:
    """Work on every cell that is not finished; return the errors of those that failed.

    A cell is on disk as soon as it is finished: a run that is interrupted, or killed, goes on where
    it stopped and ends with the same table. Failed cells do not stop the others and are tried again
    by the next run.
    """
    _make_folders(plan)
    workers = Workers(plan.config.jobs)
    pending = plan.pending()
    failures: Failures = {}
    with progress_bar(len(pending), "cells", show=show_progress) as advance:
        for _, tasks in groupby(pending, key=lambda task: task.cell.seed):
            failures |= _run_repetition(plan, list(tasks), workers, advance)
    shutil.rmtree(plan.config.out / "work", ignore_errors=True)
    return failures


def _run_repetition(
    plan: Plan, tasks: Sequence[Task], workers: Workers, advance: Callable[[], None]
) -> Failures:
    failures: Failures = {}
    unprepared = prepare(plan, tasks, workers)
    ready = []
    for task in tasks:
        reasons = [one for folder, one in unprepared.items() if uses(task, folder)]
        if reasons:
            plan.store.write_failure(task.cell, reasons[0].error, reasons[0].trace)
            failures[task.cell] = reasons[0].error
            advance()
        else:
            ready.append(task)
    truth = plan.dataset.truth.take(plan.dataset.test)
    calls = [(task, truth, plan.store) for task in ready]
    for cell, error in workers.run(run_cell, calls):
        if error is not None:
            failures[cell] = error
        advance()
    # What depends on the labels that stayed known serves no other repetition.
    for folder in {task.semantics for task in tasks}:
        shutil.rmtree(folder, ignore_errors=True)
    return failures


def _make_folders(plan: Plan) -> None:
    out = plan.config.out
    try:
        plan.store.make()
        for name in ("patterns", "work"):
            (out / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFileError(f"The folder {out} cannot be written: {error}.") from None
    plan.config.save(
        out / "config.json",
        version=__version__,
        fingerprint=plan.fingerprint,
        notes=list(plan.notes),
    )
