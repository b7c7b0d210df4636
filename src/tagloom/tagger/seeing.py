"""Pictures in any form become features, by the backbone that saw the others."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.vision import Backbone, EmbedReport, Features, embed
from tagloom.vision.recalling import backbone_facts, check_same_backbone, recall_backbone

Pictures = Features | str | os.PathLike[str]


class Seen(NamedTuple):
    """What a backbone saw, now or before."""

    features: Features
    report: EmbedReport | None
    """What became of each file, where pictures came as a folder."""
    by: dict[str, Any] | None
    """Which backbone it was; None where nobody said."""


class Eyes(NamedTuple):
    """How to look at folders of pictures."""

    backbone: Backbone | None
    cache: str | os.PathLike[str] | None
    progress: bool
    seen_by: dict[str, Any] | None = None
    """The backbone that saw the training pictures."""

    def look(self, pictures: Pictures) -> Seen:
        """Return the features of pictures; only a folder needs a backbone."""
        if isinstance(pictures, Features):
            return Seen(pictures, None, self._known_backbone())
        if not isinstance(pictures, str | os.PathLike):
            raise InvalidInputError(
                "Pictures must be tagloom.vision.Features or the path of a folder; "
                f"got {type(pictures).__name__}."
            )
        folder = Path(pictures)
        if not folder.is_dir():
            raise InvalidInputError(f"There is no folder of pictures at {folder}.")
        done = embed(folder, self.chosen(), cache=self.cache, show_progress=self.progress)
        return Seen(done.features(), done.report, backbone_facts(done.backbone))

    def chosen(self) -> Backbone | None:
        """Return the backbone for folders; it must be the one that saw the training pictures."""
        if self.seen_by is None:
            return self.backbone
        if self.backbone is None:
            return recall_backbone(self.seen_by)
        check_same_backbone(self.backbone, self.seen_by)
        return self.backbone

    def _known_backbone(self) -> dict[str, Any] | None:
        if self.seen_by is not None or self.backbone is None:
            return self.seen_by
        return backbone_facts(self.backbone)


def with_more(before: Features, more: Features) -> Features:
    """Return the features with those of further pictures; who is there already stays as it was."""
    if before.concepts != more.concepts or before.visual.shape[1] != more.visual.shape[1]:
        raise InvalidInputError(
            f"The further pictures were seen by another backbone, with {more.visual.shape[1]} "
            f"visual numbers and {len(more.concepts)} concepts; the tagger was fitted with "
            f"{before.visual.shape[1]} and {len(before.concepts)}."
        )
    there = set(before.items)
    added = [row for row, item in enumerate(more.items) if item not in there]
    return Features(
        before.items + [more.items[row] for row in added],
        np.concatenate([before.visual, more.visual[added]]),
        np.concatenate([before.posteriors, more.posteriors[added]]),
        before.concepts,
    )
