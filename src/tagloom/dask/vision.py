"""Features of pictures by tasks: a parquet file for each partition of the pictures."""

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

from tagloom.dask.blocks import compute_all, get_client, task
from tagloom.dask.parquet import features_column, partition_name, write_table
from tagloom.errors import InvalidInputError
from tagloom.validation import check_integer
from tagloom.vision import Encoder, Features, Skipped, find_pictures, load_encoder
from tagloom.vision.cache import Entry
from tagloom.vision.pictures import MAX_PIXELS, decoders_quiet
from tagloom.vision.pipeline import Outcome, Pipeline

# The key of our metadata in a parquet file.
_METADATA_KEY = b"tagloom"
_loading = Lock()

EncoderSource = tuple[str, ...] | Callable[[], Encoder]
"""Names or a function: equal for all tasks of a worker, as a cache key must be."""


@dataclass(frozen=True)
class Embedding:
    """The result of `embed`.

    Attributes
    ----------
    folder : Path
        Parquet files with the columns ``item``, ``content`` (SHA-256), ``features`` (the visual
        descriptor) and ``posteriors``; `ParquetItems` reads them.
    n_embedded : int
        Pictures that have features.
    n_resumed : int
        Partitions that an earlier run finished.
    skipped : list of Skipped
        Files without features, with the reason.
    """

    folder: Path
    n_embedded: int
    n_resumed: int
    skipped: list[Skipped]


def embed(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    encoder: Sequence[str] | Callable[[], Encoder] = ("lite0",),
    *,
    items: Sequence[str] | None = None,
    pictures_per_partition: int = 1024,
    n_jobs: int = 1,
    client: Any = None,
    verbose: bool = False,
) -> Embedding:
    """Compute the features of pictures; each task writes a parquet file atomically.

    The same call resumes an interrupted run: a partition is skipped if its file exists and was made
    from the same items by the same network. Files that cannot be read as pictures are listed with
    the reason and skipped.

    Parameters
    ----------
    folder : path
        The pictures; every worker must be able to read it.
    out : path
        The folder of the parquet files, created if needed; every worker must be able to write
        there.
    encoder : sequence of str or callable, default=("lite0",)
        Names that `tagloom.vision.load_encoder` takes, or an importable function that creates the
        encoder, once in each worker.
    items : sequence of str, optional
        Paths relative to the folder; by default all pictures in it.
    pictures_per_partition : int, default=1024
    n_jobs : int, default=1
        Threads inside each task.
    client : distributed.Client, optional
        By default the client that was created last.
    verbose : bool, default=False
        Show a progress bar over the partitions.
    """
    check_integer("pictures_per_partition", pictures_per_partition, at_least=1)
    check_integer("n_jobs", n_jobs, at_least=1)
    listed, skipped = _list_pictures(folder, items)
    target = Path(out)
    target.mkdir(parents=True, exist_ok=True)
    source: EncoderSource = encoder if callable(encoder) else tuple(encoder)
    step = pictures_per_partition
    jobs = [
        _Job(
            folder=str(folder),
            items=tuple(listed[start : start + step]),
            path=str(target / partition_name(number)),
            n_jobs=n_jobs,
        )
        for number, start in enumerate(range(0, len(listed), step))
    ]
    _refuse_other_files(target, {Path(job.path).name for job in jobs})
    results: list[_Result] = compute_all(
        get_client(client),
        [task(_embed_partition, job, source) for job in jobs],
        "embedding",
        verbose=verbose,
        unit="partitions",
    )
    return Embedding(
        target,
        sum(result.n_embedded for result in results),
        sum(result.resumed for result in results),
        skipped + [Skipped(*pair) for result in results for pair in result.skipped],
    )


def _list_pictures(
    folder: str | os.PathLike[str], items: Sequence[str] | None
) -> tuple[list[str], list[Skipped]]:
    if items is not None:
        return [str(item) for item in items], []
    found = find_pictures(folder)
    return found.pictures, found.skipped


def _refuse_other_files(target: Path, expected: set[str]) -> None:
    """Refuse a folder with files that this run would not replace: they would be read with it."""
    others = [path.name for path in sorted(target.glob("*.parquet")) if path.name not in expected]
    if others:
        raise InvalidInputError(
            f"{target} holds {len(others)} parquet file(s) that are no part of this run, such "
            f"as {others[0]}. Choose another folder, or remove them."
        )


@dataclass(frozen=True)
class _Job:
    """One partition: which pictures of a folder go into which file, with how many threads."""

    folder: str
    items: tuple[str, ...]
    path: str
    n_jobs: int

    def digest(self, encoder: Encoder) -> str:
        """Return what identifies the result: the items and the networks."""
        identities = [member.identity for member in encoder.members]
        text = json.dumps([self.folder, self.items, identities])
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class _Result:
    """The result of one partition."""

    n_embedded: int
    skipped: tuple[tuple[str, str], ...]
    resumed: bool


def _embed_partition(job: _Job, source: EncoderSource) -> _Result:
    """Write the features of the pictures, unless an earlier run did."""
    with _loading:
        encoder = _load(source)
    digest = job.digest(encoder)
    finished = _read_result(Path(job.path), digest)
    if finished is not None:
        return finished
    pipeline = Pipeline(
        Path(job.folder),
        encoder.members,
        [set() for _ in encoder.members],
        n_jobs=job.n_jobs,
        max_pixels=MAX_PIXELS,
    )
    with decoders_quiet():
        outcomes = list(pipeline.run(job.items))
    return _write_result(job, outcomes, encoder, digest)


@lru_cache(maxsize=1)
def _load(source: EncoderSource) -> Encoder:
    """Load the encoder once in a worker: loading the network takes longer than many pictures."""
    return source() if callable(source) else load_encoder(source)


def _read_result(path: Path, digest: str) -> _Result | None:
    """Read the result of a finished file; None where it is missing or of another job."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException):
        return None
    metadata = json.loads((schema.metadata or {}).get(_METADATA_KEY, b"{}"))
    if metadata.get("digest") != digest:
        return None
    skipped = tuple((item, reason) for item, reason in metadata["skipped"])
    return _Result(metadata["n_embedded"], skipped, resumed=True)


def _write_result(job: _Job, outcomes: list[Outcome], encoder: Encoder, digest: str) -> _Result:
    entries = {
        (entry.encoder.identity, entry.content): entry
        for outcome in outcomes
        for entry in outcome.entries
    }
    good, skipped = _split_by_success(outcomes)
    features = _join_features(good, entries, encoder)
    metadata = {"digest": digest, "n_embedded": len(good), "skipped": skipped}
    columns = {
        "item": features.items,
        "content": [content for _, content in good],
        "features": features_column(features.visual),
        "posteriors": features_column(features.posteriors),
    }
    write_table(Path(job.path), columns, {_METADATA_KEY.decode(): json.dumps(metadata)})
    return _Result(len(good), tuple(skipped), resumed=False)


def _split_by_success(
    outcomes: list[Outcome],
) -> tuple[list[tuple[str, bytes]], list[tuple[str, str]]]:
    """Return the items with their contents, and the skipped files with the reason."""
    problems = {one.content: one.problem for one in outcomes if one.problem and one.content}
    good: list[tuple[str, bytes]] = []
    skipped: list[tuple[str, str]] = []
    for one in outcomes:
        # A file with the same bytes as an earlier one was not decoded again: it has its problem.
        problem = one.problem or problems.get(one.content or b"")
        if problem is None and one.content is not None:
            good.append((one.item, one.content))
        else:
            skipped.append((one.item, problem or "it could not be read"))
    return good, skipped


def _join_features(
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
