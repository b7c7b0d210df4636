"""PASCAL VOC 2007: photographs annotated with twenty classes (Everingham et al. 2010)."""

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tagloom.datasets.base import (
    Dataset,
    Layout,
    Size,
    check_size,
    missing_files,
    notes_of_missing,
    split_at,
)
from tagloom.errors import InvalidInputError
from tagloom.formats.interchange.voc import class_lines
from tagloom.labels import PartialLabels

VOC_CLASSES = (
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
)
_LAYOUT = Layout(
    "PASCAL VOC 2007",
    "VOCdevkit/VOC2007 with JPEGImages/<id>.jpg and ImageSets/Main/<class>_trainval.txt and "
    "<class>_test.txt, one picture a line: its id and 1, -1 or 0",
    "on the page of the PASCAL VOC project, as one archive for training and validation and one "
    "for testing, which unpack into the same folder",
)
_SIZE = Size(5011, 4952, 20)


def load_voc2007(path: str | os.PathLike[str], *, check_counts: bool = True) -> Dataset:
    """Load PASCAL VOC 2007: trainval is for training, test for testing.

    Parameters
    ----------
    path
        `VOC2007`, `VOCdevkit` or the folder that holds it.
    check_counts
        Refuse a set of another size than 5,011 / 4,952 pictures and 20 labels.

    Notes
    -----
    0 means that all objects of the class in a picture are difficult to recognise. The evaluation of
    VOC ignores such pictures: the label is unknown.
    """
    root = Path(path)
    home = _LAYOUT.first_folder(
        inner / "ImageSets" / "Main"
        for inner in (root, root / "VOC2007", root / "VOCdevkit" / "VOC2007")
    ).parents[1]
    folder = _LAYOUT.folder(home / "JPEGImages")
    training_ids, training_states = _read_side(home, "trainval")
    test_ids, test_states = _read_side(home, "test")
    items = [f"{name}.jpg" for name in training_ids + test_ids]
    truth = PartialLabels.from_array(
        np.vstack([training_states, test_states]), labels=VOC_CLASSES, items=items
    )
    dataset = Dataset(
        "VOC 2007",
        truth,
        *split_at(len(training_ids), len(items)),
        folder=folder,
        notes=notes_of_missing(missing_files(folder, items), folder),
    )
    return check_size(dataset, _SIZE, check_counts)


def _read_side(home: Path, side: str) -> tuple[list[str], npt.NDArray[np.float64]]:
    columns = []
    names: list[str] | None = None
    for label in VOC_CLASSES:
        path = _LAYOUT.file(home / "ImageSets" / "Main" / f"{label}_{side}.txt")
        lines = class_lines(path)
        own = [name for _, name, _ in lines]
        if names is not None and own != names:
            raise InvalidInputError(
                f"{path} lists other pictures than {VOC_CLASSES[0]}_{side}.txt: expected the same "
                f"{len(names):,} ids in the same order, found {len(own):,}. Unpack the set again."
            )
        names = own
        columns.append([np.nan if state is None else float(state) for _, _, state in lines])
    return names or [], np.column_stack(columns)
