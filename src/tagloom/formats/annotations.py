"""What a file, a folder of files or a run of ours says about pictures and tags."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels
from tagloom.validation import some_of

# §§ main annotations


class Annotation(NamedTuple):
    """One thing that is said: this picture has this tag, or has it not."""

    image: str
    tag: str
    present: bool = True
    confidence: float | None = None
    """None where a person said it; a number in [0, 1] is a machine's probability of `present`."""


@dataclass(frozen=True, eq=False)
class Annotations:
    """All that is said, each (picture, tag) at most once; what is not said is unknown.

    Pictures and tags are sorted, entries stand in the order of pictures and then tags: two objects
    that say the same are equal, whatever file they came from. Made by `of`.

    Attributes
    ----------
    images : tuple of str
        Names as the source has them, with forward slashes; some may have no tag at all.
    tags : tuple of str
        The vocabulary; a tag may be known without being on any picture.
    rows, columns : ndarray of int64
        Positions in `images` and `tags`.
    present : ndarray of bool
    confidence : ndarray of float64
        NaN where a person said it.
    undecided : frozenset of (str, str)
        Pictures and tags that the source leaves open on purpose: somebody could not tell, or it
        says both. They stay unknown even where an unlisted tag means absent.
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
        said: Iterable[Annotation],
        *,
        images: Iterable[str] = (),
        tags: Iterable[str] = (),
        undecided: Iterable[tuple[str, str]] = (),
    ) -> "Annotations":
        """Collect what is said; `images` and `tags` name more of them, which may occur in none.

        >>> said = Annotations.of([Annotation("b.jpg", "sea"), Annotation("a.jpg", "sea", False)])
        >>> said.images, said.present.tolist()
        (('a.jpg', 'b.jpg'), [False, True])
        """
        listed, left_open = list(said), set(undecided)
        of_image, of_tag, of_present, of_confidence = (
            zip(*listed, strict=True) if listed else [()] * 4
        )
        image_names = _sorted_names(images, of_image, left_open, 0)
        tag_names = _sorted_names(tags, of_tag, left_open, 1)
        rows = _places(image_names, of_image)
        columns = _places(tag_names, of_tag)
        confidence = _checked_confidence(of_confidence)
        cells = rows * len(tag_names) + columns
        order = np.argsort(cells, kind="stable")
        if (np.diff(cells[order]) == 0).any():
            raise InvalidInputError(
                "Each picture and tag may be said once; readers merge what is repeated."
            )
        present = np.array(of_present, dtype=bool)
        return cls(
            image_names,
            tag_names,
            rows[order],
            columns[order],
            present[order],
            confidence[order],
            _never_decided(left_open, listed),
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
        """Return for every picture, tagged or not, what is said of it."""
        table: dict[str, list[Annotation]] = {image: [] for image in self.images}
        for one in self:
            table[one.image].append(one)
        return table

    def without_suggestions(self) -> "Annotations":
        """Leave out what only a machine has suggested; pictures and tags stay."""
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
        """Return what people have said of `items`, with what an unlisted tag means.

        `unlisted` is "unknown", "absent" or the weight in (0, 1] with which it is absent.
        """
        said = self.without_suggestions()
        place = {item: row for row, item in enumerate(items)}
        position = np.array([place.get(image, -1) for image in self.images], dtype=np.int64)
        rows = position[said.rows] if len(said) else said.rows
        kept = rows >= 0
        weight = {"unknown": 0.0, "absent": 1.0}.get(str(unlisted), unlisted)
        if isinstance(weight, str):
            raise InvalidInputError(
                f"unlisted must be 'unknown', 'absent' or a weight in (0, 1]; got {unlisted!r}."
            )
        known = PartialLabels.from_entries(
            rows[kept],
            said.columns[kept],
            said.present[kept],
            shape=(len(items), len(self.tags)),
            labels=self.tags,
            items=items,
            unlisted_weight=float(weight),
        )
        column = {tag: number for number, tag in enumerate(self.tags)}
        left_open = [(place[image], column[tag]) for image, tag in self.undecided if image in place]
        hidden = np.array(left_open, dtype=np.int64).reshape(-1, 2)
        return known.with_hidden(hidden[:, 0], hidden[:, 1]) if weight else known

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


def _sorted_names(
    more: Iterable[str], said: Iterable[str], left_open: set[tuple[str, str]], at: int
) -> tuple[str, ...]:
    return tuple(sorted({*more, *said, *(place[at] for place in left_open)}))


def _never_decided(
    left_open: set[tuple[str, str]], said: Iterable[Annotation]
) -> frozenset[tuple[str, str]]:
    """Take out what a person has decided after all; a machine decides nothing."""
    if not left_open:
        return frozenset()
    decided = {(one.image, one.tag) for one in said if one.confidence is None}
    return frozenset(left_open - decided)


def _places(names: Sequence[str], given: Sequence[str]) -> NDArray[np.int64]:
    place = {name: number for number, name in enumerate(names)}
    return np.fromiter(map(place.__getitem__, given), dtype=np.int64, count=len(given))


def _checked_confidence(given: Sequence[float | None]) -> NDArray[np.float64]:
    confidence = np.array([np.nan if one is None else one for one in given], dtype=np.float64)
    by_machine = np.array([one is not None for one in given], dtype=bool)
    wrong = np.flatnonzero(by_machine & ~((confidence >= 0) & (confidence <= 1)))
    if len(wrong):
        raise InvalidInputError(
            f"A machine's confidence must be a number in [0, 1]; got {given[wrong[0]]!r}. Give "
            "None for what a person said."
        )
    return confidence


# §§ builder
# Collect what a source says line by line, and account for all that is odd about it.


class InputWarning(NamedTuple):
    """Something that was not taken as it stood, where, and what was done about it."""

    where: str
    what: str


@dataclass(frozen=True)
class Reading:
    """What a source says, and how it was read.

    Attributes
    ----------
    annotations : Annotations
    source : Path
    format : str
        What the source was recognised as, for people: "tag-list CSV".
    details : dict
        How it was read: encoding, separator, columns.
    lists_absences : bool
        Whether this kind of source lists absences; where it does not, only its owner can say what
        an unlisted tag means.
    duplicates : int
        How many times something was said again.
    contradictions : list of InputWarning
        Picture and tag both present and absent: left unknown.
    warnings : list of InputWarning
        Everything else that was left out or read otherwise than it stands.
    """

    annotations: Annotations
    source: Path
    format: str
    details: dict[str, str]
    lists_absences: bool
    duplicates: int
    contradictions: list[InputWarning]
    warnings: list[InputWarning]


@dataclass
class AnnotationBuilder:
    """Collects annotations while a source is read."""

    said: dict[tuple[str, str], Annotation] = field(default_factory=dict)
    images: dict[str, None] = field(default_factory=dict)
    tags: dict[str, None] = field(default_factory=dict)
    duplicates: int = 0
    contradictions: list[InputWarning] = field(default_factory=list)
    warnings: list[InputWarning] = field(default_factory=list)
    _contradicted: set[tuple[str, str]] = field(default_factory=set)
    _left_open: set[tuple[str, str]] = field(default_factory=set)

    def add(self, one: Annotation, where: str) -> None:
        """Take one thing that is said at a place.

        A person's word goes before a machine's; of two machines the first is heard.
        """
        self.images.setdefault(one.image)
        self.tags.setdefault(one.tag)
        place = (one.image, one.tag)
        before = self.said.get(place)
        if before is None and place not in self._contradicted:
            self.said[place] = one
            return
        self.duplicates += 1
        if before is None:
            return
        if (before.confidence is None) != (one.confidence is None):
            self.said[place] = before if before.confidence is None else one
        elif before.confidence is None and before.present != one.present:
            self._contradict(one, where)

    def leave_undecided(self, image: str, tag: str) -> None:
        """Take that the source says nothing on purpose; a person's word elsewhere goes before."""
        self.images.setdefault(image)
        self.tags.setdefault(tag)
        self._left_open.add((image, tag))

    def annotations(self) -> Annotations:
        """Return all that was said so far."""
        return Annotations.of(
            self.said.values(),
            images=self.images,
            tags=self.tags,
            undecided=self._contradicted | self._left_open,
        )

    def note(self, where: str, what: str) -> None:
        """Account for something that was left out or read otherwise than it stands."""
        self.warnings.append(InputWarning(where, what))

    def _contradict(self, one: Annotation, where: str) -> None:
        place = (one.image, one.tag)
        del self.said[place]
        self._contradicted.add(place)
        self.contradictions.append(
            InputWarning(
                where, f"{one.tag!r} of {one.image!r} is both present and absent: left unknown"
            )
        )

    def finish(
        self, source: Path, recognised: str, *, lists_absences: bool, **details: str
    ) -> Reading:
        """Return all that was said."""
        return Reading(
            self.annotations(),
            source,
            recognised,
            details,
            lists_absences,
            self.duplicates,
            self.contradictions,
            self.warnings,
        )


# §§ spellings
# One tag, one name: white space around it and its Unicode form make no difference.


class Spellings:
    """Tidies names of tags and remembers which were written in several ways."""

    def __init__(self) -> None:
        self._tidy: dict[str, str] = {}

    def tidy(self, written: str) -> str:
        """Return the tag without white space around it, in Unicode's composed form (NFC)."""
        known = self._tidy.get(written)
        if known is None:
            known = self._tidy[written] = tidy_name(written)
        return known

    def note(self, builder: AnnotationBuilder, where: str) -> None:
        """Warn of tags that look alike and were taken as one."""
        ways: dict[str, int] = {}
        for tag in self._tidy.values():
            ways[tag] = ways.get(tag, 0) + 1
        several = sorted(tag for tag, number in ways.items() if number > 1 and tag)
        if several:
            builder.note(
                where,
                f"{len(several):,} tags are written in several ways that look alike (white space "
                f"around them, or another Unicode form) and were taken as one each: "
                f"{some_of(several)}",
            )


def tidy_name(written: str) -> str:
    """Return a name without white space around it, in Unicode's composed form (NFC)."""
    return unicodedata.normalize("NFC", written).strip()


def tidy_picture(written: str) -> str:
    """Return a picture's name without white space around it, with forward slashes."""
    return written.strip().replace("\\", "/")
