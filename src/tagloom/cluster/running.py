"""Tasks on a cluster: who runs them, in which order sums are taken, what a lost worker costs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import reduce
from operator import add
from typing import Any

from tagloom.errors import InvalidInputError
from tagloom.progress import progress_bar
from tagloom.vision.extras import import_extra

# So many sums are added by one task: a tree of this width over a thousand partitions has four
# levels.
TREE_WIDTH = 8
_SIZE_TO_WARN_OF = "distributed.admin.large-graph-warning-threshold"


def client_or_default(client: Any = None) -> Any:
    """Return the client that was given, or the one that was made last and is still open."""
    distributed = part_of_dask("distributed")
    if client is not None:
        return client
    try:
        return distributed.default_client()
    except ValueError:
        raise InvalidInputError(
            "There is no Dask client to run on. Start one, client = distributed.Client(...) with "
            "the address of a scheduler or without one for this machine, or pass client=."
        ) from None


def task(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a task that calls a function with these arguments, other tasks among them."""
    return part_of_dask("dask").delayed(function)(*arguments)


def constant(value: Any) -> Any:
    """Return a task that gives a value, which is sent along once however many tasks need it."""
    return part_of_dask("dask").delayed(value, traverse=False)


def dask_array() -> Any:
    """Return the module dask.array."""
    return part_of_dask("dask.array")


def part_of_dask(name: str) -> Any:
    """Return a module of dask or distributed, or say which extra brings it."""
    return import_extra(name, purpose="Working on a cluster", extra="dask")


def tree_sum(terms: Sequence[Any]) -> Any:
    """Return a task that adds the terms, always in the same order, a few at a time.

    The order depends on the number of terms alone: of the same terms the sum has the same bits,
    whoever computes them and whenever.
    """
    if not terms:
        raise InvalidInputError("There are no rows: every partition is empty.")
    level = list(terms)
    while len(level) > 1:
        starts = range(0, len(level), TREE_WIDTH)
        level = [task(added, level[start : start + TREE_WIDTH]) for start in starts]
    return level[0]


def added(terms: Iterable[Any]) -> Any:
    """Return the sum of terms that know `+`, from the first to the last."""
    return reduce(add, terms)


def kept(client: Any, tasks: Sequence[Any]) -> list[Any]:
    """Compute the tasks and leave what they give on the workers; what is lost is made again.

    No task is tied to a worker: tied to one that is lost, it would wait for it for ever.
    """
    return list(client.persist(list(tasks)))


def computed(client: Any, wanted: Any) -> Any:
    """Return the result of a task; whatever a lost worker held is made again."""
    # What a pass sends to all workers is a task like others, and no value that was sent out
    # beforehand: such a value is lost with the worker that holds it. Dask warns of the size.
    with part_of_dask("dask").config.set({_SIZE_TO_WARN_OF: "1 PiB"}):
        future = client.compute(wanted)
    with _taken_back_if_broken(client, [future]):
        return future.result()


def all_computed(
    client: Any, tasks: Sequence[Any], description: str, *, show_progress: bool, unit: str
) -> list[Any]:
    """Return the results of tasks that are small, while a bar shows how many are done."""
    futures = client.compute(list(tasks))
    _wait(client, futures, progress_bar(len(futures), description, show=show_progress, unit=unit))
    return list(client.gather(futures))


def shown_while_kept(
    client: Any, tasks: Sequence[Any], description: str, *, show_progress: bool, unit: str
) -> list[Any]:
    """Do as `kept` does, and wait until all is there while a bar shows how much is."""
    placed = kept(client, tasks)
    futures = part_of_dask("distributed").futures_of(placed)
    _wait(client, futures, progress_bar(len(futures), description, show=show_progress, unit=unit))
    return placed


def _wait(client: Any, futures: list[Any], bar: AbstractContextManager[Callable[[], None]]) -> None:
    """Move the bar as futures end, and raise what the first that fails has raised."""
    with _taken_back_if_broken(client, futures), bar as advance:
        for future in part_of_dask("distributed").as_completed(futures):
            if future.status != "finished":
                future.result()
            advance()


def memory_of(client: Any) -> int | None:
    """Return the memory that all workers may use together; None where one has no limit."""
    limits: list[int] = client.run_on_scheduler(_memory_limits)
    return sum(limits) if limits and all(limits) else None


def _memory_limits(dask_scheduler: Any = None) -> list[int]:
    return [worker.memory_limit for worker in dask_scheduler.workers.values()]


@contextmanager
def _taken_back_if_broken(client: Any, futures: list[Any]) -> Iterator[None]:
    """Leave no work behind on the cluster where an error or an interrupt ends the wait for it."""
    try:
        yield
    except BaseException:
        client.cancel(futures)
        raise
