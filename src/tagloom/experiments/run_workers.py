"""Processes that share the cores: as many as asked, each with its share of the threads."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from joblib import Parallel, cpu_count, delayed, parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from tagloom.errors import TagloomError


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
