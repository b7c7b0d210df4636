"""From a folder of pictures to features, by way of the cache."""

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tagloom.errors import InvalidInputError
from tagloom.progress import progress_bar
from tagloom.vision.backbone import Backbone
from tagloom.vision.cache import Entry, FeatureCache
from tagloom.vision.discover import find_pictures
from tagloom.vision.efficientnet import EfficientNetLite
from tagloom.vision.features import Features
from tagloom.vision.pictures import MAX_PIXELS, decoders_quiet
from tagloom.vision.pipeline import Outcome, Pipeline
from tagloom.vision.report import EmbedReport, account_for

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
    backbone: Backbone
    cache_folder: Path

    def features(self) -> Features:
        """Read the features of every picture that has some from the cache."""
        items = [item for item, _ in self.report.ready]
        contents = [content for _, content in self.report.ready]
        with FeatureCache(self.cache_folder) as cache:
            parts = []
            for member in self.backbone.members:
                visual, posteriors = cache.load(member, contents)
                parts.append(Features(items, visual, posteriors, member.concepts))
        return self.backbone.join(parts)


def embed(
    folder: str | os.PathLike[str],
    backbone: Backbone | None = None,
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
    backbone
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
    chosen = backbone or EfficientNetLite()
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
