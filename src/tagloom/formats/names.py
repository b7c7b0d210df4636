"""Names of pictures: which picture a source means, and which names can be written."""

import posixpath
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagloom.errors import InvalidInputError
from tagloom.formats.base import Annotation, AnnotationBuilder, Annotations, InputWarning
from tagloom.io import natural_order
from tagloom.validation import some_of


@dataclass(frozen=True)
class Matched:
    """The annotations of a source, under the names of the pictures at hand.

    Attributes
    ----------
    annotations : Annotations
        Under the pictures' own names; the vocabulary is that of the source.
    missing : list of str
        Names in the source for which there is no picture.
    untagged : list of str
        Pictures without an annotation in the source.
    ambiguous : dict of str to list of str
        Names that fit several pictures, with these: not used.
    merged : dict of str to list of str
        Pictures that several names stand for, with these.
    contradictions : list of InputWarning
        Where merged names contradict each other: left unknown.
    """

    annotations: Annotations
    missing: list[str]
    untagged: list[str]
    ambiguous: dict[str, list[str]]
    merged: dict[str, list[str]]
    contradictions: list[InputWarning]


def match(annotations: Annotations, pictures: Sequence[str]) -> Matched:
    r"""Rename annotations to the pictures that their names stand for.

    The name of a picture stands for that picture. Any other name may be an absolute path, use
    backslashes or `./`, have white space at its ends, lack folders or the extension, or differ in
    case, as long as one picture fits best.

    >>> from tagloom.formats import Annotation
    >>> annotations = Annotations.of([Annotation("C:\\photos\\IMG_1.JPG", "sea")])
    >>> match(annotations, ["2019/a.jpg", "img_1.jpg"]).annotations.images
    ('img_1.jpg',)
    """
    index = PictureIndex(pictures)
    fitting = {name: index.fitting(name) for name in annotations.images}
    picture_of = {name: found[0] for name, found in fitting.items() if len(found) == 1}
    names_of: dict[str, list[str]] = {}
    for name, picture in picture_of.items():
        names_of.setdefault(picture, []).append(name)
    merged = {picture: names for picture, names in names_of.items() if len(names) > 1}
    matched, contradictions = (_merged if merged else _relabelled)(annotations, picture_of)
    annotated = {annotations.images[row] for row in set(annotations.rows.tolist())}
    tagged = {picture_of[name] for name in annotated & picture_of.keys()}
    return Matched(
        matched,
        [name for name, found in fitting.items() if not found],
        [picture for picture in pictures if picture not in tagged],
        {name: found for name, found in fitting.items() if len(found) > 1},
        merged,
        contradictions,
    )


def _relabelled(
    annotations: Annotations, picture_of: Mapping[str, str]
) -> tuple[Annotations, list[InputWarning]]:
    """Rename where no two names stand for one picture: the arrays are only reordered."""
    images = tuple(sorted(picture_of.values(), key=natural_order))
    place = {image: row for row, image in enumerate(images)}
    position = [
        place[picture_of[name]] if name in picture_of else -1 for name in annotations.images
    ]
    rows = np.array(position, dtype=np.int64)[annotations.rows]
    order = np.lexsort((annotations.columns, rows))
    order = order[rows[order] >= 0]
    renamed = Annotations(
        images,
        annotations.tags,
        rows[order],
        annotations.columns[order],
        annotations.present[order],
        annotations.confidence[order],
        frozenset(
            (picture_of[name], tag) for name, tag in annotations.undecided if name in picture_of
        ),
    )
    return renamed, []


def _merged(
    annotations: Annotations, picture_of: Mapping[str, str]
) -> tuple[Annotations, list[InputWarning]]:
    builder = rename(annotations, annotations.tags, picture_of)
    for name, tag in annotations.undecided:
        if name in picture_of:
            builder.leave_undecided(picture_of[name], tag)
    return builder.annotations(), builder.contradictions


def rename(
    annotations: Iterable[Annotation], tags: Iterable[str], picture_of: Mapping[str, str]
) -> AnnotationBuilder:
    """Collect annotations under the names of pictures; names without a picture are left out."""
    builder = AnnotationBuilder()
    builder.images.update(dict.fromkeys(picture_of.values()))
    builder.tags.update(dict.fromkeys(tags))
    for image, tag, present, confidence in annotations:
        if image in picture_of:
            builder.add(Annotation(picture_of[image], tag, present, confidence), image)
    return builder


class PictureIndex:
    r"""Pictures by every suffix of their path, with and without the file's extension.

    A name and a picture's path may each begin with folders that the other lacks: `images/abc` and
    `C:\photos\abc.jpg` find `abc.jpg`, and `00/25` finds `images/00/25.jpg`.
    """

    def __init__(self, pictures: Iterable[str]) -> None:
        self._pictures = dict.fromkeys(pictures)
        self._whole: dict[str, list[str]] = {}
        self._suffixes: dict[str, list[str]] = {}
        for picture in self._pictures:
            for spelt in dict.fromkeys((picture, without_extension(picture))):
                own, *shorter = _suffixes(_key(spelt))
                self._whole.setdefault(own, []).append(picture)
                for suffix in shorter:
                    self._suffixes.setdefault(suffix, []).append(picture)

    @classmethod
    def of_folder(cls, folder: Path | None) -> "PictureIndex":
        """Return the index of the pictures in a folder; an empty one without a folder."""
        if folder is None:
            return cls(())
        # Imported only where there is a folder: most callers have none.
        from tagloom.vision import find_pictures

        return cls(find_pictures(folder).pictures)

    def fitting(self, name: str) -> list[str]:
        r"""Return the pictures that fit a name best: one if it is clear, none if there is none.

        The name of a picture fits that picture alone, and `photos/a\b.jpg` fits a file `a\b.jpg`
        better than `a/b.jpg`: backslashes and white space at the ends are first taken as parts of
        a name, and only then for folders and layout. Otherwise the whole path fits better than a
        suffix, and a longer suffix better than a shorter one; among these the same case fits
        better than another, and the extension better than none. Where the longer suffix differs
        in case and a shorter one does not, both are returned.
        """
        if name in self._pictures:
            return [name]
        literal = filter(_is_odd, self._best(name)) if _is_odd(name) else ()
        return list(literal) or self._best(plain_path(name))

    def _best(self, listed: str) -> list[str]:
        ranks = list(self._ranks(listed))
        for place, fitting in enumerate(ranks):
            exact = _in_same_case(fitting, listed)
            if exact:
                return exact if place == 0 else list(dict.fromkeys([*ranks[0], *exact]))
        return list(ranks[0]) if ranks else []

    def _ranks(self, listed: str) -> Iterator[list[str]]:
        """Yield pictures whatever their case, from the best fit to the worst."""
        own, *shorter = _suffixes(_key(listed))
        for table, key in (
            (self._whole, own),
            (self._suffixes, own),
            *((self._whole, suffix) for suffix in shorter),
        ):
            if key in table:
                yield table[key]

    def at_end_of(self, path: str) -> str:
        """Return the picture at the end of a path, in exactly this spelling; else the path."""
        ends = [*filter(_is_odd, _suffixes(path)), *_suffixes(with_slashes(path))]
        return next((end for end in ends if end in self._pictures), path)

    def with_stem(self, stem: str) -> str | None:
        """Return the one picture whose path without extension is this; None if none or several."""
        for spelt in dict.fromkeys((stem, with_slashes(stem))):
            fitting = self._whole.get(_key(spelt), ())
            found = [picture for picture in fitting if without_extension(picture) == spelt]
            if found:
                return found[0] if len(found) == 1 else None
        return None


def _is_odd(name: str) -> bool:
    """Return whether a name has white space at an end, or a backslash."""
    return name != name.strip() or "\\" in name


def plain_path(name: str) -> str:
    r"""Return a path with forward slashes, without `./`, needless folders and white space.

    >>> plain_path("C:\\photos\\.\\2019\\a.jpg"), plain_path("../b/../c.jpg")
    ('C:/photos/2019/a.jpg', 'c.jpg')
    """
    composed = unicodedata.normalize("NFC", name.strip())
    path = posixpath.normpath(with_slashes(composed)).lstrip("/")
    while path.startswith("../"):
        path = path[3:]
    return path


def with_slashes(name: str) -> str:
    """Return a name with forward slashes, whichever system wrote it."""
    return name.replace("\\", "/")


def without_extension(name: str) -> str:
    """Return a name without its extension: "a/b.jpg" is "a/b".

    >>> without_extension("a.b/c.tar.gz"), without_extension(".hidden")
    ('a.b/c.tar', '.hidden')
    """
    return posixpath.splitext(name)[0]


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _suffixes(path: str) -> list[str]:
    """Return a path and what is left of it without its first folders, the longest first."""
    suffixes = [path]
    while "/" in path:
        path = path.partition("/")[2]
        suffixes.append(path)
    return suffixes


def _in_same_case(pictures: Iterable[str], listed: str) -> list[str]:
    """Return the pictures that end as listed, case included: with the extension, or without."""
    named = [picture for picture in pictures if _same_end(picture, listed)]
    return named or [
        picture for picture in pictures if _same_end(without_extension(picture), listed)
    ]


def _same_end(path: str, listed: str) -> bool:
    """Return whether the shorter of two paths is the end of the longer."""
    own = unicodedata.normalize("NFC", path)
    return f"/{own}".endswith(f"/{listed}") or f"/{listed}".endswith(f"/{own}")


def check_writable(annotations: Annotations) -> None:
    """Refuse names of pictures and tags that are empty or cannot be written in UTF-8."""
    odd = [*_unwritable(annotations.images), *_unwritable(annotations.tags)]
    if odd:
        raise InvalidInputError(
            "Names of pictures and tags must be texts that can be written in UTF-8 and are not "
            f"empty; these are not: {some_of(odd)}. Rename them."
        )


def _unwritable(names: Iterable[str]) -> list[str]:
    # File names that are not UTF-8 reach Python with halves of surrogate pairs in them.
    return [name for name in names if not name or name.encode(errors="ignore").decode() != name]


def clashing(key_of: Mapping[str, str]) -> list[str]:
    """Return the names that share their key with another name."""
    groups: dict[str, list[str]] = {}
    for name, key in key_of.items():
        groups.setdefault(key, []).append(name)
    return [name for group in groups.values() if len(group) > 1 for name in group]
