"""Reading ahead: threads that decode keep threads that compute supplied.

Both kinds of work leave Python's lock, so that with as many threads of each kind as there are
cores every core is busy. Pictures are decoded a handful at a time: a core that changes between
decoder and network at every picture loses the network from its cache each time, which costs as
much as the decoding. The number of pictures under way is bounded, whatever their number.
"""

import hashlib
import os
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tagloom.vision.backbone import Backbone
from tagloom.vision.cache import Entry
from tagloom.vision.pictures import PictureError, decode
from tagloom.vision.signatures import picture_format

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


_Prepared = tuple[Outcome, list[tuple[Backbone, NDArray[Any]]]]


class Pipeline:
    """Takes pictures through reading, decoding and the network.

    Parameters
    ----------
    folder
        Where the items lie.
    members
        The backbones that describe each picture.
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
        members: tuple[Backbone, ...],
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

    def _pixels_for(
        self, missing: list[Backbone], raw: bytes
    ) -> list[tuple[Backbone, NDArray[Any]]]:
        """Prepare a picture for each member, from the detail which that member alone would get.

        Sharing the most detailed picture would let a member's features depend on its company.
        """
        pictures = {
            needed: decode(raw, needed=needed, max_pixels=self._max_pixels)
            for needed in {member.side_needed for member in missing}
        }
        return [(member, member.prepare(pictures[member.side_needed])) for member in missing]

    def _claim(self, content: bytes) -> list[Backbone]:
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
