"""From a folder and tags to finished tags, and on from there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tagloom
from tagloom.completion.assembling import assemble
from tagloom.completion.inputs import Pictures, TagsRead, account_of, look_at, read_sources, said_of
from tagloom.completion.learning import Learned, fit_tagger, measured
from tagloom.completion.lessons import Taught, teach
from tagloom.completion.model import CompletionModel
from tagloom.completion.options import Options
from tagloom.completion.outputs import is_done, prepare_out, write_outputs
from tagloom.completion.record import digest_of, digest_of_files
from tagloom.completion.result import Completed
from tagloom.completion.work import Work
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State, add_known
from tagloom.vision import Backbone, find_pictures

Say = Callable[[str, dict[str, Any]], None]


@dataclass(frozen=True, eq=False)
class Finished:
    """The end of a run: its folder, and what it found; None where there was nothing to do."""

    out: Path
    result: Completed | None
    model: CompletionModel | None


def complete(
    photos: Path,
    tags: Sequence[Path],
    out: Path,
    options: Options,
    *,
    backbone: Backbone | None = None,
    cache: Path | None = None,
    tag_format: str | None = None,
    again: bool = False,
    say: Say | None = None,
    show_progress: bool = False,
) -> Finished:
    """Complete the tags of a folder of pictures.

    Nothing is written but in `out`. A run that was broken off goes on where it was; one that is
    finished and whose input has not changed has nothing to do, unless `again` is asked.

    Parameters
    ----------
    photos : path of a folder
    tags : paths
        Files or folders in any format of `tagloom.formats`.
    out : path of a folder
        New, empty, or that of an earlier run.
    options : Options
    backbone, cache
        As in `tagloom.vision.embed`.
    tag_format : str, optional
        The key of a format, where it is not to be recognised.
    say : callable, optional
        Is told what was found as soon as it is known: a word for the step, and its numbers.
    """
    tell = say or (lambda step, facts: None)
    prepare_out(out, photos)
    found = find_pictures(photos)
    if not found.pictures:
        raise InvalidInputError(f"There are no pictures in {photos}.")
    read = read_sources(tags, photos, found.pictures, tag_format)
    tell("read", {"readings": read.readings, "matched": read.matched})
    pictures = look_at(photos, backbone, cache, show_progress=show_progress)
    said = said_of(pictures.features.items, read.annotations, options)
    account = account_of(read, pictures, said)
    tell("found", account)
    digest = _digest(pictures, said, options)
    if not again and is_done(out, digest):
        Work(out / ".work", digest).remove()
        return Finished(out, None, None)
    taught = teach(said, options)
    tell("taught", {"taught": taught})
    work = Work(out / ".work", digest)
    tagger = fit_tagger(
        pictures.features, taught, options, work, backbone=pictures.backbone,
        show_progress=show_progress,
    )  # fmt: skip
    learned = measured(
        tagger, pictures.features, taught, options, work, show_progress=show_progress
    )
    inputs = {"photos": str(photos), "tags": digest_of_files(tags)}
    return _finish(
        pictures, read, taught, learned, said, _nothing(said), options,
        account=account, out=out, digest=digest, inputs=inputs, work=work,
        show_progress=show_progress,
    )  # fmt: skip


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
    tell = say or (lambda step, facts: None)
    model = CompletionModel.load(model_path)
    folder = model.photos if photos is None else photos
    if photos is None and not folder.is_dir():
        raise InvalidInputError(
            f"The pictures of {model_path} lay in {folder}, where there is no folder now. Say "
            "where they lie with --photos (photos= in Python)."
        )
    prepare_out(out, folder)
    features = model.tagger._lesson.features
    read = read_sources(more, folder, features.items, tag_format)
    tell("read", {"readings": read.readings, "matched": read.matched})
    news = read.annotations.to_labels(features.items)
    if not news.n_known:
        raise InvalidInputError(
            f"{', '.join(map(str, more))} says nothing of the {len(features):,} pictures of "
            f"{model_path}: there is nothing to learn."
        )
    said, later = add_known(model.said, news), add_known(model.later, _unheard(model.said, news))
    options = model.options
    taught = teach(said, options, later)
    tell("taught", {"taught": taught})
    pictures = Pictures(folder, features, [])
    digest = _digest(pictures, said, options, digest_of_files([model_path]))
    work = Work(out / ".work", digest)
    model.tagger.refit(taught.known)
    learned = measured(
        model.tagger, features, taught, options, work, later=later,
        completeness=model.calibration.completeness if taught.only_presences else None,
        show_progress=show_progress,
    )  # fmt: skip
    inputs = {"model": digest_of_files([model_path]), "tags": digest_of_files(more)}
    account = account_of(read, pictures, said) | {"said since": news.n_known}
    return _finish(
        pictures, read, taught, learned, said, later, options,
        account=account, out=out, digest=digest, inputs=inputs, work=work,
        show_progress=show_progress,
    )  # fmt: skip


def _finish(
    pictures: Pictures,
    read: TagsRead,
    taught: Taught,
    learned: Learned,
    said: PartialLabels,
    later: PartialLabels,
    options: Options,
    *,
    account: dict[str, Any],
    out: Path,
    digest: str,
    inputs: dict[str, Any],
    work: Work,
    show_progress: bool,
) -> Finished:
    result = assemble(
        pictures.folder,
        taught,
        learned,
        options,
        skipped=pictures.skipped,
        remarks=read.remarks,
        account=account,
    )
    model = CompletionModel(
        learned.tagger, learned.meaning, result.thresholds, said, later, options,
        pictures.folder.resolve(),
    )  # fmt: skip
    write_outputs(
        out, result, model, digest=digest, inputs=inputs, readings=read.readings,
        show_progress=show_progress,
    )  # fmt: skip
    work.remove()
    return Finished(out, result, model)


def _digest(pictures: Pictures, said: PartialLabels, options: Options, *more: Any) -> str:
    """Return what tells this run from any other: all that decides its result."""
    features, entries = pictures.features, said.entries()
    return digest_of(
        tagloom.__version__,
        str(pictures.folder.resolve()),
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
        options.facts(),
        more,
    )[:32]


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


def _nothing(said: PartialLabels) -> PartialLabels:
    return PartialLabels.from_entries(
        [], [], [], shape=said.shape, labels=said.labels, items=said.items
    )
