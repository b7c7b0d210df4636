"""The run under review, read from disk for the page."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tagloom.completion.feedback import Place
from tagloom.completion.folder import RECORD, marker_of
from tagloom.completion.outputs import (
    ANNOTATE_NEXT,
    MODEL,
    SNAPSHOT,
    SUGGESTIONS,
    SUSPECTED_ERRORS,
    read_record,
)
from tagloom.completion.suggestions import (
    StoredRow,
    TagState,
    read_queries,
    read_suggestions,
    read_suspected_errors,
)
from tagloom.errors import InvalidInputError
from tagloom.labels import State
from tagloom.review import run_cache
from tagloom.review.collection import EntryState, LoadedRun, SuspectedError, ToAnnotate

if TYPE_CHECKING:
    from tagloom.completion.model import CompletionModel

Array = npt.NDArray[Any]
_NO_STATE = -1
_FROM_TABLE = {
    TagState.KNOWN.text: int(EntryState.PRESENT),
    TagState.SUGGESTED.text: int(EntryState.SUGGESTED),
    TagState.DOUBTFUL_KNOWN.text: int(EntryState.SUSPECTED_PRESENT),
    TagState.DOUBTFUL_ABSENT.text: int(EntryState.SUSPECTED_ABSENT),
}


def load(
    out: Path,
    *,
    photos: Path | None = None,
    learned: Mapping[Place, bool | None] | None = None,
    tags_first: list[str] | None = None,
) -> LoadedRun:
    """Read a finished run, from the cache if nothing has changed since it was read last.

    Parameters
    ----------
    photos : path of a folder, optional
        Where the pictures are now, if they have moved.
    learned : mapping from (image, tag) to bool or None
        Labels from before the review of the entries that the run has learned from it.
    tags_first : list of str, optional
        Tags that keep their numbers, because an open page refers to them by number.
    """
    key = run_cache.key_of(out, learned or {}, tags_first)
    found = run_cache.read(out, key)
    if found is None:
        found = _load_files(out, learned or {}, tags_first)
        run_cache.write(out, key, found)
    return run_cache.at(found, _photo_folder(found.photos if photos is None else photos))


def _load_files(
    out: Path, learned: Mapping[Place, bool | None], tags_first: list[str] | None
) -> LoadedRun:
    # Imported late: with a cached run, a review needs no learner.
    from tagloom.completion.fit import affinities_of
    from tagloom.completion.model import CompletionModel

    record = read_record(out)
    model = CompletionModel.load(out / MODEL)
    images = [str(item) for item in model.tagger.items_]
    classes = [str(label) for label in model.tagger.classes_]
    known_tags = [str(label) for label in model.known.labels]
    tags = list(dict.fromkeys([*(tags_first or []), *classes, *known_tags]))
    place = {tag: t for t, tag in enumerate(tags)}
    column = np.full(len(tags), -1, dtype=np.int64)
    column[[place[tag] for tag in classes]] = np.arange(len(classes))
    states = _known_states(model, (len(images), len(tags)), [place[tag] for tag in known_tags])
    P = np.asfortranarray(model.open_probabilities(), dtype=np.float32)
    thresholds = np.full(len(tags), np.nan)
    thresholds[[place[tag] for tag in classes]] = model.thresholds
    tables = _Tables(images, place, out)
    _take_suggestions(tables, states, P, column)
    resolve = model.options.vocabulary.resolve
    before = {(image, resolve(tag)): label for (image, tag), label in learned.items()}
    _undo_learning(tables, before, states, P, column, thresholds)
    names = model.tagger.name_reasons()
    return LoadedRun(
        title=model.photos.name,
        run=str(record.get("digest")),
        photos=model.photos,
        images=images,
        tags=tags,
        P=P,
        column=column,
        states=states,
        thresholds=thresholds,
        roc_auc=_roc_auc(record, place),
        suspected_errors=_suspected_errors(tables, states),
        to_annotate=_to_annotate(tables),
        affinities=affinities_of(model.tagger),
        label_frequency=model.label_frequency,
        visual=model.tagger.training_set_.features.visual,
        names=lambda: names,
        vocabulary=model.options.vocabulary,
    )


def _photo_folder(photos: Path) -> Path:
    if not photos.is_dir():
        raise InvalidInputError(
            f"The pictures are no longer in {photos}. Say where they are now with --photos."
        )
    return photos.resolve()


def _known_states(model: "CompletionModel", shape: tuple[int, int], columns: list[int]) -> Array:
    from tagloom.completion.pipeline import settled_states

    known = settled_states(model.known)
    states = np.zeros(shape, dtype=np.int8, order="F")
    for source, target in enumerate(columns):
        states[known[:, source] == int(State.PRESENT), target] = EntryState.PRESENT
        states[known[:, source] == int(State.ABSENT), target] = EntryState.ABSENT
    return states


class _Tables:
    """The CSV tables of a run, with numbers for the names of pictures and tags."""

    def __init__(self, images: list[str], tags: Mapping[str, int], out: Path) -> None:
        self._images = {image: i for i, image in enumerate(images)}
        self._tags, self._out = tags, out

    def entry(self, image: str, tag: str) -> tuple[int, int] | None:
        i, t = self._images.get(image), self._tags.get(tag)
        return None if i is None or t is None else (i, t)

    def rows(
        self, name: str, read: Callable[[Path], Iterable[StoredRow]]
    ) -> Iterator[tuple[int, int, StoredRow]]:
        path = self._out / name
        for row in read(path):
            found = self.entry(row.image, row.tag)
            if found is None:
                raise InvalidInputError(
                    f"{path}, line {row.line}: the model beside it does not know this picture and "
                    "tag. Run `tagloom complete` again."
                )
            yield *found, row


def _take_suggestions(tables: _Tables, states: Array, P: Array, column: Array) -> None:
    """Take states from the table, and the held-out probabilities of known entries."""
    known = np.isin(states, (EntryState.PRESENT, EntryState.ABSENT))
    for t in np.flatnonzero(column >= 0).tolist():
        P[known[:, t], column[t]] = np.nan
    listed = [
        (i, t, _FROM_TABLE.get(row.state, _NO_STATE), row.probability)
        for i, t, row in tables.rows(SUGGESTIONS, read_suggestions)
    ]
    if not listed:
        return
    rows, tags, codes, p = map(np.array, zip(*listed, strict=True))
    # What a person has changed in the table is an answer: the review takes it up as a decision.
    is_answer = (codes == int(EntryState.PRESENT)) & (states[rows, tags] != codes)
    taken = (codes != _NO_STATE) & ~is_answer
    states[rows[taken], tags[taken]] = codes[taken]
    scored = taken & (codes != int(EntryState.SUGGESTED)) & (column[tags] >= 0)
    P[rows[scored], column[tags[scored]]] = p[scored]


def _undo_learning(
    tables: _Tables,
    learned: Mapping[Place, bool | None],
    states: Array,
    P: Array,
    column: Array,
    thresholds: Array,
) -> None:
    """Give entries that were learned from the review their state from before it."""
    for (image, tag), before in learned.items():
        found = tables.entry(image, tag)
        if found is None:
            continue
        i, t = found
        if before is not None:
            states[i, t] = EntryState.PRESENT if before else EntryState.ABSENT
            continue
        p = P[i, column[t]] if column[t] >= 0 else math.nan
        states[i, t] = EntryState.SUGGESTED if p >= thresholds[t] else EntryState.UNKNOWN


def _roc_auc(record: Mapping[str, Any], place: Mapping[str, int]) -> Array:
    """Return the ROC AUC of each tag by the run's record; records of old versions have none."""
    roc_auc = np.full(len(place), np.nan)
    listed = record.get("labels")
    for one in listed if isinstance(listed, list) else ():
        label = one if isinstance(one, dict) else {}
        t, value = place.get(str(label.get("label"))), label.get("roc_auc")
        if t is not None and isinstance(value, int | float) and 0 <= value <= 1:
            roc_auc[t] = value
    return roc_auc


def _suspected_errors(tables: _Tables, states: Array) -> list[SuspectedError]:
    """Return the suspected label errors of the run, with the probabilities of its report."""
    present = {int(EntryState.SUSPECTED_PRESENT): True, int(EntryState.SUSPECTED_ABSENT): False}
    found = [
        SuspectedError(i, t, row.probability, row.score, present[int(states[i, t])])
        for i, t, row in tables.rows(SUSPECTED_ERRORS, read_suspected_errors)
        if int(states[i, t]) in present
    ]
    return sorted(found, key=lambda one: (-one.error_probability, one.image, one.tag))


def _to_annotate(tables: _Tables) -> list[ToAnnotate]:
    return [
        ToAnnotate(i, t, row.probability, row.score)
        for i, t, row in tables.rows(ANNOTATE_NEXT, read_queries)
    ]


def check_is_run(out: Path) -> None:
    """Refuse a folder without a run, or that is not ours, before anything is written there."""
    if not (out / SNAPSHOT / RECORD).exists():
        read_record(out)
    marker_of(out)
