"""The network over pictures as tasks: a parquet file for each handful of files."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tagloom.checks import check_whole
from tagloom.cluster.embedding_task import Make, Order, Told, carried_out
from tagloom.cluster.running import all_computed, client_or_default, task
from tagloom.errors import InvalidInputError
from tagloom.vision import Backbone, Skipped, find_pictures


@dataclass(frozen=True)
class ClusterEmbedding:
    """What became of the pictures.

    Attributes
    ----------
    folder : Path
        Parquet files with the columns ``item``, ``content`` (SHA-256), ``features`` (the visual
        descriptor) and ``posteriors``; `ParquetItems` reads them.
    n_embedded : int
        Pictures that have features.
    n_resumed : int
        Partitions that an earlier run had finished.
    skipped : list of Skipped
        What gave no features, with the reason.
    """

    folder: Path
    n_embedded: int
    n_resumed: int
    skipped: list[Skipped]


def cluster_embed(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    backbone: Sequence[str] | Callable[[], Backbone] = ("lite0",),
    *,
    items: Sequence[str] | None = None,
    pictures_per_partition: int = 1024,
    threads: int = 1,
    client: Any = None,
    show_progress: bool = False,
) -> ClusterEmbedding:
    """Describe pictures by tasks; each writes its features to a file of its own, whole or not.

    A run that was broken off is resumed by the same call: partitions whose file is there, made of
    the same items by the same network, are not done again. Files that give no picture are listed
    with the reason and skipped.

    Parameters
    ----------
    folder : path
        Where the pictures lie; every worker must be able to read it.
    out : path
        Where the parquet files go; made if it does not exist. Every worker must be able to write
        there.
    backbone : sequence of str or callable, default=("lite0",)
        Names as `tagloom.vision.choose_backbone` takes them, or a function of a module that makes
        the backbone in a worker, once.
    items : sequence of str, optional
        Paths relative to the folder; by default every picture in it.
    pictures_per_partition : int, default=1024
    threads : int, default=1
        Threads inside each task.
    client : distributed.Client, optional
        By default the client that was made last.
    show_progress : bool, default=False
    """
    check_whole("pictures_per_partition", pictures_per_partition, at_least=1)
    check_whole("threads", threads, at_least=1)
    listed, skipped = _listed(folder, items)
    target = Path(out)
    target.mkdir(parents=True, exist_ok=True)
    make: Make = backbone if callable(backbone) else tuple(backbone)
    step = pictures_per_partition
    orders = [
        Order(str(folder), tuple(listed[start : start + step]), str(target / _name(place)), threads)
        for place, start in enumerate(range(0, len(listed), step))
    ]
    _refuse_strangers(target, {Path(order.path).name for order in orders})
    told = _done(orders, make, client_or_default(client), show_progress)
    return ClusterEmbedding(
        target,
        sum(one.n_embedded for one in told),
        sum(one.resumed for one in told),
        skipped + [Skipped(*pair) for one in told for pair in one.skipped],
    )


def _done(orders: list[Order], make: Make, client: Any, show_progress: bool) -> list[Told]:
    tasks = [task(carried_out, order, make) for order in orders]
    return all_computed(client, tasks, "embedding", show_progress=show_progress, unit="partitions")


def _listed(
    folder: str | os.PathLike[str], items: Sequence[str] | None
) -> tuple[list[str], list[Skipped]]:
    if items is not None:
        return [str(item) for item in items], []
    found = find_pictures(folder)
    return found.pictures, found.skipped


def _name(place: int) -> str:
    return f"part-{place:05d}.parquet"


def _refuse_strangers(target: Path, expected: set[str]) -> None:
    """Refuse a folder with files that this run would not replace: they would be read with it."""
    strangers = [
        path.name for path in sorted(target.glob("*.parquet")) if path.name not in expected
    ]
    if strangers:
        raise InvalidInputError(
            f"{target} holds {len(strangers)} parquet file(s) that are no part of this run, such "
            f"as {strangers[0]}. Choose another folder, or remove them."
        )
