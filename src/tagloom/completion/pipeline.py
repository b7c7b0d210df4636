"""The whole way from pictures and incomplete tags to completed tags.

`complete` starts from a folder, `update` from the model of an earlier run and new annotations. Both
read their inputs, choose the training labels and fit the tagger. The rest, in `_finish`, is common:
held-out scores, calibration, suggestions, suspected label errors, what to annotate next, the report
and the other files, and finally the record.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tagloom
from tagloom.calibration import CollectionCalibration, Forgetting, choose_threshold
from tagloom.completion.feedback import Place, as_mapping, check_feedback_kept, checked_entries
from tagloom.completion.fit import (
    N_FITS_AFTER,
    HeldOut,
    affinities_of,
    calibrate_collection,
    fit_tagger,
    n_held_out_fits,
    score_held_out,
)
from tagloom.completion.folder import CHECKPOINT, RECORD, one_writer
from tagloom.completion.inputs import (
    Options,
    Pictures,
    TagsRead,
    encode_pictures,
    input_summary,
    known_labels,
    labels_under_vocabulary,
    read_sources,
    under_vocabulary,
)
from tagloom.completion.journal import storing_answers
from tagloom.completion.model import CompletionModel, encoder_of
from tagloom.completion.outputs import (
    MODEL,
    Checkpoint,
    digest_of,
    digest_of_files,
    is_done,
    prepare_out,
    read_record,
    write_outputs,
)
from tagloom.completion.result import (
    CompletionResult,
    LabelQuality,
    label_quality,
    not_learned,
    reliability,
)
from tagloom.completion.suggestions import TagState, annotate_next, suspected_errors, tag_table
from tagloom.completion.training_labels import TrainingLabels, training_labels
from tagloom.errors import InvalidInputError
from tagloom.formats import Annotation, Annotations
from tagloom.labels import PartialLabels, State, add_known
from tagloom.tagger import SemanticTagger
from tagloom.tagger.texts import TextPrior, Texts, say_compared
from tagloom.tagger.words import NameReasons, WordPrior
from tagloom.vision import Encoder, Features, find_pictures
from tagloom.words import TagLinks, Vocabulary, link_tags

Array = npt.NDArray[Any]
EVEN = 0.5
"""From this probability on a suggestion is more likely right than wrong."""
OnStep = Callable[[str, dict[str, Any]], None]
"""Called with the name of a step ("read", "found", "training_labels") and what it found, and after
each fit ("fitted") with how many of the fits of the run are done."""


@dataclass(frozen=True, eq=False)
class Finished:
    """A finished run: its folder, and its result unless the folder held it already."""

    out: Path
    result: CompletionResult | None
    model: CompletionModel | None


@one_writer
def complete(
    photos: Path,
    tags: Sequence[Path],
    out: Path,
    options: Options,
    *,
    encoder: Encoder | None = None,
    cache: Path | None = None,
    tag_format: str | None = None,
    vocabulary_file: Path | None = None,
    again: bool = False,
    on_step: OnStep | None = None,
    verbose: bool = False,
) -> Finished:
    """Complete the tags of a folder of pictures.

    Nothing is written outside of `out`. An interrupted run continues where it stopped; a finished
    run whose input has not changed is left as it is, unless `again` is set. A run that has learned
    from feedback is not replaced by one that lacks it.

    Parameters
    ----------
    photos : path of a folder
    tags : paths
        Files or folders in any format of `tagloom.formats`; without any, the tags in the folder of
        the pictures: its table, else the keywords in and beside the pictures.
    out : path of a folder
        New, empty, or that of an earlier run.
    options : Options
    encoder, cache
        As in `tagloom.vision.embed`.
    tag_format : str, optional
        The key of a format, if it is not to be detected.
    vocabulary_file : path, optional
        Where the vocabulary of the options comes from, for the record: later decisions about tags
        go there.
    on_step : callable, optional
        Is called with the name and the findings of each step.
    """
    on_step = on_step or _ignore
    prepare_out(out, photos)
    found = find_pictures(photos)
    if not found.pictures:
        raise InvalidInputError(f"There are no pictures in {photos}.")
    if options.words and encoder is not None and encoder.text is not None:
        encoder.text.load()
    read = read_sources(tags, photos, found.pictures, tag_format, options.vocabulary)
    on_step("read", {"readings": read.readings, "matched": read.matched})
    pictures = encode_pictures(photos, encoder, cache, verbose=verbose)
    known = known_labels(pictures.features.items, read.annotations, options)
    inputs: dict[str, Any] = {"photos": str(photos), "tags": digest_of_files(tags)}
    if vocabulary_file is not None:
        inputs["vocabulary"] = str(vocabulary_file.resolve())
    run = _Run(pictures, read, known, None, options, out, inputs, verbose)
    on_step("found", run.summary())
    digest = run.digest()
    if not again and is_done(out, digest):
        Checkpoint(out / CHECKPOINT, digest).remove()
        return Finished(out, None, None)
    check_feedback_kept(out, known, read.annotations.undecided)
    texts = Texts.of_encoder(pictures.encoder)
    training = labels_to_train(known, pictures.features, options, texts=texts)
    on_step("training_labels", {"training": training})
    checkpoint = Checkpoint(out / CHECKPOINT, digest)
    tagger = fit_tagger(
        pictures.features,
        training,
        options,
        checkpoint,
        encoder=pictures.encoder,
        verbose=verbose,
    )
    return _finish(run, training, tagger, checkpoint, digest, on_step)


@one_writer
def update(
    model_path: Path,
    more: Sequence[Path],
    out: Path,
    *,
    vocabulary: Vocabulary | None = None,
    photos: Path | None = None,
    encoder: Sequence[str] | None = None,
    tag_format: str | None = None,
    on_step: OnStep | None = None,
    verbose: bool = False,
) -> Finished:
    """Learn from new annotations, with the parameters that were found before.

    New annotations override earlier ones. They may repeat them and may contain new tags. No picture
    is encoded again. Where the run is updated in its own folder, they are first written into its
    journal: an update that is broken off loses none. With another `vocabulary` than that of the
    run, or with an `encoder`, there need not be any. An encoder, by its names as for
    `load_encoder`, is only needed for the names of new tags, if it knows texts and is not where it
    was.
    """
    on_step = on_step or _ignore
    model = CompletionModel.load(model_path)
    decides = vocabulary is not None and vocabulary != model.options.vocabulary
    if encoder:
        model.tagger.set_params(encoder=encoder_of(model.tagger, encoder))
        decides = True
    if not more and not decides:
        raise InvalidInputError("There are no tags to learn from: name a file or folder.")
    if vocabulary is not None:
        model = _under(model, vocabulary)
    folder = model.photos if photos is None else photos
    if photos is None and not folder.is_dir():
        raise InvalidInputError(
            f"The pictures of {model_path} were in {folder}, which is not a folder any more. Give "
            "their present folder with --photos (photos= in Python)."
        )
    prepare_out(out, folder)
    features = model.tagger.training_set_.features
    decided = model.options.vocabulary
    read = read_sources(more, folder, features.items, tag_format, decided, own=not decides)
    on_step("read", {"readings": read.readings, "matched": read.matched})
    given = read.annotations.to_labels(features.items)
    if not given.n_known and not decides:
        raise _no_annotations(more, model_path, read)
    inputs: dict[str, Any] = {
        "model": digest_of_files([model_path]),
        "tags": digest_of_files(more),
    } | _vocabulary_file(out)
    learn = partial(_learn, model, Pictures(folder, features, []), read, out, on_step, verbose)
    if model_path.resolve() != (out / MODEL).resolve():
        return learn(given, inputs)
    with storing_answers(out, as_mapping(given), _label_of(model.known)) as answers:
        stored = Annotations.of(
            (Annotation(*place, present) for place, present in answers.in_effect.items()),
            tags=read.annotations.tags,
        )
        stored = under_vocabulary(stored, decided)
        given = add_known(stored.to_labels(features.items), given)
        return learn(given, inputs | {"answers": answers.digest})


def _under(model: CompletionModel, vocabulary: Vocabulary) -> CompletionModel:
    """Return the model with its annotations under the names of another vocabulary."""
    named = partial(labels_under_vocabulary, vocabulary=vocabulary)
    return replace(
        model,
        known=named(model.known),
        feedback=named(model.feedback),
        answers=named(model.answers),
        options=replace(model.options, vocabulary=vocabulary),
    )


def _learn(
    model: CompletionModel,
    pictures: Pictures,
    read: TagsRead,
    out: Path,
    on_step: OnStep,
    verbose: bool,
    given: PartialLabels,
    inputs: dict[str, Any],
) -> Finished:
    """Learn from annotations that were given since the model was made."""
    features = pictures.features
    new = _not_yet_known(given, model.known)
    known, feedback = add_known(model.known, given), add_known(model.feedback, new)
    run = _Run(pictures, read, known, feedback, model.options, out, inputs, verbose)
    texts = model.tagger.texts()
    training = labels_to_train(known, features, model.options, feedback, texts=texts)
    on_step("training_labels", {"training": training})
    forgetting = model.calibrations.seen.forgetting.for_labels(
        _classes(model), training.with_examples
    )
    # Refitting changes the scores by which the earlier run has asked.
    answers = add_known(model.answers, _asked(model, new, checked_entries(out)))
    tagger = model.tagger.refit(training.labels)
    digest = run.digest()
    return _finish(
        run,
        training,
        tagger,
        Checkpoint(out / CHECKPOINT, digest),
        digest,
        on_step,
        answers=answers,
        forgetting=forgetting if training.positive_unlabelled else None,
        summary={"new annotations": new.n_known},
    )


@dataclass(frozen=True, eq=False)
class _Run:
    """What a run is given: `feedback` is the part of `known` that was given on suggestions."""

    pictures: Pictures
    read: TagsRead
    known: PartialLabels
    feedback: PartialLabels | None
    options: Options
    out: Path
    inputs: dict[str, Any]
    """Digests of the files that were read, for the record."""
    verbose: bool

    def summary(self) -> dict[str, Any]:
        return input_summary(self.read, self.pictures, self.known)

    def digest(self) -> str:
        """Return a digest of everything that decides the result of the run."""
        features, known = self.pictures.features, self.known
        entries = known.entries()
        return digest_of(
            tagloom.__version__,
            str(self.pictures.folder.resolve()),
            features.items,
            features.visual,
            features.posteriors,
            [str(label) for label in known.labels],
            entries.rows,
            entries.columns,
            entries.present,
            entries.weights,
            *known.hidden_entries(),
            known.unlisted_weight,
            self.options.metadata(),
            self.inputs.get("model"),
            *self._texts(),
        )[:32]

    def _texts(self) -> list[str]:
        encoder = self.pictures.encoder
        return [] if encoder is None or encoder.text is None else [encoder.text.identity]


def _finish(
    run: _Run,
    training: TrainingLabels,
    tagger: SemanticTagger,
    checkpoint: Checkpoint,
    digest: str,
    on_step: OnStep,
    *,
    answers: PartialLabels | None = None,
    forgetting: Forgetting | None = None,
    summary: dict[str, Any] | None = None,
) -> Finished:
    """Measure, calibrate, suggest and write everything; `summary` is added to that of the input."""
    features, options = run.pictures.features, run.options
    fitted = _fit_counter(on_step, n_held_out_fits(training, options))
    fitted()
    held_out = score_held_out(
        tagger, features, training, options, checkpoint, verbose=run.verbose, on_fit=fitted
    )
    calibrations = calibrate_collection(
        held_out, training, options, answers=answers, forgetting=forgetting
    )
    result = assemble_result(
        run.pictures,
        training,
        held_out,
        calibrations,
        options,
        affinities=affinities_of(tagger),
        names=tagger.name_reasons(),
        texts=tagger.texts(),
        warnings=run.read.warnings,
        summary=run.summary() | (summary or {}),
    )
    nothing = _no_labels(run.known)
    feedback = nothing if run.feedback is None else run.feedback
    model = CompletionModel(
        tagger,
        calibrations,
        result.thresholds,
        run.known,
        feedback,
        nothing if answers is None else answers,
        training.implied,
        options,
        run.pictures.folder.resolve(),
    )
    write_outputs(
        run.out,
        result,
        model,
        digest=digest,
        inputs=run.inputs,
        readings=run.read.readings,
        verbose=run.verbose,
    )
    checkpoint.remove()
    return Finished(run.out, result, model)


def assemble_result(
    pictures: Pictures,
    training: TrainingLabels,
    held_out: HeldOut,
    calibrations: CollectionCalibration,
    options: Options,
    *,
    affinities: Any,
    warnings: list[Any],
    summary: dict[str, Any],
    names: NameReasons | None = None,
    texts: Texts | None = None,
) -> CompletionResult:
    """Turn scores into probabilities, and those into suggestions, suspected errors and queries."""
    known = training.known
    states = settled_states(known)
    is_open = states == int(State.UNKNOWN)
    held_out_p = calibrations.seen.probabilities(held_out.entries)
    P = calibrations.open_probabilities(
        held_out.final, listed=training.labels.is_listed(), implied=training.implied
    )
    np.copyto(P, held_out_p, where=~is_open)
    threshold = (
        EVEN if options.precision is None else choose_threshold(P, is_open, options.precision)
    )
    thresholds = np.full(P.shape[1], threshold)
    errors = suspected_errors(states, held_out_p)
    suspected = np.zeros(P.shape, dtype=bool)
    for one in errors:
        suspected[one.row, one.column] = True
    table = tag_table(known, P, is_open, thresholds, suspected, training.rare)
    return CompletionResult(
        photos=pictures.folder,
        known=known,
        P=P,
        is_open=is_open,
        thresholds=thresholds,
        table=table,
        suspected_errors=errors,
        to_annotate=annotate_next(P, is_open, known.counts().present, options.annotate_next),
        label_quality=[
            *_quality(training, held_out, thresholds, calibrations),
            *(not_learned(label, n) for label, n in training.not_learned.items()),
        ],
        bins=reliability(training.without_feedback, calibrations.seen.listed(held_out.entries)),
        label_frequencies=calibrations.label_frequencies,
        precision=calibrations.expected_precision(P[is_open & (thresholds <= P)]),
        frequencies_estimated=calibrations.seen.forgetting.estimated,
        implied=training.implied,
        implications=training.implications,
        affinities=affinities,
        skipped=pictures.skipped,
        warnings=warnings,
        too_rare=training.too_rare,
        ignored=training.ignored,
        unlinked=training.unlinked,
        links=_links(known, pictures.features, options, texts if options.words else None),
        names=names,
        summary=summary
        | {
            "suggested tags": table.count(TagState.SUGGESTED),
            "suspected label errors": len(errors),
        },
    )


def _fit_counter(on_step: OnStep, n_held_out: int) -> Callable[[], None]:
    """Return a function that reports one more fit; the first is that of the tagger itself."""
    done = count(1)
    return lambda: on_step("fitted", {"done": next(done), "of": 1 + n_held_out + N_FITS_AFTER})


def _quality(
    training: TrainingLabels,
    held_out: HeldOut,
    thresholds: Array,
    calibrations: CollectionCalibration,
) -> list[LabelQuality]:
    """Judge the ranking of each label; there is nothing to judge those by that have no examples."""
    c = np.where(training.never_listed, np.nan, calibrations.label_frequencies)
    judged = label_quality(training.labels, training.known, held_out.entries, thresholds, c)
    return [
        replace(one, average_precision=np.nan, roc_auc=np.nan) if by_name else one
        for one, by_name in zip(judged, training.by_name.tolist(), strict=True)
    ]


def _label_of(known: PartialLabels) -> Callable[[Place], bool | None]:
    """Return a function that looks up what is known of a picture and a tag, by their names."""
    states = settled_states(known)
    rows = {str(item): row for row, item in enumerate(known.items or ())}
    columns = {str(label): column for column, label in enumerate(known.labels)}
    labels = {int(State.PRESENT): True, int(State.ABSENT): False}

    def label(place: Place) -> bool | None:
        row, column = rows.get(place[0]), columns.get(place[1])
        return None if row is None or column is None else labels.get(int(states[row, column]))

    return label


def _asked(
    model: CompletionModel, new: PartialLabels, checked: Collection[tuple[str, str]]
) -> PartialLabels:
    """Return the annotations that are answers: of entries that the earlier run had asked about.

    It had suggested them, proposed them for annotation or drawn them for a check. Whoever adds a
    tag unasked has seen it, so that this says nothing about probabilities.
    """
    P, classes = model.open_probabilities(), _classes(model)
    # A tag that has been merged with others since stands in their place.
    known = model.known.select(list(dict.fromkeys(classes)))
    at = [known.labels.index(label) for label in classes]
    is_open = settled_states(known)[:, at] == int(State.UNKNOWN)
    asked = is_open & (model.thresholds <= P)
    queries = annotate_next(P, is_open, known.counts().present[at], model.options.annotate_next)
    asked[[one.row for one in queries], [one.column for one in queries]] = True
    place = {label: column for column, label in enumerate(classes)}
    item = {str(name): row for row, name in enumerate(model.tagger.items_)}
    for image, tag in checked:
        if image in item and tag in place:
            asked[item[image], place[tag]] = is_open[item[image], place[tag]]
    entries = new.entries()
    columns = np.array([place.get(label, -1) for label in new.labels], dtype=np.int64)
    of_entries = columns[entries.columns]
    unasked = (of_entries < 0) | ~asked[entries.rows, of_entries]
    return new.with_hidden(entries.rows[unasked], entries.columns[unasked])


def _vocabulary_file(out: Path) -> dict[str, str]:
    """Return where decisions about the tags of a run go, if its record says so."""
    if not (out / RECORD).exists():
        return {}
    given = (read_record(out).get("inputs") or {}).get("vocabulary")
    return {} if given is None else {"vocabulary": str(given)}


def _classes(model: CompletionModel) -> list[Hashable]:
    """Return the labels of the tagger under the names of the vocabulary."""
    aliases = model.options.vocabulary.aliases
    return [aliases.get(str(label), label) for label in model.tagger.classes_]


def settled_states(known: PartialLabels) -> Array:
    """Return the states; entries that are unlisted and only probably absent count as unknown."""
    states = known.states()
    if 0 < known.unlisted_weight < 1:
        states[~known.is_listed()] = int(State.UNKNOWN)
    return states


def labels_to_train(
    known: PartialLabels,
    features: Features,
    options: Options,
    feedback: PartialLabels | None = None,
    texts: Texts | None = None,
) -> TrainingLabels:
    """Return the training labels, with what the names of tags imply and which concepts they mean.

    `feedback` is as for `training_labels`; `texts` compares names with pictures.
    """
    if not options.words:
        return training_labels(known, options, feedback)
    links = _links(known, features, options)
    compared = TextPrior.of(texts, features, known.labels)
    T = replace(WordPrior.of_links(links), texts=compared)(features)
    return training_labels(
        known,
        options,
        feedback,
        implications=[(one.narrow, one.broad) for one in links.implications],
        prior={
            label: T[:, n] for n, label in enumerate(known.labels) if not np.isnan(T[:1, n]).any()
        },
    )


def _links(
    known: PartialLabels, features: Features, options: Options, texts: Texts | None = None
) -> TagLinks:
    links = link_tags(
        map(str, known.labels),
        features.concepts,
        vocabulary=options.vocabulary,
        labels=known,
        posteriors=features.posteriors,
    )
    return say_compared(links, texts)


def _no_labels(like: PartialLabels) -> PartialLabels:
    return like.with_entries([], [], [])


def _no_annotations(more: Sequence[Path], model_path: Path, read: TagsRead) -> InvalidInputError:
    suggestions = (
        f" Its {len(read.annotations):,} suggestions are a machine's: give those that are right "
        "the state known, those that are wrong the state absent."
        if len(read.annotations)
        else ""
    )
    return InvalidInputError(
        f"{', '.join(map(str, more))} has no annotation of the pictures of {model_path}: there is "
        f"nothing to learn.{suggestions}"
    )


def _not_yet_known(given: PartialLabels, known: PartialLabels) -> PartialLabels:
    """Return the annotations that are not known already: only those are feedback."""
    shared = [label for label in given.labels if label in set(known.labels)]
    before, now = known.select(shared).states(), given.select(shared).states()
    rows, columns = np.nonzero((before == now) & (now != int(State.UNKNOWN)))
    place = {label: column for column, label in enumerate(given.labels)}
    of_given = np.array([place[label] for label in shared], dtype=np.int64)
    return given.with_hidden(rows, of_given[columns])


def _ignore(step: str, findings: dict[str, Any]) -> None:
    """Stand in for `on_step`."""
