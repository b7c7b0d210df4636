"""From a folder and tags to finished tags, and on from there."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tagloom.completion.inputs import Pictures, TagsRead, look_at, read_sources, said_of
from tagloom.completion.job import Finished, Job
from tagloom.completion.keeping import check_answers_kept
from tagloom.completion.learning import fit_tagger, measured
from tagloom.completion.model import CompletionModel
from tagloom.completion.options import Options
from tagloom.completion.outputs import is_done, prepare_out
from tagloom.completion.record import digest_of_files
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State, add_known
from tagloom.vision import Backbone, find_pictures

Say = Callable[[str, dict[str, Any]], None]


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
        backbone=pictures.backbone,
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
