"""COCO json: pictures, categories and annotations that refer to them by id (Lin et al. 2014).

Boxes and outlines are read as presences: five boxes of dogs are one annotation "dog".
"""

import importlib.util
import json
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tagloom.formats import base
from tagloom.formats.interchange.json import JsonValue, load_json, save_json
from tagloom.formats.names import PictureIndex, check_writable
from tagloom.formats.text import peek

TITLE = "COCO json"
_ABSENT = "neg_category_ids"
_MACHINE_ABSENT = "neg_category_scores"
_Identity = int | str
_KEYS = re.compile(r'"(?:images|annotations|categories)"\s*:\s*\[')
_INNER_KEYS = re.compile(r'"(?:file_name|image_id|category_id|supercategory)"\s*:')


def is_coco(path: Path) -> bool:
    """Return whether the first bytes of a file look like COCO json."""
    head = peek(path)
    if not head.lstrip().startswith("{"):
        return False
    # A data set without pictures has none of the inner keys, but all of the outer ones.
    is_empty = len(set(_KEYS.findall(head))) == 3
    return bool(_KEYS.search(head)) and (is_empty or bool(_INNER_KEYS.search(head)))


def read_coco(path: Path, pictures: Path | None = None) -> base.Reading:
    """Read a COCO json file of instances.

    Pictures without annotations are kept. An annotation with a `score` is a machine's; of several
    scores for one picture and category the highest counts. `neg_category_ids` of a picture, as
    LVIS has them, are absences, unless `not_exhaustive_category_ids` lists them too.

    Parameters
    ----------
    path
        The file.
    pictures
        The folder with the pictures, to make names relative to it.

    Raises
    ------
    InvalidInputError
        If the file is not JSON, or a value is not of the type that COCO requires. References to
        pictures or categories that do not exist are left out with a warning.
    """
    whole = JsonValue(load_json(path), path)
    if isinstance(whole.value, list):
        whole.refuse(
            "an object with images, categories and annotations (a bare list of results names "
            "neither pictures nor categories)"
        )
    reader = _Reader(whole, PictureIndex.of_folder(pictures))
    reader.read_absences()
    reader.read_annotations()
    return reader.finish(path)


FORMAT = base.Format(
    "coco", TITLE, 'an object with "images", "annotations" and "categories"', is_coco, read_coco
)


class _Reader:
    """Reads a file into a builder; people's annotations and the best scores are kept apart."""

    def __init__(self, whole: JsonValue, index: PictureIndex) -> None:
        self.builder = base.AnnotationBuilder()
        self.counter = base.WarningCounter()
        self.whole = whole
        self.index = index
        self.listed_images = whole.field("images").items()
        self.images = self._named(self.listed_images, "file_name")
        self.categories = self._named(whole.field("categories").items(), "name")
        self.builder.images.update(dict.fromkeys(self.images.values()))
        self.builder.tags.update(dict.fromkeys(self.categories.values()))
        self.best: dict[tuple[str, str], float] = {}
        self.by_people: dict[tuple[str, str], JsonValue] = {}
        self.n_annotations = 0

    def _named(self, listed: list[JsonValue], key: str) -> dict[_Identity, str]:
        """Return the name of every id; refuse an id that stands for two names."""
        table: dict[_Identity, str] = {}
        for place in listed:
            identity = place.field("id").identity()
            name = place.field(key).text()
            if key == "file_name":
                name = self.index.at_end_of(name)
            if table.setdefault(identity, name) != name:
                place.field("id").refuse(
                    f"an id of its own for {name!r} ({table[identity]!r} has the same)"
                )
        repeated = len(listed) - len(set(table.values()))
        if repeated:
            self.counter.add(
                f"{self.whole.path}: {listed[0].inside.partition('[')[0]}",
                f"{repeated:,} entries have a {key} that another one has: taken as one",
            )
        return table

    def _category(self, place: JsonValue) -> str | None:
        name = self.categories.get(place.identity())
        if name is None:
            self.counter.add(place.where, "no category has this id: left out")
        return name

    def read_absences(self) -> None:
        for place in self.listed_images:
            image = self.images[place.value["id"]]
            not_exhaustive = {one.identity() for one in place.listed("not_exhaustive_category_ids")}
            for one in place.listed(_ABSENT):
                tag = self._category(one)
                if tag is not None and one.value not in not_exhaustive:
                    self.builder.add(base.Annotation(image, tag, False), one.where)
            for one in place.listed(_MACHINE_ABSENT):
                tag = self._category(one.field("category_id"))
                score = self._score(one)
                if tag is not None and score is not None:
                    self.builder.add(base.Annotation(image, tag, False, score), one.where)

    def _score(self, place: JsonValue) -> float | None:
        score = place.field("score").probability()
        if score is None:
            self.counter.add(place.field("score").where, "a score is not from 0 to 1: left out")
        return score

    def read_annotations(self) -> None:
        seen: set[tuple[str, str, str]] = set()
        ids: set[_Identity] = set()
        for place in self.whole.listed("annotations"):
            self.n_annotations += 1
            self._check_id(place, ids)
            pair = self._pair(place)
            if pair is None:
                continue
            exact = (*pair, _shape(place))
            self.builder.duplicates += exact in seen
            seen.add(exact)
            self._add(place, pair)
        for pair, place in self.by_people.items():
            self.builder.add(base.Annotation(*pair), place.where)
        for pair, score in self.best.items():
            if pair not in self.by_people:
                self.builder.add(base.Annotation(*pair, True, score), str(self.whole.path))

    def _check_id(self, place: JsonValue, ids: set[_Identity]) -> None:
        if place.field("id").value is None:
            return
        identity = place.field("id").identity()
        if identity in ids:
            self.counter.add(place.field("id").where, "another annotation has this id: both count")
        ids.add(identity)

    def _pair(self, place: JsonValue) -> tuple[str, str] | None:
        """Return picture and tag of an annotation; None where one of them is missing."""
        if place.field("category_id").value is None:
            self.counter.add(place.where, "an annotation without category_id: left out")
            return None
        tag = self._category(place.field("category_id"))
        image = self.images.get(place.field("image_id").identity())
        if image is None:
            self.counter.add(place.field("image_id").where, "no picture has this id: left out")
        return None if image is None or tag is None else (image, tag)

    def _add(self, place: JsonValue, pair: tuple[str, str]) -> None:
        if not place.has("score"):
            self.by_people.setdefault(pair, place)
            return
        score = self._score(place)
        if score is not None:
            self.best[pair] = max(score, self.best.get(pair, 0.0))

    def finish(self, path: Path) -> base.Reading:
        self.counter.add_to(self.builder)
        return self.builder.finish(
            path,
            TITLE,
            lists_absences=any(_ABSENT in place.value for place in self.listed_images),
            annotations=f"{self.n_annotations:,}",
            presences=f"{len(self.by_people.keys() | self.best.keys()):,}",
        )


def _shape(place: JsonValue) -> str:
    """Return what distinguishes two annotations of one category on one picture."""
    outline = place.value.get("bbox") or place.value.get("segmentation")
    try:
        return json.dumps([outline, place.value.get("score")])
    except RecursionError:
        place.refuse("an outline that is not nested so deeply")


def write_coco(
    annotations: base.Annotations, path: Path, *, pictures: Path | None = None
) -> list[base.InputWarning]:
    """Write COCO json; return warnings about what it cannot hold.

    A tag belongs to the whole picture, but readers require `bbox`, `area`, `iscrowd` and
    `segmentation` in every annotation: the box and the outline are those of the whole picture
    where its size is known, else a box of zeros and no outline. Ids start at 1, since COCO's own
    evaluation treats 0 as "nothing".

    Absences that a person annotated are in `neg_category_ids` of the picture, as in LVIS, those
    that a machine suggests in `neg_category_scores`, which is our own. If one picture has any, all
    pictures have both keys.

    Parameters
    ----------
    annotations
        The annotations.
    path
        The file.
    pictures
        The folder with the pictures, for their sizes; without it (or without Pillow) width and
        height are 0.
    """
    check_writable(annotations)
    counter = base.WarningCounter()
    category = {tag: number for number, tag in enumerate(annotations.tags, 1)}
    has_absences = not annotations.present.all()
    images: list[dict[str, Any]] = []
    listed: list[dict[str, Any]] = []
    for image_id, (name, own) in enumerate(annotations.by_image().items(), 1):
        width, height = _size(name, pictures, counter)
        image = {"id": image_id, "file_name": name, "width": width, "height": height}
        images.append(image | (_absences(own, category) if has_absences else {}))
        for one in own:
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
    return counter.warnings()


def _absences(annotations: Iterable[base.Annotation], category: dict[str, int]) -> dict[str, Any]:
    absent = [one for one in annotations if not one.present]
    return {
        _ABSENT: [category[one.tag] for one in absent if one.confidence is None],
        _MACHINE_ABSENT: [
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


def _score(one: base.Annotation) -> dict[str, float]:
    return {} if one.confidence is None else {"score": one.confidence}


def _size(name: str, pictures: Path | None, counter: base.WarningCounter) -> tuple[int, int]:
    size = None if pictures is None else _stored_size(pictures / name)
    if size is None:
        counter.add(name, "its size is not known: width, height and box are 0")
    return size or (0, 0)


def _stored_size(path: Path) -> tuple[int, int] | None:
    """Return width and height as stored, without decoding; None where they are unknown."""
    if importlib.util.find_spec("PIL") is None:
        return None
    from PIL import Image

    try:
        with warnings.catch_warnings():
            # Pillow warns of too many pixels to decode, but nothing is decoded here.
            warnings.simplefilter("ignore")
            with Image.open(path) as picture:
                return picture.size
    except Exception:  # Pillow's readers raise all kinds of errors on a damaged header
        return None
