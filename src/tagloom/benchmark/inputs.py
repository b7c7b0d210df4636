"""The inputs of the learners: known labels, shared features, semantic descriptors and graphs.

All learners of a benchmark see the same inputs. They are computed once, written as plain arrays
and mapped into memory by every process, so that no process holds a copy of its own, and an
interrupted run can use what it has already computed.
"""

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
from tagloom.labels import (
    PartialLabels,
    State,
    hide_per_class,
    hide_uniformly,
    keep_presences,
    keep_salient,
)
from tagloom.normalization import RowNormalizer
from tagloom.semantics import DescriptorPCA, SemanticDescriptor
from tagloom.tagger.inputs import DescriptorPipeline
from tagloom.tagger.words import WordPrior
from tagloom.vision import Features
from tagloom.words import Vocabulary

Array = npt.NDArray[Any]

# A set with fewer columns has hand-picked features rather than the descriptor of a network: all
# columns are kept, in double precision.
_FEW_COLUMNS = 100

_DESCRIPTORS = ("global", "local", "both")

# Of the classifier whose scores stand in for salience: features have a mean squared norm of 1.
_SALIENCE_RIDGE, _SALIENCE_FOLDS = 1.0, 5


class TrainTest(NamedTuple):
    """A table for the training items and one for the test items."""

    training: Array
    test: Array


def hide_labels(
    truth: PartialLabels,
    protocol: str,
    rate: float,
    seed: int,
    unlisted: Any = "absent",
    *,
    salience: Array | None = None,
    listed: PartialLabels | None = None,
) -> PartialLabels:
    """Return the labels that stay known under a protocol.

    Entries that the makers of the set left unknown stay unknown. Under "per-class" and "salience"
    the patterns of one seed are nested: the labels known at 10% are known at 20%, too.
    """
    truth = _with_absences_listed(truth)
    if protocol == "per-class":
        return hide_per_class(truth, rate, seed)
    if protocol == "uniform":
        return hide_uniformly(truth, rate, seed)
    if protocol == "listed":
        assert listed is not None
        known = keep_presences(_labels_as_in(listed, truth), 1.0, unlisted=unlisted)
    elif protocol == "salience":
        assert salience is not None
        known = keep_salient(truth, rate, salience, unlisted=unlisted, random_state=seed)
    else:
        known = keep_presences(truth, rate, unlisted=unlisted, random_state=seed)
    unknown = np.nonzero(truth.states() == int(State.UNKNOWN))
    return known.with_hidden(*unknown) if known.unlisted_weight else known


def _labels_as_in(listed: PartialLabels, truth: PartialLabels) -> PartialLabels:
    """Return the listed presences of the labels of the truth; nobody has listed the others."""
    place = {label: column for column, label in enumerate(truth.labels)}
    columns = np.array([place.get(label, -1) for label in listed.labels], dtype=np.int64)
    entries = listed.entries()
    kept = entries.present & (columns[entries.columns] >= 0)
    return truth.with_entries(entries.rows[kept], columns[entries.columns[kept]], True)


def listed_share(dataset: Dataset) -> float:
    """Return the share of the true tags of the training rows that people have listed."""
    if dataset.listed is None:
        raise InvalidInputError(
            f"{dataset.name} does not say which tags people have listed: the protocol 'listed' "
            "needs a set that does, such as coco_captions. Use 'salience' instead."
        )
    truth = dataset.truth.take(dataset.training)
    listed = _labels_as_in(dataset.listed.take(dataset.training), truth)
    present = truth.states() == int(State.PRESENT)
    both = present & (listed.states() == int(State.PRESENT))
    return float(both.sum() / max(1, present.sum()))


def training_salience(dataset: Dataset) -> Array:
    """Return how much each label stands out in each training item.

    Where the set has no salience of its own, it is how clear an example the item is: the score of
    a ridge regression of the complete labels of the training items on their visual descriptors,
    cross-fitted, so that an item's own labels do not affect its score.
    """
    if dataset.salience is not None:
        return dataset.salience[dataset.training]
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold, cross_val_predict

    training, _ = split_features(dataset)
    X = scale(training.visual, training.visual[:0]).training
    Y = dataset.truth.take(dataset.training).to_array()
    known = ~np.isnan(Y)
    means = np.where(known, Y, 0.0).sum(axis=0) / np.maximum(1, known.sum(axis=0))
    folds = KFold(min(_SALIENCE_FOLDS, len(Y)), shuffle=True, random_state=0)
    return np.asarray(
        cross_val_predict(Ridge(_SALIENCE_RIDGE), X, np.where(known, Y, means), cv=folds)
    ).reshape(Y.shape)


def _with_absences_listed(truth: PartialLabels) -> PartialLabels:
    """List every absence of a set in which unlisted labels are absent.

    Where they are absent only with a weight below 1 the truth is not known, and hiding refuses it.
    """
    if truth.unlisted_weight != 1:
        return truth
    return PartialLabels.from_array(truth.to_array(), labels=truth.labels, items=truth.items)


def save_pattern(
    path: str | os.PathLike[str], known: PartialLabels, training: npt.NDArray[np.int64]
) -> None:
    """Write the known labels of the training rows of a set as a compressed `.npz` file.

    `training` holds the training rows of the set. Known entry k is at row `rows[k]` of the set and
    column `columns[k]`, has the value `present[k]` and the weight `weights[k]`. All other entries
    of training rows are unknown if `unlisted_weight` is 0. Otherwise they are absent with that
    weight, except those at `open_rows` and `open_columns`, which are unknown.
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
    """Return the known labels of the training rows, in the order of those rows."""
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


def add_unlabelled(known: PartialLabels, n_items: int) -> PartialLabels:
    """Append items whose labels are all unknown."""
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


def split_features(dataset: Dataset, *, standardize: bool = False) -> tuple[Features, Features]:
    """Return the features of the training rows and of the test rows.

    With `standardize` every visual column is divided by its standard deviation over the training
    rows; constant columns stay as they are.
    """
    if dataset.features is None:
        raise InvalidInputError(f"{dataset.name} has no features; pass dataset.embedded().")
    for name in ("training", "test"):
        if not len(getattr(dataset, name)):
            raise InvalidInputError(f"{dataset.name} has no {name} rows: nothing can be compared.")
    training = _take(dataset.features, dataset.training)
    test = _take(dataset.features, dataset.test)
    if standardize:
        spread = training.visual.std(axis=0, dtype=np.float64)
        spread[spread == 0] = 1.0
        training = replace(training, visual=training.visual / spread)
        test = replace(test, visual=test.visual / spread)
    return training, test


def _take(features: Features, rows: Rows) -> Features:
    return Features(
        [features.items[row] for row in rows],
        features.visual[rows],
        features.posteriors[rows],
        features.concepts,
    )


def visual_features(training: Features, test: Features, n_components: float | None) -> TrainTest:
    """Return the principal components of the visual descriptor, fitted on the training rows."""
    tables = TrainTest(training.visual, test.visual)
    if tables.training.shape[1] == 0:
        raise InvalidInputError("The set has no visual descriptors: nothing can be learned from.")
    if not training.concepts and tables.training.shape[1] < _FEW_COLUMNS:
        return scale(*(table.astype(np.float64) for table in tables))
    pca = DescriptorPCA(n_components).fit(tables.training)
    return scale(*(np.asarray(pca.transform(table)) for table in tables))


def scale(training: Array, test: Array) -> TrainTest:
    """Centre both tables by the training mean and divide them by one number.

    Afterwards the mean squared norm of a training row is 1. This keeps the geometry, and a penalty
    of a given size means the same on every set, whatever the units of its features.
    """
    mean = training.mean(axis=0, dtype=np.float64)
    centred = training - mean
    size = float(np.sqrt(np.mean(np.einsum("ij,ij->i", centred, centred))))
    dtype = np.float64 if training.shape[1] < _FEW_COLUMNS else np.float32
    tables = (table / (size if size > 0 else 1.0) for table in (centred, test - mean))
    return TrainTest(*(np.ascontiguousarray(table, dtype=dtype) for table in tables))


def normalize_rows(X: TrainTest) -> TrainTest:
    """Normalise the rows around the training mean, as `SemanticDiffusion` does."""
    normalizer = RowNormalizer.of(X.training)
    return TrainTest(normalizer(X.training), normalizer(X.test))


def semantic_features(
    training: Features, test: Features, known: PartialLabels, n_components: float | None
) -> tuple[TrainTest, TrainTest]:
    """Return the paper's features, PCA of [visual; s], and s itself."""
    pipeline = DescriptorPipeline(None, n_components)
    described = pipeline.fit_transform(training, known), pipeline.transform(test)
    return scale(*(one.X for one in described)), TrainTest(*(one.S for one in described))


def semantic_descriptors(training: Features, test: Features, known: PartialLabels) -> TrainTest:
    """Return the paper's s = [g; l]; only l for a set without concepts."""
    descriptor = SemanticDescriptor(
        training.visual.shape[1],
        concepts=None if training.concepts else "drop",
        concept_names=training.concepts,
    )
    tables = [np.hstack([part.visual, part.posteriors]) for part in (training, test)]
    return TrainTest(descriptor.fit_transform(tables[0], known), descriptor.transform(tables[1]))


def prior_scores(training: Features, test: Features, known: PartialLabels) -> TrainTest:
    """Return prior scores by the names of the labels; NaN where a name means no concept."""
    words = WordPrior.of(training, known, Vocabulary())
    if words is None:
        nothing = (np.full((len(part), known.n_labels), np.nan) for part in (training, test))
        return TrainTest(*nothing)
    return TrainTest(words(training), words(test))


def shuffle_prior(prior: TrainTest, seed: int) -> TrainTest:
    """Exchange prior scores at random between the labels that have some."""
    linked = np.flatnonzero(~np.isnan(prior.training).all(axis=0))
    columns = np.arange(prior.training.shape[1])
    columns[linked] = np.random.default_rng(seed).permutation(linked)
    return TrainTest(prior.training[:, columns], prior.test[:, columns])


def append_prior(X: TrainTest, prior: TrainTest) -> TrainTest:
    """Append prior scores to the features as columns, scaled to the same total variance."""
    linked = ~np.isnan(prior.training).all(axis=0)
    mean = prior.training[:, linked].mean(axis=0)
    own, given = (
        table.var(axis=0, dtype=np.float64).sum()
        for table in (X.training, prior.training[:, linked])
    )
    size = np.sqrt(own / given) if given > 0 else 0.0
    return TrainTest(
        *(
            np.hstack([rows, (size * (T[:, linked] - mean)).astype(rows.dtype)])
            for rows, T in zip(X, prior, strict=True)
        )
    )


@dataclass(frozen=True)
class Required:
    """The inputs to compute from one pattern of known labels.

    `graph` is the semantic graph of the training items, `transductive_graph` that of the training
    and test items; `descriptors` are the semantic descriptors that are validated on their own;
    `prior` are the prior scores by the names of the labels.
    """

    features: bool = False
    graph: bool = False
    transductive_graph: bool = False
    descriptors: bool = False
    prior: bool = False

    def missing(self, folder: Path) -> "Required":
        """Return those that the folder does not hold yet."""
        return Required(
            self.features and not _has_features(folder, "features"),
            self.graph and not _graph_path(folder, transductive=False).exists(),
            self.transductive_graph and not _graph_path(folder, transductive=True).exists(),
            self.descriptors and not all(_has_features(folder, name) for name in _DESCRIPTORS),
            self.prior and not _has_features(folder, "prior"),
        )

    @property
    def semantic(self) -> bool:
        """Whether the semantic descriptors have to be computed."""
        return self.features or self.graph or self.transductive_graph or self.descriptors

    def __bool__(self) -> bool:
        return self.semantic or self.prior


def prepare_visual(
    training: Features, test: Features, n_components: float | None, folder: Path
) -> None:
    """Write the features that depend on no labels."""
    if not _has_features(folder, "features"):
        _write_features(folder, "features", visual_features(training, test, n_components))


def prepare_semantic(
    training: Features,
    test: Features,
    pattern: Path,
    n_components: float | None,
    folder: Path,
    required: Required,
) -> None:
    """Write the inputs that depend on the known labels."""
    missing = required.missing(folder)
    if not missing:
        return
    known = read_pattern(pattern)
    if missing.prior:
        _write_features(folder, "prior", prior_scores(training, test, known))
    if not missing.semantic:
        return
    if missing.features:
        features, S = semantic_features(training, test, known, n_components)
        _write_features(folder, "features", features)
    else:
        S = semantic_descriptors(training, test, known)
    if missing.graph:
        _write_graph(_graph_path(folder, transductive=False), S.training)
    if missing.transductive_graph:
        _write_graph(_graph_path(folder, transductive=True), np.concatenate(S))
    if missing.descriptors:
        n_global = S.training.shape[1] - known.n_labels
        columns = (slice(0, n_global), slice(n_global, None), slice(None))
        for name, part in zip(_DESCRIPTORS, columns, strict=True):
            _write_features(folder, name, scale(*(table[:, part] for table in S)))


def read_features(folder: Path, name: str) -> TrainTest:
    """Map both tables into memory, read-only."""
    paths = _feature_paths(folder, name)
    mapped = (np.load(path, mmap_mode="r", allow_pickle=False) for path in paths)
    return TrainTest(*(np.asarray(table) for table in mapped))


def _has_features(folder: Path, name: str) -> bool:
    return all(path.exists() for path in _feature_paths(folder, name))


def _write_features(folder: Path, name: str, tables: TrainTest) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path, table in zip(_feature_paths(folder, name), tables, strict=True):
        with atomic_write(path) as part, part.open("wb") as stream:
            np.save(stream, table, allow_pickle=False)


def _feature_paths(folder: Path, name: str) -> list[Path]:
    return [folder / f"{name}-{part}.npy" for part in TrainTest._fields]


def read_graph(folder: Path, *, transductive: bool) -> sparse.csr_array:
    """Read the semantic graph of the training items, or of training and test items."""
    return sparse.csr_array(sparse.load_npz(_graph_path(folder, transductive=transductive)))


def _write_graph(path: Path, S: Array) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part, part.open("wb") as stream:
        sparse.save_npz(stream, semantic_graph(S))


def _graph_path(folder: Path, *, transductive: bool) -> Path:
    return folder / ("graph-transductive.npz" if transductive else "graph.npz")
