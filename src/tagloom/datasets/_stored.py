"""Arrays and features that somebody has stored: read without pickles, put in order."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError
from tagloom.vision import Features, load_features

# Encrypted archives and unheard-of compressions raise RuntimeError and NotImplementedError.
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


def read_npz(path: Path, needed: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `.npz` file; arrays of objects, which are pickles, are refused."""
    try:
        # numpy leaves a damaged file open if it has opened it itself; ZipFile tells an archive
        # from a single array.
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


def numbers_only(items: Sequence[str], X: NDArray[Any], where: str) -> Features:
    """Return features of numbers: no concepts are known of them."""
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


def features_of(path: Path, items: Sequence[str]) -> Features:
    """Read features that `tagloom embed` or `Features.save` wrote, in the order of `items`."""
    stored = load_features(path)
    return in_order(stored, {item: row for row, item in enumerate(stored.items)}, items, path)


def in_order(stored: Features, place: dict[str, int], items: Sequence[str], path: Path) -> Features:
    """Choose the rows of `items` by their places."""
    lost = [item for item in items if item not in place]
    if lost:
        raise InvalidInputError(
            f"{path} has no features of {len(lost):,} items: {some_of(lost)}. Expected one row "
            f"for each of {len(items):,} items."
        )
    rows = np.array([place[item] for item in items], dtype=np.int64)
    return Features(list(items), stored.visual[rows], stored.posteriors[rows], stored.concepts)
