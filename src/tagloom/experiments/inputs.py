"""What learners learn from: the same features and descriptors for all of them."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.datasets.base import Dataset, Rows
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.models.evening import EvenRows
from tagloom.semantics import DescriptorPCA, SemanticDescriptor
from tagloom.tagger.describing import Describer
from tagloom.vision import Features

Array = npt.NDArray[Any]

# So few numbers are no descriptor of a network: each was chosen by somebody and is kept. Double
# precision then costs nothing.
_FEW_COLUMNS = 100


class Pair(NamedTuple):
    """The same for training and for test items."""

    training: Array
    test: Array


def split_features(dataset: Dataset, *, standardize: bool = False) -> tuple[Features, Features]:
    """Return the features of the training and of the test rows.

    With `standardize` every visual column is divided by its standard deviation over the training
    rows; one that does not vary there stays as it is.
    """
    if dataset.features is None:
        raise InvalidInputError(f"{dataset.name} has no features; pass dataset.embedded().")
    for name in ("training", "test"):
        if not len(getattr(dataset, name)):
            raise InvalidInputError(f"{dataset.name} has no {name} rows: nothing can be compared.")
    training = _rows_of(dataset.features, dataset.training)
    test = _rows_of(dataset.features, dataset.test)
    if standardize:
        spread = training.visual.std(axis=0, dtype=np.float64)
        spread[spread == 0] = 1.0
        training = replace(training, visual=training.visual / spread)
        test = replace(test, visual=test.visual / spread)
    return training, test


def visual_features(training: Features, test: Features, energy: float) -> Pair:
    """Return the principal components of the visual descriptor, found on the training rows."""
    pair = Pair(training.visual, test.visual)
    if pair.training.shape[1] == 0:
        raise InvalidInputError("The set has no visual descriptors: nothing can be learned from.")
    if not training.concepts and pair.training.shape[1] < _FEW_COLUMNS:
        return scaled(*(table.astype(np.float64) for table in pair))
    pca = DescriptorPCA(energy).fit(pair.training)
    return scaled(*(np.asarray(pca.transform(table)) for table in pair))


def scaled(training: Array, test: Array) -> Pair:
    """Centre both by the training mean and divide all by one number.

    Afterwards the mean squared norm of a training row is 1. The geometry stays as it is, and a
    penalty of a given size means the same on every set, however large its numbers are.
    """
    mean = training.mean(axis=0, dtype=np.float64)
    centred = training - mean
    size = float(np.sqrt(np.mean(np.einsum("ij,ij->i", centred, centred))))
    dtype = np.float64 if training.shape[1] < _FEW_COLUMNS else np.float32
    tables = (table / (size if size > 0 else 1.0) for table in (centred, test - mean))
    return Pair(*(np.ascontiguousarray(table, dtype=dtype) for table in tables))


def evened(X: Pair) -> Pair:
    """Bring rows to about one length, seen from the training mean, as `APGDiffusion` does."""
    even = EvenRows.of(X.training)
    return Pair(even(X.training), even(X.test))


def semantic_descriptors(training: Features, test: Features, known: PartialLabels) -> Pair:
    """Return the paper's s = [g; l]; of a set without concepts only l."""
    descriptor = SemanticDescriptor(
        training.visual.shape[1],
        concepts=None if training.concepts else "drop",
        concept_names=training.concepts,
    )
    tables = [np.hstack([part.visual, part.posteriors]) for part in (training, test)]
    return Pair(descriptor.fit_transform(tables[0], known), descriptor.transform(tables[1]))


def semantic_features(
    training: Features, test: Features, known: PartialLabels, energy: float
) -> tuple[Pair, Pair]:
    """Return the paper's features, PCA of [visual; s], and s itself."""
    describer = Describer(None, energy)
    described = describer.describe_training(training, known), describer.describe(test)
    return scaled(*(one.X for one in described)), Pair(*(one.S for one in described))


def _rows_of(features: Features, rows: Rows) -> Features:
    return Features(
        [features.items[row] for row in rows],
        features.visual[rows],
        features.posteriors[rows],
        features.concepts,
    )
