"""Export the tags of a finished run to the formats of other programs."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tagloom.completion.feedback import Place, answers_in_tables, decided, threshold_of
from tagloom.completion.model import CompletionModel
from tagloom.completion.outputs import MODEL, SUGGESTIONS, read_record
from tagloom.completion.pipeline import settled_states
from tagloom.completion.suggestions import TagState, read_suggestions
from tagloom.formats import (
    Annotation,
    Annotations,
    InputWarning,
    write_coco,
    write_fiftyone,
    write_jsonl,
    write_label_studio,
    write_long_csv,
)
from tagloom.formats.metadata.sidecars import SidecarPlan, plan_sidecars
from tagloom.labels import PartialLabels, State
from tagloom.validation import check_choice

JOURNAL = "sidecars.journal"


@dataclass(frozen=True)
class Exported:
    """What was written, and what the format could not hold."""

    files: list[Path]
    n_images: int
    n_tags: int
    lost: list[InputWarning] = field(default_factory=list)


def finished_tags(
    out: Path, *, states: Collection[str] = ("known", "suggested"), at_least: float = 0.0
) -> Annotations:
    """Return the tags of a finished run: known ones, and suggestions with their probability.

    Known absences are included. A suspected error remains a known tag. What was accepted in a
    review is known to be present, and what was rejected is known to be absent.
    """
    for state in states:
        check_choice("state", state, ("known", "suggested"))
    read_record(out)
    # The model holds the annotations of every label; the table holds the suggestions.
    model = CompletionModel.load(out / MODEL)
    known = model.known
    items = [str(item) for item in known.items or ()]
    review, there = _answered(out), set(items)
    judged = {(one.image, one.tag) for one in review}
    overruled = judged | review.undecided
    annotations: list[Annotation] = []
    if "known" in states:
        annotations += [
            one for one in _as_annotations(known, items) if (one.image, one.tag) not in overruled
        ]
        annotations += [one for one in review if one.image in there]
    if "suggested" in states:
        suggested = _suggested(out, model, review.undecided)
        ours = [one for one in suggested if (one.image, one.tag) not in judged]
        annotations += [one for one in ours if (one.confidence or 0) >= at_least]
    return Annotations.of(annotations, images=items, tags=map(str, known.labels))


def _answered(out: Path) -> Annotations:
    """Return the decisions of the review, and what people wrote into the tables besides."""
    review = decided(out)
    judged = {(one.image, one.tag) for one in review} | review.undecided
    in_tables = [
        Annotation(*place, present)
        for place, present in answers_in_tables(out).items()
        if place not in judged
    ]
    return Annotations.of([*review, *in_tables], undecided=review.undecided)


def _as_annotations(known: PartialLabels, items: list[str]) -> list[Annotation]:
    entries = known.entries()
    return [
        Annotation(items[row], str(known.labels[column]), bool(present))
        for row, column, present in zip(entries.rows, entries.columns, entries.present, strict=True)
    ]


def _suggested(out: Path, model: CompletionModel, undecided: Collection[Place]) -> list[Annotation]:
    """Return the suggestions, including those that decisions since withdrawn had replaced."""
    threshold = threshold_of(out)
    if threshold is not None:
        return _from_threshold(model, threshold, undecided)
    thresholds = dict(zip(map(str, model.tagger.classes_), model.thresholds, strict=True))
    return [
        Annotation(row.image, row.tag, True, row.probability)
        for row in read_suggestions(out / SUGGESTIONS)
        if row.state == TagState.SUGGESTED.text
        or (
            (row.image, row.tag) in undecided
            and row.probability >= thresholds.get(row.tag, math.inf)
        )
    ]


def _from_threshold(
    model: CompletionModel, threshold: float, undecided: Collection[Place]
) -> list[Annotation]:
    """Return the open entries from a probability on, which was chosen in the review."""
    P = model.open_probabilities()
    items = [str(item) for item in model.tagger.items_]
    labels = [str(label) for label in model.tagger.classes_]
    is_open = settled_states(model.known.select(model.tagger.classes_)) == int(State.UNKNOWN)
    return [
        Annotation(items[row], labels[column], True, float(P[row, column]))
        for row, column in np.argwhere(threshold <= P).tolist()
        if is_open[row, column] or (items[row], labels[column]) in undecided
    ]


def export(annotations: Annotations, form: str, to: Path, photos: Path) -> Exported:
    """Write tags in a format; for sidecars see `planned_sidecars`."""
    check_choice("to", form, tuple(_WRITERS))
    files, lost = _WRITERS[form](annotations, to, photos)
    return Exported(files, len(annotations.images), len(annotations), lost)


def planned_sidecars(annotations: Annotations, photos: Path) -> SidecarPlan:
    """Plan to add all present tags to the sidecars of their pictures."""
    tags: dict[str, list[str]] = {}
    for one in annotations:
        if one.present:
            tags.setdefault(one.image, []).append(one.tag)
    return plan_sidecars(photos, tags)


Written = tuple[list[Path], list[InputWarning]]


def _csv(annotations: Annotations, to: Path, photos: Path) -> Written:
    write_long_csv(annotations, to)
    return [to], []


def _jsonl(annotations: Annotations, to: Path, photos: Path) -> Written:
    write_jsonl(annotations, to)
    return [to], []


def _coco(annotations: Annotations, to: Path, photos: Path) -> Written:
    return [to], write_coco(annotations, to, pictures=_if_there(photos))


def _fiftyone(annotations: Annotations, to: Path, photos: Path) -> Written:
    to.mkdir(parents=True, exist_ok=True)
    lost = write_fiftyone(annotations, to, pictures=_if_there(photos))
    return sorted(to.glob("*.json")), lost


def _label_studio(annotations: Annotations, to: Path, photos: Path) -> Written:
    return [to, write_label_studio(annotations, to)], []


def _if_there(photos: Path) -> Path | None:
    return photos if photos.is_dir() else None


_WRITERS: dict[str, Callable[[Annotations, Path, Path], Written]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "coco": _coco,
    "fiftyone": _fiftyone,
    "label-studio": _label_studio,
}
FORMS: dict[str, Any] = {
    "csv": "tags.csv",
    "jsonl": "tags.jsonl",
    "coco": "coco.json",
    "fiftyone": "fiftyone",
    "label-studio": "label-studio.json",
}
"""Where each form is written in the folder of a run, if no other place is named."""
