"""Collect what a source says line by line, and account for all that is odd about it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tagloom.formats.annotations import Annotation, Annotations


class Remark(NamedTuple):
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
    can_say_absent : bool
        Whether this kind of source lists absences; where it does not, only its owner can say what
        an unlisted tag means.
    duplicates : int
        How many times something was said again.
    contradictions : list of Remark
        Picture and tag both present and absent: left unknown.
    remarks : list of Remark
        Everything else that was left out or read otherwise than it stands.
    """

    annotations: Annotations
    source: Path
    format: str
    details: dict[str, str]
    can_say_absent: bool
    duplicates: int
    contradictions: list[Remark]
    remarks: list[Remark]


@dataclass
class Gathering:
    """Collects annotations while a source is read."""

    said: dict[tuple[str, str], Annotation] = field(default_factory=dict)
    images: dict[str, None] = field(default_factory=dict)
    tags: dict[str, None] = field(default_factory=dict)
    duplicates: int = 0
    contradictions: list[Remark] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
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

    def leave_open(self, image: str, tag: str) -> None:
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
        self.remarks.append(Remark(where, what))

    def _contradict(self, one: Annotation, where: str) -> None:
        place = (one.image, one.tag)
        del self.said[place]
        self._contradicted.add(place)
        self.contradictions.append(
            Remark(where, f"{one.tag!r} of {one.image!r} is both present and absent: left unknown")
        )

    def finish(
        self, source: Path, recognised: str, *, can_say_absent: bool, **details: str
    ) -> Reading:
        """Return all that was said."""
        return Reading(
            self.annotations(),
            source,
            recognised,
            details,
            can_say_absent,
            self.duplicates,
            self.contradictions,
            self.remarks,
        )
