"""What goes in: pictures, tags, and an account of everything that is odd about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.completion.options import Options
from tagloom.completion.result import Left
from tagloom.errors import InvalidInputError
from tagloom.formats import AnnotationBuilder, Annotations, Matched, Reading, match, read_tags
from tagloom.labels import PartialLabels
from tagloom.validation import some_of
from tagloom.vision import Encoder, Features, embed


@dataclass(frozen=True, eq=False)
class TagsRead:
    """What sources say together, under the names of the pictures."""

    annotations: Annotations
    readings: list[Reading]
    matched: Matched
    warnings: list[Left]
    n_contradictions: int
    """Within sources, between them, and between names that mean the same picture."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures that could be looked at, and those that could not."""

    folder: Path
    features: Features
    skipped: list[Left]
    encoder: Encoder | None = None
    """Who looked at them; None where they were looked at long ago."""


def read_sources(
    sources: Sequence[Path], photos: Path, pictures: Sequence[str], tag_format: str | None
) -> TagsRead:
    """Read all sources and match their names with the pictures."""
    if not sources:
        raise InvalidInputError("There are no tags to learn from: name a file or folder.")
    readings = [read_tags(source, pictures=photos, format=tag_format) for source in sources]
    builder = AnnotationBuilder()
    for reading in readings:
        for one in reading.annotations:
            builder.add(one, str(reading.source))
        builder.images |= dict.fromkeys(reading.annotations.images)
        builder.tags |= dict.fromkeys(reading.annotations.tags)
        for image, tag in reading.annotations.undecided:
            builder.leave_undecided(image, tag)
    joined = builder.finish(sources[0], "several", lists_absences=True)
    matched = match(joined.annotations, pictures)
    # What sources say against each other is as much of a contradiction as what names do.
    matched = replace(matched, contradictions=joined.contradictions + matched.contradictions)
    if joined.annotations.images and not matched.annotations.images:
        raise InvalidInputError(
            f"None of the {len(joined.annotations.images):,} pictures that have tags is in "
            f"{photos}. Tags are of {some_of(joined.annotations.images, 3)}; pictures are "
            f"{some_of(pictures, 3)}. Names must be those of the files, with or without folders."
        )
    warnings = [Left(*one) for reading in readings for one in reading.warnings]
    contradictions = [one for reading in readings for one in reading.contradictions]
    warnings += [Left(*one) for one in contradictions]
    return TagsRead(
        matched.annotations,
        readings,
        matched,
        warnings + _odd_names(matched),
        len(contradictions) + len(matched.contradictions),
    )


def look_at(
    photos: Path, encoder: Encoder | None, cache: Path | None, *, show_progress: bool
) -> Pictures:
    """Look at all pictures of a folder, or remember them."""
    done = embed(photos, encoder, cache=cache, show_progress=show_progress)
    skipped = [Left(one.item, one.reason) for one in done.summary.skipped]
    if not done.summary.ready:
        raise _no_pictures(photos, skipped)
    features = done.features()
    kept = np.array([_is_utf8(item) for item in features.items], dtype=bool)
    skipped += [
        Left(_shown(item), "its name is not UTF-8: rename it")
        for item, named in zip(features.items, kept, strict=True)
        if not named
    ]
    if not kept.any():
        raise _no_pictures(photos, skipped)
    return Pictures(photos, _some_of_them(features, kept), skipped, done.encoder)


def said_of(items: Sequence[str], annotations: Annotations, options: Options) -> PartialLabels:
    """Return what people have said of pictures that could be looked at.

    What an unlisted tag means holds for pictures that a source speaks of. Of the others nothing is
    known.
    """
    said = annotations.to_labels(items, options.unlisted)
    if not said.unlisted_weight:
        return said
    spoken_of = set(annotations.images)
    rows = np.array([r for r, item in enumerate(items) if item not in spoken_of], dtype=np.int64)
    return said.with_hidden(
        np.repeat(rows, said.n_labels), np.tile(np.arange(said.n_labels), len(rows))
    )


def account_of(tags: TagsRead, pictures: Pictures, said: PartialLabels) -> dict[str, Any]:
    """Return what was found, in numbers for people."""
    entries = said.entries()
    n_present = int(entries.present.sum())
    items = set(pictures.features.items)
    return {
        "pictures": len(pictures.features.items),
        "pictures skipped": len(pictures.skipped),
        "pictures with tags": int(np.unique(entries.rows).size),
        "labels": said.n_labels,
        "tags given": n_present,
        "tags denied": len(entries.present) - n_present,
        "said twice": sum(reading.duplicates for reading in tags.readings),
        "contradictions": tags.n_contradictions,
        "tagged pictures that are not there": len(tags.matched.missing),
        "tagged pictures that could not be read": sum(
            image not in items for image in tags.annotations.images
        ),
    }


def _no_pictures(photos: Path, skipped: Sequence[Left]) -> InvalidInputError:
    why = some_of([f"{one.name}: {one.reason}" for one in skipped])
    return InvalidInputError(
        f"There is no readable picture in {photos} ({why})."
        if skipped
        else f"There are no pictures in {photos}."
    )


def _is_utf8(name: str) -> bool:
    """Say whether a file can hold the name; the system's own names may be any bytes."""
    return name == _shown(name)


def _shown(name: str) -> str:
    return name.encode("utf-8", "replace").decode("utf-8")


def _some_of_them(features: Features, kept: npt.NDArray[np.bool_]) -> Features:
    if kept.all():
        return features
    items = [item for item, named in zip(features.items, kept, strict=True) if named]
    return Features(
        items, features.visual[kept], features.posteriors[kept], list(features.concepts)
    )


def _odd_names(matched: Matched) -> list[Left]:
    odd = [Left(name, "there is no such picture") for name in matched.missing]
    odd += [
        Left(name, f"it could be each of {some_of(found)}: not used")
        for name, found in matched.ambiguous.items()
    ]
    odd += [
        Left(picture, f"several names mean it: {some_of(names)}")
        for picture, names in matched.merged.items()
    ]
    return odd + [Left(*one) for one in matched.contradictions]
