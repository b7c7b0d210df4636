"""Corel5k: stock photographs with one to five words each (Duygulu et al. 2002)."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from tagloom.datasets.base import (
    Dataset,
    Layout,
    Size,
    check_size,
    find_items,
    parse_integer,
    read_npz,
    select_features,
    split_at,
    stored_features,
)
from tagloom.errors import InvalidInputError
from tagloom.formats.text import numbered_lines
from tagloom.labels import PartialLabels
from tagloom.validation import check_choice
from tagloom.vision import Features

_STORED = "efficientnet_lite0.npz"
_LAYOUT = Layout(
    "Corel5k",
    "a folder with images/<folder>/<id>.jpeg, words (one a line), and training_label and "
    "test_label (an id and the numbers of its words, counted from 1, on each line)",
    "where papers on image annotation point to; it is no longer distributed by its publishers",
)
_SIZE = Size(4500, 499, 260)
_Words = dict[str, tuple[int, ...]]


def load_corel5k(
    path: str | os.PathLike[str],
    *,
    features: Literal["stored"] | None = "stored",
    check_counts: bool = True,
) -> Dataset:
    """Load Corel5k: 4,500 / 499 pictures and the 260 of 374 words that both sides have.

    Parameters
    ----------
    path
        The folder that holds `images`, `words`, `training_label` and `test_label`.
    features
        "stored": those in `efficientnet_lite0.npz`, with `pooled` as visual descriptors and the
        softmax of `logits` as posteriors. None: computed from the pictures when needed.
    check_counts
        Refuse a set of another size.
    """
    check_choice("features", features, ("stored", None))
    root = Path(path)
    words = [line for _, line in numbered_lines(_LAYOUT.file(root / "words"))]
    training, notes = _read_labels(_LAYOUT.file(root / "training_label"), words)
    test, more = _read_labels(_LAYOUT.file(root / "test_label"), words)
    _refuse_shared(root, training, test)
    ids = [*training, *test]
    folder = _LAYOUT.folder(root / "images")
    items, lost = find_items(folder, ids, "Corel5k")
    truth = _truth([*training.values(), *test.values()], len(training), words, items)
    one_sided = len(words) - truth.n_labels
    dataset = Dataset(
        "Corel5k",
        truth,
        *split_at(len(training), len(ids)),
        folder=folder,
        features=_stored(_LAYOUT.file(root / _STORED), ids, items) if features else None,
        notes=[*notes, *more, *lost, *_notes_of_words(one_sided), *_notes_of_stored(features)],
    )
    return check_size(dataset, _SIZE, check_counts)


def _notes_of_words(one_sided: int) -> list[str]:
    if not one_sided:
        return []
    return [f"{one_sided} words that do not occur both in training and in test were left out."]


def _notes_of_stored(features: str | None) -> list[str]:
    if features is None:
        return []
    return [f"Features are those in {_STORED}, not those that `embed` gives."]


def _truth(
    numbers: Sequence[tuple[int, ...]], n_training: int, words: Sequence[str], items: Sequence[str]
) -> PartialLabels:
    """Return the labels that occur on both sides, in the order of the list of words."""
    table = np.zeros((len(items), len(words)), dtype=bool)
    for row, own in enumerate(numbers):
        table[row, [number - 1 for number in own]] = True
    used = np.flatnonzero(table[:n_training].any(axis=0) & table[n_training:].any(axis=0))
    labels = [words[column] for column in used.tolist()]
    return PartialLabels.from_array(table[:, used], labels=labels, items=items)


def _read_labels(path: Path, words: Sequence[str]) -> tuple[_Words, list[str]]:
    """Return the numbers of the words of each id, and notes on repeated pictures."""
    of_id: _Words = {}
    repeated = []
    for line_number, line in numbered_lines(path):
        where = f"{path}, line {line_number}"
        name, *rest = line.split()
        own = tuple(parse_integer(text, where) for text in rest)
        wrong = [number for number in own if not 1 <= number <= len(words)]
        if wrong:
            raise InvalidInputError(
                f"{where}: expected numbers of words from 1 to {len(words)}, found {wrong[0]}."
            )
        if of_id.get(name, own) != own:
            raise InvalidInputError(
                f"{where}: picture {name} is listed a second time, with other words than before."
            )
        if name in of_id:
            repeated.append(name)
        of_id[name] = own
    notes = [f"{path.name} lists picture {name} twice: it counts once." for name in repeated]
    return of_id, notes


def _refuse_shared(root: Path, training: _Words, test: _Words) -> None:
    for name in training:
        if name in test:
            raise InvalidInputError(
                f"Picture {name} is in training_label and in test_label of {root}. Expected it "
                "in one of them."
            )


def _stored(path: Path, ids: Sequence[str], items: Sequence[str]) -> Features:
    stored = stored_features(path, read_npz(path, ("pooled", "logits", "ids")))
    chosen = select_features(stored, ids, path)
    return Features(list(items), chosen.visual, chosen.posteriors, chosen.concepts)
