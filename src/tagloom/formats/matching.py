"""Bring the names of a source together with the pictures that are there."""

import posixpath
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.formats.annotations import Annotation, AnnotationBuilder, Annotations, InputWarning
from tagloom.validation import some_of

# §§ finding
# Which picture is meant by a name that may lack folders or ending, or be written otherwise.


class PictureIndex:
    r"""Pictures by all ends of their paths, with and without the file's ending.

    A name and a picture's path may each begin with folders that the other lacks: `images/abc` and
    `C:\photos\abc.jpg` find `abc.jpg`, and `00/25` finds `images/00/25.jpg`.
    """

    def __init__(self, pictures: Iterable[str]) -> None:
        self._whole: dict[str, list[str]] = {}
        self._ends: dict[str, list[str]] = {}
        for picture in dict.fromkeys(pictures):
            for spelt in dict.fromkeys((picture, _bare(picture))):
                own, *shorter = _ends(_key(spelt))
                self._whole.setdefault(own, []).append(picture)
                for end in shorter:
                    self._ends.setdefault(end, []).append(picture)

    def fitting(self, name: str) -> list[str]:
        """Return the pictures that fit a name best: one if it is clear, none if there is none.

        The whole path fits better than its end, and a longer end better than a shorter one; among
        these the same case better than another, and the file's ending better than none. Where the
        longer end differs in case and a shorter one does not, both may be meant.
        """
        listed = plain_path(name)
        ranks = list(self._ranks(listed))
        for place, fitting in enumerate(ranks):
            exact = _in_same_case(fitting, listed)
            if exact:
                return exact if place == 0 else list(dict.fromkeys([*ranks[0], *exact]))
        return list(ranks[0]) if ranks else []

    def _ranks(self, listed: str) -> Iterator[list[str]]:
        """Yield pictures whatever their case, from the best fit to the worst."""
        own, *shorter = _ends(_key(listed))
        for table, key in (
            (self._whole, own),
            (self._ends, own),
            *((self._whole, end) for end in shorter),
        ):
            if key in table:
                yield table[key]


def plain_path(name: str) -> str:
    r"""Return a name with forward slashes, without `./` and needless folders.

    >>> plain_path("C:\\photos\\.\\2019\\a.jpg"), plain_path("../b/../c.jpg")
    ('C:/photos/2019/a.jpg', 'c.jpg')
    """
    path = posixpath.normpath(unicodedata.normalize("NFC", name).replace("\\", "/")).lstrip("/")
    while path.startswith("../"):
        path = path[3:]
    return path


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _bare(picture: str) -> str:
    """Return a path without the file's ending; a dot in front begins a name and no ending."""
    bare, dot, ending = picture.rpartition(".")
    return bare if dot and ending and "/" not in ending and bare.rpartition("/")[2] else picture


def _ends(path: str) -> list[str]:
    """Return a path and all its ends, the longest first."""
    ends = [path]
    while "/" in path:
        path = path.partition("/")[2]
        ends.append(path)
    return ends


def _in_same_case(pictures: Iterable[str], listed: str) -> list[str]:
    """Return the pictures whose ends are written as listed: with the file's ending, or without."""
    named = [picture for picture in pictures if _same_end(picture, listed)]
    return named or [picture for picture in pictures if _same_end(_bare(picture), listed)]


def _same_end(path: str, listed: str) -> bool:
    """Say whether the shorter of both paths is the end of the longer."""
    own = unicodedata.normalize("NFC", path)
    return f"/{own}".endswith(f"/{listed}") or f"/{listed}".endswith(f"/{own}")


# §§ main matching


@dataclass(frozen=True)
class Matched:
    """What a source says of the pictures that are there.

    Attributes
    ----------
    annotations : Annotations
        Under the pictures' own names; the vocabulary is that of the source.
    missing : list of str
        Names in the source for which there is no picture.
    untagged : list of str
        Pictures of which the source says nothing.
    ambiguous : dict of str to list of str
        Names that fit several pictures, with these: not used.
    merged : dict of str to list of str
        Pictures that several names meant, with these.
    contradictions : list of InputWarning
        What merged names say against each other: left unknown.
    """

    annotations: Annotations
    missing: list[str]
    untagged: list[str]
    ambiguous: dict[str, list[str]]
    merged: dict[str, list[str]]
    contradictions: list[InputWarning]


def match(annotations: Annotations, pictures: Sequence[str]) -> Matched:
    r"""Rename what is said to the pictures that are meant.

    A name may be an absolute path, use backslashes or `./`, lack folders or ending, or differ in
    case, as long as one picture fits best.

    >>> from tagloom.formats import Annotation
    >>> said = Annotations.of([Annotation("C:\\photos\\IMG_1.JPG", "sea")])
    >>> match(said, ["2019/a.jpg", "img_1.jpg"]).annotations.images
    ('img_1.jpg',)
    """
    index = PictureIndex(pictures)
    fitting = {name: index.fitting(name) for name in annotations.images}
    meant = {name: found[0] for name, found in fitting.items() if len(found) == 1}
    names_of: dict[str, list[str]] = {}
    for name, picture in meant.items():
        names_of.setdefault(picture, []).append(name)
    merged = {picture: names for picture, names in names_of.items() if len(names) > 1}
    matched, contradictions = (_merged if merged else _relabelled)(annotations, meant)
    tagged = {annotations.images[row] for row in set(annotations.rows.tolist())}
    spoken_of = {meant[name] for name in tagged & meant.keys()}
    return Matched(
        matched,
        [name for name, found in fitting.items() if not found],
        [picture for picture in pictures if picture not in spoken_of],
        {name: found for name, found in fitting.items() if len(found) > 1},
        merged,
        contradictions,
    )


def _relabelled(
    annotations: Annotations, meant: Mapping[str, str]
) -> tuple[Annotations, list[InputWarning]]:
    """Rename where no two names mean the same picture: the arrays need only another order."""
    images = tuple(sorted(meant.values()))
    place = {image: row for row, image in enumerate(images)}
    position = [place[meant[name]] if name in meant else -1 for name in annotations.images]
    rows = np.array(position, dtype=np.int64)[annotations.rows]
    order = np.lexsort((annotations.columns, rows))
    order = order[rows[order] >= 0]
    said = Annotations(
        images,
        annotations.tags,
        rows[order],
        annotations.columns[order],
        annotations.present[order],
        annotations.confidence[order],
        frozenset((meant[name], tag) for name, tag in annotations.undecided if name in meant),
    )
    return said, []


def _merged(
    annotations: Annotations, meant: Mapping[str, str]
) -> tuple[Annotations, list[InputWarning]]:
    builder = renamed(annotations, annotations.tags, meant)
    for name, tag in annotations.undecided:
        if name in meant:
            builder.leave_undecided(meant[name], tag)
    return builder.annotations(), builder.contradictions


def renamed(
    said: Iterable[Annotation], tags: Iterable[str], meant: Mapping[str, str]
) -> AnnotationBuilder:
    """Collect what is said under the names that are meant; names without one are left out."""
    builder = AnnotationBuilder()
    builder.images.update(dict.fromkeys(meant.values()))
    builder.tags.update(dict.fromkeys(tags))
    for image, tag, present, confidence in said:
        if image in meant:
            builder.add(Annotation(meant[image], tag, present, confidence), image)
    return builder


# §§ naming
# Names of pictures: as a source has them, or as they lie in the folder that its owner names.


def with_slashes(name: str) -> str:
    """Return a name with forward slashes, whichever system wrote it."""
    return name.replace("\\", "/")


def without_ending(name: str) -> str:
    """Return a name without its extension: "a/b.jpg" is "a/b".

    >>> without_ending("a.b/c.tar.gz"), without_ending(".hidden")
    ('a.b/c.tar', '.hidden')
    """
    return posixpath.splitext(name)[0]


def refuse_unwritable(annotations: Annotations) -> None:
    """Refuse names of pictures and tags that are empty or cannot be written in UTF-8."""
    odd = [*_unwritable(annotations.images), *_unwritable(annotations.tags)]
    if odd:
        raise InvalidInputError(
            "Names of pictures and tags must be texts that can be written in UTF-8 and are not "
            f"empty; these are not: {some_of(odd)}. Rename them."
        )


def _unwritable(names: Iterable[str]) -> list[str]:
    # File names that are no UTF-8 reach Python with halves of surrogate pairs in them.
    return [name for name in names if not name or name.encode(errors="ignore").decode() != name]


class Names:
    """Finds the picture that a source means among those that lie in a folder.

    Without a folder, or where nothing in it fits, names stay as the source has them.
    """

    def __init__(self, pictures: Path | None) -> None:
        self.folder = pictures
        self._known: set[str] = set()
        self._by_stem: dict[str, list[str]] = {}
        if pictures is not None:
            # Not needed, and therefore not loaded, where there is no folder.
            from tagloom.vision import find_pictures

            self._known.update(find_pictures(pictures).pictures)
        for name in sorted(self._known):
            self._by_stem.setdefault(without_ending(name), []).append(name)

    def of_path(self, name: str) -> str:
        """Return the picture at the end of a path: what stands before it may differ by machine."""
        plain = with_slashes(name)
        rest = plain
        while rest and rest not in self._known:
            rest = rest.partition("/")[2]
        return rest or plain

    def of_stem(self, stem: str) -> str | None:
        """Return the one picture whose name without extension is this; None if none or several."""
        found = self._by_stem.get(with_slashes(stem), [])
        return found[0] if len(found) == 1 else None
