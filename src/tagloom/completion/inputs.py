"""What a completion is given: options, pictures and tags, with warnings about what is odd."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.completion.result import Issue
from tagloom.errors import InvalidInputError
from tagloom.formats import (
    Annotation,
    AnnotationBuilder,
    Annotations,
    Matched,
    Reading,
    match,
    read_tags,
)
from tagloom.formats.metadata import embedded, folders, sidecars
from tagloom.formats.registry import FORMATS
from tagloom.labels import PartialLabels
from tagloom.validation import check_choice, check_integer, check_number, some_of
from tagloom.vision import Encoder, Features, embed
from tagloom.words import Vocabulary

_MOST_FOLDS = 100
UNTAGGED = ("auto", "seen", "unseen")


@dataclass(frozen=True)
class Options:
    """How to complete a collection.

    Parameters
    ----------
    unlisted : "unknown", "absent" or float in (0, 1]
        What it means that a tag is not on a picture's list; a number is the weight with which it is
        absent. With "unknown" it stays open to suggestions. Where hardly any absences are annotated
        the learner treats unlisted tags as absent, as PU learning does, and the probabilities allow
        for forgotten tags.
    untagged : {"auto", "seen", "unseen"}
        Whether somebody has looked at the pictures without any tag. "auto" trains on them as seen
        unless there are many more of them than forgetting single tags would explain, and does not
        take their tags for less probable because they are not listed.
    precision : float in (0, 1), optional
        Share of the suggestions that shall be right; otherwise everything is suggested that is more
        likely right than wrong.
    label_frequency : float in (0, 1], optional
        Share of the presences that are listed, c in PU learning, the same for all labels; estimated
        for each label where it is not given.
    max_minutes : float
        The parameter search starts no new candidate after this time.
    min_pictures : int
        Labels on fewer pictures are learned only if their names mean concepts of the encoder, with
        few and cautious suggestions.
    cv : int
        Number of folds by which the result is measured.
    annotate_next : int
        How many entries to propose for annotation.
    random_state : int
    words : bool
        Whether the names of tags count: in the learner, and where a listed tag makes probable what
        its name implies (a man is a person).
    vocabulary : Vocabulary
        Aliases are read as the tags that they are names of, ignored tags are kept but not
        learned, and added tags are suggested although no picture has them yet.
    """

    unlisted: str | float = "unknown"
    untagged: str = "auto"
    precision: float | None = None
    label_frequency: float | None = None
    max_minutes: float = 15.0
    min_pictures: int = 3
    cv: int = 3
    annotate_next: int = 50
    random_state: int = 0
    words: bool = True
    vocabulary: Vocabulary = field(default_factory=Vocabulary)

    def __post_init__(self) -> None:
        object.__setattr__(self, "unlisted", parse_unlisted(self.unlisted))
        check_choice("untagged", self.untagged, UNTAGGED)
        if self.precision is not None:
            check_number("precision", self.precision, low=0, high=1, inclusive=False)
            if self.precision == 1:
                raise InvalidInputError("precision must be below 1: nothing is ever certain.")
        if self.label_frequency is not None:
            check_number("label_frequency", self.label_frequency, low=0, high=1, inclusive=False)
        check_number("max_minutes", self.max_minutes, low=0)
        check_integer("min_pictures", self.min_pictures, at_least=2)
        check_integer("cv", self.cv, at_least=2)
        if self.cv > _MOST_FOLDS:
            raise InvalidInputError(
                f"cv must be at most {_MOST_FOLDS}: every fold is a fit of its own; got {self.cv}."
            )
        check_integer("annotate_next", self.annotate_next, at_least=0)
        check_integer("random_state", self.random_state, at_least=0)

    def metadata(self) -> dict[str, Any]:
        """Return the options as JSON values."""
        return asdict(self) | {"vocabulary": self.vocabulary.metadata()}

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> "Options":
        """Return the options that `metadata` was made from."""
        values = {one.name: metadata[one.name] for one in fields(cls)}
        return cls(**values | {"vocabulary": Vocabulary.of(metadata["vocabulary"])})


def parse_unlisted(value: str | float) -> str | float:
    """Return the meaning of unlisted tags: a word, or a weight.

    >>> parse_unlisted("0.2"), parse_unlisted("absent")
    (0.2, 'absent')
    """
    if value in ("unknown", "absent"):
        return value
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = -1.0
    if not 0 < weight <= 1:
        raise InvalidInputError(
            f"unlisted must be 'unknown', 'absent' or a weight in (0, 1]; got {value!r}."
        )
    return weight


@dataclass(frozen=True, eq=False)
class TagsRead:
    """The annotations of all sources together, under the names of the pictures."""

    annotations: Annotations
    readings: list[Reading]
    matched: Matched
    warnings: list[Issue]
    n_contradictions: int
    """Within sources, between them, and between several names of one picture."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """The features of the pictures that could be read, and those that could not."""

    folder: Path
    features: Features
    skipped: list[Issue]
    encoder: Encoder | None = None
    """None where the features come from a model."""


def read_sources(
    sources: Sequence[Path],
    photos: Path,
    pictures: Sequence[str],
    tag_format: str | None,
    vocabulary: Vocabulary | None = None,
    *,
    own: bool = True,
) -> TagsRead:
    """Read all sources, name tags as the vocabulary does and match names with the pictures.

    Without any source the tags are those in the folder of the pictures, unless `own` is False.
    """
    readings = [read_tags(source, pictures=photos, format=tag_format) for source in sources]
    if not sources and own:
        readings = [_own_tags(photos, tag_format)]
    if vocabulary is not None:
        readings = [
            replace(one, annotations=under_vocabulary(one.annotations, vocabulary))
            for one in readings
        ]
    builder = AnnotationBuilder()
    for reading in readings:
        for one in reading.annotations:
            builder.add(one, str(reading.source))
        builder.images |= dict.fromkeys(reading.annotations.images)
        builder.tags |= dict.fromkeys(reading.annotations.tags)
        for image, tag in reading.annotations.undecided:
            builder.leave_undecided(image, tag)
    if vocabulary is not None:
        builder.tags |= dict.fromkeys(vocabulary.added)
    joined = builder.finish(photos, "several", lists_absences=True)
    matched = match(joined.annotations, pictures)
    # Sources may contradict each other as well as several names of one picture.
    matched = replace(matched, contradictions=joined.contradictions + matched.contradictions)
    if joined.annotations.images and not matched.annotations.images:
        raise InvalidInputError(
            f"None of the {len(joined.annotations.images):,} pictures that have tags is in "
            f"{photos}. Tags are of {some_of(joined.annotations.images, 3)}; pictures are "
            f"{some_of(pictures, 3)}. Names must be those of the files, with or without folders."
        )
    warnings = [Issue(*one) for reading in readings for one in reading.warnings]
    contradictions = [one for reading in readings for one in reading.contradictions]
    warnings += [Issue(*one) for one in contradictions]
    return TagsRead(
        matched.annotations,
        readings,
        matched,
        warnings + _name_warnings(matched),
        len(contradictions) + len(matched.contradictions),
    )


def _own_tags(photos: Path, tag_format: str | None) -> Reading:
    """Read the tags in a folder of pictures: its table, else the keywords in and beside them.

    Names of folders are tags only where that is asked for.
    """
    keywords = (sidecars.FORMAT.key, embedded.FORMAT.key, folders.FORMAT.key)
    detected = next((one.key for one in FORMATS if one.detect(photos)), folders.FORMAT.key)
    found = folders.KEYWORDS_FORMAT.key if detected in keywords else detected
    reading = read_tags(photos, pictures=photos, format=tag_format or found)
    if not len(reading.annotations):
        raise InvalidInputError(
            f"There are no keywords in or beside the pictures in {photos}, so there is nothing to "
            "learn from. Name a file with tags by --tags, or take the names of folders as tags "
            "with --format folders."
        )
    return reading


def under_vocabulary(annotations: Annotations, vocabulary: Vocabulary) -> Annotations:
    """Return annotations with every alias replaced by its tag.

    Where several names of a tag are annotated, a person's word counts for more than a machine's,
    and the presence of one name for more than the absence of another: a table that has both "plane"
    and "airplane" means that the picture was called one of them.
    """
    aliases = vocabulary.aliases
    if not aliases.keys() & set(annotations.tags):
        return annotations
    found: dict[tuple[str, str], Annotation] = {}
    for one in annotations:
        own = one._replace(tag=aliases.get(one.tag, one.tag))
        key = (own.image, own.tag)
        found[key] = max(found.get(key, own), own, key=_says)
    left_open = {(image, aliases.get(tag, tag)) for image, tag in annotations.undecided}
    return Annotations.of(
        found.values(),
        images=annotations.images,
        tags=(aliases.get(tag, tag) for tag in annotations.tags),
        undecided=left_open,
    )


def labels_under_vocabulary(labels: PartialLabels, vocabulary: Vocabulary) -> PartialLabels:
    """Return labels with the columns of aliases joined to those of their tags.

    The presence of one name counts for more than the absence of another, and what is known of one
    for more than what is not.
    """
    aliases = vocabulary.aliases
    names = [aliases.get(str(label), label) for label in labels.labels]
    if names == list(labels.labels):
        return labels
    merged = list(dict.fromkeys(names))
    place = np.array([merged.index(name) for name in names], dtype=np.int64)
    entries = labels.entries()
    # Of repeated entries the first is kept: presences come first.
    order = np.argsort(~entries.present, kind="stable")
    rows, columns = entries.rows[order], place[entries.columns[order]]
    kept = np.unique(rows * len(merged) + columns, return_index=True)[1]
    shape = (labels.n_items, len(merged))
    joined = PartialLabels.from_entries(
        rows[kept],
        columns[kept],
        entries.present[order][kept],
        shape=shape,
        weights=entries.weights[order][kept],
        labels=merged,
        items=labels.items,
        unlisted_weight=labels.unlisted_weight,
    )
    hidden_rows, hidden_columns = labels.hidden_entries()
    n_hidden = np.zeros(shape, dtype=np.int64)
    np.add.at(n_hidden, (hidden_rows, place[hidden_columns]), 1)
    unknown = n_hidden == np.bincount(place, minlength=len(merged))
    unknown[rows, columns] = False
    return joined.with_hidden(*np.nonzero(unknown)) if labels.unlisted_weight else joined


def _says(one: Annotation) -> tuple[bool, bool, float]:
    return one.confidence is None, one.present, one.confidence or 0.0


def encode_pictures(
    photos: Path, encoder: Encoder | None, cache: Path | None, *, verbose: bool
) -> Pictures:
    """Encode all pictures of a folder, or take their features from the cache."""
    done = embed(photos, encoder, cache=cache, verbose=verbose)
    skipped = [Issue(one.item, one.reason) for one in done.summary.skipped]
    if not done.summary.ready:
        raise _no_pictures(photos, skipped)
    features = done.features()
    kept = np.array([_is_utf8(item) for item in features.items], dtype=bool)
    skipped += [
        Issue(_shown(item), "its name is not UTF-8: rename it")
        for item, named in zip(features.items, kept, strict=True)
        if not named
    ]
    if not kept.any():
        raise _no_pictures(photos, skipped)
    return Pictures(photos, _select(features, kept), skipped, done.encoder)


def known_labels(items: Sequence[str], annotations: Annotations, options: Options) -> PartialLabels:
    """Return the annotations of the pictures that could be read.

    The meaning of unlisted tags applies to pictures that a source mentions, and to tags that one
    lists. Nothing is known of the others.
    """
    known = annotations.to_labels(items, options.unlisted)
    if not known.unlisted_weight:
        return known
    mentioned, listed = set(annotations.images), known.entries()
    hidden = np.zeros(known.shape, dtype=bool)
    hidden[[r for r, item in enumerate(items) if item not in mentioned]] = True
    n_listed = np.bincount(listed.columns, minlength=known.n_labels)
    added = [str(label) in options.vocabulary.added for label in known.labels]
    hidden[:, (n_listed == 0) & added] = True
    return known.with_hidden(*np.nonzero(hidden))


def input_summary(tags: TagsRead, pictures: Pictures, known: PartialLabels) -> dict[str, Any]:
    """Return the numbers that describe the inputs, in the order in which they are shown."""
    entries = known.entries()
    n_present = int(entries.present.sum())
    items = set(pictures.features.items)
    return {
        "pictures": len(pictures.features.items),
        "pictures skipped": len(pictures.skipped),
        "pictures with tags": int(np.unique(entries.rows).size),
        "labels": known.n_labels,
        "known tags": n_present,
        "known absences": len(entries.present) - n_present,
        "duplicate annotations": sum(reading.duplicates for reading in tags.readings),
        "contradictions": tags.n_contradictions,
        "tagged pictures that are missing": len(tags.matched.missing),
        "tagged pictures that could not be read": sum(
            image not in items for image in tags.annotations.images
        ),
    }


def _no_pictures(photos: Path, skipped: Sequence[Issue]) -> InvalidInputError:
    why = some_of([f"{one.name}: {one.reason}" for one in skipped])
    return InvalidInputError(
        f"There is no readable picture in {photos} ({why})."
        if skipped
        else f"There are no pictures in {photos}."
    )


def _is_utf8(name: str) -> bool:
    """Return whether a file can hold the name; the system allows names of any bytes."""
    return name == _shown(name)


def _shown(name: str) -> str:
    return name.encode("utf-8", "replace").decode("utf-8")


def _select(features: Features, kept: npt.NDArray[np.bool_]) -> Features:
    if kept.all():
        return features
    items = [item for item, named in zip(features.items, kept, strict=True) if named]
    return Features(
        items, features.visual[kept], features.posteriors[kept], list(features.concepts)
    )


def _name_warnings(matched: Matched) -> list[Issue]:
    found = [Issue(name, "there is no such picture") for name in matched.missing]
    found += [
        Issue(name, f"it could be each of {some_of(pictures)}: not used")
        for name, pictures in matched.ambiguous.items()
    ]
    found += [
        Issue(picture, f"several names mean it: {some_of(names)}")
        for picture, names in matched.merged.items()
    ]
    return found + [Issue(*one) for one in matched.contradictions]
