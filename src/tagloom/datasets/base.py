"""What a benchmark needs of a data set, and how loaders read its files.

A data set is its items, the truth about their labels, and a split. Loaders find pictures, arrays
and features, and tell what is missing on disk, by the helpers at the end of this file.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from scipy.special import softmax

from tagloom.errors import InvalidInputError
from tagloom.formats.names import PictureIndex
from tagloom.io import read_arrays
from tagloom.labels import PartialLabels, State
from tagloom.validation import check_integer, check_number, some_of
from tagloom.vision import (
    Encoder,
    Features,
    embed,
    find_pictures,
    imagenet_classes,
    load_features,
)

_UNASSIGNED, _TRAINING, _TEST = -1, 0, 1
Unlisted = Literal["unknown", "absent"] | float | None
_SIDES = {"train": _TRAINING, "training": _TRAINING, "test": _TEST}
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Items and their true labels, split into training and test rows.

    Parameters
    ----------
    name
        Short name for tables and figures.
    truth
        The true labels, with names of items and labels; unknown where the annotators left them
        open ("difficult"). Items of a set with pictures are paths relative to `folder`, with
        forward slashes.
    training, test
        Rows of `truth`; no row is in both.
    folder
        The folder of the pictures; None for a set of features only.
    features
        Features of the items in the order of `truth`; None until they are computed from pictures.
        A set of features only has them in `visual`, and no concepts.
    listed
        The tags that people really wrote, of the same items: presences only, some of them wrong.
        Its labels need not be those of `truth`. None where nobody has listed any.
    salience
        How much each label stands out in each item, of the shape of `truth`; only values at
        presences count. None where it was not measured.
    notes
        What a reader of results must know: what was left out, what differs from other work.
    """

    name: str
    truth: PartialLabels
    training: Rows
    test: Rows
    folder: Path | None = None
    features: Features | None = None
    listed: PartialLabels | None = None
    salience: NDArray[np.float64] | None = None
    notes: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        for name in ("training", "test"):
            object.__setattr__(self, name, _rows(self.name, name, getattr(self, name)))
        notes = (self.notes,) if isinstance(self.notes, str) else tuple(self.notes)
        object.__setattr__(self, "notes", notes)
        if self.truth.items is None:
            raise InvalidInputError(f"The truth of {self.name} must name its items.")
        _check_split(self)
        own = {"features": self.features, "listed tags": self.listed}
        for what, table in own.items():
            if table is not None and list(table.items or ()) != list(self.items):
                raise InvalidInputError(
                    f"The {what} of {self.name} must be of the items of its truth, in their order."
                )
        if self.salience is not None and self.salience.shape != self.truth.shape:
            raise InvalidInputError(
                f"The salience of {self.name} must have the shape {self.truth.shape} of its "
                f"truth; found {self.salience.shape}."
            )

    @property
    def items(self) -> tuple[str, ...]:
        """Names of the items."""
        return tuple(str(item) for item in self.truth.items or ())

    def picture(self, row: int) -> Path:
        """Return the path of the picture of a row."""
        if self.folder is None:
            raise InvalidInputError(f"{self.name} is a set of features: it has no pictures.")
        return self.folder / str((self.truth.items or ())[row])

    def embedded(
        self,
        encoder: Encoder | None = None,
        *,
        cache: Path | None = None,
        verbose: bool = False,
    ) -> Self:
        """Return the data set with features, computed from the pictures where it has none.

        Rows whose picture cannot be read are left out; `notes` lists them.
        """
        if self.features is not None:
            return self
        if self.folder is None:
            raise InvalidInputError(f"{self.name} has neither features nor pictures.")
        computed = embed(self.folder, encoder, cache=cache, verbose=verbose).features()
        row_of = {item: row for row, item in enumerate(computed.items)}
        kept = [row for row, item in enumerate(self.items) if item in row_of]
        if not kept:
            raise InvalidInputError(
                f"None of the {len(self.items):,} pictures of {self.name} could be read in "
                f"{self.folder}. Expected {some_of(self.items, 3)}."
            )
        rows = np.array([row_of[item] for item in self.items if item in row_of], dtype=np.int64)
        features = Features(
            [computed.items[row] for row in rows],
            computed.visual[rows],
            computed.posteriors[rows],
            computed.concepts,
        )
        return self._only(np.array(kept, dtype=np.int64), features)

    def _only(self, kept: Rows, features: Features) -> Self:
        """Keep some rows, in their order, with these features."""
        place = np.full(len(self.items), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        lost = [item for row, item in enumerate(self.items) if place[row] < 0]
        training, test = place[self.training], place[self.test]
        return replace(
            self,
            truth=self.truth.take(kept),
            training=training[training >= 0],
            test=test[test >= 0],
            features=features,
            listed=None if self.listed is None else self.listed.take(kept),
            salience=None if self.salience is None else self.salience[kept],
            notes=(*self.notes, *_note_of_lost(lost)),
        )


def _rows(name: str, part: str, given: npt.ArrayLike) -> Rows:
    rows = np.asarray(given)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InvalidInputError(
            f"The {part} rows of {name} must be a list of integers; found an array of "
            f"{rows.dtype} of shape {rows.shape}. A mask becomes rows by np.flatnonzero(mask)."
        )
    return rows.astype(np.int64)


def _note_of_lost(lost: Sequence[str]) -> tuple[str, ...]:
    if not lost:
        return ()
    return (f"{len(lost)} pictures could not be read and were left out: {some_of(lost)}.",)


def _check_split(dataset: Dataset) -> None:
    n_items = dataset.truth.n_items
    rows = np.concatenate([dataset.training, dataset.test])
    if rows.size and (rows.min() < 0 or rows.max() >= n_items):
        raise InvalidInputError(
            f"The split of {dataset.name} must hold rows from 0 to {n_items - 1}; it holds "
            f"{rows.min()} to {rows.max()}."
        )
    if len(np.unique(rows)) < len(rows):
        raise InvalidInputError(
            f"The split of {dataset.name} holds a row twice: training and test must not overlap."
        )


@dataclass(frozen=True)
class Size:
    """The published number of training items, test items and labels."""

    training: int
    test: int
    labels: int

    def __str__(self) -> str:
        return (
            f"{self.training:,} training items, {self.test:,} test items and {self.labels:,} labels"
        )


def check_size(dataset: Dataset, expected: Size, check: bool) -> Dataset:
    """Refuse a data set of another size than expected; without `check`, note the difference."""
    found = Size(len(dataset.training), len(dataset.test), dataset.truth.n_labels)
    if found == expected:
        return dataset
    difference = f"{dataset.name} is known to have {expected}; here it has {found}."
    if check:
        raise InvalidInputError(
            f"{difference} The set may be incomplete or another edition: pass "
            "check_counts=False to use it anyway."
        )
    return replace(dataset, notes=(*dataset.notes, difference))


def split_at(n_training: int, n_items: int) -> tuple[Rows, Rows]:
    """Return training and test rows of a set that lists its training items first."""
    return np.arange(n_training), np.arange(n_training, n_items)


def seeded_split(truth: PartialLabels, test_share: float, random_state: int) -> tuple[Rows, Rows]:
    """Draw training and test rows at random, with rare labels on both sides.

    Labels are visited from rare to common. If a side has no row with the label yet, it gets one,
    so that a label with two presences is on both sides wherever the choices for rarer labels allow
    it. All other rows are drawn at random.
    """
    check_number("test_share", test_share, low=0.0, high=1.0, inclusive=False)
    check_integer("random_state", random_state, at_least=0)
    n_items = truth.n_items
    n_test = min(max(round(test_share * n_items), 1), n_items - 1) if n_items > 1 else 0
    rng = np.random.default_rng(random_state)
    side = np.full(n_items, _UNASSIGNED)
    room = {_TRAINING: n_items - n_test, _TEST: n_test}
    for rows in _rare_first(truth):
        _on_both_sides(side, rng.permutation(rows), room)
    rest = rng.permutation(np.flatnonzero(side == _UNASSIGNED))
    side[rest[: room[_TEST]]] = _TEST
    side[rest[room[_TEST] :]] = _TRAINING
    return _rows_of_sides(side)


def _rare_first(truth: PartialLabels) -> list[Rows]:
    """Return the rows that have each label, for labels that can be on both sides."""
    entries = truth.entries()
    columns, rows = entries.columns[entries.present], entries.rows[entries.present]
    order = np.argsort(columns, kind="stable")
    size = np.bincount(columns, minlength=truth.n_labels)
    of_label = np.split(rows[order], np.cumsum(size)[:-1]) if truth.n_labels else []
    return [of_label[label] for label in np.argsort(size, kind="stable") if size[label] >= 2]


def _on_both_sides(side: npt.NDArray[np.int64], rows: Rows, room: dict[int, int]) -> None:
    for wanted in (_TRAINING, _TEST):
        free = rows[side[rows] == _UNASSIGNED]
        if len(free) and room[wanted] and not (side[rows] == wanted).any():
            side[free[0]] = wanted
            room[wanted] -= 1


def _rows_of_sides(side: npt.NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Return the training and the test rows."""
    return np.flatnonzero(side == _TRAINING), np.flatnonzero(side == _TEST)


def split_from_words(words: Sequence[str], where: str) -> tuple[Rows, Rows]:
    """Return the training and test rows, given the word train or test for each row."""
    side = np.full(len(words), _UNASSIGNED)
    for row, word in enumerate(words):
        known = _SIDES.get(word.strip().lower())
        if known is None:
            raise InvalidInputError(
                f"{where}, entry {row + 1}: expected 'train' or 'test', found {word!r}."
            )
        side[row] = known
    return _rows_of_sides(side)


def note_of_split(training: Rows, test: Rows, random_state: int) -> str:
    """Return the note that the split was drawn at random."""
    return (
        f"The split was drawn with random_state={random_state}: {len(training):,} training and "
        f"{len(test):,} test items; no published split was used."
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
    arrays = read_arrays(path)
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


def stored_features(path: Path, arrays: Mapping[str, NDArray[Any]]) -> Features:
    """Return features stored as `ids`, `pooled` and `logits` of an ImageNet network.

    `pooled` are the visual descriptors, and the softmax of `logits` the posteriors.
    """
    logits = np.asarray(arrays["logits"], dtype=np.float32)
    names = [str(name) for name in arrays["ids"].ravel()]
    try:
        posteriors = softmax(logits, axis=-1)
        return Features(names, arrays["pooled"], posteriors, list(imagenet_classes()))
    except InvalidInputError as problem:
        raise InvalidInputError(f"{path} cannot be used. {problem}") from problem


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
