"""From a folder of pictures to features, by way of the cache.

Threads that decode keep threads that encode supplied. Both kinds of work release Python's global
interpreter lock, so that with as many threads of each kind as there are cores every core is busy.
"""

import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.io import natural_order
from tagloom.progress import progress_bar
from tagloom.vision.cache import Entry, FeatureCache
from tagloom.vision.encoders.base import Encoder
from tagloom.vision.encoders.registry import load_encoder
from tagloom.vision.features import Features
from tagloom.vision.pictures import (
    MAX_PIXELS,
    Found,
    PictureError,
    Skipped,
    decode,
    decoders_quiet,
    find_pictures,
    named_format,
    picture_format,
    read_picture,
)

# Pictures are decoded in batches: a core that alternates between decoder and network at every
# picture evicts the network from its cache each time, which costs as much as the decoding.
_BATCH_SIZE = 16
# What a kill can cost: the pictures of one unfinished transaction.
_ENTRIES_PER_TRANSACTION = 64
_SECONDS_PER_TRANSACTION = 2.0


@dataclass(frozen=True)
class EmbeddingSummary:
    """What was found in a folder; each file is listed exactly once."""

    embedded: list[str]
    """Pictures encoded in this run."""
    cached: list[str]
    """Pictures whose features were in the cache."""
    duplicates: list[tuple[str, str]]
    """Pictures with the same bytes as one listed above, with that one's name."""
    skipped: list[Skipped]
    """Files without features, with the reason."""
    mislabelled: list[Skipped]
    """Pictures that were read although their suffix names another format."""
    others: list[str]
    """Files that are not pictures and are not named like pictures."""
    ready: list[tuple[str, bytes]]
    """Every item that has features now, with the SHA-256 of its bytes."""
    seconds: float
    """How long it took."""

    @property
    def found(self) -> int:
        """How many pictures there are, with files named like pictures and unreadable ones."""
        ready = len(self.embedded) + len(self.cached) + len(self.duplicates)
        return ready + len(self.skipped)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as plain values, for JSON."""
        return {
            "found": self.found,
            "embedded": len(self.embedded),
            "cached": len(self.cached),
            "duplicates": [{"item": item, "of": first} for item, first in self.duplicates],
            "skipped": [{"item": one.item, "reason": one.reason} for one in self.skipped],
            "mislabelled": [{"item": one.item, "note": one.reason} for one in self.mislabelled],
            "others": self.others,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class Embedding:
    """A finished run of `embed`, and access to the features.

    Attributes
    ----------
    summary
        What was found and what happened to each file.
    encoder
        The encoder that was used.
    cache_folder
        Where the features are cached.
    """

    summary: EmbeddingSummary
    encoder: Encoder
    cache_folder: Path

    def features(self) -> Features:
        """Read the features of every picture that has some from the cache."""
        items = [item for item, _ in self.summary.ready]
        contents = [content for _, content in self.summary.ready]
        with FeatureCache(self.cache_folder) as cache:
            parts = []
            for member in self.encoder.members:
                visual, posteriors = cache.load(member, contents)
                parts.append(Features(items, visual, posteriors, member.concepts))
        return self.encoder.join(parts)


def embed(
    folder: str | os.PathLike[str],
    encoder: Encoder | None = None,
    *,
    cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    max_pixels: int = MAX_PIXELS,
    verbose: bool = False,
) -> Embedding:
    """Encode every picture in a folder whose features are not in the cache yet.

    It may be interrupted at any time and started again: what is in the cache stays there, and the
    features end up the same to the last bit. Files that cannot be decoded are listed in the summary
    with the reason.

    Parameters
    ----------
    folder
        Searched with all folders in it.
    encoder
        None takes ``load_encoder(["lite0"])``: EfficientNet-Lite0 on the whole picture and on its
        centre.
    cache
        Folder of the feature cache; None takes the one in the user's cache directory.
    n_jobs
        Threads for decoding, and as many for encoding. None takes one per core.
    max_pixels
        Pictures with more pixels are refused; it can be lowered, not raised.
    verbose
        Draw a bar on a terminal's standard error.
    """
    if n_jobs is not None and n_jobs < 1:
        raise InvalidInputError(f"The 'n_jobs' parameter must be at least 1. Got {n_jobs}.")
    if not 1 <= max_pixels <= MAX_PIXELS:
        raise InvalidInputError(
            f"The 'max_pixels' parameter must be in the range [1, {MAX_PIXELS}]. Got {max_pixels}."
        )
    started = time.perf_counter()
    found = find_pictures(folder)
    chosen = encoder or load_encoder(["lite0"])
    members = chosen.members
    with FeatureCache(cache) as opened, decoders_quiet():
        known = [opened.known(member) for member in members]
        pipeline = Pipeline(Path(folder), members, known, n_jobs=n_jobs, max_pixels=max_pixels)
        outcomes = []
        bar = progress_bar(len(found.pictures), "embedding", show=verbose, unit="pictures")
        running = closing(pipeline.run(found.pictures))
        with bar as advance, _cache_writer(opened) as writer, running as finished:
            for outcome in finished:
                outcomes.append(writer.store(outcome))
                advance()
    summary = summarize(found, outcomes, seconds=time.perf_counter() - started)
    return Embedding(summary, chosen, opened.folder)


@dataclass(frozen=True)
class Outcome:
    """What happened to one file.

    `content` is the SHA-256 of its bytes, None if it could not be read. `problem` says why there
    are no features. `entries` are the features computed now; they are empty if another file with
    the same bytes, or an earlier run, has brought them already. `fresh` says that there were some.
    """

    item: str
    content: bytes | None = None
    format: str | None = None
    problem: str | None = None
    entries: list[Entry] = field(default_factory=list)
    fresh: bool = False

    def without_entries(self) -> "Outcome":
        """Drop the entries but remember that there were some."""
        return replace(self, entries=[], fresh=bool(self.entries))


_Prepared = tuple[Outcome, list[tuple[Encoder, NDArray[Any]]]]


class Pipeline:
    """Reads, decodes and encodes pictures; the number of pictures in memory is bounded.

    Parameters
    ----------
    folder
        Where the items are.
    members
        The encoders for each picture.
    known
        For each encoder, the SHA-256 of the pictures that it has encoded before.
    n_jobs
        Threads of each kind; None takes one per available core.
    max_pixels
        Pictures with more are refused.
    """

    def __init__(
        self,
        folder: Path,
        members: tuple[Encoder, ...],
        known: list[set[bytes]],
        *,
        n_jobs: int | None,
        max_pixels: int,
    ) -> None:
        self._folder = folder
        self._members = members
        self._known = known
        self._n_jobs = n_jobs or available_cores()
        self._max_pixels = max_pixels
        self._claimed: set[bytes] = set()
        self._claiming = threading.Lock()

    def run(self, items: Iterable[str]) -> Generator[Outcome, None, None]:
        """Yield the outcome of each item, in the order given."""
        decoders = ThreadPoolExecutor(self._n_jobs, "tagloom-decode")
        encoders = ThreadPoolExecutor(self._n_jobs, "tagloom-encode")
        pending: deque[Future[Outcome]] = deque()
        try:
            for batch in _batches(items, _BATCH_SIZE):
                prepared = decoders.submit(self._prepare_all, batch)
                pending += [
                    encoders.submit(self._encode, prepared, place) for place in range(len(batch))
                ]
                while len(pending) > _BATCH_SIZE * (self._n_jobs + 1):
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            decoders.shutdown(cancel_futures=True)
            encoders.shutdown(cancel_futures=True)

    def _prepare_all(self, items: list[str]) -> list[_Prepared]:
        return [self._prepare(item) for item in items]

    def _prepare(self, item: str) -> _Prepared:
        """Read a file and prepare it for the encoders that do not know it yet."""
        try:
            raw = read_picture(self._folder / item)
        except OSError as problem:
            reason = f"it cannot be read: {problem.strerror or problem}"
            return Outcome(item, problem=reason), []
        except PictureError as problem:
            return Outcome(item, problem=str(problem)), []
        content = hashlib.sha256(raw).digest()
        kind = picture_format(raw)
        missing = self._claim(content)
        if not missing:
            return Outcome(item, content, kind), []
        try:
            return Outcome(item, content, kind), self._pixels_for(missing, raw)
        except PictureError as problem:
            return Outcome(item, content, kind, str(problem)), []

    def _pixels_for(self, missing: list[Encoder], raw: bytes) -> list[tuple[Encoder, NDArray[Any]]]:
        """Prepare a picture for each encoder, decoded as for that encoder alone.

        If all shared the most detailed picture, the features of an encoder would depend on which
        others are combined with it.
        """
        pictures = {
            needed: decode(raw, needed=needed, max_pixels=self._max_pixels)
            for needed in {member.side_needed for member in missing}
        }
        return [(member, member.prepare(pictures[member.side_needed])) for member in missing]

    def _claim(self, content: bytes) -> list[Encoder]:
        """Return the encoders that lack these bytes; each picture is claimed once."""
        with self._claiming:
            if content in self._claimed:
                return []
            self._claimed.add(content)
        pairs = zip(self._members, self._known, strict=True)
        return [member for member, known in pairs if content not in known]

    def _encode(self, batch: "Future[list[_Prepared]]", place: int) -> Outcome:
        outcome, prepared = batch.result()[place]
        if outcome.content is not None:
            for member, pixels in prepared:
                entry = Entry(member, outcome.content, *member.encode(pixels))
                outcome.entries.append(entry)
        return outcome


def _batches(items: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def available_cores() -> int:
    """Count the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _CacheWriter:
    """Collects entries and writes them a transaction at a time."""

    def __init__(self, cache: FeatureCache) -> None:
        self._cache = cache
        self._waiting: list[Entry] = []
        self._written = time.monotonic()

    def store(self, outcome: Outcome) -> Outcome:
        """Take over an outcome's entries; return it without them."""
        self._waiting += outcome.entries
        overdue = time.monotonic() - self._written > _SECONDS_PER_TRANSACTION
        if len(self._waiting) >= _ENTRIES_PER_TRANSACTION or overdue:
            self.flush()
        return outcome.without_entries()

    def flush(self) -> None:
        if self._waiting:
            self._cache.store(self._waiting)
        self._waiting = []
        self._written = time.monotonic()


@contextmanager
def _cache_writer(cache: FeatureCache) -> Iterator[_CacheWriter]:
    """Write what is left at the end, also after an error or an interrupt."""
    writer = _CacheWriter(cache)
    try:
        yield writer
    finally:
        writer.flush()


def summarize(found: Found, outcomes: Iterable[Outcome], *, seconds: float) -> EmbeddingSummary:
    """Sort the outcomes; which of two equal files is the duplicate depends on names alone."""
    outcomes = list(outcomes)
    fresh = {outcome.content for outcome in outcomes if outcome.fresh}
    # Of several files with the same damaged bytes only one was decoded; its reason holds for all.
    reasons = {one.content: one.problem for one in outcomes if one.problem}
    summary = EmbeddingSummary([], [], [], list(found.skipped), [], list(found.others), [], seconds)
    first: dict[bytes, str] = {}
    for outcome in outcomes:
        reason = outcome.problem or reasons.get(outcome.content)
        if outcome.content is None or reason is not None:
            summary.skipped.append(Skipped(outcome.item, reason or "it cannot be read"))
            continue
        summary.ready.append((outcome.item, outcome.content))
        _note_wrong_suffix(summary, outcome)
        if outcome.content in first:
            summary.duplicates.append((outcome.item, first[outcome.content]))
            continue
        first[outcome.content] = outcome.item
        (summary.embedded if outcome.content in fresh else summary.cached).append(outcome.item)
    summary.skipped.sort(key=lambda skipped: natural_order(skipped.item))
    return summary


def _note_wrong_suffix(summary: EmbeddingSummary, outcome: Outcome) -> None:
    named = named_format(outcome.item)
    if outcome.format is not None and named != outcome.format:
        name = f"named like {named}" if named else "not named like a picture"
        note = f"it is {name}, its content is {outcome.format}"
        summary.mislabelled.append(Skipped(outcome.item, note))
