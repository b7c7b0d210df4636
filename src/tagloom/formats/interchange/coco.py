"""COCO json: pictures, categories and annotations that join them by number.

Boxes and outlines are taken as presences: five boxes of dogs say once that a dog is there.
"""

import importlib.util
import json
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tagloom.formats.annotations import (
    Annotation,
    AnnotationBuilder,
    Annotations,
    InputWarning,
    Reading,
)
from tagloom.formats.interchange.parsing import Place, Tally, head_of, load_json, save_json
from tagloom.formats.matching import Names, refuse_unwritable

# §§ coco_writing
# Write COCO json that its own library loads.


ABSENT = "neg_category_ids"
MACHINE_ABSENT = "neg_category_scores"


def write_coco(
    annotations: Annotations, path: Path, *, pictures: Path | None = None
) -> list[InputWarning]:
    """Write COCO json; return what could not be said in it.

    A tag belongs to the whole picture, yet readers take `bbox`, `area`, `iscrowd` and
    `segmentation` of every annotation for granted: the box and the outline are those of the whole
    picture where its size is known, else a box of zeros and no outline. Ids count from 1, for
    COCO's own evaluation takes 0 for "nothing".

    Absences of a person go to `neg_category_ids` of the picture, as in LVIS, those of a machine
    to `neg_category_scores`, which is our own. Both stand on every picture as soon as one of them
    has any.

    Parameters
    ----------
    annotations
        What is said.
    path
        The file.
    pictures
        The folder with the pictures, for their sizes; without it (or without Pillow) width and
        height are 0.
    """
    refuse_unwritable(annotations)
    tally = Tally()
    category = {tag: number for number, tag in enumerate(annotations.tags, 1)}
    says_absent = not annotations.present.all()
    images: list[dict[str, Any]] = []
    listed: list[dict[str, Any]] = []
    for image_id, (name, said) in enumerate(annotations.by_image().items(), 1):
        width, height = _size(name, pictures, tally)
        image = {"id": image_id, "file_name": name, "width": width, "height": height}
        images.append(image | (_absences(said, category) if says_absent else {}))
        for one in said:
            if one.present:
                about = {"id": len(listed) + 1, "image_id": image_id}
                about["category_id"] = category[one.tag]
                listed.append(about | _whole_picture(width, height) | _score(one))
    content = {
        "info": {"description": "Tags of whole pictures, written by tagloom"},
        "licenses": [],
        "images": images,
        "annotations": listed,
        "categories": [
            {"id": number, "name": tag, "supercategory": "tag"} for tag, number in category.items()
        ],
    }
    save_json(content, path)
    return tally.warnings()


def _absences(said: Iterable[Annotation], category: dict[str, int]) -> dict[str, Any]:
    absent = [one for one in said if not one.present]
    return {
        ABSENT: [category[one.tag] for one in absent if one.confidence is None],
        MACHINE_ABSENT: [
            {"category_id": category[one.tag], "score": one.confidence}
            for one in absent
            if one.confidence is not None
        ],
    }


def _whole_picture(width: int, height: int) -> dict[str, Any]:
    outline = [[0, 0, width, 0, width, height, 0, height]] if width and height else []
    return {
        "bbox": [0, 0, width, height],
        "area": width * height,
        "iscrowd": 0,
        "segmentation": outline,
    }


def _score(one: Annotation) -> dict[str, float]:
    return {} if one.confidence is None else {"score": one.confidence}


def _size(name: str, pictures: Path | None, tally: Tally) -> tuple[int, int]:
    size = None if pictures is None else _stored_size(pictures / name)
    if size is None:
        tally.add(name, "its size is not known: width, height and box are 0")
    return size or (0, 0)


def _stored_size(path: Path) -> tuple[int, int] | None:
    """Return width and height as stored, without decoding; None where they cannot be told."""
    if importlib.util.find_spec("PIL") is None:
        return None
    from PIL import Image

    try:
        with warnings.catch_warnings():
            # Pillow warns of many pixels before it decodes them, which does not happen here.
            warnings.simplefilter("ignore")
            with Image.open(path) as picture:
                return picture.size
    except Exception:  # its many readers raise whatever a damaged header leads them to
        return None


# §§ main coco


__all__ = ["is_coco", "read_coco", "write_coco"]

_Identity = int | str
_KEYS = re.compile(r'"(?:images|annotations|categories)"\s*:\s*\[')
_MARKS = re.compile(r'"(?:file_name|image_id|category_id|supercategory)"\s*:')


def is_coco(path: Path) -> bool:
    """Say whether the first bytes of a file look like COCO json."""
    head = head_of(path)
    if not head.lstrip().startswith("{"):
        return False
    # An empty set has no mark, but then all of it lies in the head.
    emptied = len(set(_KEYS.findall(head))) == 3
    return bool(_KEYS.search(head)) and (emptied or bool(_MARKS.search(head)))


def read_coco(path: Path, pictures: Path | None = None) -> Reading:
    """Read a COCO json file of instances.

    Pictures without annotations are kept. An annotation with a `score` is a machine's; of several
    scores for one picture and category the highest stands. `neg_category_ids` of a picture, as
    LVIS has them, are absences, unless `not_exhaustive_category_ids` lists them too.

    Parameters
    ----------
    path
        The file.
    pictures
        The folder with the pictures, where names shall be relative to it.

    Raises
    ------
    InvalidInputError
        If the file is no JSON, or something in it is not of the kind that COCO asks for. What
        refers to pictures or categories that do not exist is left out and remarked on.
    """
    whole = Place(load_json(path), path)
    if isinstance(whole.value, list):
        whole.refuse(
            "an object with images, categories and annotations (a bare list of results names "
            "neither pictures nor categories)"
        )
    reader = _Reader(whole, Names(pictures))
    reader.read_absences()
    reader.read_annotations()
    return reader.finish(path)


class _Reader:
    def __init__(self, whole: Place, names: Names) -> None:
        self.builder = AnnotationBuilder()
        self.tally = Tally()
        self.whole = whole
        self.names = names
        self.listed_images = whole.field("images").items()
        self.images = self._named(self.listed_images, "file_name")
        self.categories = self._named(whole.field("categories").items(), "name")
        self.builder.images.update(dict.fromkeys(self.images.values()))
        self.builder.tags.update(dict.fromkeys(self.categories.values()))
        self.best: dict[tuple[str, str], float] = {}
        self.by_people: dict[tuple[str, str], Place] = {}
        self.n_annotations = 0

    def _named(self, listed: list[Place], key: str) -> dict[_Identity, str]:
        """Return the name of every id; one id for two names would leave all it says open."""
        table: dict[_Identity, str] = {}
        for place in listed:
            identity = place.field("id").identity()
            name = place.field(key).text()
            if key == "file_name":
                name = self.names.of_path(name)
            if table.setdefault(identity, name) != name:
                place.field("id").refuse(
                    f"an id of its own for {name!r} ({table[identity]!r} has the same)"
                )
        repeated = len(listed) - len(set(table.values()))
        if repeated:
            self.tally.add(
                f"{self.whole.path}: {listed[0].inside.partition('[')[0]}",
                f"{repeated:,} entries have a {key} that another one has: taken as one",
            )
        return table

    def _category(self, place: Place) -> str | None:
        name = self.categories.get(place.identity())
        if name is None:
            self.tally.add(place.where, "no category has this id: left out")
        return name

    def read_absences(self) -> None:
        for place in self.listed_images:
            image = self.images[place.value["id"]]
            open_ones = {one.identity() for one in place.listed("not_exhaustive_category_ids")}
            for one in place.listed(ABSENT):
                tag = self._category(one)
                if tag is not None and one.value not in open_ones:
                    self.builder.add(Annotation(image, tag, False), one.where)
            for one in place.listed(MACHINE_ABSENT):
                tag = self._category(one.field("category_id"))
                score = self._score(one)
                if tag is not None and score is not None:
                    self.builder.add(Annotation(image, tag, False, score), one.where)

    def _score(self, place: Place) -> float | None:
        score = place.field("score").probability()
        if score is None:
            self.tally.add(place.field("score").where, "a score is not from 0 to 1: left out")
        return score

    def read_annotations(self) -> None:
        seen: set[tuple[str, str, str]] = set()
        ids: set[_Identity] = set()
        for place in self.whole.listed("annotations"):
            self.n_annotations += 1
            self._look_at_id(place, ids)
            at = self._where_it_is(place)
            if at is None:
                continue
            exact = (*at, _shape(place))
            self.builder.duplicates += exact in seen
            seen.add(exact)
            self._take(place, at)
        for at, place in self.by_people.items():
            self.builder.add(Annotation(*at), place.where)
        for at, score in self.best.items():
            if at not in self.by_people:
                self.builder.add(Annotation(*at, True, score), str(self.whole.path))

    def _look_at_id(self, place: Place, ids: set[_Identity]) -> None:
        if place.field("id").value is None:
            return
        identity = place.field("id").identity()
        if identity in ids:
            self.tally.add(place.field("id").where, "another annotation has this id: both count")
        ids.add(identity)

    def _where_it_is(self, place: Place) -> tuple[str, str] | None:
        if place.field("category_id").value is None:
            self.tally.add(place.where, "an annotation without category_id: left out")
            return None
        tag = self._category(place.field("category_id"))
        image = self.images.get(place.field("image_id").identity())
        if image is None:
            self.tally.add(place.field("image_id").where, "no picture has this id: left out")
        return None if image is None or tag is None else (image, tag)

    def _take(self, place: Place, at: tuple[str, str]) -> None:
        if not place.has("score"):
            self.by_people.setdefault(at, place)
            return
        score = self._score(place)
        if score is not None:
            self.best[at] = max(score, self.best.get(at, 0.0))

    def finish(self, path: Path) -> Reading:
        self.tally.into(self.builder)
        return self.builder.finish(
            path,
            "COCO json",
            lists_absences=any(ABSENT in place.value for place in self.listed_images),
            annotations=f"{self.n_annotations:,}",
            presences=f"{len(self.by_people.keys() | self.best.keys()):,}",
        )


def _shape(place: Place) -> str:
    """Return what tells two annotations of one category on one picture apart."""
    outline = place.value.get("bbox") or place.value.get("segmentation")
    try:
        return json.dumps([outline, place.value.get("score")])
    except RecursionError:
        place.refuse("an outline that is not nested so deeply")
