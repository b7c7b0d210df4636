"""What a tagger learns from: pictures, what is known of them, and how they are described."""

import os
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.semantics import DescriptorPCA, SemanticDescriptor
from tagloom.validation import some_of
from tagloom.vision import EmbedReport, Encoder, Features, embed
from tagloom.vision.choice import check_same_encoder, encoder_facts, recall_encoder

# §§ alignment
# Bring what is known into the order of the pictures.


class Aligned(NamedTuple):
    """What is known, one row for each picture, and what did not fit."""

    known: PartialLabels
    without_picture: list[Hashable]
    """Items of which something is said but of which there is no picture."""
    without_labels: list[str]
    """Pictures of which nothing is said: all their labels are unknown."""


def align(known: PartialLabels, items: Sequence[str]) -> Aligned:
    """Match the items of `known` to the pictures by name, or by position where it has no names.

    A picture that `known` does not mention is wholly unknown, also where tags that are not listed
    are presumed absent: nobody has looked at it.
    """
    if known.items is None or _are_positions(known.items):
        if known.n_items != len(items):
            raise InvalidInputError(
                f"The labels have no names of items, so there must be one row for each of the "
                f"{len(items)} pictures; got {known.n_items} rows."
            )
        return Aligned(known, [], [])
    row_of_item = {name: row for row, name in enumerate(items)}
    new_row = np.array([row_of_item.get(str(name), -1) for name in known.items], dtype=np.int64)
    if known.n_items and (new_row < 0).all():
        raise InvalidInputError(
            f"None of the {known.n_items} labelled items is among the {len(items)} pictures. "
            f"Labelled are {some_of(known.items, 3)}; pictures are {some_of(items, 3)}. "
            "Names must be paths relative to the folder of pictures, with forward slashes."
        )
    mentioned = np.zeros(len(items), dtype=bool)
    mentioned[new_row[new_row >= 0]] = True
    lost = [name for name, row in zip(known.items, new_row, strict=True) if row < 0]
    silent = [name for name, seen in zip(items, mentioned, strict=True) if not seen]
    return Aligned(_moved(known, new_row, items, mentioned), lost, silent)


def _moved(
    known: PartialLabels,
    new_row: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    items: Sequence[str],
    mentioned: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
) -> PartialLabels:
    entries = known.entries()
    rows = new_row[entries.rows]
    kept = rows >= 0
    moved = PartialLabels.from_entries(
        rows[kept],
        entries.columns[kept],
        entries.present[kept],
        shape=(len(items), known.n_labels),
        weights=entries.weights[kept],
        labels=known.labels,
        items=items,
        unlisted_weight=known.unlisted_weight,
    )
    if not known.unlisted_weight:
        return moved
    hidden_rows, hidden_columns = known.hidden_entries()
    hidden_rows = new_row[hidden_rows]
    still = hidden_rows >= 0
    unseen = np.flatnonzero(~mentioned)
    all_columns = np.arange(known.n_labels)
    return moved.with_hidden(
        np.concatenate([hidden_rows[still], np.repeat(unseen, known.n_labels)]),
        np.concatenate([hidden_columns[still], np.tile(all_columns, len(unseen))]),
    )


def _are_positions(names: Sequence[Hashable]) -> bool:
    """Say whether the names are 0, 1, 2, ..., which is what a table without names has."""
    return all(name == row and not isinstance(name, str) for row, name in enumerate(names))


# §§ describing
# The way of pictures from what an encoder saw to the learner's features.


Array = npt.NDArray[Any]


class Described(NamedTuple):
    """Pictures by name: semantic descriptors s, the columns [visual; s], the learner's features."""

    items: list[str]
    S: Array
    columns: Array
    X: Array

    def row(self, row: int) -> "Described":
        """Return one picture alone."""
        one = slice(row, row + 1)
        return Described(self.items[one], self.S[one], self.columns[one], self.X[one])


class Describer:
    """Describes training pictures once, and new pictures the way those went."""

    def __init__(self, descriptor: SemanticDescriptor | None, n_components: float | None) -> None:
        self.descriptor = SemanticDescriptor(0) if descriptor is None else clone(descriptor)
        self.pca = DescriptorPCA(n_components)

    @classmethod
    def of(cls, descriptor: SemanticDescriptor, pca: DescriptorPCA) -> "Describer":
        """Take over fitted parts."""
        describer = cls(None, pca.n_components)
        describer.descriptor, describer.pca = descriptor, pca
        return describer

    @property
    def n_visual(self) -> int:
        """How many of the columns are visual."""
        return int(self.descriptor.n_visual)

    def describe_training(self, features: Features, known: PartialLabels) -> Described:
        """Fit on training pictures and describe them, none by its own labels."""
        n_visual, n_concepts = features.visual.shape[1], features.posteriors.shape[1]
        if n_visual == 0 and n_concepts == 0:
            raise InvalidInputError("The features have neither visual columns nor concepts.")
        self.descriptor.set_params(n_visual=n_visual, concept_names=features.concepts)
        if n_visual == 0:
            self.descriptor.set_params(local="drop")
        if n_concepts == 0:
            self.descriptor.set_params(concepts="drop")
        S = self.descriptor.fit_transform(_side_by_side(features), known)
        return described_as(features, S, self.pca.fit_transform(_columns(features, S)))

    def describe(self, features: Features) -> Described:
        """Describe new pictures, which must have been seen by the same encoder."""
        seen = (features.visual.shape[1], features.posteriors.shape[1])
        expected = (self.n_visual, self.descriptor.n_features_in_ - self.n_visual)
        if seen != expected:
            raise InvalidInputError(
                f"The pictures were seen by another encoder, with {seen[0]} visual numbers and "
                f"{seen[1]} concepts; the tagger was fitted with {expected[0]} and {expected[1]}."
            )
        S = self.descriptor.transform(_side_by_side(features))
        return described_as(features, S, self.pca.transform(_columns(features, S)))

    def contributions(self, row: Array, weights: Array) -> Array:
        """Return what each of the columns [visual; s] adds to the score x'm of one label.

        The features are x = C (row / scale - mean) with C the principal components, so that x'm is
        a sum over the columns.
        """
        centred = row / self.pca.scales_ - self.pca.pca_.mean_
        return np.asarray(centred * (self.pca.pca_.components_.T @ weights), dtype=np.float64)


def described_as(features: Features, S: Array, X: Array) -> Described:
    """Join pictures with their semantic descriptors and the learner's features."""
    return Described(features.items, S, _columns(features, S), X)


def _columns(features: Features, S: Array) -> Array:
    return np.hstack([features.visual, S])


def _side_by_side(features: Features) -> Array:
    return np.hstack([features.visual, features.posteriors])


# §§ main lesson


class Lesson(NamedTuple):
    """Training pictures, what is known in their order, and their descriptions."""

    features: Features
    alignment: Aligned
    describer: Describer
    training: Described

    @classmethod
    def of(
        cls,
        features: Features,
        Y: Any,
        descriptor: SemanticDescriptor | None,
        n_components: float | None,
    ) -> Self:
        """Match labels to pictures and describe these, none by its own labels."""
        alignment = align(as_partial_labels(Y), features.items)
        describer = Describer(descriptor, n_components)
        training = describer.describe_training(features, alignment.known)
        return cls(features, alignment, describer, training)

    @property
    def known(self) -> PartialLabels:
        """What is known, one row for each picture."""
        return self.alignment.known


# §§ seeing
# Pictures in any form become features, by the encoder that saw the others.


Pictures = Features | str | os.PathLike[str]


class Seen(NamedTuple):
    """What an encoder saw, now or before."""

    features: Features
    report: EmbedReport | None
    """What became of each file, where pictures came as a folder."""
    by: dict[str, Any] | None
    """Which encoder it was; None where nobody said."""


class Eyes(NamedTuple):
    """How to look at folders of pictures."""

    encoder: Encoder | None
    cache: str | os.PathLike[str] | None
    progress: bool
    seen_by: dict[str, Any] | None = None
    """The encoder that saw the training pictures."""

    def look(self, pictures: Pictures) -> Seen:
        """Return the features of pictures; only a folder needs an encoder."""
        if isinstance(pictures, Features):
            return Seen(pictures, None, self._known_encoder())
        if not isinstance(pictures, str | os.PathLike):
            raise InvalidInputError(
                "Pictures must be tagloom.vision.Features or the path of a folder; "
                f"got {type(pictures).__name__}."
            )
        folder = Path(pictures)
        if not folder.is_dir():
            raise InvalidInputError(f"There is no folder of pictures at {folder}.")
        done = embed(folder, self.chosen(), cache=self.cache, show_progress=self.progress)
        return Seen(done.features(), done.report, encoder_facts(done.encoder))

    def chosen(self) -> Encoder | None:
        """Return the encoder for folders; it must be the one that saw the training pictures."""
        if self.seen_by is None:
            return self.encoder
        if self.encoder is None:
            return recall_encoder(self.seen_by)
        check_same_encoder(self.encoder, self.seen_by)
        return self.encoder

    def _known_encoder(self) -> dict[str, Any] | None:
        if self.seen_by is not None or self.encoder is None:
            return self.seen_by
        return encoder_facts(self.encoder)


def with_more(before: Features, more: Features) -> Features:
    """Return the features with those of further pictures; who is there already stays as it was."""
    if before.concepts != more.concepts or before.visual.shape[1] != more.visual.shape[1]:
        raise InvalidInputError(
            f"The further pictures were seen by another encoder, with {more.visual.shape[1]} "
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
