"""FiftyOne's image classification data sets: `labels.json`, with any number of tags a picture."""

import os
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tagloom.errors import InvalidInputError
from tagloom.formats import base
from tagloom.formats.interchange.json import JsonValue, load_json, save_json
from tagloom.formats.names import (
    PictureIndex,
    check_writable,
    clashing,
    without_extension,
)
from tagloom.formats.text import peek
from tagloom.validation import some_of

TITLE = "FiftyOne labels.json"
_LABELS = "labels.json"
_MANIFEST = "data.json"
_START = re.compile(r'\s*\{\s*"(?:classes"\s*:\s*(?:\[|null)|labels"\s*:\s*\{)')


def is_fiftyone(path: Path) -> bool:
    """Return whether a file, or `labels.json` in a folder, begins as FiftyOne writes it."""
    return bool(_START.match(peek(_labels_file(path))))


def read_fiftyone(path: Path, pictures: Path | None = None) -> base.Reading:
    """Read a FiftyOneImageClassificationDataset.

    A target is null, a class (its number or its name), an object with `label` and `confidence`, or
    a list of those. A target with a confidence is a machine's suggestion.

    Pictures are named without their extension. It is found in the manifest `data.json` beside the
    labels, else in `pictures`, else in the folder `data` beside the labels; where none of them has
    the picture, its name stays without extension.

    Parameters
    ----------
    path
        `labels.json` or the folder it lies in.
    pictures
        The folder with the pictures.

    Raises
    ------
    InvalidInputError
        If the file is not JSON or a target is of another type. Numbers of classes that do not
        exist are left out with a warning.
    """
    labels = _labels_file(path)
    whole = JsonValue(load_json(labels), labels)
    classes = [place.text() for place in whole.listed("classes")]
    builder, counter = base.AnnotationBuilder(tags=dict.fromkeys(classes)), base.WarningCounter()
    finder = _Finder(labels.parent, pictures)
    for key, target in whole.field("labels").fields():
        image = finder.find(key, target, counter)
        builder.images.setdefault(image)
        targets = target.items() if isinstance(target.value, list) else [target]
        for one in targets:
            found = None if one.value is None else _annotation(one, image, classes, counter)
            if found is not None:
                builder.add(found, one.where)
    counter.add_to(builder)
    return builder.finish(path, TITLE, lists_absences=False, names=finder.source)


FORMAT = base.Format(
    "fiftyone",
    TITLE,
    'an object with "classes" and "labels", or a folder with such a labels.json',
    is_fiftyone,
    read_fiftyone,
)


def _labels_file(path: Path) -> Path:
    return path / _LABELS if path.is_dir() else path


def _annotation(
    place: JsonValue, image: str, classes: list[str], counter: base.WarningCounter
) -> base.Annotation | None:
    confidence: float | None = None
    label = place
    if isinstance(place.value, dict):
        label = place.field("label")
        if place.has("confidence"):
            confidence = place.field("confidence").probability()
            if confidence is None:
                counter.add(place.where, "a confidence is not from 0 to 1: left out")
                return None
        if place.value.get("attributes"):
            counter.add(place.where, "attributes are not read")
    tag = _tag(label, classes, counter)
    return None if tag is None else base.Annotation(image, tag, True, confidence)


def _tag(place: JsonValue, classes: list[str], counter: base.WarningCounter) -> str | None:
    if isinstance(place.value, str):
        return place.text()
    if isinstance(place.value, bool) or not isinstance(place.value, int):
        place.refuse("the number or the name of a class")
    if 0 <= place.value < len(classes):
        return classes[place.value]
    counter.add(place.where, "no class has this number: left out")
    return None


class _Finder:
    """Finds the extension of a picture."""

    def __init__(self, home: Path, pictures: Path | None) -> None:
        self._manifest: dict[str, str] = {}
        manifest, data = home / _MANIFEST, home / "data"
        self.source = "as written"
        if manifest.is_file():
            self.source = _MANIFEST
            listed = JsonValue(load_json(manifest), manifest).fields()
            self._manifest = {_key(name): name for name, _ in listed}
        elif pictures is None and data.is_dir():
            pictures = data
        if pictures is not None:
            self.source = f"{self.source}, {pictures}" if self._manifest else str(pictures)
        self._index = PictureIndex.of_folder(pictures)

    def find(self, key: str, place: JsonValue, counter: base.WarningCounter) -> str:
        if not key:
            place.refuse("a picture's name as key")
        if posixpath.isabs(key):
            return key
        found = self._manifest.get(key) or self._index.with_stem(key)
        if found is None:
            counter.add(
                place.where, "no single picture was found for it: its name has no extension"
            )
        return found or key


def write_fiftyone(
    annotations: base.Annotations, path: Path, *, pictures: Path | None = None
) -> list[base.InputWarning]:
    """Write `labels.json` as FiftyOne reads it; return warnings about what it cannot hold.

    No picture is copied. With `pictures`, a manifest `data.json` with the path of each picture is
    written beside the labels; FiftyOne takes it by ``data_path="data.json"``. Without, its
    `data_path` must be the folder with the pictures. The format has no absences: they are left
    out.

    Parameters
    ----------
    annotations
        The annotations.
    path
        The file, usually named `labels.json`, or a folder for it.
    pictures
        The folder with the pictures.
    """
    check_writable(annotations)
    labels = _labels_file(path)
    keys = _keys(annotations.images)
    number = {tag: place for place, tag in enumerate(annotations.tags)}
    counter = base.WarningCounter()
    targets: dict[str, list[Any] | None] = {}
    for image, own in annotations.by_image().items():
        targets[keys[image]] = [_target(one, number) for one in own if one.present] or None
        for one in own:
            if not one.present:
                counter.add(f"{one.tag!r} of {image!r}", "FiftyOne has no absences: left out")
    if pictures is not None:
        _write_manifest(annotations.images, pictures, labels.with_name(_MANIFEST))
    save_json({"classes": list(annotations.tags), "labels": targets}, labels)
    return counter.warnings()


def _target(one: base.Annotation, number: dict[str, int]) -> int | dict[str, Any]:
    if one.confidence is None:
        return number[one.tag]
    return {"label": number[one.tag], "confidence": one.confidence}


def _keys(images: Iterable[str]) -> dict[str, str]:
    table = {image: _key(image) for image in images}
    same = clashing(table)
    if same:
        raise InvalidInputError(
            "FiftyOne names pictures without their extension, so these cannot be distinguished: "
            f"{some_of(same)}. Rename them or write them to files of their own."
        )
    return table


def _key(image: str) -> str:
    """Return the key of a picture: absolute names as they are, others without extension."""
    return image if posixpath.isabs(image) else posixpath.normpath(without_extension(image))


def _write_manifest(images: Iterable[str], pictures: Path, manifest: Path) -> None:
    """Write the path of each picture; absolute names need none."""
    if manifest.exists():
        for _, place in JsonValue(load_json(manifest), manifest).fields():
            # Refuse to overwrite another file of this common name.
            place.text()
    relative = [image for image in images if not posixpath.isabs(image)]
    save_json({image: os.fspath(pictures.absolute() / image) for image in relative}, manifest)
