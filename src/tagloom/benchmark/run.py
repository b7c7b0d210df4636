"""Run a benchmark: prepare the shared inputs, run the cells in parallel, store each at once."""

import os
import shutil
import signal
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, cpu_count, delayed, parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from tagloom import __version__
from tagloom.benchmark.cell import Cell, Task, run_cell
from tagloom.benchmark.inputs import (
    Required,
    hide_labels,
    prepare_semantic,
    prepare_visual,
    save_pattern,
    split_features,
    training_salience,
)
from tagloom.benchmark.plan import INPUTS_FOLDER, PATTERNS_FOLDER, Plan
from tagloom.completion.folder import BENCHMARK, mark_as
from tagloom.errors import TagloomError, UnwritableFileError
from tagloom.progress import progress_bar

Failures = dict[Cell, str]


def run_plan(plan: Plan, *, verbose: bool = False) -> Failures:
    """Run every unfinished cell; return the errors of those that failed.

    A cell is on disk as soon as it is finished: a run that is interrupted, or killed, continues
    where it stopped and ends with the same table. Failed cells do not stop the others, and the
    next run tries them again.
    """
    _make_folders(plan)
    workers = Workers(plan.config.n_jobs)
    pending = plan.pending()
    failures: Failures = {}
    with progress_bar(len(pending), "cells", show=verbose) as advance:
        for _, tasks in groupby(pending, key=lambda task: task.cell.seed):
            failures |= _run_repetition(plan, list(tasks), workers, advance)
    for folder in {task.features for task in plan.tasks}:
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # another run may be using it
        (plan.config.out / INPUTS_FOLDER).rmdir()
    return failures


def _make_folders(plan: Plan) -> None:
    out = plan.config.out
    mark_as(out, BENCHMARK)
    try:
        plan.store.make()
        for name in (PATTERNS_FOLDER, INPUTS_FOLDER):
            (out / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFileError(f"The folder {out} cannot be written: {error}.") from None
    plan.config.save(
        out / "config.json",
        version=__version__,
        fingerprint=plan.fingerprint,
        notes=list(plan.notes),
    )


def _run_repetition(
    plan: Plan, tasks: Sequence[Task], workers: "Workers", advance: Callable[[], None]
) -> Failures:
    failures: Failures = {}
    failed_inputs = prepare(plan, tasks, workers)
    ready = []
    for task in tasks:
        reasons = [one for one in failed_inputs if _uses(task, one.folder)]
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
    # Inputs that depend on the known labels serve no other repetition.
    for folder in {task.semantics for task in tasks}:
        shutil.rmtree(folder, ignore_errors=True)
    return failures


class FailedInputs(NamedTuple):
    """Why the inputs in a folder could not be computed."""

    folder: Path
    error: str
    trace: str


def prepare(plan: Plan, tasks: Sequence[Task], workers: "Workers") -> list[FailedInputs]:
    """Write the patterns and inputs of these tasks; return those that failed."""
    _write_patterns(plan, tasks)
    training, test = split_features(plan.dataset, standardize=plan.config.standardize)
    if plan.config.features == "visual":
        for folder in {task.features for task in tasks}:
            with threadpool_limits(limits=1):
                prepare_visual(training, test, plan.config.n_components, folder)
    by_folder: dict[Path, list[Task]] = defaultdict(list)
    for task in tasks:
        by_folder[task.semantics].append(task)
    required = {folder: _required(group) for folder, group in by_folder.items()}
    write = partial(prepare_semantic, training, test, n_components=plan.config.n_components)
    calls = [
        (folder, partial(write, by_folder[folder][0].pattern, folder=folder, required=what))
        for folder, what in required.items()
        if what.missing(folder)
    ]
    return [failed for failed in workers.run(_prepare_setting, calls) if failed is not None]


def _write_patterns(plan: Plan, tasks: Sequence[Task]) -> None:
    dataset = plan.dataset
    cells = {task.pattern: task.cell for task in tasks}
    missing = {path: cell for path, cell in cells.items() if not path.exists()}
    if not missing:
        return
    truth = dataset.truth.take(dataset.training)
    listed = None if dataset.listed is None else dataset.listed.take(dataset.training)
    by_salience = any(cell.protocol == "salience" for cell in missing.values())
    salience = training_salience(dataset) if by_salience else None
    for path, cell in missing.items():
        known = hide_labels(
            truth,
            cell.protocol,
            cell.rate,
            cell.seed,
            plan.config.unlisted,
            salience=salience,
            listed=listed,
        )
        save_pattern(path, known, dataset.training)


def _required(tasks: Sequence[Task]) -> Required:
    """Return the inputs that tasks of one setting read from its folder."""
    shared = [task for task in tasks if task.method.inputs == "features"]
    with_graph = [task for task in tasks if task.method.needs_graph]
    return Required(
        features=any(task.features == task.semantics for task in shared),
        graph=any(not task.transductive for task in with_graph),
        transductive_graph=any(task.transductive for task in with_graph),
        descriptors=len(shared) < len(tasks),
        prior=any(task.method.words for task in tasks),
    )


def _prepare_setting(folder: Path, write: Callable[[], None]) -> FailedInputs | None:
    """Write to a folder in a single thread, so that results do not depend on the parallelism."""
    try:
        with threadpool_limits(limits=1):
            write()
    except Exception as error:
        return FailedInputs(folder, f"{type(error).__name__}: {error}", traceback.format_exc())
    return None


def _uses(task: Task, folder: Path) -> bool:
    """Return whether a task reads from a folder."""
    method = task.method
    reads_semantics = method.inputs != "features" or method.needs_graph or method.words
    return task.features == folder or bool(reads_semantics and task.semantics == folder)


class Workers:
    """Processes that share the cores; a single worker is this process itself.

    Attributes
    ----------
    n_jobs : int
        Number of processes, at most one per core.
    threads : int or None
        Threads of linear algebra in each process, so that n_jobs * threads does not exceed the
        number of cores; None, for no limit, with a single worker.
    """

    def __init__(self, n_jobs: int | None) -> None:
        cores = int(cpu_count())
        self.n_jobs = min(cores, n_jobs or cores)
        allowed = max([int(pool["num_threads"]) for pool in threadpool_info()], default=cores)
        self.threads = None if self.n_jobs == 1 else max(1, min(cores // self.n_jobs, allowed))

    def run(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the results of the calls in the order in which they end.

        Large arrays among the arguments are passed as memory maps.
        """
        if self.n_jobs == 1:
            yield from (function(*arguments) for arguments in calls)
            return
        try:
            with parallel_config(backend="loky", inner_max_num_threads=self.threads):
                # Cells take from a second to an hour: dispatch them one by one.
                parallel = Parallel(
                    n_jobs=self.n_jobs, return_as="generator_unordered", batch_size=1
                )
                share = self.threads or 1
                yield from parallel(delayed(_in_worker)(function, share, one) for one in calls)
        except BrokenProcessPool as error:
            raise TagloomError(
                "A worker process was killed, perhaps because memory ran out. Finished cells are "
                "kept: run the same command again with fewer jobs (--jobs 1 needs least memory)."
            ) from error


def _in_worker(function: Callable[..., Any], threads: int, arguments: tuple[Any, ...]) -> Any:
    """Call a function with this worker's share of the cores."""
    # The terminal sends Ctrl-C to all processes; the parent alone handles it and stops the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Code that starts its own threads asks joblib how many cores there are.
    os.environ["LOKY_MAX_CPU_COUNT"] = str(threads)
    with threadpool_limits(limits=threads):
        return function(*arguments)
