"""Annotations of pictures with tags: present, absent, or a machine's suggestion."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels


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

    Pictures and tags are sorted, and entries are ordered by picture and then by tag: the same
    annotations compare equal, whatever file they came from. Made by `of`.

    Attributes
    ----------
    images : tuple of str
        Names as in the source, with forward slashes; some may have no annotation.
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
        image_names = _sorted_names(images, of_image, left_open, 0)
        tag_names = _sorted_names(tags, of_tag, left_open, 1)
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


def _sorted_names(
    more: Iterable[str], annotated: Iterable[str], undecided: set[tuple[str, str]], at: int
) -> tuple[str, ...]:
    return tuple(sorted({*more, *annotated, *(pair[at] for pair in undecided)}))


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
