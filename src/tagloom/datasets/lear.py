"""ESP Game, IAPR TC-12 and Corel5k as the LEAR group distributes their annotations.

See Guillaumin et al. (2009), "TagProp: discriminative metric learning in nearest neighbor models
for image auto-annotation".
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagloom.datasets.base import (
    Dataset,
    Layout,
    Size,
    check_size,
    features_from_array,
    find_items,
    read_features,
    split_at,
)
from tagloom.errors import InvalidInputError
from tagloom.formats.text import numbered_lines, read_bytes
from tagloom.labels import PartialLabels
from tagloom.validation import check_choice
from tagloom.vision import Features

_TITLES = {"espgame": "ESP Game", "iaprtc12": "IAPR TC-12", "corel5k": "Corel5k (LEAR)"}
_SIZES = {
    "espgame": Size(18689, 2081, 268),
    "iaprtc12": Size(17665, 1962, 291),
    "corel5k": Size(4500, 499, 260),
}
_SIDES = ("train", "test")
_EXTENSIONS = ("hvecs", "hvecs32", "fvec", "fvecs", "dvec", "dvecs")
Location = str | os.PathLike[str]


def load_espgame(
    path: Location,
    *,
    images: Location | None = None,
    features: Location | None = None,
    check_counts: bool = True,
) -> Dataset:
    """Load ESP Game: 18,689 / 2,081 pictures, 268 labels. See `load_lear`."""
    return load_lear(path, "espgame", images=images, features=features, check_counts=check_counts)


def load_iaprtc12(
    path: Location,
    *,
    images: Location | None = None,
    features: Location | None = None,
    check_counts: bool = True,
) -> Dataset:
    """Load IAPR TC-12: 17,665 / 1,962 pictures, 291 labels. See `load_lear`."""
    return load_lear(path, "iaprtc12", images=images, features=features, check_counts=check_counts)


def load_lear(
    path: Location,
    name: str,
    *,
    images: Location | None = None,
    features: Location | None = None,
    check_counts: bool = True,
) -> Dataset:
    """Load a set whose annotations come from LEAR.

    Parameters
    ----------
    path
        Folder with `<name>_train_list.txt`, `<name>_dictionary.txt`, `<name>_train_annot.hvecs`
        and the same for test.
    name
        "espgame", "iaprtc12" or "corel5k".
    images
        Folder with the pictures, which is searched with all folders in it; by default `images` in
        `path`. A listed name has no extension and may lack leading folders.
    features
        Instead of pictures: names of LEAR's descriptors separated by commas ("DenseSift,Gist"),
        which are concatenated, or a file of features.
    check_counts
        Refuse a set of another size than published.
    """
    check_choice("name", name, tuple(_TITLES))
    files = _Files(Path(path), name)
    labels = [line for _, line in numbered_lines(files.file("dictionary.txt"))]
    listed, annotations = zip(*(_read_side(files, side, labels) for side in _SIDES), strict=True)
    entries = [entry for side in listed for entry in side]
    folder = _picture_folder(files, images, features)
    notes: list[str] = []
    if folder is not None:
        entries, notes = find_items(folder, entries, _TITLES[name])
    truth = PartialLabels.from_array(np.vstack(annotations), labels=labels, items=entries)
    dataset = Dataset(
        _TITLES[name],
        truth,
        *split_at(len(listed[0]), len(entries)),
        folder=folder,
        features=(
            None
            if features is None
            else _read_features(files, features, entries, [len(side) for side in listed])
        ),
        notes=notes,
    )
    return check_size(dataset, _SIZES[name], check_counts)


@dataclass(frozen=True)
class _Files:
    folder: Path
    name: str

    @property
    def layout(self) -> Layout:
        return Layout(
            f"{_TITLES[self.name]} as distributed by LEAR",
            f"a folder with {self.name}_dictionary.txt, {self.name}_train_list.txt, "
            f"{self.name}_train_annot.hvecs, {self.name}_test_list.txt and "
            f"{self.name}_test_annot.hvecs, and the pictures in a folder images beside them",
            "on the data page of Matthieu Guillaumin at the LEAR group of INRIA; the pictures come "
            "from the publishers of the data set",
        )

    def file(self, rest: str) -> Path:
        return self.layout.file(self.folder / f"{self.name}_{rest}")


def _read_side(
    files: _Files, side: str, labels: Sequence[str]
) -> tuple[list[str], NDArray[np.uint16]]:
    listed = [line for _, line in numbered_lines(files.file(f"{side}_list.txt"))]
    path = files.file(f"{side}_annot.hvecs")
    table = read_vectors(path, len(listed))
    if table.shape[1] != len(labels):
        raise InvalidInputError(
            f"{path} must have a value for each of the {len(labels):,} words of "
            f"{files.name}_dictionary.txt; it has {table.shape[0]:,} rows of {table.shape[1]:,}."
        )
    if table.size and table.max() > 1:
        row, column = np.argwhere(table > 1)[0]
        raise InvalidInputError(
            f"{path}, vector {row + 1}, value {column + 1}: expected 0 or 1, found "
            f"{table[row, column]}."
        )
    return listed, table


def _picture_folder(
    files: _Files, images: Location | None, features: Location | None
) -> Path | None:
    if images is not None:
        return files.layout.folder(Path(images))
    beside = files.folder / "images"
    if beside.is_dir():
        return beside
    if features is None:
        raise files.layout.missing(
            f"The folder {beside} (and neither images= nor features= was given)"
        )
    return None


def _read_features(
    files: _Files, features: Location, items: Sequence[str], sizes: Sequence[int]
) -> Features:
    """Read the features of the items; `sizes` are the numbers of training and test items."""
    path = Path(features)
    if path.is_file():
        return read_features(path, items)
    parts = [_descriptor(files, name.strip(), sizes) for name in str(features).split(",")]
    where = f"The descriptors {features} in {files.folder}"
    return features_from_array(items, np.hstack(parts), where)


def _descriptor(files: _Files, name: str, sizes: Sequence[int]) -> NDArray[np.float32]:
    sides = []
    for side, size in zip(_SIDES, sizes, strict=True):
        stem = f"{files.name}_{side}_{name}"
        candidates = [files.folder / f"{stem}.{extension}" for extension in _EXTENSIONS]
        found = next((path for path in candidates if path.is_file()), None)
        if found is None:
            raise files.layout.missing(
                f"The file {files.folder / stem} with one of the extensions "
                f"{', '.join(_EXTENSIONS)}"
            )
        sides.append(np.asarray(read_vectors(found, size), dtype=np.float32))
    if sides[0].shape[1] != sides[1].shape[1]:
        raise InvalidInputError(
            f"The descriptor {name} in {files.folder} has {sides[0].shape[1]} values in training "
            f"and {sides[1].shape[1]} in testing: expected the same."
        )
    return np.vstack(sides)


class _VectorLayout(NamedTuple):
    """A possible layout of a vector file: types of width and values, all little-endian."""

    width_type: str
    value_type: str
    widths: str
    once: bool = False
    """Whether there is one width for all vectors, not one before each."""

    def read(self, content: bytes, n_rows: int) -> NDArray[Any] | str:
        """Return the matrix, or why the file does not have this layout."""
        head, each = np.dtype(self.width_type).itemsize, np.dtype(self.value_type).itemsize
        if len(content) < head:
            return f"it is empty or truncated, with {len(content)} bytes"
        width = int(np.frombuffer(content, self.width_type, count=1)[0])
        if width < 1:
            return f"its first width is {width}"
        before = head if self.once else 0
        row_bytes = width * each + head - before
        found, rest = divmod(len(content) - before, row_bytes)
        if rest:
            return (
                f"it is truncated, or no such file: with a first width of {width}, its size must "
                f"be {f'{before} and ' if before else ''}a multiple of {row_bytes} bytes, but it "
                f"has {len(content)}"
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
        _VectorLayout("<u2", "<u2", _IN_EACH.format(16)),
        _VectorLayout("<i4", "<u2", "one 32-bit width before all vectors", once=True),
    ),
    "hvec32": (_VectorLayout("<u4", "<u4", _IN_EACH.format(32)),),
    "fvec": (_VectorLayout("<u4", "<f4", _IN_EACH.format(32)),),
    "dvec": (_VectorLayout("<u4", "<f8", _IN_EACH.format(32)),),
}


def read_vectors(path: Path, n_rows: int) -> NDArray[Any]:
    """Return the matrix of `n_rows` vectors in a vector file, one row for each vector.

    Each vector is its width followed by that many values. Their types depend on the extension:
    two bytes each in `.hvecs`, four in `.hvecs32`, a four-byte width and floats in `.fvec`.
    All vectors of a file have the same width. A `.hvecs` file may instead begin with one four-byte
    width d, followed by the two-byte values of all vectors. A file must fit one layout, to its last
    byte, and no other. With n vectors both need n (2 + 2d) = 4 + 2nd bytes, so that only a file of
    two vectors of which the first begins with 0 can fit both.
    """
    layouts = _layouts_of(path)
    content = read_bytes(path)
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


def _layouts_of(path: Path) -> tuple[_VectorLayout, ...]:
    found = re.fullmatch(r"\.(\w*vec)s?(32)?", path.suffix.lower())
    layouts = _LAYOUTS.get(found[1] + (found[2] or "")) if found else None
    if layouts is None:
        raise InvalidInputError(
            f"{path} is not a vector file: expected a name that ends in one of "
            f"{', '.join(_EXTENSIONS)}."
        )
    return layouts
