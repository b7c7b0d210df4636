"""What all formats share: the description of a format, what reading gives, and how it is built.

A reader hands what it finds to an `AnnotationBuilder`, which merges duplicates, sets contradictions
aside and collects warnings, and returns the builder's `Reading`.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tagloom.formats.annotations import Annotation, Annotations
from tagloom.validation import some_of


class InputWarning(NamedTuple):
    """Something in the input that was ignored or reinterpreted: where, and what was done."""

    where: str
    what: str


@dataclass(frozen=True)
class Reading:
    """The annotations of a source, and how they were read.

    Attributes
    ----------
    annotations : Annotations
    source : Path
    format : str
        The title of the detected format: "tag-list CSV".
    details : dict
        How it was read: encoding, separator, columns.
    lists_absences : bool
        Whether this source lists absent tags; where it does not, only its owner knows what an
        unlisted tag means.
    duplicates : int
        How many annotations were repeated.
    contradictions : list of InputWarning
        Tags that are stated to be both present and absent: left unknown.
    warnings : list of InputWarning
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
        """Return all that was read; `detected` is the title of the format."""
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


def normalize_picture(written: str) -> str:
    """Return a picture's name with forward slashes, without surrounding white space."""
    return written.strip().replace("\\", "/")
