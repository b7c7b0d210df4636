"""Open Clip Art Library: drawings, with the keywords that their authors gave them."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tagloom.datasets.base import Dataset, Layout, labels_from_tags, note_of_split, seeded_split
from tagloom.errors import InvalidInputError
from tagloom.formats.text import read_xml
from tagloom.validation import check_integer, some_of

_LAYOUT = Layout(
    "The Open Clip Art Library",
    "folders png and svg under usr/share/openclipart, with the same drawings under the same names",
    "in the packages openclipart-png and openclipart-svg of Debian, to be unpacked into one folder",
)
_SUBJECT = "{http://purl.org/dc/elements/1.1/}subject"
_ENTRY = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li"


def load_openclipart(
    path: str | os.PathLike[str],
    *,
    svg: str | os.PathLike[str] | None = None,
    min_count: int = 20,
    unlisted: Literal["unknown", "absent"] | float = "absent",
    left_out: Iterable[str] = ("hash",),
    test_share: float = 0.25,
    random_state: int = 0,
) -> Dataset:
    """Load clip art: PNG pictures, labelled by the keywords in the SVG drawings.

    Parameters
    ----------
    path
        Where the packages were unpacked, or any folder below it with `png` and `svg`.
    svg
        The same for the drawings, if they were unpacked elsewhere.
    min_count
        A keyword is a label if at least so many pictures have it.
    unlisted
        What an unlisted keyword means, as in `PartialLabels.from_tags`. "absent" makes results
        countable, but people who give keywords forget some.
    left_out
        Keywords that do not describe the picture, such as the archive's "hash".
    test_share, random_state
        How the split is drawn.

    Notes
    -----
    Links to another picture are ignored, so that no picture is in training and test under two
    names. So are drawings whose XML is malformed or declares entities.
    """
    check_integer("min_count", min_count, at_least=1)
    pngs = _find(Path(path), "png")
    read = _Read.of(pngs, _find(Path(path if svg is None else svg), "svg"))
    ignored = {normalize_keyword(keyword) for keyword in left_out}
    times = Counter(keyword for own in read.keywords.values() for keyword in own)
    labels = sorted(k for k, count in times.items() if count >= min_count and k not in ignored)
    if not labels:
        raise InvalidInputError(
            f"No keyword in {path} is given to min_count={min_count} pictures or more; the most "
            f"frequent are {some_of(times.most_common(3))}. Choose a smaller number."
        )
    chosen = {item: own & set(labels) for item, own in read.keywords.items()}
    tags = {item: sorted(own) for item, own in chosen.items() if own}
    truth = labels_from_tags(tags, unlisted, labels)
    training, test = seeded_split(truth, test_share, random_state)
    notes = [
        *read.notes(),
        f"{len(chosen) - len(tags):,} pictures with no keyword of {min_count} pictures or more "
        "were left out.",
        _note_of_unlisted(unlisted),
        note_of_split(training, test, random_state),
    ]
    return Dataset("Open Clip Art", truth, training, test, folder=pngs, notes=notes)


def _note_of_unlisted(unlisted: object) -> str:
    meaning = unlisted if isinstance(unlisted, str) else f"absent with weight {unlisted}"
    return f"Keywords that are not listed were taken to be {meaning}; this was not checked."


def _find(root: Path, kind: str) -> Path:
    places = (
        root,
        root / "openclipart",
        root / "share/openclipart",
        root / "usr/share/openclipart",
    )
    own = [root] if root.name == kind else []
    return _LAYOUT.first_folder([*own, *(place / kind for place in places)])


@dataclass
class _Read:
    """The keywords of each picture, and what was ignored."""

    keywords: dict[str, set[str]] = field(default_factory=dict)
    links: int = 0
    undrawn: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, pngs: Path, svgs: Path) -> "_Read":
        read = cls()
        for item in sorted(_names(pngs)):
            drawing = svgs / f"{item.removesuffix('.png')}.svg"
            if (pngs / item).is_symlink():
                read.links += 1
            elif not drawing.is_file():
                read.undrawn.append(item)
            else:
                read._add(item, drawing)
        return read

    def _add(self, item: str, drawing: Path) -> None:
        try:
            self.keywords[item] = svg_keywords(drawing)
        except InvalidInputError:
            self.refused.append(item)

    def notes(self) -> list[str]:
        notes = []
        if self.links:
            notes.append(f"{self.links:,} links to other pictures were ignored.")
        if self.undrawn:
            notes.append(
                f"{len(self.undrawn):,} pictures without a drawing were left out: "
                f"{some_of(self.undrawn)}."
            )
        if self.refused:
            notes.append(
                f"{len(self.refused):,} drawings with malformed XML or with entities were left "
                f"out: {some_of(self.refused)}."
            )
        return notes


def _names(folder: Path) -> Iterator[str]:
    for here, _, names in os.walk(folder):
        inner = Path(here).relative_to(folder)
        yield from ((inner / name).as_posix() for name in names if name.endswith(".png"))


def svg_keywords(path: Path) -> set[str]:
    """Return the normalised keywords of a drawing: the entries of its `dc:subject`."""
    root = read_xml(path, allow_doctype=True)
    entries = (entry for subject in root.iter(_SUBJECT) for entry in subject.iter(_ENTRY))
    # Of an entry with elements inside, the keyword is the text behind the last of them.
    texts = (entry[-1].tail if len(entry) else entry.text for entry in entries)
    return {normalize_keyword(text or "") for text in texts} - {""}


def normalize_keyword(keyword: str) -> str:
    """Return a keyword in lower case, with single blanks inside and none around.

    >>> normalize_keyword("  Ice  CREAM ")
    'ice cream'
    """
    return " ".join(keyword.split()).casefold()
