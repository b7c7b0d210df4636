"""The vector files of LEAR: `.hvecs`, `.hvecs32`, `.fvec(s)` and `.dvec(s)`."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError

# Ending -> types of the width and of the values; all little-endian.
_TYPES = {
    "hvec": ("<u2", "<u2"),
    "hvec32": ("<u4", "<u4"),
    "fvec": ("<u4", "<f4"),
    "dvec": ("<u4", "<f8"),
}
ENDINGS = ("hvecs", "hvecs32", "fvec", "fvecs", "dvec", "dvecs")


def read_vectors(path: Path) -> NDArray[Any]:
    """Return the matrix in a vector file, one row for each vector.

    Each vector is its width followed by that many values. Which types they have is told by the
    ending: two bytes each in `.hvecs`, four in `.hvecs32`, a four-byte width and floats in `.fvec`.
    All vectors of a file have the same width.
    """
    width_type, value_type = _types_of(path)
    content = _content_of(path)
    width_bytes = np.dtype(width_type).itemsize
    if len(content) < width_bytes:
        raise InvalidInputError(
            f"{path} holds {len(content)} bytes: it is empty or cut off. Fetch it again."
        )
    width = int(np.frombuffer(content, width_type, count=1)[0])
    _refuse_cut_off(path, content, width_bytes + width * np.dtype(value_type).itemsize, width)
    record = np.dtype([("width", width_type), ("values", value_type, (width,))])
    rows = np.frombuffer(content, record)
    _refuse_other_widths(path, rows["width"], width)
    return np.ascontiguousarray(rows["values"]).reshape(len(rows), width)


def _content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem.strerror}.") from problem


def _types_of(path: Path) -> tuple[str, str]:
    ending = re.fullmatch(r"\.(\w*vec)s?(32)?", path.suffix.lower())
    types = _TYPES.get(ending[1] + (ending[2] or "")) if ending else None
    if types is None:
        raise InvalidInputError(
            f"{path} is no vector file: expected a name that ends in one of {', '.join(ENDINGS)}."
        )
    return types


def _refuse_cut_off(path: Path, content: bytes, row_bytes: int, width: int) -> None:
    if len(content) % row_bytes:
        raise InvalidInputError(
            f"{path} is cut off, or no such file: its first vector has {width} values, so that "
            f"its size must be a multiple of {row_bytes} bytes, but it has {len(content)}. "
            "Fetch it again."
        )


def _refuse_other_widths(path: Path, widths: NDArray[Any], width: int) -> None:
    wrong = np.flatnonzero(widths != width)
    if wrong.size:
        raise InvalidInputError(
            f"{path}, vector {wrong[0] + 1}: expected {width} values as in the first vector, "
            f"found a width of {widths[wrong[0]]}. The file is damaged: fetch it again."
        )
