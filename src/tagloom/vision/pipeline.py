"""From a folder of pictures to features, by way of the cache."""

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
from tagloom.progress import progress_bar
from tagloom.vision.cache import Entry, FeatureCache
from tagloom.vision.efficientnet import EfficientNetLite
from tagloom.vision.encoders import Encoder
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
)

# §§ pipeline
# Reading ahead: threads that decode keep threads that compute supplied.
#
# Both kinds of work leave Python's lock, so that with as many threads of each kind as there are
# cores every core is busy. Pictures are decoded a handful at a time: a core that changes between
# decoder and network at every picture loses the network from its cache each time, which costs as
# much as the decoding. The number of pictures under way is bounded, whatever their number.


_HANDFUL = 16
MAX_FILE_BYTES = 2**30


@dataclass(frozen=True)
class Outcome:
    """What became of one file.

    `content` is the SHA-256 of its bytes, None if it could not be read. `problem` says why there
    are no features. `entries` are those worked out just now; another file with the same bytes, or
    an earlier run, may have brought them already.
    """

    item: str
    content: bytes | None = None
    format: str | None = None
    problem: str | None = None
    entries: list[Entry] = field(default_factory=list)
    fresh: bool = False

    def without_numbers(self) -> "Outcome":
        """Forget the entries but remember that there were some."""
        return replace(self, entries=[], fresh=bool(self.entries))


_Prepared = tuple[Outcome, list[tuple[Encoder, NDArray[Any]]]]


class Pipeline:
    """Takes pictures through reading, decoding and the network.

    Parameters
    ----------
    folder
        Where the items lie.
    members
        The encoders that describe each picture.
    known
        For each of them, the SHA-256 of the pictures it has described before.
    workers
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
        workers: int | None,
        max_pixels: int,
    ) -> None:
        self._folder = folder
        self._members = members
        self._known = known
        self._workers = workers or available_cores()
        self._max_pixels = max_pixels
        self._claimed: set[bytes] = set()
        self._claiming = threading.Lock()

    def run(self, items: Iterable[str]) -> Generator[Outcome, None, None]:
        """Yield the outcome of each item, in the order given."""
        readers = ThreadPoolExecutor(self._workers, "tagloom-read")
        thinkers = ThreadPoolExecutor(self._workers, "tagloom-think")
        under_way: deque[Future[Outcome]] = deque()
        try:
            for handful in _handfuls(items, _HANDFUL):
                prepared = readers.submit(self._prepare_all, handful)
                under_way += [
                    thinkers.submit(self._describe, prepared, place)
                    for place in range(len(handful))
                ]
                while len(under_way) > _HANDFUL * (self._workers + 1):
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            readers.shutdown(cancel_futures=True)
            thinkers.shutdown(cancel_futures=True)

    def _prepare_all(self, items: list[str]) -> list[_Prepared]:
        return [self._prepare(item) for item in items]

    def _prepare(self, item: str) -> _Prepared:
        """Read a file and prepare it for the members that do not know it yet."""
        try:
            raw = _read(self._folder / item)
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
        """Prepare a picture for each member, from the detail which that member alone would get.

        Sharing the most detailed picture would let a member's features depend on its company.
        """
        pictures = {
            needed: decode(raw, needed=needed, max_pixels=self._max_pixels)
            for needed in {member.side_needed for member in missing}
        }
        return [(member, member.prepare(pictures[member.side_needed])) for member in missing]

    def _claim(self, content: bytes) -> list[Encoder]:
        """Give the members that still have to see these bytes; each picture is claimed once."""
        with self._claiming:
            if content in self._claimed:
                return []
            self._claimed.add(content)
        pairs = zip(self._members, self._known, strict=True)
        return [member for member, known in pairs if content not in known]

    def _describe(self, handful: "Future[list[_Prepared]]", place: int) -> Outcome:
        outcome, prepared = handful.result()[place]
        if outcome.content is not None:
            for member, pixels in prepared:
                entry = Entry(member, outcome.content, *member.describe(pixels))
                outcome.entries.append(entry)
        return outcome


def _handfuls(items: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(items)
    while handful := list(islice(rest, size)):
        yield handful


def _read(path: Path) -> bytes:
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > MAX_FILE_BYTES:
            raise PictureError(f"the file has {size:,} bytes, more than {MAX_FILE_BYTES:,}")
        raw = stream.read(MAX_FILE_BYTES)
    if not raw:
        raise PictureError("the file is empty")
    return raw


def available_cores() -> int:
    """Count the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# §§ report
# The account of a run: each file that was found is in it exactly once.


@dataclass(frozen=True)
class EmbedReport:
    """What was found in a folder and what became of it.

    Attributes
    ----------
    embedded
        Pictures described in this run.
    cached
        Pictures that the cache knew.
    duplicates
        Pictures with the same bytes as one counted above, with that one's name.
    skipped
        What gave no features, with the reason.
    mislabelled
        Pictures that were read although their ending promises something else.
    others
        Files that are no pictures and do not claim to be.
    ready
        Every item that has features now, with the SHA-256 of its bytes.
    seconds
        How long it took.
    """

    embedded: list[str]
    cached: list[str]
    duplicates: list[tuple[str, str]]
    skipped: list[Skipped]
    mislabelled: list[Skipped]
    others: list[str]
    ready: list[tuple[str, bytes]]
    seconds: float

    @property
    def found(self) -> int:
        """How many pictures, and things that claimed to be or could not be looked at, there are."""
        ready = len(self.embedded) + len(self.cached) + len(self.duplicates)
        return ready + len(self.skipped)

    def as_dict(self) -> dict[str, Any]:
        """Give the account as plain values, for JSON."""
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


def account_for(found: Found, outcomes: Iterable[Outcome], *, seconds: float) -> EmbedReport:
    """Sort the outcomes; which of two equal files is the duplicate depends on names alone."""
    outcomes = list(outcomes)
    fresh = {outcome.content for outcome in outcomes if outcome.fresh}
    # Of several files with the same damaged bytes only one was decoded; its reason holds for all.
    reasons = {one.content: one.problem for one in outcomes if one.problem}
    report = EmbedReport([], [], [], list(found.skipped), [], list(found.others), [], seconds)
    first: dict[bytes, str] = {}
    for outcome in outcomes:
        reason = outcome.problem or reasons.get(outcome.content)
        if outcome.content is None or reason is not None:
            report.skipped.append(Skipped(outcome.item, reason or "it cannot be read"))
            continue
        report.ready.append((outcome.item, outcome.content))
        _note_wrong_ending(report, outcome)
        if outcome.content in first:
            report.duplicates.append((outcome.item, first[outcome.content]))
            continue
        first[outcome.content] = outcome.item
        (report.embedded if outcome.content in fresh else report.cached).append(outcome.item)
    report.skipped.sort(key=lambda skipped: skipped.item)
    return report


def _note_wrong_ending(report: EmbedReport, outcome: Outcome) -> None:
    promised = named_format(outcome.item)
    if outcome.format is not None and promised != outcome.format:
        name = promised or "no picture"
        note = f"its ending says {name}, its content is {outcome.format}"
        report.mislabelled.append(Skipped(outcome.item, note))


# §§ main embedding


# What a kill can cost: the pictures of one unfinished transaction.
_ENTRIES_PER_TRANSACTION = 64
_SECONDS_PER_TRANSACTION = 2.0


@dataclass(frozen=True)
class Embedding:
    """What `embed` did, and the way to the features.

    Attributes
    ----------
    report
        What was found and what became of each file.
    """

    report: EmbedReport
    encoder: Encoder
    cache_folder: Path

    def features(self) -> Features:
        """Read the features of every picture that has some from the cache."""
        items = [item for item, _ in self.report.ready]
        contents = [content for _, content in self.report.ready]
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
    workers: int | None = None,
    max_pixels: int = MAX_PIXELS,
    show_progress: bool = False,
) -> Embedding:
    """Describe every picture in a folder that the cache does not know yet.

    It may be interrupted at any instant and started again: what is in the cache stays there, and
    the features end up the same to the last bit. Files that give no picture are listed in the
    report with the reason.

    Parameters
    ----------
    folder
        Searched with all folders in it.
    encoder
        None takes `EfficientNetLite` ``lite0``.
    cache
        Folder of the feature cache; None takes the one in the user's cache directory.
    workers
        Threads for decoding, and as many for the network. None takes one per core.
    max_pixels
        Pictures with more pixels are refused; it can be lowered, not raised.
    show_progress
        Draw a bar on a terminal's standard error.
    """
    if workers is not None and workers < 1:
        raise InvalidInputError(f"The 'workers' parameter must be at least 1. Got {workers}.")
    if not 1 <= max_pixels <= MAX_PIXELS:
        raise InvalidInputError(
            f"The 'max_pixels' parameter must be in the range [1, {MAX_PIXELS}]. Got {max_pixels}."
        )
    started = time.perf_counter()
    found = find_pictures(folder)
    chosen = encoder or EfficientNetLite()
    members = chosen.members
    with FeatureCache(cache) as opened, decoders_quiet():
        known = [opened.known(member) for member in members]
        pipeline = Pipeline(Path(folder), members, known, workers=workers, max_pixels=max_pixels)
        outcomes = []
        bar = progress_bar(len(found.pictures), "embedding", show=show_progress, unit="pictures")
        running = closing(pipeline.run(found.pictures))
        with bar as advance, _kept(opened) as keep, running as finished:
            for outcome in finished:
                outcomes.append(keep(outcome))
                advance()
    report = account_for(found, outcomes, seconds=time.perf_counter() - started)
    return Embedding(report, chosen, opened.folder)


class _Keeper:
    """Gathers entries and writes them a transaction at a time."""

    def __init__(self, cache: FeatureCache) -> None:
        self._cache = cache
        self._waiting: list[Entry] = []
        self._written = time.monotonic()

    def __call__(self, outcome: Outcome) -> Outcome:
        """Take over an outcome's entries; give it back without their numbers."""
        self._waiting += outcome.entries
        overdue = time.monotonic() - self._written > _SECONDS_PER_TRANSACTION
        if len(self._waiting) >= _ENTRIES_PER_TRANSACTION or overdue:
            self.write()
        return outcome.without_numbers()

    def write(self) -> None:
        if self._waiting:
            self._cache.store(self._waiting)
        self._waiting = []
        self._written = time.monotonic()


@contextmanager
def _kept(cache: FeatureCache) -> Iterator[_Keeper]:
    """Write what is left at the end, be the end an error or an interrupt."""
    keeper = _Keeper(cache)
    try:
        yield keeper
    finally:
        keeper.write()
