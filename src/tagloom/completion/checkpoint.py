"""Intermediate results of a run, kept so that an interrupted run continues where it stopped.

Unlike the finished cells of a benchmark, which are its result, a checkpoint is thrown away as soon
as the run is complete.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.io import atomic_write

Array = npt.NDArray[Any]


class Checkpoint:
    """A folder for the intermediate results of one run, which its digest identifies.

    Results of other runs are removed.
    """

    def __init__(self, folder: Path, digest: str) -> None:
        self.folder = folder / digest
        if folder.is_dir():
            for other in folder.iterdir():
                if other.name != digest:
                    _remove(other)
        self.folder.mkdir(parents=True, exist_ok=True)

    def array(self, name: str, make: Callable[[], Array]) -> Array:
        """Return the stored array, or make and store it."""
        path = self.folder / f"{name}.npy"
        try:
            return np.asarray(np.load(path, allow_pickle=False))
        except (FileNotFoundError, ValueError, EOFError):
            made = make()
        with atomic_write(path) as part, part.open("wb") as stream:
            np.save(stream, made, allow_pickle=False)
        return made

    def results(self, name: str) -> "StoredResults":
        """Return a mapping that is kept in a file of this folder."""
        return StoredResults(self.folder / name)

    def remove(self) -> None:
        """Remove all intermediate results: the run is complete."""
        _remove(self.folder.parent)


class StoredResults(MutableMapping[str, Any]):
    """A mapping from strings to JSON values, on disk as soon as a value is set.

    Each value is a line of one file; a line that a crash has cut off is ignored.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
                self._take(line)

    def _take(self, line: str) -> None:
        try:
            match json.loads(line):
                case [str(key), value]:
                    self._known[key] = value
        except ValueError:
            return

    def __getitem__(self, key: str) -> Any:
        return self._known[key]

    def __setitem__(self, key: str, value: Any) -> None:
        with self._path.open("a", encoding="utf-8") as stream:
            # The leading line break ends a line that was cut off.
            stream.write(f"\n{json.dumps([key, value])}\n")
        self._known[key] = value

    def __delitem__(self, key: str) -> None:
        raise TypeError("stored results are never deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def digest_of(*parts: Any) -> str:
    """Return a digest of arrays, bytes and JSON values."""
    digest = hashlib.sha256()
    for part in parts:
        if hasattr(part, "tobytes"):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(part.tobytes())
        else:
            digest.update(json.dumps(part, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
