"""Results on the way, kept so that work that was broken off goes on where it was."""

import json
import shutil
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.io import atomic_write

Array = npt.NDArray[Any]


class Work:
    """A folder for what one run, known by its digest, has worked out so far.

    What another run has left there is of no use and is removed.
    """

    def __init__(self, folder: Path, digest: str) -> None:
        self.folder = folder / digest
        if folder.is_dir():
            for other in folder.iterdir():
                if other.name != digest:
                    _remove(other)
        self.folder.mkdir(parents=True, exist_ok=True)

    def array(self, name: str, make: Callable[[], Array]) -> Array:
        """Return an array that is there, or make it and keep it."""
        path = self.folder / f"{name}.npy"
        try:
            return np.asarray(np.load(path, allow_pickle=False))
        except (FileNotFoundError, ValueError, EOFError):
            made = make()
        with atomic_write(path) as part, part.open("wb") as stream:
            np.save(stream, made, allow_pickle=False)
        return made

    def results(self, name: str) -> "Results":
        """Return a mapping whose values are files."""
        return Results(self.folder / name)

    def remove(self) -> None:
        """Throw all of it away: the run is done."""
        _remove(self.folder.parent)


class Results(MutableMapping[str, Any]):
    """A mapping from texts to what JSON can hold, on disk as soon as it is set.

    One file of lines; a line that was cut off by a crash is as if it had not been written.
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
            # A line of its own, also after one that was cut off.
            stream.write(f"\n{json.dumps([key, value])}\n")
        self._known[key] = value

    def __delitem__(self, key: str) -> None:
        raise TypeError("results are never forgotten")

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
