"""Photographs of COCO with the tags in their captions and the objects they show.

A caption says what people find worth mentioning (Berg et al. 2012, "Understanding and predicting
importance in images"); COCO's annotators searched every picture for every object (Lin et al. 2014).
Together they show which tags people forget.
"""

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tagloom.datasets.base import (
    Dataset,
    Layout,
    missing_files,
    note_of_split,
    read_npz,
    seeded_split,
    stored_features,
)
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.validation import check_choice

_STORED = "features.npz"
_LAYOUT = Layout(
    "The set of captioned COCO photographs",
    f"a folder with {_STORED}, an archive of the arrays ids, pooled and logits "
    "(EfficientNet-Lite0), listed (0 or 1 for each picture and each of words) and truth (the same "
    "for truth_labels), and optionally a folder photos with some of the pictures",
    "nowhere ready-made: it is put together from the captions and objects on COCO's own page",
)
_ARRAYS = ("ids", "pooled", "logits", "listed", "words", "truth", "truth_labels")


def load_coco_captions(
    path: str | os.PathLike[str],
    *,
    features: Literal["stored"] | None = "stored",
    test_share: float = 0.25,
    random_state: int = 0,
) -> Dataset:
    """Load captioned photographs: `truth` holds the objects they show, `listed` the tags.

    Parameters
    ----------
    path
        The folder that holds `features.npz` and `photos`.
    features
        "stored": those of all pictures, in the archive. None: only the pictures in `photos`, and
        features are computed from them when needed.
    test_share, random_state
        How the split is drawn.
    """
    check_choice("features", features, ("stored", None))
    root = Path(path)
    stored = _LAYOUT.file(root / _STORED)
    arrays = read_npz(stored, _ARRAYS)
    items = [str(name) for name in arrays["ids"].ravel()]
    truth = _table(stored, arrays, "truth", "truth_labels", items)
    listed = _presences(_table(stored, arrays, "listed", "words", items))
    folder = None
    if features is None:
        folder = _LAYOUT.folder(root / "photos")
        missing = set(missing_files(folder, items))
        kept = np.array([row for row, item in enumerate(items) if item not in missing], dtype=int)
        truth, listed = truth.take(kept), listed.take(kept)
    training, test = seeded_split(truth, test_share, random_state)
    return Dataset(
        "COCO captions",
        truth,
        training,
        test,
        folder=folder,
        features=stored_features(stored, arrays) if features else None,
        listed=listed,
        notes=[note_of_split(training, test, random_state), _note_of_words(truth, listed)],
    )


def _table(
    path: Path, arrays: dict[str, npt.NDArray[Any]], name: str, names: str, items: list[str]
) -> PartialLabels:
    """Return a table of 0 and 1 with the names of its columns."""
    values, labels = arrays[name], [str(label) for label in arrays[names].ravel()]
    if values.shape != (len(items), len(labels)) or not np.isin(values, (0, 1)).all():
        raise InvalidInputError(
            f"{path}: {name} must hold 0 or 1 for each of {len(items):,} ids and {len(labels):,} "
            f"{names}; found an array of {values.dtype} of shape {values.shape}."
        )
    return PartialLabels.from_array(values.astype(bool), labels=labels, items=items)


def _presences(table: PartialLabels) -> PartialLabels:
    """Return the presences alone: a tag that a caption does not mention is unknown."""
    entries = table.entries()
    return table.with_entries(entries.rows[entries.present], entries.columns[entries.present], True)


def _note_of_words(truth: PartialLabels, listed: PartialLabels) -> str:
    shared = set(truth.labels) & set(listed.labels)
    return (
        f"{len(shared)} of the {truth.n_labels} objects carry the name of a tag; nobody has listed "
        "the others."
    )
