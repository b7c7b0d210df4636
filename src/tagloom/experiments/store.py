"""Finished cells on disk: one file each, written whole, found again by what decides their value."""

import hashlib
import json
import math
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagloom.datasets.base import Dataset
from tagloom.files import written_whole

# Raised whenever a cell of the same name would hold other numbers or another form than before.
RESULTS_PROTOCOL = 1


@dataclass(frozen=True)
class Cell:
    """One entry of the grid; `digest` stands for everything that decides its value."""

    dataset: str
    protocol: str
    method: str
    rate: float
    seed: int
    digest: str

    @property
    def file_name(self) -> str:
        """Name of the file, that of no other cell and of no other configuration."""
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
        """Make both folders."""
        for folder in (self.done, self.failed):
            folder.mkdir(parents=True, exist_ok=True)

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """Return a finished cell; None where there is none or its file is damaged."""
        record = _read(self.done / cell.file_name)
        return record if record is not None and record.get("digest") == cell.digest else None

    def write(self, cell: Cell, record: dict[str, Any]) -> None:
        """Keep a finished cell and forget that it failed before."""
        _write(self.done / cell.file_name, _head(cell) | record)
        with suppress(FileNotFoundError):
            (self.failed / cell.file_name).unlink()

    def write_failure(self, cell: Cell, error: str, trace: str) -> None:
        """Keep why a cell failed; it counts as not done."""
        record = _head(cell) | {"cell": cell.columns(), "error": error, "traceback": trace}
        _write(self.failed / cell.file_name, record)


def digest_of(**facts: Any) -> str:
    """Return a short name for facts that JSON can hold; other facts, another name."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint(dataset: Dataset) -> str:
    """Return a short name for all that a set holds: items, truth, split and features."""
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


def as_text(facts: Any) -> str:
    """Return JSON in which numbers of numpy are numbers and NaN is null."""
    return json.dumps(_plain(facts), sort_keys=True, allow_nan=False)


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


def _head(cell: Cell) -> dict[str, Any]:
    from tagloom import __version__

    return {"results_protocol": RESULTS_PROTOCOL, "version": __version__, "digest": cell.digest}


def _write(path: Path, record: dict[str, Any]) -> None:
    with written_whole(path) as part:
        part.write_text(as_text(record) + "\n", encoding="utf-8")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None
