"""What an experiment needs of a data set: items, the truth about their labels, a split."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.vision import Backbone, Features, embed

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Items with what is true of their labels, split into training and test rows.

    Parameters
    ----------
    name
        Short name for tables and figures.
    truth
        What is true of every item and label, both named; unknown where the makers of the set do
        not say ("difficult"). Items of a set with pictures are paths relative to `folder`, with
        forward slashes.
    training, test
        Rows of `truth`; no row is in both.
    folder
        Where the pictures lie; None for a set of numbers only.
    features
        Descriptors of the items in the order of `truth`; None until pictures have been looked at.
        A set of numbers has them in `visual` and no concepts.
    notes
        What a reader of a result must know: what was left out, what differs from the usual.
    """

    name: str
    truth: PartialLabels
    training: Rows
    test: Rows
    folder: Path | None = None
    features: Features | None = None
    notes: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        for name in ("training", "test"):
            object.__setattr__(self, name, _rows(self.name, name, getattr(self, name)))
        notes = (self.notes,) if isinstance(self.notes, str) else tuple(self.notes)
        object.__setattr__(self, "notes", notes)
        if self.truth.items is None:
            raise InvalidInputError(f"The truth of {self.name} must name its items.")
        _check_split(self)
        if self.features is not None and self.features.items != list(self.items):
            raise InvalidInputError(
                f"The features of {self.name} must be of the items of its truth, in their order."
            )

    @property
    def items(self) -> tuple[str, ...]:
        """Names of the items."""
        return tuple(str(item) for item in self.truth.items or ())

    def picture(self, row: int) -> Path:
        """Return where the picture of a row lies."""
        if self.folder is None:
            raise InvalidInputError(f"{self.name} is a set of numbers: it has no pictures.")
        return self.folder / str((self.truth.items or ())[row])

    def embedded(
        self,
        backbone: Backbone | None = None,
        *,
        cache: Path | None = None,
        show_progress: bool = False,
    ) -> Self:
        """Return the set with features: as they are, or by looking at the pictures now.

        Rows whose picture cannot be read are left out, and `notes` says which.
        """
        if self.features is not None:
            return self
        if self.folder is None:
            raise InvalidInputError(f"{self.name} has neither features nor pictures.")
        seen = embed(self.folder, backbone, cache=cache, show_progress=show_progress).features()
        where = {item: row for row, item in enumerate(seen.items)}
        kept = [row for row, item in enumerate(self.items) if item in where]
        if not kept:
            raise InvalidInputError(
                f"None of the {len(self.items):,} pictures of {self.name} could be read in "
                f"{self.folder}. Expected {some_of(self.items, 3)}."
            )
        rows = np.array([where[item] for item in self.items if item in where], dtype=np.int64)
        features = Features(
            [seen.items[row] for row in rows],
            seen.visual[rows],
            seen.posteriors[rows],
            seen.concepts,
        )
        return self._only(np.array(kept, dtype=np.int64), features)

    def _only(self, kept: Rows, features: Features) -> Self:
        """Keep some rows, in their order, described by `features`."""
        place = np.full(len(self.items), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        lost = [item for row, item in enumerate(self.items) if place[row] < 0]
        training, test = place[self.training], place[self.test]
        return replace(
            self,
            truth=self.truth.take(kept),
            training=training[training >= 0],
            test=test[test >= 0],
            features=features,
            notes=(*self.notes, *_note_of_lost(lost)),
        )


def _rows(name: str, part: str, given: npt.ArrayLike) -> Rows:
    rows = np.asarray(given)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InvalidInputError(
            f"The {part} rows of {name} must be a list of whole numbers; found an array of "
            f"{rows.dtype} of shape {rows.shape}. A mask becomes rows by np.flatnonzero(mask)."
        )
    return rows.astype(np.int64)


def _note_of_lost(lost: Sequence[str]) -> tuple[str, ...]:
    if not lost:
        return ()
    return (f"{len(lost)} pictures could not be read and were left out: {some_of(lost)}.",)


def _check_split(dataset: Dataset) -> None:
    n_items = dataset.truth.n_items
    rows = np.concatenate([dataset.training, dataset.test])
    if rows.size and (rows.min() < 0 or rows.max() >= n_items):
        raise InvalidInputError(
            f"The split of {dataset.name} must hold rows from 0 to {n_items - 1}; it holds "
            f"{rows.min()} to {rows.max()}."
        )
    if len(np.unique(rows)) < len(rows):
        raise InvalidInputError(
            f"The split of {dataset.name} holds a row twice: training and test must not overlap."
        )
