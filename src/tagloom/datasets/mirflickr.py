"""MIRFlickr-25K: photographs annotated with 38 labels (Huiskes and Lew 2008)."""

import os
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tagloom.datasets.base import Dataset, Layout, Rows, Size, check_size, parse_integer
from tagloom.errors import InvalidInputError
from tagloom.formats.text import numbered_lines
from tagloom.labels import PartialLabels
from tagloom.validation import check_choice

_POTENTIAL = (
    "animals",
    "baby",
    "bird",
    "car",
    "clouds",
    "dog",
    "female",
    "flower",
    "food",
    "indoor",
    "lake",
    "male",
    "night",
    "people",
    "plant_life",
    "portrait",
    "river",
    "sea",
    "sky",
    "structures",
    "sunset",
    "transport",
    "tree",
    "water",
)
# The others have a second, stricter annotation: what the picture is about.
_POTENTIAL_ONLY = {
    "animals",
    "food",
    "indoor",
    "lake",
    "plant_life",
    "sky",
    "structures",
    "sunset",
    "transport",
    "water",
}
_RELEVANT = [label for label in _POTENTIAL if label not in _POTENTIAL_ONLY]
MIRFLICKR_LABELS = (*_POTENTIAL, *(f"{label}_r1" for label in _RELEVANT))
_ANNOTATIONS = ("mirflickr25k_annotations_v080", "annotations", "mirflickr25k_annotations")
_LAYOUT = Layout(
    "MIRFlickr-25K",
    "im1.jpg to im25000.jpg in a folder mirflickr, and one text file for each of 38 labels "
    "(sky.txt, clouds_r1.txt, ...) with a picture's number on each line in a folder "
    "mirflickr25k_annotations_v080 beside it",
    "on the MIRFLICKR page of the LIACS Medialab at Leiden University, as one archive of pictures "
    "and one of annotations",
)
_SIZE = Size(12500, 12500, 38)
_SPLITS = {
    "alternate": "odd numbers for training, even numbers for testing",
    "halves": "the first half of the numbers for training, the second for testing",
}


def load_mirflickr25k(
    path: str | os.PathLike[str],
    *,
    annotations: str | os.PathLike[str] | None = None,
    split: str = "alternate",
    check_counts: bool = True,
) -> Dataset:
    """Load MIRFlickr-25K with its 24 potential labels and the 14 relevant ones ("_r1").

    Parameters
    ----------
    path
        The folder with the pictures, or the one that holds it and the annotations.
    annotations
        The folder with the annotations, where it is not beside the pictures.
    split
        "alternate" or "halves". Papers give the sizes 12,500 / 12,500 but not the pictures.
    check_counts
        Refuse a set of another size than 12,500 / 12,500 pictures and 38 labels.
    """
    check_choice("split", split, tuple(_SPLITS))
    root = Path(path)
    folder = _picture_folder(root)
    listed = _annotation_folder(root, folder) if annotations is None else Path(annotations)
    numbers = _picture_numbers(folder)
    present = np.zeros((len(numbers), len(MIRFLICKR_LABELS)), dtype=bool)
    place = {number: row for row, number in enumerate(numbers.tolist())}
    for column, label in enumerate(MIRFLICKR_LABELS):
        present[_rows_of(_LAYOUT.file(listed / f"{label}.txt"), place, folder), column] = True
    items = [f"im{number}.jpg" for number in numbers]
    truth = PartialLabels.from_array(present, labels=MIRFLICKR_LABELS, items=items)
    training, test = _split(numbers, split)
    note = f"Split: {_SPLITS[split]}; the paper gives the sizes of its split but not the pictures."
    dataset = Dataset("MIRFlickr-25K", truth, training, test, folder=folder, notes=[note])
    return check_size(dataset, _SIZE, check_counts)


def _split(numbers: npt.NDArray[np.int64], split: str) -> tuple[Rows, Rows]:
    if split == "halves":
        first = np.arange(len(numbers)) < (len(numbers) + 1) // 2
    else:
        first = numbers % 2 == 1
    return np.flatnonzero(first), np.flatnonzero(~first)


def _picture_folder(root: Path) -> Path:
    _LAYOUT.folder(root)
    for folder in (root, root / "mirflickr", root / "mirflickr25k", root / "images"):
        if folder.is_dir() and _picture_numbers(folder).size:
            return folder
    raise _LAYOUT.missing(f"A picture im<number>.jpg in {root} or its folder mirflickr")


def _annotation_folder(root: Path, folder: Path) -> Path:
    """Return the folder with the file of the first label."""
    near = [root, folder, *(base / name for base in (root, folder.parent) for name in _ANNOTATIONS)]
    for place in near:
        if (place / f"{MIRFLICKR_LABELS[0]}.txt").is_file():
            return place
    raise _LAYOUT.missing(
        f"The file {MIRFLICKR_LABELS[0]}.txt in {' or '.join(map(str, dict.fromkeys(near)))}"
    )


def _picture_numbers(folder: Path) -> npt.NDArray[np.int64]:
    names = (re.fullmatch(r"im([1-9][0-9]*)\.jpg", name) for name in os.listdir(folder))
    return np.array(sorted(int(name[1]) for name in names if name), dtype=np.int64)


def _rows_of(path: Path, place: dict[int, int], folder: Path) -> list[int]:
    rows = []
    for line_number, line in numbered_lines(path):
        where = f"{path}, line {line_number}"
        number = parse_integer(line, where)
        if number not in place:
            raise InvalidInputError(
                f"{where}: picture {number} is annotated, but im{number}.jpg is not in {folder}."
            )
        rows.append(place[number])
    return rows
