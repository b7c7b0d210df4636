"""Annotations, and what all formats share: the description of a format and how a reading is built.

An annotation says that a picture has a tag, has it not, or that a machine suggests it. A reader
hands what it finds to an `AnnotationBuilder`, which merges duplicates, sets contradictions aside
and collects warnings, and returns the `Reading` of the builder.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.io import natural_order
from tagloom.labels import PartialLabels
from tagloom.validation import some_of


class Annotation(NamedTuple):
    """One statement: this picture has this tag, or does not have it."""

    image: str
    tag: str
    present: bool = True
    confidence: float | None = None
    """None for a person's annotation, else a machine's probability of `present` in [0, 1]."""


@dataclass(frozen=True, eq=False)
class Annotations:
    """Annotations of pictures, each (picture, tag) at most once; all other pairs are unknown.

    Pictures are in natural order, tags are sorted, and entries are ordered by picture and then by
    tag: the same annotations compare equal, whatever file they came from. Made by `of`.

    Attributes
    ----------
    images : tuple of str
        Names as in the source; some may have no annotation.
    tags : tuple of str
        The vocabulary; a tag may be in it without being on any picture.
    rows, columns : ndarray of int64
        Positions in `images` and `tags`.
    present : ndarray of bool
    confidence : ndarray of float64
        NaN for a person's annotation.
    undecided : frozenset of (str, str)
        Pairs that the source leaves open on purpose: an annotator was uncertain, or annotations
        contradict each other. They stay unknown even where an unlisted tag means absent.
    """

    images: tuple[str, ...]
    tags: tuple[str, ...]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    present: NDArray[np.bool_]
    confidence: NDArray[np.float64]
    undecided: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(
        cls,
        annotations: Iterable[Annotation],
        *,
        images: Iterable[str] = (),
        tags: Iterable[str] = (),
        undecided: Iterable[tuple[str, str]] = (),
    ) -> "Annotations":
        """Collect annotations; `images` and `tags` may name more than occur in them.

        >>> both = Annotations.of([Annotation("b.jpg", "sea"), Annotation("a.jpg", "sea", False)])
        >>> both.images, both.present.tolist()
        (('a.jpg', 'b.jpg'), [False, True])
        """
        listed, left_open = list(annotations), set(undecided)
        of_image, of_tag, of_present, of_confidence = (
            zip(*listed, strict=True) if listed else [()] * 4
        )
        image_names = tuple(sorted(_names(images, of_image, left_open, 0), key=natural_order))
        tag_names = tuple(sorted(_names(tags, of_tag, left_open, 1)))
        rows = _positions(image_names, of_image)
        columns = _positions(tag_names, of_tag)
        confidence = _checked_confidence(of_confidence)
        cells = rows * len(tag_names) + columns
        order = np.argsort(cells, kind="stable")
        if (np.diff(cells[order]) == 0).any():
            raise InvalidInputError(
                "Each picture and tag may be annotated once; readers merge duplicates."
            )
        present = np.array(of_present, dtype=bool)
        return cls(
            image_names,
            tag_names,
            rows[order],
            columns[order],
            present[order],
            confidence[order],
            _still_undecided(left_open, listed),
        )

    def __iter__(self) -> Iterator[Annotation]:
        """Yield every `Annotation`, by picture and then by tag."""
        for row, column, present, confidence in zip(
            self.rows.tolist(),
            self.columns.tolist(),
            self.present.tolist(),
            self.confidence.tolist(),
            strict=True,
        ):
            given = None if confidence != confidence else confidence
            yield Annotation(self.images[row], self.tags[column], present, given)

    def __len__(self) -> int:
        return len(self.rows)

    def by_image(self) -> dict[str, list[Annotation]]:
        """Return the annotations of every picture, annotated or not."""
        table: dict[str, list[Annotation]] = {image: [] for image in self.images}
        for one in self:
            table[one.image].append(one)
        return table

    def without_suggestions(self) -> "Annotations":
        """Leave out the suggestions of a machine; pictures and tags stay."""
        kept = np.isnan(self.confidence)
        return Annotations(
            self.images,
            self.tags,
            self.rows[kept],
            self.columns[kept],
            self.present[kept],
            self.confidence[kept],
            self.undecided,
        )

    def to_labels(self, items: Sequence[str], unlisted: str | float = "unknown") -> PartialLabels:
        """Return the annotations that people made of `items`, as labels.

        `unlisted` is what an unlisted tag means: "unknown", "absent", or the weight in (0, 1] with
        which it is absent.
        """
        known = self.without_suggestions()
        place = {item: row for row, item in enumerate(items)}
        position = np.array([place.get(image, -1) for image in self.images], dtype=np.int64)
        rows = position[known.rows] if len(known) else known.rows
        kept = rows >= 0
        weight = {"unknown": 0.0, "absent": 1.0}.get(str(unlisted), unlisted)
        if isinstance(weight, str):
            raise InvalidInputError(
                f"unlisted must be 'unknown', 'absent' or a weight in (0, 1]; got {unlisted!r}."
            )
        labels = PartialLabels.from_entries(
            rows[kept],
            known.columns[kept],
            known.present[kept],
            shape=(len(items), len(self.tags)),
            labels=self.tags,
            items=items,
            unlisted_weight=float(weight),
        )
        column = {tag: number for number, tag in enumerate(self.tags)}
        left_open = [(place[image], column[tag]) for image, tag in self.undecided if image in place]
        hidden = np.array(left_open, dtype=np.int64).reshape(-1, 2)
        return labels.with_hidden(hidden[:, 0], hidden[:, 1]) if weight else labels

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Annotations):
            return NotImplemented
        return (
            self.images == other.images
            and self.tags == other.tags
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.columns, other.columns)
            and np.array_equal(self.present, other.present)
            and np.array_equal(self.confidence, other.confidence, equal_nan=True)
            and self.undecided == other.undecided
        )

    __hash__ = None  # type: ignore[assignment]


def _names(
    more: Iterable[str], annotated: Iterable[str], undecided: set[tuple[str, str]], at: int
) -> set[str]:
    return {*more, *annotated, *(pair[at] for pair in undecided)}


def _still_undecided(
    left_open: set[tuple[str, str]], annotations: Iterable[Annotation]
) -> frozenset[tuple[str, str]]:
    """Leave out the pairs that a person decided after all."""
    if not left_open:
        return frozenset()
    decided = {(one.image, one.tag) for one in annotations if one.confidence is None}
    return frozenset(left_open - decided)


def _positions(names: Sequence[str], given: Sequence[str]) -> NDArray[np.int64]:
    position = {name: number for number, name in enumerate(names)}
    return np.fromiter(map(position.__getitem__, given), dtype=np.int64, count=len(given))


def _checked_confidence(given: Sequence[float | None]) -> NDArray[np.float64]:
    confidence = np.array([np.nan if one is None else one for one in given], dtype=np.float64)
    by_machine = np.array([one is not None for one in given], dtype=bool)
    wrong = np.flatnonzero(by_machine & ~((confidence >= 0) & (confidence <= 1)))
    if len(wrong):
        raise InvalidInputError(
            f"A machine's confidence must be a number in [0, 1]; got {given[wrong[0]]!r}. Give "
            "None for a person's annotation."
        )
    return confidence


class InputWarning(NamedTuple):
    """Something in the input that was ignored or reinterpreted: where, and what was done."""

    where: str
    what: str


@dataclass(frozen=True)
class Reading:
    """The annotations of a source, and how they were read.

    Attributes
    ----------
    annotations, source
        What was read, and from where.
    format
        The title of the detected format: "tag-list CSV".
    details
        How it was read: encoding, separator, columns.
    lists_absences
        Whether this source lists absent tags; where it does not, only its owner knows what an
        unlisted tag means.
    duplicates
        How many annotations were repeated.
    contradictions
        Tags that are stated to be both present and absent: left unknown.
    warnings
        Everything else that was ignored or reinterpreted.
    """

    annotations: Annotations
    source: Path
    format: str
    details: dict[str, str]
    lists_absences: bool
    duplicates: int
    contradictions: list[InputWarning]
    warnings: list[InputWarning]


@dataclass(frozen=True)
class Format:
    """A format that can be detected and read.

    Parameters
    ----------
    key
        What a user calls it, as in `--format long-csv`.
    title
        What `Reading.format` calls it.
    expected
        What it looks like, for the error when no format is detected.
    detect
        Decides by names and first bytes, cheaply and without raising, whether a path is of this
        format.
    read
        Takes the path and the folder of the pictures, which may be None.
    """

    key: str
    title: str
    expected: str
    detect: Callable[[Path], bool]
    read: Callable[[Path, Path | None], Reading]

    @classmethod
    def of_folder(
        cls,
        key: str,
        title: str,
        expected: str,
        detect: Callable[[Path], bool],
        read: Callable[[Path], Reading],
    ) -> "Format":
        """Describe a format that is read from the folder of the pictures itself."""
        return cls(
            key,
            title,
            expected,
            lambda path: path.is_dir() and detect(path),
            lambda path, pictures: read(path),
        )


@dataclass
class AnnotationBuilder:
    """Collects annotations while a source is read.

    Attributes
    ----------
    entries : dict
        The annotation of each (picture, tag).
    images, tags : dict
        All names in the order of the source; keys only.
    """

    entries: dict[tuple[str, str], Annotation] = field(default_factory=dict)
    images: dict[str, None] = field(default_factory=dict)
    tags: dict[str, None] = field(default_factory=dict)
    duplicates: int = 0
    contradictions: list[InputWarning] = field(default_factory=list)
    warnings: list[InputWarning] = field(default_factory=list)
    _contradicted: set[tuple[str, str]] = field(default_factory=set)
    _undecided: set[tuple[str, str]] = field(default_factory=set)

    def add(self, one: Annotation, where: str) -> None:
        """Add one annotation, found at `where`.

        A person's annotation replaces a machine's; of two machines the first wins.
        """
        self.images.setdefault(one.image)
        self.tags.setdefault(one.tag)
        key = (one.image, one.tag)
        earlier = self.entries.get(key)
        if earlier is None and key not in self._contradicted:
            self.entries[key] = one
            return
        self.duplicates += 1
        if earlier is None:
            return
        if (earlier.confidence is None) != (one.confidence is None):
            self.entries[key] = earlier if earlier.confidence is None else one
        elif earlier.confidence is None and earlier.present != one.present:
            self._contradict(one, where)

    def _contradict(self, one: Annotation, where: str) -> None:
        key = (one.image, one.tag)
        del self.entries[key]
        self._contradicted.add(key)
        what = f"{one.tag!r} of {one.image!r} is both present and absent: left unknown"
        self.contradictions.append(InputWarning(where, what))

    def leave_undecided(self, image: str, tag: str) -> None:
        """Record that the source leaves a tag open on purpose; a person's annotation overrides."""
        self.images.setdefault(image)
        self.tags.setdefault(tag)
        self._undecided.add((image, tag))

    def warn(self, where: str, what: str) -> None:
        """Add a warning."""
        self.warnings.append(InputWarning(where, what))

    def annotations(self) -> Annotations:
        """Return all annotations so far."""
        return Annotations.of(
            self.entries.values(),
            images=self.images,
            tags=self.tags,
            undecided=self._contradicted | self._undecided,
        )

    def finish(
        self, source: Path, detected: str, *, lists_absences: bool, **details: str
    ) -> Reading:
        """Return all that was read; `detected` is the title of the format.

        Tags that our tables could not hold are refused: in JSON there may be half a surrogate
        pair, or the character NUL.
        """
        impossible = [t for t in self.tags if "\0" in t or t.encode(errors="ignore").decode() != t]
        if impossible:
            raise InvalidInputError(
                f"{source}: tags must be whole Unicode characters other than NUL; these are not: "
                f"{some_of(impossible)}. Correct them in the file."
            )
        return Reading(
            self.annotations(),
            source,
            detected,
            details,
            lists_absences,
            self.duplicates,
            self.contradictions,
            self.warnings,
        )


class WarningCounter:
    """Counts warnings by kind and keeps the first place of each.

    A thousand dangling ids give one warning, not a thousand.
    """

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, where: str, what: str) -> None:
        """Count one more of this kind."""
        self._count[what] += 1
        self._first.setdefault(what, where)

    def warnings(self) -> list[InputWarning]:
        """Return one warning for each kind, with the first place and how many more there are."""
        return [
            InputWarning(
                self._first[what] + (f" and {count - 1:,} more" if count > 1 else ""), what
            )
            for what, count in self._count.items()
        ]

    def add_to(self, builder: AnnotationBuilder) -> None:
        """Add all warnings to those of a builder."""
        builder.warnings.extend(self.warnings())


class TagNames:
    """Normalises the names of tags, and records which were written in several ways."""

    def __init__(self) -> None:
        self._normalized: dict[str, str] = {}

    def normalize(self, written: str) -> str:
        """Return `normalize_name` of a tag."""
        known = self._normalized.get(written)
        if known is None:
            known = self._normalized[written] = normalize_name(written)
        return known

    def add_to(self, builder: AnnotationBuilder, where: str) -> None:
        """Warn of tags that look alike and were taken as one."""
        ways = Counter(self._normalized.values())
        several = sorted(tag for tag, number in ways.items() if number > 1 and tag)
        if several:
            builder.warn(
                where,
                f"{len(several):,} tags are written in several ways that look alike (surrounding "
                "white space, or another Unicode form) and were taken as one each: "
                f"{some_of(several)}",
            )


def normalize_name(written: str) -> str:
    """Return a name in Unicode's composed form (NFC), without surrounding white space.

    Letters keep their case: "Nice" and "nice" are two tags.

    >>> normalize_name(" cafe\u0301 ") == "café"
    True
    """
    return unicodedata.normalize("NFC", written).strip()


def picture_name(written: str) -> str:
    r"""Return a picture's name exactly as written, or nothing if it is blank.

    Files may be called `a.jpg ` or `a\b.jpg`: only `tagloom.formats.names.match`, which knows the
    pictures, can tell such a name from another way of writing `a.jpg` or `a/b.jpg`.
    """
    return written if written.strip() else ""
