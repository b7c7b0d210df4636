"""One task of the network: some pictures in, one parquet file out."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from tagloom.cluster.parquet_writing import features_column, write_table
from tagloom.vision import Backbone, Features, choose_backbone
from tagloom.vision.cache import Entry
from tagloom.vision.pictures import MAX_PIXELS, decoders_quiet
from tagloom.vision.pipeline import Outcome, Pipeline

_KEY = b"tagloom"
_making = Lock()

# Both are the same thing for every task of a worker, which partial functions would not be.
Make = tuple[str, ...] | Callable[[], Backbone]


@dataclass(frozen=True)
class Order:
    """Which pictures of which folder go into which file, with how many threads."""

    folder: str
    items: tuple[str, ...]
    path: str
    threads: int

    def digest(self, backbone: Backbone) -> str:
        """Return what tells this order from others: the items and the networks."""
        identities = [member.identity for member in backbone.members]
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
        backbone = _made(make)
    digest = order.digest(backbone)
    told = told_by(Path(order.path), digest)
    if told is not None:
        return told
    pipeline = Pipeline(
        Path(order.folder),
        backbone.members,
        [set() for _ in backbone.members],
        workers=order.threads,
        max_pixels=MAX_PIXELS,
    )
    with decoders_quiet():
        outcomes = list(pipeline.run(order.items))
    return _written(order, outcomes, backbone, digest)


@lru_cache(maxsize=1)
def _made(make: Make) -> Backbone:
    """Make the backbone once in a worker: to load the network takes longer than many pictures."""
    return make() if callable(make) else choose_backbone(make)


def told_by(path: Path, digest: str) -> Told | None:
    """Return what a finished file tells; None where it is not there or is another order's."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException):
        return None
    facts = json.loads((schema.metadata or {}).get(_KEY, b"{}"))
    if facts.get("digest") != digest:
        return None
    skipped = tuple((item, reason) for item, reason in facts["skipped"])
    return Told(facts["n_embedded"], skipped, resumed=True)


def _written(order: Order, outcomes: list[Outcome], backbone: Backbone, digest: str) -> Told:
    entries = {
        (entry.backbone.identity, entry.content): entry
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
    features = _joined(good, entries, backbone)
    facts = {"digest": digest, "n_embedded": len(good), "skipped": skipped}
    columns = {
        "item": features.items,
        "content": [content for _, content in good],
        "features": features_column(features.visual),
        "posteriors": features_column(features.posteriors),
    }
    write_table(Path(order.path), columns, {_KEY.decode(): json.dumps(facts)})
    return Told(len(good), tuple(skipped), resumed=False)


def _joined(
    good: list[tuple[str, bytes]], entries: dict[tuple[str, bytes], Entry], backbone: Backbone
) -> Features:
    parts = []
    for member in backbone.members:
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
    return backbone.join(parts)
