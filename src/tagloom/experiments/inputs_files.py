"""Inputs that many learners share, worked out once and mapped into memory by every process.

They are written as plain arrays: no process holds a copy of its own, and what an unfinished run
left behind serves the next one.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from tagloom.experiments.hiding import read_pattern
from tagloom.experiments.inputs import (
    Array,
    Pair,
    scaled,
    semantic_descriptors,
    semantic_features,
    visual_features,
)
from tagloom.files import written_whole
from tagloom.graph import semantic_graph
from tagloom.vision import Features


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


def prepare_visual(training: Features, test: Features, energy: float, folder: Path) -> None:
    """Write the features that depend on no label."""
    if not has_pair(folder, "features"):
        write_pair(folder, "features", visual_features(training, test, energy))


def prepare_semantic(
    training: Features,
    test: Features,
    pattern: Path,
    energy: float,
    folder: Path,
    wanted: Wanted,
) -> None:
    """Write what depends on the labels that stayed known."""
    missing = wanted.missing(folder)
    if not missing:
        return
    known = read_pattern(pattern)
    if missing.features:
        features, S = semantic_features(training, test, known, energy)
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
        with written_whole(path) as part, part.open("wb") as stream:
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
    with written_whole(path) as part, part.open("wb") as stream:
        sparse.save_npz(stream, semantic_graph(S))


def _paths(folder: Path, name: str) -> list[Path]:
    return [folder / f"{name}-{part}.npy" for part in Pair._fields]
