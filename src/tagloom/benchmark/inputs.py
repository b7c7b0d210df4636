"""What learners learn from: the same features and descriptors for all of them."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.datasets.base import Dataset, Rows
from tagloom.errors import InvalidInputError
from tagloom.graph import semantic_graph
from tagloom.io import atomic_write
from tagloom.labels import PartialLabels, State, hide_per_class, hide_uniformly, keep_presences
from tagloom.models.normalization import RowNormalizer
from tagloom.semantics import DescriptorPCA, SemanticDescriptor
from tagloom.tagger.inputs import DescriptorPipeline
from tagloom.vision import Features

# §§ main inputs


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


def visual_features(training: Features, test: Features, n_components: float) -> Pair:
    """Return the principal components of the visual descriptor, found on the training rows."""
    pair = Pair(training.visual, test.visual)
    if pair.training.shape[1] == 0:
        raise InvalidInputError("The set has no visual descriptors: nothing can be learned from.")
    if not training.concepts and pair.training.shape[1] < _FEW_COLUMNS:
        return scaled(*(table.astype(np.float64) for table in pair))
    pca = DescriptorPCA(n_components).fit(pair.training)
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
    """Bring rows to about one length, seen from the training mean, as `SemanticDiffusion` does."""
    even = RowNormalizer.of(X.training)
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
    training: Features, test: Features, known: PartialLabels, n_components: float
) -> tuple[Pair, Pair]:
    """Return the paper's features, PCA of [visual; s], and s itself."""
    pipeline = DescriptorPipeline(None, n_components)
    described = pipeline.fit_transform(training, known), pipeline.transform(test)
    return scaled(*(one.X for one in described)), Pair(*(one.S for one in described))


def _rows_of(features: Features, rows: Rows) -> Features:
    return Features(
        [features.items[row] for row in rows],
        features.visual[rows],
        features.posteriors[rows],
        features.concepts,
    )


# §§ hiding
# Hide labels of the training items, and keep what stayed known in a file others can use.


def hidden(
    truth: PartialLabels, protocol: str, rate: float, seed: int, unlisted: Any = "absent"
) -> PartialLabels:
    """Return what stays known under a protocol.

    What the makers of a set left open stays unknown. For one seed the patterns of different rates
    are nested where labels are hidden per class: what is known at 10% is known at 20%.
    """
    truth = _with_absences_listed(truth)
    if protocol == "per-class":
        return hide_per_class(truth, rate, seed)
    if protocol == "presences":
        known = keep_presences(truth, rate, unlisted=unlisted, random_state=seed)
        open_entries = np.nonzero(truth.states() == int(State.UNKNOWN))
        return known.with_hidden(*open_entries) if known.unlisted_weight else known
    return hide_uniformly(truth, rate, seed)


def save_pattern(
    path: str | os.PathLike[str], known: PartialLabels, training: npt.NDArray[np.int64]
) -> None:
    """Write what is known of the training rows of a set as a compressed `.npz` without objects.

    `training` holds the rows of the set that are trained on. The known entry k is at row `rows[k]`
    of the set and column `columns[k]` and says `present[k]`, with weight `weights[k]`. All other
    entries of training rows are unknown where `unlisted_weight` is 0, else absent with that weight,
    but for those at `open_rows` and `open_columns`, which are unknown.
    """
    entries = known.entries()
    open_rows, open_columns = known.hidden_entries()
    with atomic_write(path) as part, part.open("wb") as stream:
        np.savez_compressed(
            stream,
            training=training.astype(np.int32),
            rows=training[entries.rows].astype(np.int32),
            columns=entries.columns.astype(np.int32),
            present=entries.present,
            weights=entries.weights if np.any(entries.weights != 1) else np.ones(1),
            unlisted_weight=np.float64(known.unlisted_weight),
            open_rows=training[open_rows].astype(np.int32),
            open_columns=open_columns.astype(np.int32),
            labels=np.array([str(label) for label in known.labels], dtype=np.str_),
        )


def read_pattern(path: str | os.PathLike[str]) -> PartialLabels:
    """Return what is known of the training rows, in their order."""
    with np.load(path, allow_pickle=False) as stored:
        training, rows = stored["training"], stored["rows"]
        place = np.zeros(int(training.max(initial=-1)) + 1, dtype=np.int64)
        place[training] = np.arange(len(training))
        known = PartialLabels.from_entries(
            place[rows],
            stored["columns"],
            stored["present"],
            shape=(len(training), len(stored["labels"])),
            weights=np.broadcast_to(stored["weights"], rows.shape),
            labels=stored["labels"].tolist(),
            unlisted_weight=float(stored["unlisted_weight"]),
        )
        if not known.unlisted_weight:
            return known
        return known.with_hidden(place[stored["open_rows"]], stored["open_columns"])


def with_unlabelled(known: PartialLabels, n_items: int) -> PartialLabels:
    """Return what is known with further items at the end, of which nothing is known."""
    entries = known.entries()
    joined = PartialLabels.from_entries(
        entries.rows,
        entries.columns,
        entries.present,
        shape=(known.n_items + n_items, known.n_labels),
        weights=entries.weights,
        labels=known.labels,
        unlisted_weight=known.unlisted_weight,
    )
    if not known.unlisted_weight:
        return joined
    rows, columns = known.hidden_entries()
    new = np.arange(known.n_items, joined.n_items)
    return joined.with_hidden(
        np.concatenate([rows, np.repeat(new, known.n_labels)]),
        np.concatenate([columns, np.tile(np.arange(known.n_labels), n_items)]),
    )


def _with_absences_listed(truth: PartialLabels) -> PartialLabels:
    """List each absence of a set whose makers say that what is not listed is absent.

    Where it is absent only with some weight below 1, nobody knows the truth: hiding refuses it.
    """
    if truth.unlisted_weight != 1:
        return truth
    return PartialLabels.from_array(truth.to_array(), labels=truth.labels, items=truth.items)


# §§ inputs_files
# Inputs that many learners share, worked out once and mapped into memory by every process.
#
# They are written as plain arrays: no process holds a copy of its own, and what an unfinished run
# left behind serves the next one.


@dataclass(frozen=True)
class Wanted:
    """What is asked of the labels of one setting: features, graphs, descriptors alone.

    One graph joins the training items, the other those and the test items.
    """

    features: bool = False
    graph: bool = False
    graph_of_all: bool = False
    descriptors: bool = False

    def missing(self, folder: Path) -> "Wanted":
        """Return what of it the folder does not hold yet."""
        return Wanted(
            self.features and not has_pair(folder, "features"),
            self.graph and not _graph_path(folder, False).exists(),
            self.graph_of_all and not _graph_path(folder, True).exists(),
            self.descriptors and not all(has_pair(folder, name) for name in _PARTS),
        )

    def __bool__(self) -> bool:
        return self.features or self.graph or self.graph_of_all or self.descriptors


_PARTS = ("global", "local", "both")


def prepare_visual(training: Features, test: Features, n_components: float, folder: Path) -> None:
    """Write the features that depend on no label."""
    if not has_pair(folder, "features"):
        write_pair(folder, "features", visual_features(training, test, n_components))


def prepare_semantic(
    training: Features,
    test: Features,
    pattern: Path,
    n_components: float,
    folder: Path,
    wanted: Wanted,
) -> None:
    """Write what depends on the labels that stayed known."""
    missing = wanted.missing(folder)
    if not missing:
        return
    known = read_pattern(pattern)
    if missing.features:
        features, S = semantic_features(training, test, known, n_components)
        write_pair(folder, "features", features)
    else:
        S = semantic_descriptors(training, test, known)
    if missing.graph:
        _write_graph(_graph_path(folder, False), S.training)
    if missing.graph_of_all:
        _write_graph(_graph_path(folder, True), np.concatenate(S))
    if missing.descriptors:
        n_global = S.training.shape[1] - known.n_labels
        columns = (slice(0, n_global), slice(n_global, None), slice(None))
        for name, part in zip(_PARTS, columns, strict=True):
            write_pair(folder, name, scaled(*(table[:, part] for table in S)))


def write_pair(folder: Path, name: str, pair: Pair) -> None:
    """Write both tables as `.npy` files."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, table in zip(_paths(folder, name), pair, strict=True):
        with atomic_write(path) as part, part.open("wb") as stream:
            np.save(stream, table, allow_pickle=False)


def has_pair(folder: Path, name: str) -> bool:
    """Say whether both tables have been written."""
    return all(path.exists() for path in _paths(folder, name))


def read_pair(folder: Path, name: str) -> Pair:
    """Map both tables into memory, read-only."""
    mapped = (np.load(path, mmap_mode="r", allow_pickle=False) for path in _paths(folder, name))
    return Pair(*(np.asarray(table) for table in mapped))


def read_graph(folder: Path, *, of_all: bool) -> sparse.csr_array:
    """Read the semantic graph of the training items, or of all."""
    return sparse.csr_array(sparse.load_npz(_graph_path(folder, of_all)))


def _graph_path(folder: Path, of_all: bool) -> Path:
    return folder / ("graph-of-all.npz" if of_all else "graph.npz")


def _write_graph(path: Path, S: Array) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part, part.open("wb") as stream:
        sparse.save_npz(stream, semantic_graph(S))


def _paths(folder: Path, name: str) -> list[Path]:
    return [folder / f"{name}-{part}.npy" for part in Pair._fields]
