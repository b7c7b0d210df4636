"""The vector files of LEAR: `.hvecs`, `.hvecs32`, `.fvec(s)` and `.dvec(s)`."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError

ENDINGS = ("hvecs", "hvecs32", "fvec", "fvecs", "dvec", "dvecs")


class _Layout(NamedTuple):
    """How a file may be laid out: types of width and values, all little-endian."""

    width_type: str
    value_type: str
    widths: str
    once: bool = False
    """Whether one width is said for all vectors, and not one before each."""

    def read(self, content: bytes, n_rows: int) -> NDArray[Any] | str:
        """Return the matrix, or what speaks against this layout."""
        head, each = np.dtype(self.width_type).itemsize, np.dtype(self.value_type).itemsize
        if len(content) < head:
            return f"it is empty or cut off, with {len(content)} bytes"
        width = int(np.frombuffer(content, self.width_type, count=1)[0])
        if width < 1:
            return f"its first width is {width}"
        before = head if self.once else 0
        row_bytes = width * each + head - before
        found, rest = divmod(len(content) - before, row_bytes)
        if rest:
            return (
                f"it is cut off, or no such file: with a first width of {width}, its size must be "
                f"{f'{before} and ' if before else ''}a multiple of {row_bytes} bytes, but it has "
                f"{len(content)}"
            )
        if found != n_rows:
            return f"expected {n_rows:,} rows, found {found:,} rows of {width:,}"
        if self.once:
            return np.frombuffer(content, self.value_type, offset=head).reshape(n_rows, width)
        return self._read_records(content, width)

    def _read_records(self, content: bytes, width: int) -> NDArray[Any] | str:
        record = np.dtype([("width", self.width_type), ("values", self.value_type, (width,))])
        rows = np.frombuffer(content, record)
        wrong = np.flatnonzero(rows["width"] != width)
        if wrong.size:
            return (
                f"vector {wrong[0] + 1}: expected {width} values as in the first vector, found a "
                f"width of {rows['width'][wrong[0]]}"
            )
        return np.ascontiguousarray(rows["values"])


_IN_EACH = "a {}-bit width before each vector"
_LAYOUTS = {
    "hvec": (
        _Layout("<u2", "<u2", _IN_EACH.format(16)),
        _Layout("<i4", "<u2", "one 32-bit width before all vectors", once=True),
    ),
    "hvec32": (_Layout("<u4", "<u4", _IN_EACH.format(32)),),
    "fvec": (_Layout("<u4", "<f4", _IN_EACH.format(32)),),
    "dvec": (_Layout("<u4", "<f8", _IN_EACH.format(32)),),
}


def read_vectors(path: Path, n_rows: int) -> NDArray[Any]:
    """Return the matrix of `n_rows` vectors in a vector file, one row for each vector.

    Each vector is its width followed by that many values. Which types they have is told by the
    ending: two bytes each in `.hvecs`, four in `.hvecs32`, a four-byte width and floats in `.fvec`.
    All vectors of a file have the same width. A `.hvecs` file may instead begin with one four-byte
    width d, followed by the two-byte values of all vectors. A file must fit one layout, to its last
    byte, and no other. With n vectors both need n (2 + 2d) = 4 + 2nd bytes, so that only a file of
    two vectors of which the first begins with 0 can fit both.
    """
    layouts = _layouts_of(path)
    content = _content_of(path)
    answers = {layout.widths: layout.read(content, n_rows) for layout in layouts}
    fitting = [answer for answer in answers.values() if not isinstance(answer, str)]
    if len(fitting) > 1:
        raise InvalidInputError(
            f"{path} can be read with {' and with '.join(answers)}, each time as {n_rows} vectors. "
            "Expected a file that fits one of them only, as every file of three vectors does: add "
            "a third vector, and its entry to the list."
        )
    if not fitting:
        reasons = "; ".join(f"with {widths}: {reason}" for widths, reason in answers.items())
        raise InvalidInputError(
            f"{path} does not hold {n_rows:,} vectors. Read {reasons}. Fetch it again."
        )
    return fitting[0]


def _content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem.strerror}.") from problem


def _layouts_of(path: Path) -> tuple[_Layout, ...]:
    ending = re.fullmatch(r"\.(\w*vec)s?(32)?", path.suffix.lower())
    layouts = _LAYOUTS.get(ending[1] + (ending[2] or "")) if ending else None
    if layouts is None:
        raise InvalidInputError(
            f"{path} is no vector file: expected a name that ends in one of {', '.join(ENDINGS)}."
        )
    return layouts
