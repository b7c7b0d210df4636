"""From the folder of a run to what the page is about, as tables of numbers."""

import csv
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.completion.answers import Place
from tagloom.completion.fit import affinities_of
from tagloom.completion.model import CompletionModel
from tagloom.completion.options import NAME, read_record
from tagloom.completion.outputs import MODEL, QUESTIONS, SUGGESTIONS, TABLE
from tagloom.completion.suggestions import TagState, chance_of_slip
from tagloom.errors import InvalidInputError
from tagloom.labels import State
from tagloom.review.states import EntryState

# §§ main loading


Array = npt.NDArray[Any]
_OF_TABLE = {
    TagState.KNOWN.text: EntryState.KNOWN,
    TagState.SUGGESTED.text: EntryState.SUGGESTED,
    TagState.DOUBTFUL_KNOWN.text: EntryState.DOUBTFUL,
    TagState.DOUBTFUL_ABSENT.text: EntryState.DOUBTFUL_ABSENT,
}


class Doubted(NamedTuple):
    """A statement that looks wrong, by its place."""

    image: int
    tag: int
    p: float
    chance: float
    present: bool


class Asked(NamedTuple):
    """An entry to ask about, by its place."""

    image: int
    tag: int
    p: float
    worth: float


@dataclass(frozen=True, eq=False)
class Loaded:
    """A run as the page needs it.

    Attributes
    ----------
    title, run : str
        What it is called, and the digest that tells it from others.
    photos : Path
    images, tags : lists of str
    P : array of float32 of shape (n_images, n_learned), by columns
        Probabilities of the tags that were learned; NaN where there is none.
    column : array of shape (n_tags,)
        Where a tag stands in P, -1 for nowhere.
    states : array of int8 of shape (n_images, n_tags), by columns
        An `EntryState` for every entry, from before the review.
    thresholds : array of shape (n_tags,)
        NaN for tags that are never suggested.
    qualities : array of shape (n_tags,)
        Of all pairs of a picture whose tag had been hidden and one without it, the share in which
        the former ranks higher; NaN where it was not measured.
    doubts, questions
        Surest and most worth first.
    affinities : sparse array
    completeness : float
    """

    title: str
    run: str
    photos: Path
    images: list[str]
    tags: list[str]
    P: npt.NDArray[np.float32]
    column: npt.NDArray[np.int64]
    states: npt.NDArray[np.int8]
    thresholds: npt.NDArray[np.float64]
    qualities: npt.NDArray[np.float64]
    doubts: list[Doubted]
    questions: list[Asked]
    affinities: Any
    completeness: float


def load(
    out: Path,
    *,
    photos: Path | None = None,
    learned: Mapping[Place, bool | None] | None = None,
    tags_first: list[str] | None = None,
) -> Loaded:
    """Read a finished run.

    Parameters
    ----------
    photos : path of a folder, optional
        Where the pictures lie now, if they have moved.
    learned : mapping from (image, tag) to bool or None
        What was said, before the review, of entries that the run has learned from it.
    tags_first : list of str, optional
        Tags that keep these numbers, as long as a page may know them by these.
    """
    record = read_record(out)
    model = CompletionModel.load(out / MODEL)
    folder = _folder(model.photos if photos is None else photos)
    images = [str(item) for item in model.tagger.items_]
    classes = [str(label) for label in model.tagger.classes_]
    said = [str(label) for label in model.said.labels]
    tags = list(dict.fromkeys([*(tags_first or []), *classes, *said]))
    place = {tag: t for t, tag in enumerate(tags)}
    column = np.full(len(tags), -1, dtype=np.int64)
    column[[place[tag] for tag in classes]] = np.arange(len(classes))
    states = _said_states(model, (len(images), len(tags)), [place[tag] for tag in said])
    P = _probabilities(model)
    thresholds = np.full(len(tags), np.nan)
    thresholds[[place[tag] for tag in classes]] = model.thresholds
    numbers = _Numbers(images, place, out)
    _take_table(numbers, states, P, column)
    _take_back(numbers, learned or {}, states, P, column, thresholds)
    return Loaded(
        title=folder.name or str(folder),
        run=str(record.get("digest")),
        photos=folder,
        images=images,
        tags=tags,
        P=P,
        column=column,
        states=states,
        thresholds=thresholds,
        qualities=_qualities(record, place),
        doubts=_doubts(states, P, column),
        questions=_questions(numbers),
        affinities=affinities_of(model.tagger),
        completeness=float(model.calibration.completeness),
    )


def _folder(photos: Path) -> Path:
    if not photos.is_dir():
        raise InvalidInputError(
            f"The pictures are not in {photos} any more. Say where they lie now with --photos."
        )
    return photos.resolve()


def _said_states(model: CompletionModel, shape: tuple[int, int], columns: list[int]) -> Array:
    given = model.said.states()
    states = np.zeros(shape, dtype=np.int8, order="F")
    for source, target in enumerate(columns):
        states[given[:, source] == int(State.PRESENT), target] = EntryState.KNOWN
        states[given[:, source] == int(State.ABSENT), target] = EntryState.ABSENT
    return states


def _probabilities(model: CompletionModel) -> Array:
    """Return the probabilities of all open entries, as the run had them."""
    return np.asfortranarray(model.standing(), dtype=np.float32)


class _Numbers:
    """The tables of a run, with numbers for names."""

    def __init__(self, images: list[str], tags: Mapping[str, int], out: Path) -> None:
        self._images = {image: i for i, image in enumerate(images)}
        self._tags, self._out = tags, out

    def of(self, image: str, tag: str) -> tuple[int, int] | None:
        i, t = self._images.get(image), self._tags.get(tag)
        return None if i is None or t is None else (i, t)

    def rows(self, name: str) -> Iterator[tuple[int, int, dict[str, str]]]:
        path = self._out / name
        try:
            with path.open(encoding="utf-8", errors="surrogateescape", newline="") as stream:
                table = csv.DictReader(stream)
                if not {"image", "tag", "probability"} <= set(table.fieldnames or ()):
                    raise InvalidInputError(
                        f"{path} is not the table that a run writes. Run `tagloom complete` again."
                    )
                for number, row in enumerate(table, start=2):
                    found = self.of(row.get("image") or "", row.get("tag") or "")
                    if found is None:
                        raise InvalidInputError(
                            f"{path}, line {number}: picture and tag are not of the model beside "
                            "it. Run `tagloom complete` again."
                        )
                    yield *found, row
        except (OSError, UnicodeError, csv.Error) as problem:
            raise InvalidInputError(
                f"{path} cannot be read: {problem}. Run `tagloom complete` again."
            ) from None


def _take_table(numbers: _Numbers, states: Array, P: Array, column: Array) -> None:
    """Take suggestions and doubts from the table: it knows what entries had while hidden."""
    spoken_of = np.isin(states, (EntryState.KNOWN, EntryState.ABSENT))
    for t in np.flatnonzero(column >= 0).tolist():
        P[spoken_of[:, t], column[t]] = np.nan
    for i, t, row in numbers.rows(SUGGESTIONS):
        state = _OF_TABLE.get(row.get("state") or "")
        if state is None:
            raise InvalidInputError(f"{SUGGESTIONS}: {row.get('state')!r} is no state of a tag.")
        states[i, t] = state
        if column[t] >= 0 and state != EntryState.SUGGESTED:
            P[i, column[t]] = _number(row.get("probability"))


def _take_back(
    numbers: _Numbers,
    learned: Mapping[Place, bool | None],
    states: Array,
    P: Array,
    column: Array,
    thresholds: Array,
) -> None:
    """Bring entries that were learned from the review to what they were before it."""
    for (image, tag), before in learned.items():
        found = numbers.of(image, tag)
        if found is None:
            continue
        i, t = found
        if before is not None:
            states[i, t] = EntryState.KNOWN if before else EntryState.ABSENT
            continue
        p = P[i, column[t]] if column[t] >= 0 else math.nan
        states[i, t] = EntryState.SUGGESTED if p >= thresholds[t] else EntryState.OPEN


def _qualities(record: Mapping[str, Any], place: Mapping[str, int]) -> Array:
    """Return the qualities that a record tells; those of earlier versions tell none."""
    qualities = np.full(len(place), np.nan)
    listed = record.get("labels")
    for one in listed if isinstance(listed, list) else ():
        told = one if isinstance(one, dict) else {}
        t, won = place.get(str(told.get("label"))), told.get("roc_auc")
        if t is not None and isinstance(won, int | float) and 0 <= won <= 1:
            qualities[t] = won
    return qualities


def _doubts(states: Array, P: Array, column: Array) -> list[Doubted]:
    """Return statements that look wrong; the share of a label is that of its probabilities."""
    prior = np.nansum(P, axis=0, dtype=np.float64) / np.maximum(1, (~np.isnan(P)).sum(axis=0))
    found: list[Doubted] = []
    for state, present in ((EntryState.DOUBTFUL, True), (EntryState.DOUBTFUL_ABSENT, False)):
        rows, tags = np.nonzero(states == state)
        p = P[rows, column[tags]]
        chance = chance_of_slip(p, prior[column[tags]], present=present)
        found += [
            Doubted(i, t, float(p[k]), float(chance[k]), present)
            for k, (i, t) in enumerate(zip(rows.tolist(), tags.tolist(), strict=True))
        ]
    return sorted(found, key=lambda one: (-one.chance, one.image, one.tag))


def _questions(numbers: _Numbers) -> list[Asked]:
    return [
        Asked(i, t, _number(row.get("probability")), _number(row.get("worth")))
        for i, t, row in numbers.rows(QUESTIONS)
    ]


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        raise InvalidInputError(f"{text!r} is no number. Run `tagloom complete` again.") from None


# §§ before
# The run as it was before anything was learned from its review.
#
# Learning again always starts from there, with all that is decided by then: what was taken back
# meanwhile is forgotten, as it could not be from a model that has learned it.


FOLDER = ".before-review"


def keep_before(out: Path) -> None:
    """Keep the files of a run; files are replaced and never altered, so that a link will do."""
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    (folder / NAME).unlink(missing_ok=True)
    for name in _files(out):
        _put(out / name, folder / name)


def restore(out: Path) -> None:
    """Bring back the run as it was, with all its tables, so that none tells of another run."""
    kept = _files(out / FOLDER)
    (out / NAME).unlink(missing_ok=True)
    (out / TABLE).unlink(missing_ok=True)
    for name in kept:
        _put(out / FOLDER / name, out / name)


def restore_if_broken(out: Path) -> bool:
    """Bring back the run if learning was broken off while its files were being replaced."""
    broken = not (out / NAME).exists() and (out / FOLDER / NAME).exists()
    if broken:
        restore(out)
    return broken


def check_is_run(out: Path) -> None:
    """Refuse a folder that is not the result of a run, before anything is written there."""
    if not (out / FOLDER / NAME).exists():
        read_record(out)


def model_before(out: Path) -> Path:
    """Return the model from which to learn again."""
    path = out / FOLDER / MODEL
    if not path.exists():
        raise InvalidInputError(
            f"The run from before the review is not in {path.parent} any more, from which it "
            "learns again. Bring the folder back from a copy, or run `tagloom complete` again; "
            "decisions are kept."
        )
    return path


def _files(folder: Path) -> list[str]:
    """Return the files of a run that are there, the record last: where it stands, all do."""
    listed = [str(name) for name in read_record(folder).get("files", [])]
    plain = [name for name in listed if Path(name).name == name]
    return [name for name in plain if (folder / name).is_file()] + [NAME]


def _put(source: Path, target: Path) -> None:
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)
    with suppress(OSError):
        os.link(source, part)
    if not part.exists():
        shutil.copyfile(source, part)
    part.replace(target)
    # Where both names were of one file already, renaming has done nothing.
    part.unlink(missing_ok=True)
