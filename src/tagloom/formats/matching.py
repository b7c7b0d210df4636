"""Bring the names of a source together with the pictures that are there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tagloom.formats.annotations import Annotation, Annotations
from tagloom.formats.finding import PictureIndex
from tagloom.formats.gathering import Gathering, Remark


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
    contradictions : list of Remark
        What merged names say against each other: left unknown.
    """

    annotations: Annotations
    missing: list[str]
    untagged: list[str]
    ambiguous: dict[str, list[str]]
    merged: dict[str, list[str]]
    contradictions: list[Remark]


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
) -> tuple[Annotations, list[Remark]]:
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


def _merged(annotations: Annotations, meant: Mapping[str, str]) -> tuple[Annotations, list[Remark]]:
    gathering = renamed(annotations, annotations.tags, meant)
    for name, tag in annotations.undecided:
        if name in meant:
            gathering.leave_open(meant[name], tag)
    return gathering.annotations(), gathering.contradictions


def renamed(said: Iterable[Annotation], tags: Iterable[str], meant: Mapping[str, str]) -> Gathering:
    """Collect what is said under the names that are meant; names without one are left out."""
    gathering = Gathering()
    gathering.images.update(dict.fromkeys(meant.values()))
    gathering.tags.update(dict.fromkeys(tags))
    for image, tag, present, confidence in said:
        if image in meant:
            gathering.add(Annotation(meant[image], tag, present, confidence), image)
    return gathering
