"""From a folder and tags to finished tags, and on from there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tagloom
from tagloom.completion.answers import check_answers_kept
from tagloom.completion.calibration import choose_thresholds
from tagloom.completion.checkpoint import Work
from tagloom.completion.fit import Learned, affinities_of, fit_tagger, measured
from tagloom.completion.inputs import Pictures, TagsRead, account_of, look_at, read_sources, said_of
from tagloom.completion.model import CompletionModel
from tagloom.completion.options import Options, digest_of, digest_of_files
from tagloom.completion.outputs import is_done, prepare_out, write_outputs
from tagloom.completion.result import (
    Completed,
    Doubt,
    LabelQuality,
    Left,
    label_qualities,
    reliability,
)
from tagloom.completion.suggestions import TagState, chance_of_slip, tag_table, worth_asking
from tagloom.completion.training_labels import Taught, teach
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State, add_known
from tagloom.vision import Encoder, find_pictures

# §§ assembling
# Put together what a completion found out.


Array = npt.NDArray[Any]

# One in three that looks so wrong is enough to ask a person to look again.
_WRONG = 0.3


def assemble(
    photos: Path,
    taught: Taught,
    learned: Learned,
    options: Options,
    *,
    skipped: list[Left],
    warnings: list[Left],
    account: dict[str, Any],
) -> Completed:
    """Turn scores into probabilities, and those into suggestions, doubts and questions."""
    meaning, said = learned.meaning, taught.said
    states = _settled(said)
    open_to = states == int(State.UNKNOWN)
    as_if_unsaid = meaning.as_if_unsaid(learned.held_out)
    P = meaning.as_it_stands(learned.scores)
    np.copyto(P, as_if_unsaid, where=~open_to)
    thresholds = choose_thresholds(P, open_to, options.precision)
    doubts = _doubts(states, as_if_unsaid)
    doubtful = np.zeros(P.shape, dtype=bool)
    for doubt in doubts:
        doubtful[doubt.row, doubt.column] = True
    table = tag_table(said, P, open_to, thresholds, doubtful, taught.rare)
    return Completed(
        photos=photos,
        said=said,
        P=P,
        open_to=open_to,
        thresholds=thresholds,
        table=table,
        doubts=doubts,
        questions=worth_asking(P, open_to, said.counts().present, options.questions),
        qualities=label_qualities(taught.known, said, learned.held_out, thresholds)
        + [_not_learned(label, n) for label, n in taught.too_rare.items()],
        bins=reliability(taught.unasked, as_if_unsaid, meaning.calibration),
        completeness=meaning.calibration.completeness,
        affinities=affinities_of(learned.tagger),
        skipped=skipped,
        warnings=warnings,
        too_rare=taught.too_rare,
        account=account
        | {
            "tags suggested": table.count(TagState.SUGGESTED),
            "known tags that look wrong": len(doubts),
        },
    )


def _not_learned(label: str, n_present: int) -> LabelQuality:
    return LabelQuality(label, n_present, 0, np.inf, np.nan, np.nan)


def _settled(said: PartialLabels) -> Array:
    """Return the states; what is unlisted and only probably absent is settled by nobody."""
    states = said.states()
    if 0 < said.unlisted_weight < 1:
        entries = said.entries()
        listed = np.zeros(states.shape, dtype=bool)
        listed[entries.rows, entries.columns] = True
        states[~listed] = int(State.UNKNOWN)
    return states


def _doubts(states: Array, p: Array) -> list[Doubt]:
    """Return the statements that may well be wrong, surest first."""
    prior = p.mean(axis=0, dtype=np.float64)
    doubts = []
    for state in (State.PRESENT, State.ABSENT):
        rows, columns = np.nonzero(states == int(state))
        present = state == State.PRESENT
        chance = chance_of_slip(p[rows, columns], prior[columns], present=present)
        # Where what is unlisted is absent, nearly all of the table is said.
        doubts += [
            Doubt(
                int(rows[k]),
                int(columns[k]),
                present,
                float(p[rows[k], columns[k]]),
                float(chance[k]),
            )
            for k in np.flatnonzero(chance > _WRONG)
        ]
    return sorted(doubts, key=lambda doubt: (-doubt.chance, doubt.row, doubt.column))


# §§ job
# One run: what it is given, what tells it from others, and how it ends.


@dataclass(frozen=True, eq=False)
class Finished:
    """The end of a run: its folder, and what it found; None where there was nothing to do."""

    out: Path
    result: Completed | None
    model: CompletionModel | None


@dataclass(frozen=True, eq=False)
class Job:
    """What a run is given.

    Attributes
    ----------
    pictures : Pictures
    read : TagsRead
    said : PartialLabels
        All that people have said of the pictures.
    later : PartialLabels or None
        What of it was said about suggestions.
    options : Options
    out : Path
    inputs : dict
        Digests of what was read, for the record.
    show_progress : bool
    """

    pictures: Pictures
    read: TagsRead
    said: PartialLabels
    later: PartialLabels | None
    options: Options
    out: Path
    inputs: dict[str, Any]
    show_progress: bool

    @cached_property
    def account(self) -> dict[str, Any]:
        """What was found, in numbers for people."""
        return account_of(self.read, self.pictures, self.said)

    @cached_property
    def taught(self) -> Taught:
        """What the learner is taught."""
        return teach(self.said, self.options, self.later)

    @cached_property
    def digest(self) -> str:
        """What tells this run from any other: all that decides its result."""
        features, said = self.pictures.features, self.said
        entries = said.entries()
        return digest_of(
            tagloom.__version__,
            str(self.pictures.folder.resolve()),
            features.items,
            features.visual,
            features.posteriors,
            [str(label) for label in said.labels],
            entries.rows,
            entries.columns,
            entries.present,
            entries.weights,
            *said.hidden_entries(),
            said.unlisted_weight,
            self.options.metadata(),
            self.inputs.get("model"),
        )[:32]

    def work(self) -> Work:
        """Return what an earlier run of the same digest has left unfinished."""
        return Work(self.out / ".work", self.digest)

    def finished(self, learned: Learned, **more: Any) -> Finished:
        """Write all that comes out; `more` goes into the account."""
        result = assemble(
            self.pictures.folder,
            self.taught,
            learned,
            self.options,
            skipped=self.pictures.skipped,
            warnings=self.read.warnings,
            account=self.account | more,
        )
        model = CompletionModel(
            learned.tagger,
            learned.meaning,
            result.thresholds,
            self.said,
            _nothing(self.said) if self.later is None else self.later,
            self.options,
            self.pictures.folder.resolve(),
        )
        write_outputs(
            self.out,
            result,
            model,
            digest=self.digest,
            inputs=self.inputs,
            readings=self.read.readings,
            show_progress=self.show_progress,
        )
        self.work().remove()
        return Finished(self.out, result, model)


def _nothing(said: PartialLabels) -> PartialLabels:
    return PartialLabels.from_entries(
        [], [], [], shape=said.shape, labels=said.labels, items=said.items
    )


# §§ main run


Say = Callable[[str, dict[str, Any]], None]


def complete(
    photos: Path,
    tags: Sequence[Path],
    out: Path,
    options: Options,
    *,
    encoder: Encoder | None = None,
    cache: Path | None = None,
    tag_format: str | None = None,
    again: bool = False,
    say: Say | None = None,
    show_progress: bool = False,
) -> Finished:
    """Complete the tags of a folder of pictures.

    Nothing is written but in `out`. A run that was broken off goes on where it was; one that is
    finished and whose input has not changed has nothing to do, unless `again` is asked. One that
    has learned answers since is not replaced by one that does not know them.

    Parameters
    ----------
    photos : path of a folder
    tags : paths
        Files or folders in any format of `tagloom.formats`.
    out : path of a folder
        New, empty, or that of an earlier run.
    options : Options
    encoder, cache
        As in `tagloom.vision.embed`.
    tag_format : str, optional
        The key of a format, where it is not to be recognised.
    say : callable, optional
        Is told what was found as soon as it is known: a word for the step, and its numbers.
    """
    tell = say or (lambda step, metadata: None)
    prepare_out(out, photos)
    found = find_pictures(photos)
    if not found.pictures:
        raise InvalidInputError(f"There are no pictures in {photos}.")
    read = read_sources(tags, photos, found.pictures, tag_format)
    tell("read", {"readings": read.readings, "matched": read.matched})
    pictures = look_at(photos, encoder, cache, show_progress=show_progress)
    said = said_of(pictures.features.items, read.annotations, options)
    inputs = {"photos": str(photos), "tags": digest_of_files(tags)}
    job = Job(pictures, read, said, None, options, out, inputs, show_progress)
    tell("found", job.account)
    if not again and is_done(out, job.digest):
        job.work().remove()
        return Finished(out, None, None)
    check_answers_kept(out, said, read.annotations.undecided)
    tell("taught", {"taught": job.taught})
    work = job.work()
    tagger = fit_tagger(
        pictures.features,
        job.taught,
        options,
        work,
        encoder=pictures.encoder,
        show_progress=show_progress,
    )
    return job.finished(
        measured(tagger, pictures.features, job.taught, options, work, show_progress=show_progress)
    )


def update(
    model_path: Path,
    more: Sequence[Path],
    out: Path,
    *,
    photos: Path | None = None,
    tag_format: str | None = None,
    say: Say | None = None,
    show_progress: bool = False,
) -> Finished:
    """Learn again from what has been said since, with the parameters that were found before.

    What `more` says has the last word. It may speak of new tags, and say again what was said. No
    picture is looked at again.
    """
    tell = say or (lambda step, metadata: None)
    model = CompletionModel.load(model_path)
    folder = model.photos if photos is None else photos
    if photos is None and not folder.is_dir():
        raise InvalidInputError(
            f"The pictures of {model_path} lay in {folder}, where there is no folder now. Say "
            "where they lie with --photos (photos= in Python)."
        )
    prepare_out(out, folder)
    features = model.tagger.training_set_.features
    read = read_sources(more, folder, features.items, tag_format)
    tell("read", {"readings": read.readings, "matched": read.matched})
    news = read.annotations.to_labels(features.items)
    if not news.n_known:
        raise _nothing_said(more, model_path, read)
    unheard = _unheard(model.said, news)
    said, later = add_known(model.said, news), add_known(model.later, unheard)
    inputs = {"model": digest_of_files([model_path]), "tags": digest_of_files(more)}
    pictures = Pictures(folder, features, [])
    job = Job(pictures, read, said, later, model.options, out, inputs, show_progress)
    taught = job.taught
    tell("taught", {"taught": taught})
    model.tagger.refit(taught.known)
    learned = measured(
        model.tagger,
        features,
        taught,
        model.options,
        job.work(),
        later=later,
        completeness=model.calibration.completeness if taught.only_presences else None,
        show_progress=show_progress,
    )
    return job.finished(learned, **{"said since": unheard.n_known})


def _nothing_said(more: Sequence[Path], model_path: Path, read: TagsRead) -> InvalidInputError:
    of_machines = (
        f" Its {len(read.annotations):,} suggestions are a machine's: give those that are right "
        "the state known, those that are wrong the state absent."
        if len(read.annotations)
        else ""
    )
    return InvalidInputError(
        f"{', '.join(map(str, more))} says nothing of the pictures of {model_path}: there is "
        f"nothing to learn.{of_machines}"
    )


def _unheard(said: PartialLabels, news: PartialLabels) -> PartialLabels:
    """Return what of the news was not said before.

    Who hands in the whole list again has not been asked about all of it.
    """
    shared = [label for label in news.labels if label in set(said.labels)]
    before, now = said.select(shared).states(), news.select(shared).states()
    rows, columns = np.nonzero((before == now) & (now != int(State.UNKNOWN)))
    place = {label: column for column, label in enumerate(news.labels)}
    of_news = np.array([place[label] for label in shared], dtype=np.int64)
    return news.with_hidden(rows, of_news[columns])
