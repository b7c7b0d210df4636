"""Export the tags of a finished run to the formats of other programs.

What people gave, accepted and rejected is written; suggestions only where they are asked for, and
marked as such.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.completion.feedback import FILE as REVIEW
from tagloom.completion.feedback import (
    Place,
    answers_in_tables,
    as_mapping,
    decided,
    threshold_of,
)
from tagloom.completion.folder import claim
from tagloom.completion.outputs import MODEL, NAMES, SUGGESTIONS, read_record
from tagloom.completion.suggestions import TagState, read_suggestions
from tagloom.errors import InvalidInputError
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
from tagloom.formats.metadata.changes import UndoReport, apply_changes, undo_changes
from tagloom.formats.metadata.embedded import embedded_tags
from tagloom.formats.metadata.exiftool import ExifTool, PicturePlan, plan_pictures
from tagloom.formats.metadata.sidecars import SidecarFinder, SidecarPlan, plan_sidecars
from tagloom.formats.metadata.xmp_merge import Keywords
from tagloom.labels import State
from tagloom.validation import check_choice, check_number
from tagloom.vision import find_pictures

if TYPE_CHECKING:
    from tagloom.completion.model import CompletionModel

FORMS = {
    "csv": "tags.csv",
    "jsonl": "tags.jsonl",
    "coco": "coco.json",
    "fiftyone": "fiftyone",
    "label-studio": "label-studio.json",
}
"""Where each form is written in the folder of a run, if no other place is named."""
JOURNALS = {"xmp": "sidecars.journal", "pictures": "pictures.journal"}
"""Forms that change files of the owner, and the journals by which they are undone."""


class Counts(NamedTuple):
    """How many tags are exported."""

    pictures: int
    """Pictures with a tag."""
    known: int
    """Tags that the lists hold."""
    accepted: int
    """Tags that people accepted or added since."""
    rejected: int
    """Tags that people rejected or removed since: written as absent, or removed."""
    suggested: int


@dataclass(frozen=True, eq=False)
class FinishedTags:
    """The tags of a finished run.

    Attributes
    ----------
    annotations : Annotations
        Presences and absences that people gave, and the suggestions that were asked for.
    answers : dict from (image, tag) to bool
        What people accepted and rejected, apart from the lists: True for present.
    aliases : mapping from str to str
        Other names of tags, which files may hold.
    """

    annotations: Annotations
    answers: dict[Place, bool]
    aliases: Mapping[str, str]

    @cached_property
    def counts(self) -> Counts:
        """How many tags there are of each kind."""
        present = [one for one in self.annotations if one.present]
        by_people = [(one.image, one.tag) for one in present if one.confidence is None]
        accepted = sum(self.answers.get(place, False) for place in by_people)
        return Counts(
            len({one.image for one in present}),
            len(by_people) - accepted,
            accepted,
            sum(not is_present for is_present in self.answers.values()),
            len(present) - len(by_people),
        )

    def keywords(self) -> dict[str, Keywords]:
        """Return what the keywords of each picture shall be.

        Absences in the lists are no reason to remove a keyword; a rejection is.
        """
        names: dict[str, list[str]] = {}
        for alias, tag in self.aliases.items():
            names.setdefault(tag, []).append(alias)
        rejected: dict[str, list[str]] = {}
        for (image, tag), is_present in self.answers.items():
            if not is_present:
                rejected.setdefault(image, []).extend([tag, *names.get(tag, ())])
        found = {}
        for image, of_image in self.annotations.by_image().items():
            present = [one for one in of_image if one.present]
            found[image] = Keywords(
                [one.tag for one in present if one.confidence is None],
                {one.tag: one.confidence for one in present if one.confidence is not None},
                rejected.get(image, ()),
            )
        return found


def finished_tags(out: Path, *, suggested: float | None = None) -> Annotations:
    """Return the tags of a finished run; see `read_finished`."""
    return read_finished(out, suggested=suggested).annotations


def read_finished(out: Path, *, suggested: float | None = None) -> FinishedTags:
    """Return what is known of the pictures of a finished run.

    Known absences are included. A suspected error remains a known tag. What was accepted in a
    review is known to be present, and what was rejected is known to be absent.

    Parameters
    ----------
    out : path of the folder of the run
    suggested : float in [0, 1], optional
        Include suggestions with at least this probability; none by default.
    """
    if suggested is not None:
        check_number("suggested", suggested, low=0, high=1)
    read_record(out)
    # The model holds the annotations of every label; the table holds the suggestions.
    # Imported late: the review page starts without it.
    from tagloom.completion.model import CompletionModel

    model = CompletionModel.load(out / MODEL)
    items = [str(item) for item in model.known.items or ()]
    review, there = _answered(out), set(items)
    judged = {(one.image, one.tag) for one in review}
    overruled = judged | review.undecided
    known = {p: present for p, present in as_mapping(model.known).items() if p not in overruled}
    known |= {(one.image, one.tag): one.present for one in review if one.image in there}
    annotations = [Annotation(*place, present) for place, present in known.items()]
    if suggested is not None:
        ours = _suggested(out, model, review.undecided)
        annotations += [
            one
            for one in ours
            if (one.image, one.tag) not in judged and (one.confidence or 0) >= suggested
        ]
    feedback = as_mapping(model.feedback)
    lists = {p: present for p, present in as_mapping(model.known).items() if p not in feedback}
    return FinishedTags(
        Annotations.of(annotations, images=items, tags=map(str, model.known.labels)),
        {place: present for place, present in known.items() if lists.get(place) != present},
        model.options.vocabulary.aliases,
    )


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


def _suggested(
    out: Path, model: "CompletionModel", undecided: Collection[Place]
) -> list[Annotation]:
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
    model: "CompletionModel", threshold: float, undecided: Collection[Place]
) -> list[Annotation]:
    """Return the open entries from a probability on, which was chosen in the review."""
    from tagloom.completion.pipeline import settled_states

    P = model.open_probabilities()
    items = [str(item) for item in model.tagger.items_]
    labels = [str(label) for label in model.tagger.classes_]
    is_open = settled_states(model.known.select(model.tagger.classes_)) == int(State.UNKNOWN)
    return [
        Annotation(items[row], labels[column], True, float(P[row, column]))
        for row, column in np.argwhere(threshold <= P).tolist()
        if is_open[row, column] or (items[row], labels[column]) in undecided
    ]


def is_file_of_run(name: str) -> bool:
    """Return whether a file of this name in the folder of a run is a result, or a journal."""
    return name in (*NAMES, REVIEW, *JOURNALS.values()) or name.startswith(".")


class FileTags(NamedTuple):
    """The tags that change in a file of the owner."""

    path: str
    added: tuple[str, ...]
    suggested: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True)
class Exported:
    """What was written, or would be.

    Attributes
    ----------
    counts : Counts
    files : list of str
        Files that were written; in a dry run those that would be.
    changes : list of FileTags
    unchanged : list of str
        Files of the owner that already held everything.
    warnings : list of InputWarning
        What the format cannot hold, and what is odd.
    refused : list of InputWarning
        Files of the owner that were not written, and why.
    """

    counts: Counts
    files: list[str]
    changes: list[FileTags] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    warnings: list[InputWarning] = field(default_factory=list)
    refused: list[InputWarning] = field(default_factory=list)


def export(
    out: Path,
    form: str,
    *,
    suggested: float | None = None,
    file: Path | None = None,
    photos: Path | None = None,
    dry_run: bool = False,
    on_file: Callable[[int, int], None] | None = None,
) -> Exported:
    """Write the tags of a finished run.

    Parameters
    ----------
    out : path of the folder of the run
    form : one of `FORMS` or `JOURNALS`
    suggested : float, optional
        Include suggestions with at least this probability.
    file : path, optional
        Where to write one of `FORMS`.
    photos : path, optional
        Where the pictures are now, if they have moved.
    dry_run : bool
        Whether to return only what would be written.
    on_file : callable, optional
        Called with the number of files of the owner that are done, and of all.
    """
    check_choice("to", form, (*FORMS, *JOURNALS))
    folder = photos_of(out) if photos is None else photos
    finished = read_finished(out, suggested=suggested)
    if form in JOURNALS:
        return _export_in_place(finished, out, form, folder, dry_run, on_file)
    if dry_run:
        return Exported(finished.counts, [str(out / FORMS[form] if file is None else file)])
    to = claim(out, FORMS[form]) if file is None else file
    files, lost = _WRITERS[form](finished.annotations, to, folder)
    return Exported(finished.counts, [str(path) for path in files], warnings=lost)


def photos_of(out: Path) -> Path:
    """Return the folder of the pictures of a run."""
    return Path(str(read_record(out).get("photos", "")))


def _export_in_place(
    finished: FinishedTags,
    out: Path,
    form: str,
    folder: Path,
    dry_run: bool,
    on_file: Callable[[int, int], None] | None,
) -> Exported:
    with _planned(finished, form, folder) as plan:
        changes = [FileTags(one.path, one.added, one.suggested, one.removed) for one in plan]
        if dry_run:
            paths = [one.path for one in plan]
            return Exported(finished.counts, paths, changes, [], plan.warnings, plan.refused)
        total = len(plan)
        counting = None if on_file is None else lambda done: on_file(done, total)
        done = apply_changes(plan, out / JOURNALS[form], counting)
    return Exported(
        finished.counts,
        done.written,
        changes,
        done.unchanged,
        plan.warnings,
        [*plan.refused, *done.failed],
    )


@contextmanager
def _planned(
    finished: FinishedTags, form: str, folder: Path
) -> Iterator[SidecarPlan | PicturePlan]:
    keywords = finished.keywords()
    if form == "pictures":
        with ExifTool() as tool:
            yield plan_pictures(folder, keywords, tool)
        return
    plan = plan_sidecars(folder, _without_complete(folder, keywords))
    plan.warnings.extend(_rejected_in_pictures(folder, keywords))
    yield plan


def _without_complete(folder: Path, keywords: dict[str, Keywords]) -> dict[str, Keywords]:
    """Leave out pictures without a sidecar that hold all their tags themselves."""
    finder = SidecarFinder(find_pictures(folder))

    def is_complete(image: str, wanted: Keywords) -> bool:
        if wanted.suggested or image not in finder.pictures or finder.of(image).existing:
            return False
        held = embedded_tags(folder / image)[0]
        return all(held.get(tag, 1.0) is None for tag in wanted.known)

    return {image: one for image, one in keywords.items() if not is_complete(image, one)}


def _rejected_in_pictures(folder: Path, keywords: dict[str, Keywords]) -> Iterator[InputWarning]:
    """Warn of rejected tags that are inside pictures, which sidecars cannot remove."""
    for image, wanted in keywords.items():
        held = embedded_tags(folder / image)[0] if wanted.rejected else {}
        for tag in wanted.rejected:
            if tag in held:
                yield InputWarning(
                    image, f"the picture itself holds the rejected tag {tag!r}: --to pictures "
                    "removes it"
                )  # fmt: skip


def undo_export(out: Path, form: str, photos: Path | None = None) -> UndoReport:
    """Restore all files of the owner that exports of a run have changed, byte for byte.

    The journal goes once everything is restored; what is exported later begins a new one.
    """
    check_choice("to", form, tuple(JOURNALS))
    journal = out / JOURNALS[form]
    if not journal.exists():
        what = "sidecar" if form == "xmp" else "picture"
        raise InvalidInputError(f"There is nothing to undo: no {what} was written from {out}.")
    done = undo_changes(journal, photos)
    if not done.refused:
        journal.unlink()
    return done


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
