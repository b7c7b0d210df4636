"""The network over pictures as tasks: a parquet file for each handful of files."""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from tagloom.dask.blocks import all_computed, client_or_default, task
from tagloom.dask.parquet import features_column, write_table
from tagloom.errors import InvalidInputError
from tagloom.validation import check_integer
from tagloom.vision import Encoder, Features, Skipped, find_pictures, load_encoder
from tagloom.vision.cache import Entry
from tagloom.vision.pictures import MAX_PIXELS, decoders_quiet
from tagloom.vision.pipeline import Outcome, Pipeline

# §§ embedding_task
# One task of the network: some pictures in, one parquet file out.


_KEY = b"tagloom"
_making = Lock()

# Both are the same thing for every task of a worker, which partial functions would not be.
Make = tuple[str, ...] | Callable[[], Encoder]


@dataclass(frozen=True)
class Order:
    """Which pictures of which folder go into which file, with how many threads."""

    folder: str
    items: tuple[str, ...]
    path: str
    threads: int

    def digest(self, encoder: Encoder) -> str:
        """Return what tells this order from others: the items and the networks."""
        identities = [member.identity for member in encoder.members]
        text = json.dumps([self.folder, self.items, identities])
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Told:
    """What a task tells of its pictures."""

    n_embedded: int
    skipped: tuple[tuple[str, str], ...]
    resumed: bool


def carried_out(order: Order, make: Make) -> Told:
    """Write the features of the pictures, unless that was done before."""
    with _making:
        encoder = _made(make)
    digest = order.digest(encoder)
    told = told_by(Path(order.path), digest)
    if told is not None:
        return told
    pipeline = Pipeline(
        Path(order.folder),
        encoder.members,
        [set() for _ in encoder.members],
        n_jobs=order.threads,
        max_pixels=MAX_PIXELS,
    )
    with decoders_quiet():
        outcomes = list(pipeline.run(order.items))
    return _written(order, outcomes, encoder, digest)


@lru_cache(maxsize=1)
def _made(make: Make) -> Encoder:
    """Make the encoder once in a worker: to load the network takes longer than many pictures."""
    return make() if callable(make) else load_encoder(make)


def told_by(path: Path, digest: str) -> Told | None:
    """Return what a finished file tells; None where it is not there or is another order's."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException):
        return None
    metadata = json.loads((schema.metadata or {}).get(_KEY, b"{}"))
    if metadata.get("digest") != digest:
        return None
    skipped = tuple((item, reason) for item, reason in metadata["skipped"])
    return Told(metadata["n_embedded"], skipped, resumed=True)


def _written(order: Order, outcomes: list[Outcome], encoder: Encoder, digest: str) -> Told:
    entries = {
        (entry.encoder.identity, entry.content): entry
        for outcome in outcomes
        for entry in outcome.entries
    }
    problems = {one.content: one.problem for one in outcomes if one.problem and one.content}
    good: list[tuple[str, bytes]] = []
    skipped: list[tuple[str, str]] = []
    for one in outcomes:
        # A file with the bytes of one before it was not looked at again, and shares its fate.
        problem = one.problem or problems.get(one.content or b"")
        if problem is None and one.content is not None:
            good.append((one.item, one.content))
        else:
            skipped.append((one.item, problem or "it could not be read"))
    features = _joined(good, entries, encoder)
    metadata = {"digest": digest, "n_embedded": len(good), "skipped": skipped}
    columns = {
        "item": features.items,
        "content": [content for _, content in good],
        "features": features_column(features.visual),
        "posteriors": features_column(features.posteriors),
    }
    write_table(Path(order.path), columns, {_KEY.decode(): json.dumps(metadata)})
    return Told(len(good), tuple(skipped), resumed=False)


def _joined(
    good: list[tuple[str, bytes]], entries: dict[tuple[str, bytes], Entry], encoder: Encoder
) -> Features:
    parts = []
    for member in encoder.members:
        own = [entries[member.identity, content] for _, content in good]
        visual: Any = np.array([entry.visual for entry in own], dtype=np.float32)
        posteriors: Any = np.array([entry.posteriors for entry in own], dtype=np.float32)
        parts.append(
            Features(
                [item for item, _ in good],
                visual.reshape(len(good), member.width),
                posteriors.reshape(len(good), len(member.concepts)),
                member.concepts,
            )
        )
    return encoder.join(parts)


# §§ main embedding


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
    encoder: Sequence[str] | Callable[[], Encoder] = ("lite0",),
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
    encoder : sequence of str or callable, default=("lite0",)
        Names as `tagloom.vision.load_encoder` takes them, or a function of a module that makes
        the encoder in a worker, once.
    items : sequence of str, optional
        Paths relative to the folder; by default every picture in it.
    pictures_per_partition : int, default=1024
    threads : int, default=1
        Threads inside each task.
    client : distributed.Client, optional
        By default the client that was made last.
    show_progress : bool, default=False
    """
    check_integer("pictures_per_partition", pictures_per_partition, at_least=1)
    check_integer("threads", threads, at_least=1)
    listed, skipped = _listed(folder, items)
    target = Path(out)
    target.mkdir(parents=True, exist_ok=True)
    make: Make = encoder if callable(encoder) else tuple(encoder)
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
