"""Run a benchmark: prepare what learners share, work on the cells, keep each at once."""

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from tagloom import __version__
from tagloom.errors import UnwritableFileError
from tagloom.experiments.cells import Task, run_cell
from tagloom.experiments.run_inputs import prepare, uses
from tagloom.experiments.run_plan import WORK_FOLDER, Plan
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
    for folder in {task.features for task in plan.tasks}:
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # another run may be at work there
        (plan.config.out / WORK_FOLDER).rmdir()
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


def _refuse_foreign(out: Path) -> None:
    """Refuse a folder in which others keep things: tables and folders of ours could replace them.

    A folder of ours is known by the fingerprint in its configuration.
    """
    try:
        if not out.exists() or not any(out.iterdir()):
            return
        ours = "fingerprint" in json.loads((out / "config.json").read_text(encoding="utf-8"))
    except NotADirectoryError:
        raise UnwritableFileError(f"{out} is a file; --out must be a folder.") from None
    except (OSError, ValueError, TypeError):
        ours = False
    if not ours:
        raise UnwritableFileError(
            f"The folder {out} is not empty and no benchmark has written to it. Give --out a new "
            "or an empty folder, or one of an earlier run."
        )


def _make_folders(plan: Plan) -> None:
    out = plan.config.out
    _refuse_foreign(out)
    try:
        plan.store.make()
        for name in ("patterns", WORK_FOLDER):
            (out / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFileError(f"The folder {out} cannot be written: {error}.") from None
    plan.config.save(
        out / "config.json",
        version=__version__,
        fingerprint=plan.fingerprint,
        notes=list(plan.notes),
    )
