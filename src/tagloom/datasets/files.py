"""What loaders share: how a data set is laid out on disk, and reading its files."""

import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.formats.names import PictureIndex
from tagloom.labels import PartialLabels, State
from tagloom.validation import some_of
from tagloom.vision import Features, find_pictures, load_features

Unlisted = Literal["unknown", "absent"] | float | None
# Encrypted archives raise RuntimeError, unknown compressions NotImplementedError.
_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    RuntimeError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Layout:
    """The files of a data set, for the error when something is missing.

    Parameters
    ----------
    name
        The name of the data set.
    tree
        The files that are read.
    home
        Where the data set is usually found, in words.
    """

    name: str
    tree: str
    home: str

    def missing(self, what: str) -> InvalidInputError:
        """Return the error that names what is missing and what was expected."""
        return InvalidInputError(
            f"{what} is missing. {self.name} is expected as {self.tree}. It is usually found "
            f"{self.home}."
        )

    def file(self, path: Path) -> Path:
        """Return the file if it exists."""
        if not path.is_file():
            raise self.missing(f"The file {path}")
        return path

    def folder(self, path: Path) -> Path:
        """Return the folder if it exists."""
        if not path.is_dir():
            raise self.missing(f"The folder {path}")
        return path

    def first_folder(self, candidates: Iterable[Path]) -> Path:
        """Return the first of the folders that exists."""
        listed = list(candidates)
        for path in listed:
            if path.is_dir():
                return path
        raise self.missing("Each of the folders " + ", ".join(map(str, listed)))


def parse_integer(text: str, where: str) -> int:
    """Return the integer that a text spells in plain digits."""
    if not (text.isascii() and text.isdigit()):
        raise InvalidInputError(f"{where}: expected an integer, found {text!r}.")
    return int(text)


def labels_from_tags(
    tags: Mapping[str, Iterable[str]], unlisted: Unlisted, labels: Sequence[str] | None = None
) -> PartialLabels:
    """Return lists of tags as `PartialLabels.from_tags` does.

    Where an unlisted tag is absent, each absence becomes an entry of its own: an experiment hides
    known entries one by one, which a default for all unlisted tags does not allow.
    """
    known = PartialLabels.from_tags(tags, unlisted=unlisted, labels=labels)
    if unlisted != "absent":
        return known
    present = known.states() == int(State.PRESENT)
    return PartialLabels.from_array(present, labels=known.labels, items=known.items)


def find_items(folder: Path, listed: Sequence[str], name: str) -> tuple[list[str], list[str]]:
    """Return the picture of each listed name, and notes on pictures that are missing.

    A missing picture keeps its listed name, and is left out when features are computed.
    """
    index = PictureIndex(find_pictures(folder).pictures)
    found = [_only(index.fitting(entry), entry, folder) for entry in listed]
    lost = [entry for entry, item in zip(listed, found, strict=True) if item is None]
    if listed and len(lost) == len(listed):
        raise InvalidInputError(
            f"None of the {len(listed):,} pictures of {name} is in {folder}. Listed are "
            f"{some_of(listed, 3)}. Give the folder of the pictures."
        )
    items = [entry if item is None else item for entry, item in zip(listed, found, strict=True)]
    return items, notes_of_missing(lost, folder)


def _only(fitting: Sequence[str], listed: str, folder: Path) -> str | None:
    if len(fitting) > 1:
        raise InvalidInputError(
            f"The picture {listed!r} could be each of {some_of(fitting)} in {folder}. Expected one."
        )
    return fitting[0] if fitting else None


def missing_files(folder: Path, items: Iterable[str]) -> list[str]:
    """Return the items that are not files directly in the folder."""
    with os.scandir(folder) as entries:
        existing = {entry.name for entry in entries}
    return [item for item in items if item not in existing]


def notes_of_missing(lost: Sequence[str], folder: Path) -> list[str]:
    """Return a note on listed pictures that are missing, if any."""
    if not lost:
        return []
    return [f"{len(lost):,} listed pictures are not in {folder}: {some_of(lost)}."]


def read_npz(path: Path, needed: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `.npz` file; arrays of objects, which are pickles, are refused."""
    try:
        # numpy leaves a damaged file open if it has opened it itself; ZipFile refuses a file that
        # is a single array.
        with path.open("rb") as stream, zipfile.ZipFile(stream):
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
    except _UNREADABLE as problem:
        raise InvalidInputError(
            f"{path} cannot be read as a .npz file of plain arrays: {problem}."
        ) from problem
    lacking = [name for name in needed if name not in arrays]
    if lacking:
        raise InvalidInputError(
            f"{path} lacks the arrays {some_of(lacking)}; it holds {some_of(sorted(arrays))}."
        )
    return arrays


def features_from_array(items: Sequence[str], X: NDArray[Any], where: str) -> Features:
    """Return visual features without concepts."""
    X = np.asarray(X)
    if X.dtype.kind not in "biuf":
        raise InvalidInputError(f"{where}: features must be numbers, found {X.dtype}.")
    if X.ndim == 2 and X.size and np.abs(X, dtype=np.float64).max() > np.finfo(np.float32).max:
        raise InvalidInputError(f"{where}: a feature is too large for single precision.")
    try:
        empty = np.zeros((len(items), 0), dtype=np.float32)
        return Features(list(items), X.astype(np.float32), empty, [])
    except InvalidInputError as problem:
        raise InvalidInputError(f"{where} cannot be used. {problem}") from problem


def read_features(path: Path, items: Sequence[str]) -> Features:
    """Read features that `tagloom embed` or `Features.save` wrote, in the order of `items`."""
    return select_features(load_features(path), items, path)


def select_features(stored: Features, items: Sequence[str], path: Path) -> Features:
    """Return the features of `items`, in their order."""
    place = {item: row for row, item in enumerate(stored.items)}
    lost = [item for item in items if item not in place]
    if lost:
        raise InvalidInputError(
            f"{path} has no features of {len(lost):,} items: {some_of(lost)}. Expected one row "
            f"for each of {len(items):,} items."
        )
    rows = np.array([place[item] for item in items], dtype=np.int64)
    return Features(list(items), stored.visual[rows], stored.posteriors[rows], stored.concepts)
