"""Finished cells on disk: one JSON file each, named after everything that determines it."""

import hashlib
import json
import math
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagloom.datasets.base import Dataset
from tagloom.io import atomic_write

RESULTS_VERSION = 1
"""Version of the results, part of the name of every cell.

Raise it with every change that alters the numbers of a learner, a protocol or a metric, or the
contents of a cell: finished cells of another version are computed again. Moving or rewording code
does not change it.
"""


@dataclass(frozen=True)
class Cell:
    """One combination of dataset, protocol, method, rate and seed.

    `digest` stands for everything that determines the result.
    """

    dataset: str
    protocol: str
    method: str
    rate: float
    seed: int
    digest: str

    @property
    def file_name(self) -> str:
        """The name of its file, unique among cells and configurations."""
        return f"{self.protocol}_{self.rate:g}_seed{self.seed}_{self.method}_{self.digest}.json"

    def columns(self) -> dict[str, Any]:
        """Return the leading columns of its row."""
        return {name: value for name, value in asdict(self).items() if name != "digest"}


class CellStore:
    """The folders of finished and of failed cells."""

    def __init__(self, folder: Path) -> None:
        self.done = folder / "cells"
        self.failed = folder / "failed"

    def make(self) -> None:
        """Create both folders."""
        for folder in (self.done, self.failed):
            folder.mkdir(parents=True, exist_ok=True)

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """Return a finished cell; None if it is missing or damaged."""
        try:
            record = json.loads((self.done / cell.file_name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        found = isinstance(record, dict) and record.get("digest") == cell.digest
        return record if found else None

    def write(self, cell: Cell, record: dict[str, Any]) -> None:
        """Store a finished cell and remove an earlier failure."""
        _write(self.done, cell, record)
        with suppress(FileNotFoundError):
            (self.failed / cell.file_name).unlink()

    def write_failure(self, cell: Cell, error: str, trace: str) -> None:
        """Store why a cell failed; it counts as unfinished."""
        _write(self.failed, cell, {"cell": cell.columns(), "error": error, "traceback": trace})


def _write(folder: Path, cell: Cell, record: dict[str, Any]) -> None:
    from tagloom import __version__

    head = {
        "results_version": RESULTS_VERSION,
        "version": __version__,
        "digest": cell.digest,
    }
    with atomic_write(folder / cell.file_name) as part:
        part.write_text(to_json(head | record) + "\n", encoding="utf-8")


def to_json(value: Any) -> str:
    """Return JSON in which NumPy numbers are numbers and NaN is null."""
    return json.dumps(_plain(value), sort_keys=True, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def digest_of(**metadata: Any) -> str:
    """Return a short hash of metadata that JSON can hold."""
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint(dataset: Dataset) -> str:
    """Return a short hash of a data set: items, truth, split and features."""
    seen = hashlib.sha256()
    names = [dataset.name, list(dataset.items), [str(label) for label in dataset.truth.labels]]
    seen.update(json.dumps(names).encode())
    entries = dataset.truth.entries()
    arrays: list[Any] = [entries.rows, entries.columns, entries.present, entries.weights]
    arrays += [*dataset.truth.hidden_entries(), np.float64(dataset.truth.unlisted_weight)]
    arrays += [dataset.training, dataset.test]
    if dataset.features is not None:
        seen.update(json.dumps(dataset.features.concepts).encode())
        arrays += [dataset.features.visual, dataset.features.posteriors]
    for array in arrays:
        seen.update(f"{array.dtype.str}{array.shape}".encode())
        seen.update(np.ascontiguousarray(array).tobytes())
    return seen.hexdigest()[:16]
