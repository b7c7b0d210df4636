"""Blocks of work side by side."""

from collections.abc import Callable, Iterable

from joblib import cpu_count
from threadpoolctl import threadpool_limits


def in_threads(work: Callable[[int], None], starts: Iterable[int]) -> None:
    """Do the blocks side by side, each with a product of one thread: nobody waits for the others.

    All that is long here leaves the interpreter's lock.
    """
    from concurrent.futures import ThreadPoolExecutor

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(cpu_count()) as pool:
        for _ in pool.map(work, starts):
            pass
