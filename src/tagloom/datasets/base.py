"""What an experiment needs of a data set: items, the truth about their labels, a split."""

import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self
from xml.parsers import expat

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.formats.matching import PictureIndex
from tagloom.labels import PartialLabels, State
from tagloom.validation import check_integer, check_number, some_of
from tagloom.vision import Encoder, Features, embed, find_pictures, load_features

# §§ main base


Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Items with what is true of their labels, split into training and test rows.

    Parameters
    ----------
    name
        Short name for tables and figures.
    truth
        What is true of every item and label, both named; unknown where the makers of the set do
        not say ("difficult"). Items of a set with pictures are paths relative to `folder`, with
        forward slashes.
    training, test
        Rows of `truth`; no row is in both.
    folder
        Where the pictures lie; None for a set of numbers only.
    features
        Descriptors of the items in the order of `truth`; None until pictures have been looked at.
        A set of numbers has them in `visual` and no concepts.
    notes
        What a reader of a result must know: what was left out, what differs from the usual.
    """

    name: str
    truth: PartialLabels
    training: Rows
    test: Rows
    folder: Path | None = None
    features: Features | None = None
    notes: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        for name in ("training", "test"):
            object.__setattr__(self, name, _rows(self.name, name, getattr(self, name)))
        notes = (self.notes,) if isinstance(self.notes, str) else tuple(self.notes)
        object.__setattr__(self, "notes", notes)
        if self.truth.items is None:
            raise InvalidInputError(f"The truth of {self.name} must name its items.")
        _check_split(self)
        if self.features is not None and self.features.items != list(self.items):
            raise InvalidInputError(
                f"The features of {self.name} must be of the items of its truth, in their order."
            )

    @property
    def items(self) -> tuple[str, ...]:
        """Names of the items."""
        return tuple(str(item) for item in self.truth.items or ())

    def picture(self, row: int) -> Path:
        """Return where the picture of a row lies."""
        if self.folder is None:
            raise InvalidInputError(f"{self.name} is a set of numbers: it has no pictures.")
        return self.folder / str((self.truth.items or ())[row])

    def embedded(
        self,
        encoder: Encoder | None = None,
        *,
        cache: Path | None = None,
        show_progress: bool = False,
    ) -> Self:
        """Return the set with features: as they are, or by looking at the pictures now.

        Rows whose picture cannot be read are left out, and `notes` says which.
        """
        if self.features is not None:
            return self
        if self.folder is None:
            raise InvalidInputError(f"{self.name} has neither features nor pictures.")
        seen = embed(self.folder, encoder, cache=cache, show_progress=show_progress).features()
        where = {item: row for row, item in enumerate(seen.items)}
        kept = [row for row, item in enumerate(self.items) if item in where]
        if not kept:
            raise InvalidInputError(
                f"None of the {len(self.items):,} pictures of {self.name} could be read in "
                f"{self.folder}. Expected {some_of(self.items, 3)}."
            )
        rows = np.array([where[item] for item in self.items if item in where], dtype=np.int64)
        features = Features(
            [seen.items[row] for row in rows],
            seen.visual[rows],
            seen.posteriors[rows],
            seen.concepts,
        )
        return self._only(np.array(kept, dtype=np.int64), features)

    def _only(self, kept: Rows, features: Features) -> Self:
        """Keep some rows, in their order, described by `features`."""
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


# §§ layout
# What a set looks like on disk and how large it is: said where something is missing.


@dataclass(frozen=True)
class Layout:
    """How a set lies on disk.

    Parameters
    ----------
    name
        What people call the set.
    tree
        The files that are read.
    home
        Where the set is usually found, in words.
    """

    name: str
    tree: str
    home: str

    def missing(self, what: str) -> InvalidInputError:
        """Return the error that says what is missing and what was expected."""
        return InvalidInputError(
            f"{what} is missing. {self.name} is expected as {self.tree}. It is usually found "
            f"{self.home}."
        )

    def file(self, path: Path) -> Path:
        """Return the file if it is there."""
        if not path.is_file():
            raise self.missing(f"The file {path}")
        return path

    def folder(self, path: Path) -> Path:
        """Return the folder if it is there."""
        if not path.is_dir():
            raise self.missing(f"The folder {path}")
        return path

    def first_folder(self, candidates: Iterable[Path]) -> Path:
        """Return the first of the folders that is there."""
        listed = list(candidates)
        for path in listed:
            if path.is_dir():
                return path
        raise self.missing("Each of the folders " + ", ".join(map(str, listed)))


@dataclass(frozen=True)
class Size:
    """How many training items, test items and labels the makers of a set count."""

    training: int
    test: int
    labels: int

    def __str__(self) -> str:
        return (
            f"{self.training:,} training items, {self.test:,} test items and {self.labels:,} labels"
        )


def of_expected_size(dataset: Dataset, expected: Size, check: bool) -> Dataset:
    """Refuse a set of another size than expected; without `check`, say so in its notes."""
    found = Size(len(dataset.training), len(dataset.test), dataset.truth.n_labels)
    if found == expected:
        return dataset
    difference = f"{dataset.name} is known to have {expected}; here it has {found}."
    if check:
        raise InvalidInputError(
            f"{difference} The set may be incomplete or another edition: pass "
            "check_counts=False to go on with what there is."
        )
    return replace(dataset, notes=(*dataset.notes, difference))


# §§ splitting
# Splits into training and test rows: read, or drawn so that rare labels are on both sides.


_UNASSIGNED, _TRAINING, _TEST = -1, 0, 1
_WORDS = {"train": _TRAINING, "training": _TRAINING, "test": _TEST}


def seeded_split(truth: PartialLabels, test_share: float, random_state: int) -> tuple[Rows, Rows]:
    """Draw training and test rows; equal seeds draw equal rows.

    Labels are visited from rare to common. A label that no row of a side has yet gives that side
    one of its rows, so that a label with two presences is on both sides wherever the choices for
    rarer labels allow it. All other rows are drawn at random.
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
    return rows_of_sides(side)


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


def rows_of_sides(side: npt.NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Return the training and the test rows."""
    return np.flatnonzero(side == _TRAINING), np.flatnonzero(side == _TEST)


def rows_of_words(words: Sequence[str], where: str) -> tuple[Rows, Rows]:
    """Return the training and test rows that a column of the words train and test says."""
    side = np.full(len(words), _UNASSIGNED)
    for row, word in enumerate(words):
        known = _WORDS.get(word.strip().lower())
        if known is None:
            raise InvalidInputError(
                f"{where}, entry {row + 1}: expected 'train' or 'test', found {word!r}."
            )
        side[row] = known
    return rows_of_sides(side)


def note_of_draw(training: Rows, test: Rows, random_state: int) -> str:
    """Say that the split was drawn here."""
    return (
        f"The split was drawn with random_state={random_state}: {len(training):,} training and "
        f"{len(test):,} test items; no published split was used."
    )


# §§ tags
# Lists of tags as the truth of a set.


Unlisted = Literal["unknown", "absent"] | float | None


def truth_of_tags(
    tags: Mapping[str, Iterable[str]], unlisted: Unlisted, labels: Sequence[str] | None = None
) -> PartialLabels:
    """Read lists of tags as `PartialLabels.from_tags` does.

    Where an unlisted tag is absent, each absence becomes an entry of its own: an experiment hides
    known entries one by one, and a presumption about all that is not listed cannot be hidden.
    """
    known = PartialLabels.from_tags(tags, unlisted=unlisted, labels=labels)
    if unlisted != "absent":
        return known
    present = known.states() == int(State.PRESENT)
    return PartialLabels.from_array(present, labels=known.labels, items=known.items)


# §§ texts
# Text files as people have them: any end of line, with or without a byte order mark.


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file; a byte order mark is no part of it."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = path.read_bytes()[: problem.start].count(b"\n") + 1
        raise InvalidInputError(
            f"{path}, line {line}: expected text in UTF-8, found the byte "
            f"{problem.object[problem.start]:#04x}. Save the file as UTF-8."
        ) from problem
    except OSError as problem:
        raise InvalidInputError(f"{path} cannot be read: {problem.strerror}.") from problem


def numbered_lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines that are not blank, stripped, each with its number from 1."""
    lines = read_text(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]


def whole_number(text: str, where: str) -> int:
    """Return the integer that a text says, in plain digits."""
    if not (text.isascii() and text.isdigit()):
        raise InvalidInputError(f"{where}: expected an integer, found {text!r}.")
    return int(text)


# §§ pictures
# Pictures that are listed by a name without its ending, or by a part of their path.


def located(folder: Path, listed: Sequence[str], name: str) -> tuple[list[str], list[str]]:
    """Return items for what is listed, and a note on pictures that are not there.

    A picture that is missing keeps its listed name, and is left out once pictures are looked at.
    """
    index = PictureIndex(find_pictures(folder).pictures)
    found = [_only(index.fitting(entry), entry, folder) for entry in listed]
    lost = [entry for entry, item in zip(listed, found, strict=True) if item is None]
    if listed and len(lost) == len(listed):
        raise InvalidInputError(
            f"None of the {len(listed):,} pictures of {name} is in {folder}. Listed are "
            f"{some_of(listed, 3)}. Say where the pictures lie."
        )
    items = [entry if item is None else item for entry, item in zip(listed, found, strict=True)]
    return items, notes_of_missing(lost, folder)


def _only(fitting: Sequence[str], listed: str, folder: Path) -> str | None:
    if len(fitting) > 1:
        raise InvalidInputError(
            f"The picture {listed!r} could be each of {some_of(fitting)} in {folder}. Expected one."
        )
    return fitting[0] if fitting else None


def notes_of_missing(lost: Sequence[str], folder: Path) -> list[str]:
    """Say which pictures are listed but not there; nothing if all are."""
    if not lost:
        return []
    return [f"{len(lost):,} listed pictures are not in {folder}: {some_of(lost)}."]


def not_there(folder: Path, items: Iterable[str]) -> list[str]:
    """Return the items that are no files of the folder itself."""
    with os.scandir(folder) as entries:
        there = {entry.name for entry in entries}
    return [item for item in items if item not in there]


# §§ stored
# Arrays and features that somebody has stored: read without pickles, put in order.


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


# §§ xml
# XML from strangers: elements are reported one by one, entities are never expanded.


Start = Callable[[str, dict[str, str]], None]
End = Callable[[str, str], None]


def walk_xml(path: Path, start: Start, end: End) -> None:
    """Call `start` with name and attributes and `end` with name and text of each element.

    Names are `namespace local`, separated by a blank. The text is what stands between the last
    tag and the end of the element. A file that declares entities is refused, for they are the way
    to make a small file expand without bound or read other files.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    text: list[str] = []

    def on_start(name: str, attributes: dict[str, str]) -> None:
        text.clear()
        start(name, attributes)

    def on_end(name: str) -> None:
        end(name, "".join(text))
        text.clear()

    def on_entity(*_: object) -> None:
        raise InvalidInputError(f"{path} declares entities, which are not expanded here.")

    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.CharacterDataHandler = text.append
    parser.EntityDeclHandler = on_entity
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as problem:
        raise InvalidInputError(
            f"{path}, line {problem.lineno}, column {problem.offset + 1}: malformed XML, "
            f"{expat.ErrorString(problem.code)}."
        ) from problem
    except (OSError, ValueError, LookupError) as problem:
        if isinstance(problem, InvalidInputError):
            raise
        raise InvalidInputError(f"{path} cannot be read as XML: {problem}.") from problem
