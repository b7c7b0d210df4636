"""FiftyOne's image classification sets: `labels.json`, with many classifications a picture."""

import os
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tagloom.errors import InvalidInputError
from tagloom.formats.annotations import (
    Annotation,
    AnnotationBuilder,
    Annotations,
    InputWarning,
    Reading,
)
from tagloom.formats.interchange.parsing import Place, Tally, head_of, load_json, save_json
from tagloom.formats.matching import Names, refuse_unwritable, with_slashes, without_ending
from tagloom.validation import some_of

_LABELS = "labels.json"
_MANIFEST = "data.json"
_START = re.compile(r'\s*\{\s*"(?:classes"\s*:\s*(?:\[|null)|labels"\s*:\s*\{)')


def is_fiftyone(path: Path) -> bool:
    """Say whether a file, or `labels.json` in a folder, begins as FiftyOne writes it."""
    return bool(_START.match(head_of(_labels_file(path))))


def read_fiftyone(path: Path, pictures: Path | None = None) -> Reading:
    """Read a FiftyOneImageClassificationDataset.

    A target is null, a class (its number or its name), an object with `label` and `confidence`, or
    a list of those. What has a confidence is a machine's.

    Pictures stand there without their extension. It is found in the manifest `data.json` beside
    the labels, else in `pictures`, else in the folder `data` beside the labels; where none of them
    has the picture, its name stays without.

    Parameters
    ----------
    path
        `labels.json` or the folder it lies in.
    pictures
        The folder with the pictures.

    Raises
    ------
    InvalidInputError
        If the file is no JSON or a target is of another kind. Numbers of classes that do not
        exist are left out and remarked on.
    """
    labels = _labels_file(path)
    whole = Place(load_json(labels), labels)
    classes = [place.text() for place in whole.listed("classes")]
    builder, tally = AnnotationBuilder(tags=dict.fromkeys(classes)), Tally()
    finder = _Finder(labels.parent, pictures)
    for key, target in whole.field("labels").fields():
        image = finder.find(key, target, tally)
        builder.images.setdefault(image)
        targets = target.items() if isinstance(target.value, list) else [target]
        for one in targets:
            said = None if one.value is None else _said(one, image, classes, tally)
            if said is not None:
                builder.add(said, one.where)
    tally.into(builder)
    return builder.finish(path, "FiftyOne labels.json", lists_absences=False, names=finder.source)


def write_fiftyone(
    annotations: Annotations, path: Path, *, pictures: Path | None = None
) -> list[InputWarning]:
    """Write `labels.json` as FiftyOne reads it; return what could not be said in it.

    No picture is copied. With `pictures`, a manifest `data.json` is written beside the labels that
    says where each picture lies; FiftyOne takes it by ``data_path="data.json"``. Without, its
    `data_path` must be the folder with the pictures. Absences cannot be said in this format and
    are left out.

    Parameters
    ----------
    annotations
        What is said.
    path
        The file, usually named `labels.json`, or a folder for it.
    pictures
        The folder with the pictures.
    """
    refuse_unwritable(annotations)
    labels = _labels_file(path)
    keys = _keys(annotations.images)
    number = {tag: place for place, tag in enumerate(annotations.tags)}
    tally = Tally()
    targets: dict[str, list[Any] | None] = {}
    for image, said in annotations.by_image().items():
        targets[keys[image]] = [_target(one, number) for one in said if one.present] or None
        for one in said:
            if not one.present:
                tally.add(f"{one.tag!r} of {image!r}", "FiftyOne has no absences: left out")
    if pictures is not None:
        _write_manifest(annotations.images, pictures, labels.with_name(_MANIFEST))
    save_json({"classes": list(annotations.tags), "labels": targets}, labels)
    return tally.warnings()


def _write_manifest(images: Iterable[str], pictures: Path, manifest: Path) -> None:
    """Say where each picture lies; absolute names say so themselves."""
    if manifest.exists():
        for _, place in Place(load_json(manifest), manifest).fields():
            # Something else of this common name would be lost.
            place.text()
    relative = [image for image in images if not posixpath.isabs(image)]
    save_json({image: os.fspath(pictures.absolute() / image) for image in relative}, manifest)


def _labels_file(path: Path) -> Path:
    return path / _LABELS if path.is_dir() else path


def _key(image: str) -> str:
    """Return a picture's name as FiftyOne asks for it: absolute ones whole, others cut."""
    return image if posixpath.isabs(image) else posixpath.normpath(without_ending(image))


def _keys(images: Iterable[str]) -> dict[str, str]:
    table = {image: _key(image) for image in images}
    owner: dict[str, list[str]] = {}
    for image, key in table.items():
        owner.setdefault(key, []).append(image)
    clashing = [image for group in owner.values() if len(group) > 1 for image in group]
    if clashing:
        raise InvalidInputError(
            f"FiftyOne names pictures without their extension, by which these cannot be told "
            f"apart: {some_of(clashing)}. Rename them or write them to files of their own."
        )
    return table


def _target(one: Annotation, number: dict[str, int]) -> int | dict[str, Any]:
    if one.confidence is None:
        return number[one.tag]
    return {"label": number[one.tag], "confidence": one.confidence}


def _said(place: Place, image: str, classes: list[str], tally: Tally) -> Annotation | None:
    confidence: float | None = None
    label = place
    if isinstance(place.value, dict):
        label = place.field("label")
        if place.has("confidence"):
            confidence = place.field("confidence").probability()
            if confidence is None:
                tally.add(place.where, "a confidence is not from 0 to 1: left out")
                return None
        if place.value.get("attributes"):
            tally.add(place.where, "attributes are not read")
    tag = _tag(label, classes, tally)
    return None if tag is None else Annotation(image, tag, True, confidence)


def _tag(place: Place, classes: list[str], tally: Tally) -> str | None:
    if isinstance(place.value, str):
        return place.text()
    if isinstance(place.value, bool) or not isinstance(place.value, int):
        place.refuse("the number or the name of a class")
    if 0 <= place.value < len(classes):
        return classes[place.value]
    tally.add(place.where, "no class has this number: left out")
    return None


class _Finder:
    """Finds the extension of a picture."""

    def __init__(self, home: Path, pictures: Path | None) -> None:
        self._manifest: dict[str, str] = {}
        manifest, data = home / _MANIFEST, home / "data"
        self.source = "as written"
        if manifest.is_file():
            self.source = _MANIFEST
            listed = Place(load_json(manifest), manifest).fields()
            self._manifest = {_key(name): with_slashes(name) for name, _ in listed}
        elif pictures is None and data.is_dir():
            pictures = data
        if pictures is not None:
            self.source = f"{self.source}, {pictures}" if self._manifest else str(pictures)
        self._names = Names(pictures)

    def find(self, key: str, place: Place, tally: Tally) -> str:
        if not key:
            place.refuse("a picture's name as key")
        if posixpath.isabs(key):
            return key
        found = self._manifest.get(key) or self._names.of_stem(key)
        if found is None:
            tally.add(place.where, "no one picture was found for it: its name has no extension")
        return found or with_slashes(key)
