"""The way of pictures from what a backbone saw to the learner's features."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.semantics import DescriptorPCA, SemanticDescriptor
from tagloom.vision import Features

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

    def __init__(self, descriptor: SemanticDescriptor | None, energy: float) -> None:
        self.descriptor = SemanticDescriptor(0) if descriptor is None else clone(descriptor)
        self.pca = DescriptorPCA(energy)

    @classmethod
    def of(cls, descriptor: SemanticDescriptor, pca: DescriptorPCA) -> "Describer":
        """Take over fitted parts."""
        describer = cls(None, pca.energy)
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
        """Describe new pictures, which must have been seen by the same backbone."""
        seen = (features.visual.shape[1], features.posteriors.shape[1])
        expected = (self.n_visual, self.descriptor.n_features_in_ - self.n_visual)
        if seen != expected:
            raise InvalidInputError(
                f"The pictures were seen by another backbone, with {seen[0]} visual numbers and "
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
