"""The training set of a tagger: encoded pictures, labels in their order, and descriptors."""

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
from tagloom.semantics.pca import PrincipalAxes, principal_axes
from tagloom.tagger.texts import Texts
from tagloom.tagger.words import WordPrior
from tagloom.validation import some_of
from tagloom.vision import EmbeddingSummary, Encoder, Features, embed
from tagloom.vision.encoders.base import EncoderMetadata
from tagloom.vision.encoders.registry import resolve_encoder
from tagloom.words import Vocabulary

Array = npt.NDArray[Any]
Pictures = Features | str | os.PathLike[str]


class EncodedPictures(NamedTuple):
    """Features of pictures and where they come from."""

    features: Features
    summary: EmbeddingSummary | None
    """What happened to each file, where the pictures were given as a folder."""
    encoder: EncoderMetadata | None
    """Which encoder was used; None where it is not known."""


def encode_pictures(
    pictures: Pictures,
    encoder: Encoder | None,
    *,
    fitted_with: EncoderMetadata | None = None,
    cache: str | os.PathLike[str] | None = None,
    verbose: bool = False,
) -> EncodedPictures:
    """Return the features of pictures; only a folder needs an encoder.

    Parameters
    ----------
    pictures
        Features, or the path of a folder.
    encoder
        None takes the one of the training pictures, or the default.
    fitted_with
        Metadata of the encoder of the training pictures, which must be used here as well.
    cache, verbose
        As for `tagloom.vision.embed`.
    """
    if isinstance(pictures, Features):
        if fitted_with is None and encoder is not None:
            fitted_with = encoder.metadata()
        return EncodedPictures(pictures, None, fitted_with)
    if not isinstance(pictures, str | os.PathLike):
        raise InvalidInputError(
            "Pictures must be tagloom.vision.Features or the path of a folder; "
            f"got {type(pictures).__name__}."
        )
    folder = Path(pictures)
    if not folder.is_dir():
        raise InvalidInputError(f"There is no folder of pictures at {folder}.")
    chosen = resolve_encoder(encoder, fitted_with)
    done = embed(folder, chosen, cache=cache, verbose=verbose)
    return EncodedPictures(done.features(), done.summary, done.encoder.metadata())


def append_features(training: Features, new: Features) -> Features:
    """Append further pictures; those that are there already, by name, keep their features."""
    if training.concepts != new.concepts or training.visual.shape[1] != new.visual.shape[1]:
        raise _other_encoder(_widths(new), _widths(training))
    there = set(training.items)
    added = [row for row, item in enumerate(new.items) if item not in there]
    return Features(
        training.items + [new.items[row] for row in added],
        np.concatenate([training.visual, new.visual[added]]),
        np.concatenate([training.posteriors, new.posteriors[added]]),
        training.concepts,
    )


def _widths(features: Features) -> tuple[int, int]:
    return features.visual.shape[1], features.posteriors.shape[1]


def _other_encoder(found: tuple[int, int], expected: tuple[int, int]) -> InvalidInputError:
    return InvalidInputError(
        f"The pictures were encoded by another encoder, with {found[0]} visual numbers and "
        f"{found[1]} concepts; the tagger was fitted with {expected[0]} and {expected[1]}."
    )


class Alignment(NamedTuple):
    """Known labels with one row for each picture, and what did not match."""

    known: PartialLabels
    without_picture: list[Hashable]
    """Labelled items without a picture."""
    without_labels: list[str]
    """Pictures without annotations: all their labels are unknown."""


def align(known: PartialLabels, items: Sequence[str]) -> Alignment:
    """Match the items of `known` to the pictures by name, or by position where it has no names.

    A picture that `known` does not mention is unknown in all its labels, even where unlisted tags
    are presumed absent: nobody has annotated it.
    """
    if known.items is None or _are_positions(known.items):
        if known.n_items != len(items):
            raise InvalidInputError(
                f"The labels have no names of items, so there must be one row for each of the "
                f"{len(items)} pictures; got {known.n_items} rows."
            )
        return Alignment(known, [], [])
    if known.items == tuple(items):
        return Alignment(known, [], [])
    row_of_item = {name: row for row, name in enumerate(items)}
    new_row = np.array([row_of_item.get(str(name), -1) for name in known.items], dtype=np.int64)
    if known.n_items and (new_row < 0).all():
        raise InvalidInputError(
            f"None of the {known.n_items} labelled items is among the {len(items)} pictures. "
            f"Labelled are {some_of(known.items, 3)}; pictures are {some_of(items, 3)}. "
            "Names must be paths relative to the folder of pictures, with forward slashes."
        )
    annotated = np.zeros(len(items), dtype=bool)
    annotated[new_row[new_row >= 0]] = True
    unmatched = [name for name, row in zip(known.items, new_row, strict=True) if row < 0]
    unlabelled = [name for name, has_row in zip(items, annotated, strict=True) if not has_row]
    return Alignment(_reordered(known, new_row, items, annotated), unmatched, unlabelled)


def _are_positions(names: Sequence[Hashable]) -> bool:
    """Return whether the names are 0, 1, 2, ..., as in a table without names."""
    return all(name == row and not isinstance(name, str) for row, name in enumerate(names))


def _reordered(
    known: PartialLabels,
    new_row: npt.NDArray[np.int64],
    items: Sequence[str],
    annotated: npt.NDArray[np.bool_],
) -> PartialLabels:
    """Move each row to its new place; rows with new place -1 are dropped."""
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
    unlabelled = np.flatnonzero(~annotated)
    all_columns = np.arange(known.n_labels)
    return moved.with_hidden(
        np.concatenate([hidden_rows[still], np.repeat(unlabelled, known.n_labels)]),
        np.concatenate([hidden_columns[still], np.tile(all_columns, len(unlabelled))]),
    )


class Descriptors(NamedTuple):
    """Pictures by name, in three representations."""

    items: list[str]
    S: Array
    """Semantic descriptors s = [g; l]."""
    visual: Array
    X: Array
    """The learner's features, principal components of `columns`."""
    posteriors: Array
    prior: Array | None
    """Prior scores by the names of the labels; None where no name has any."""

    @classmethod
    def of(cls, features: Features, S: Array, X: Array, words: WordPrior | None) -> Self:
        """Join features with semantic descriptors and the learner's features."""
        # What cannot change need not be copied by the learner.
        X.flags.writeable = False
        prior = None if words is None else words(features)
        return cls(features.items, S, features.visual, X, features.posteriors, prior)

    @property
    def columns(self) -> Array:
        """[visual; s], a copy as large as the features."""
        return np.hstack([self.visual, self.S])

    def row(self, row: int) -> "Descriptors":
        """Return one picture alone."""
        one = slice(row, row + 1)
        prior = None if self.prior is None else self.prior[one]
        tables = self.S[one], self.visual[one], self.X[one], self.posteriors[one]
        return Descriptors(self.items[one], *tables, prior)


class DescriptorPipeline:
    """Turns encoded pictures into the learner's features: semantic descriptors, then PCA.

    Parameters
    ----------
    descriptor
        Cloned; None takes the default.
    n_components
        Of the PCA, as in scikit-learn; a float in (0, 1) is the share of the variance.
    vocabulary
        Decides what the names of labels mean; None leaves names out.
    texts
        Compares names with pictures, if the encoder can.
    """

    words: WordPrior | None
    axes: PrincipalAxes | None = None
    """Those of the visual columns, after a fit; a pipeline from a file has none."""

    def __init__(
        self,
        descriptor: SemanticDescriptor | None,
        n_components: float | None,
        vocabulary: Vocabulary | None = None,
        texts: Texts | None = None,
    ) -> None:
        self.descriptor = SemanticDescriptor(0) if descriptor is None else clone(descriptor)
        self.pca = DescriptorPCA(n_components)
        self.vocabulary, self.texts, self.words = vocabulary, texts, None

    @classmethod
    def from_fitted(
        cls, descriptor: SemanticDescriptor, pca: DescriptorPCA, words: WordPrior | None
    ) -> Self:
        """Return a pipeline made of fitted parts."""
        pipeline = cls(None, pca.n_components)
        pipeline.descriptor, pipeline.pca, pipeline.words = descriptor, pca, words
        return pipeline

    @property
    def n_visual(self) -> int:
        """How many of the columns [visual; s] are visual."""
        return int(self.descriptor.n_visual)

    def fit_transform(
        self, features: Features, known: PartialLabels, like: "DescriptorPipeline | None" = None
    ) -> Descriptors:
        """Fit on training pictures and transform them, none by its own labels.

        `like` was fitted to the same pictures and other labels: what does not depend on labels is
        taken from it. The result is the same.
        """
        n_visual, n_concepts = _widths(features)
        if n_visual == 0 and n_concepts == 0:
            raise InvalidInputError("The features have neither visual columns nor concepts.")
        self.descriptor.set_params(n_visual=n_visual, concept_names=features.concepts)
        if n_visual == 0:
            self.descriptor.set_params(local="drop")
        if n_concepts == 0:
            self.descriptor.set_params(concepts="drop")
        shares = like is not None and like.axes is not None
        self.axes = like.axes if like is not None and shares else _axes(features)
        S = self.descriptor.fit_transform_parts(
            features.visual,
            features.posteriors,
            known,
            axes=self.axes,
            like=like.descriptor if like is not None and shares else None,
        )
        if self.vocabulary is not None:
            self.words = WordPrior.of(features, known, self.vocabulary, self.texts)
        X = self.pca.fit_transform(_columns(features, S), axes=self.axes)
        return Descriptors.of(features, S, X, self.words)

    def transform(self, features: Features) -> Descriptors:
        """Transform new pictures, which must have been encoded by the same encoder."""
        expected = (self.n_visual, self.descriptor.n_features_in_ - self.n_visual)
        if _widths(features) != expected:
            raise _other_encoder(_widths(features), expected)
        S = self.descriptor.transform(np.hstack([features.visual, features.posteriors]))
        return Descriptors.of(features, S, self.pca.transform(_columns(features, S)), self.words)

    def contributions(self, row: Array, weights: Array) -> Array:
        """Return what each of the columns [visual; s] adds to the score x'm of one label.

        The features are x = C (row / scale - mean) with C the principal components, so that x'm is
        a sum over the columns.
        """
        centred = row / self.pca.scales_ - self.pca.pca_.mean_
        return np.asarray(centred * (self.pca.pca_.components_.T @ weights), dtype=np.float64)


def _axes(features: Features) -> PrincipalAxes | None:
    return principal_axes(features.visual) if features.visual.shape[1] else None


def _columns(features: Features, S: Array) -> Array:
    return np.hstack([features.visual, S])


class TrainingSet(NamedTuple):
    """Training pictures with their known labels and descriptors."""

    features: Features
    alignment: Alignment
    pipeline: DescriptorPipeline
    descriptors: Descriptors

    @classmethod
    def build(
        cls,
        features: Features,
        Y: Any,
        descriptor: SemanticDescriptor | None,
        n_components: float | None,
        vocabulary: Vocabulary | None,
        texts: Texts | None = None,
        like: "TrainingSet | None" = None,
    ) -> Self:
        """Match labels to pictures and compute their descriptors.

        What does not depend on labels is taken from a training set `like` it, if that has the very
        same features.
        """
        alignment = align(as_partial_labels(Y), features.items)
        pipeline = DescriptorPipeline(descriptor, n_components, vocabulary, texts)
        same = like.pipeline if like is not None and like.features is features else None
        descriptors = pipeline.fit_transform(features, alignment.known, same)
        return cls(features, alignment, pipeline, descriptors)

    @property
    def known(self) -> PartialLabels:
        """The known labels, one row for each picture."""
        return self.alignment.known

    def scores(self, learner: Any, descriptors: Descriptors) -> Array:
        """Return the learner's scores; the training pictures are not scored as if they were new."""
        prior = {} if descriptors.prior is None else {"prior": descriptors.prior}
        if descriptors is self.descriptors:
            return np.asarray(learner.training_scores(descriptors.X, **prior))
        return np.asarray(learner.scores(descriptors.X, **prior))
