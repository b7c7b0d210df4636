"""Run a benchmark: prepare what learners share, work on the cells, keep each at once."""

import json
import os
import shutil
import signal
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, cpu_count, delayed, parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from tagloom import __version__
from tagloom.benchmark.cell import Cell, Task, run_cell
from tagloom.benchmark.inputs import (
    Wanted,
    hidden,
    prepare_semantic,
    prepare_visual,
    save_pattern,
    split_features,
)
from tagloom.benchmark.plan import WORK_FOLDER, Plan
from tagloom.errors import TagloomError, UnwritableFileError
from tagloom.progress import progress_bar
from tagloom.vision import Features

# §§ run_workers
# Processes that share the cores: as many as asked, each with its share of the threads.


class Workers:
    """Run calls in `jobs` processes; alone, in this one.

    Attributes
    ----------
    jobs : int
        At most one for each core.
    threads : int or None
        Of the linear algebra in each process, so that jobs * threads is no more than there are
        cores; None where this process works alone and keeps what it has.
    """

    def __init__(self, jobs: int | None) -> None:
        cores = int(cpu_count())
        self.jobs = min(cores, jobs or cores)
        allowed = max([int(pool["num_threads"]) for pool in threadpool_info()], default=cores)
        self.threads = None if self.jobs == 1 else max(1, min(cores // self.jobs, allowed))

    def run(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield what the calls return, in the order in which they end.

        Large arrays among the arguments are handed over as memory maps.
        """
        if self.jobs == 1:
            yield from (function(*arguments) for arguments in calls)
            return
        try:
            with parallel_config(backend="loky", inner_max_num_threads=self.threads):
                # Cells take from a second to an hour: each goes alone to whoever is free.
                parallel = Parallel(n_jobs=self.jobs, return_as="generator_unordered", batch_size=1)
                share = self.threads or 1
                yield from parallel(delayed(_in_worker)(function, share, one) for one in calls)
        except BrokenProcessPool as error:
            raise TagloomError(
                "A worker process was killed, perhaps because memory ran out. What is finished is "
                "kept: run the same command again, with fewer jobs (--jobs 1 needs least)."
            ) from error


def _in_worker(function: Callable[..., Any], threads: int, arguments: tuple[Any, ...]) -> Any:
    """Call a function with this worker's share of the cores."""
    # The terminal sends Ctrl-C to all; the parent ends its workers and has the last word.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Code that starts threads of its own asks joblib how many cores there are.
    os.environ["LOKY_MAX_CPU_COUNT"] = str(threads)
    with threadpool_limits(limits=threads):
        return function(*arguments)


# §§ run_inputs
# Prepare what learners share before any of them begins.


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
                prepare_visual(training, test, plan.config.n_components, folder)
    by_folder: dict[Path, list[Task]] = defaultdict(list)
    for task in tasks:
        by_folder[task.semantics].append(task)
    wanted = {folder: _wanted(group, on_labels) for folder, group in by_folder.items()}
    calls = [
        (training, test, by_folder[folder][0].pattern, plan.config.n_components, folder, what)
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
    n_components: float,
    folder: Path,
    wanted: Wanted,
) -> Unprepared | None:
    """Prepare one setting; one thread, so that the numbers do not depend on how many jobs run."""
    try:
        with threadpool_limits(limits=1):
            prepare_semantic(training, test, pattern, n_components, folder, wanted)
    except Exception as error:
        return Unprepared(folder, f"{type(error).__name__}: {error}", traceback.format_exc())
    return None


# §§ main run


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
