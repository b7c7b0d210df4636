"""Fit the tagger, score every known entry by a learner that was not shown it, and calibrate."""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from tagloom.calibration import (
    IMPLIED,
    AnswerCorrection,
    Calibration,
    CollectionCalibration,
    Forgetting,
    calibrate,
    fit_answers,
    probability_looked_at,
    with_names,
)
from tagloom.completion.inputs import Options
from tagloom.completion.outputs import Checkpoint, digest_of
from tagloom.completion.training_labels import TrainingLabels
from tagloom.labels import PartialLabels, split_known
from tagloom.labels.splits import held_out_items
from tagloom.linalg import side_by_side
from tagloom.progress import followed_by, progress_bar
from tagloom.tagger import SemanticTagger
from tagloom.vision import Encoder, Features
from tagloom.vision.pipeline import available_cores

# Half of the labels hold for the names of the other half.
_NAME_FOLDS = 2

Array = npt.NDArray[Any]
N_FITS_AFTER = 1
"""Calibration, suggestions and the report take about as long as this number of fits."""
# Folds that are fitted side by side hold at most about this many bytes, as far as they are more
# than one.
_BYTES_OF_FOLDS = 1 << 30
# Tables of a fold that are as large as its features: columns and components.
_TABLES_OF_A_FOLD = 2
# As many tables of scores does a fit of SemanticDiffusion keep: six for each of two graphs.
_SCORES_OF_A_FOLD = 12


def fit_tagger(
    features: Features,
    training: TrainingLabels,
    options: Options,
    checkpoint: Checkpoint,
    *,
    encoder: Encoder | None = None,
    verbose: bool,
) -> SemanticTagger:
    """Search for parameters by the labels with enough examples; fit the tagger to all labels.

    The tagger remembers the `encoder` of the pictures: new ones must be encoded by the same.
    """
    tagger = SemanticTagger(
        words=options.words,
        vocabulary=options.vocabulary,
        encoder=encoder,
        random_state=options.random_state,
        verbose=verbose,
    )
    with followed_by(n_held_out_fits(training, options) + N_FITS_AFTER):
        return tagger.fit(
            features,
            training.labels,
            max_seconds=60 * options.max_minutes,
            checkpoint=checkpoint.results("trials"),
            # Scores of a single label are never normalised: it would decide that for all.
            search_labels=training.with_examples if len(training.with_examples) > 1 else None,
            n_jobs=_n_folds_at_once(features, training.labels.n_labels, n_folds=available_cores()),
        )


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of all entries by the fitted tagger and by learners that were not shown them.

    Attributes
    ----------
    final : array of shape (n_items, n_labels)
        Scores of the tagger that was fitted to all training labels.
    entries : array of the same shape
        Each known entry scored by a learner that was not shown this entry.
    pictures : array of the same shape, or None
        Each picture scored by a learner that was shown no entry of it, in PU learning.
    names : array of the same shape, or None
        Labels with enough examples scored by a learner that was shown none of them, as their names
        mean concepts; NaN for others. None unless labels are judged by their names.
    """

    final: Array
    entries: Array
    pictures: Array | None
    names: Array | None = None


def score_held_out(
    tagger: SemanticTagger,
    features: Features,
    training: TrainingLabels,
    options: Options,
    checkpoint: Checkpoint,
    *,
    verbose: bool,
    on_fit: Callable[[], None] | None = None,
) -> HeldOut:
    """Score by cross-validation what is known, as if it were not; `on_fit` is called each time."""
    final = np.asarray(tagger.scores(), dtype=np.float32)
    plans = _plans(tagger, training, final, options)
    # A search that continues after an interruption may find other parameters, with other folds.
    parameters = digest_of(clone(tagger.learner_).get_params())[:12]
    n_fits = n_held_out_fits(training, options)
    n_jobs = _n_folds_at_once(features, training.labels.n_labels, n_fits)
    with (
        followed_by(N_FITS_AFTER),
        progress_bar(n_fits, "measuring", show=verbose) as advance,
    ):

        def score_fold(kind: str, number: int, labels: PartialLabels) -> Array:
            name = f"{kind}{number}-{parameters}"
            return checkpoint.array(name, lambda: _scores_of_fold(tagger, features, labels))

        def scores(made: Mapping[str, FoldPlan]) -> Generator[Array, None, None]:
            tasks = [
                partial(score_fold, kind, *fold)
                for kind, plan in made.items()
                for fold in enumerate(plan.folds)
            ]
            with closing(side_by_side(tasks, n_jobs)) as found:
                for one in found:
                    advance()
                    if on_fit is not None:
                        on_fit()
                    yield one

        # Fits side by side have one queue, so that no core waits for the end of a plan. Fits of a
        # large collection run one by one: then plans do, too, whose training labels take memory.
        at_once = [list(plans)] if n_jobs > 1 else [[kind] for kind in plans]
        tables: dict[str, Array] = {}
        for kinds in at_once:
            made = {kind: plans[kind]() for kind in kinds}
            with closing(scores(made)) as found:
                for kind, plan in made.items():
                    tables[kind] = plan.table(islice(found, len(plan.folds)))
    return HeldOut(final, tables["fold"], tables.get("pictures"), tables.get("names"))


def _plans(
    tagger: SemanticTagger, training: TrainingLabels, final: Array, options: Options
) -> "dict[str, Callable[[], FoldPlan]]":
    """Return how to make each plan, under the name of its checkpoints."""
    split: _Split = {"n_splits": options.cv, "random_state": options.random_state}
    plans: dict[str, Callable[[], FoldPlan]] = {
        "fold": partial(plan_entries, training.labels, final, **split)
    }
    if training.positive_unlabelled:
        plans["pictures"] = partial(plan_pictures, training.labels, final, **split)
    if training.by_name.any():
        named = _named(tagger) & ~training.by_name
        plans["names"] = partial(plan_names, training.labels, final, named, options.random_state)
    return plans


def _named(tagger: SemanticTagger) -> npt.NDArray[np.bool_]:
    """Return the labels whose names say something about pictures."""
    prior = tagger.training_set_.descriptors.prior
    if prior is None:
        return np.zeros(len(tagger.classes_), dtype=bool)
    return np.asarray(~np.isnan(prior).any(axis=0))


def n_held_out_fits(training: TrainingLabels, options: Options) -> int:
    """Return how often `score_held_out` fits."""
    of_names = _NAME_FOLDS if training.by_name.any() else 0
    return options.cv * (1 + training.positive_unlabelled) + of_names


class _Split(TypedDict):
    n_splits: int
    random_state: int


def _n_folds_at_once(features: Features, n_labels: int, n_folds: int) -> int:
    """Return how many folds are fitted side by side: one for each core, as far as memory goes."""
    size = _TABLES_OF_A_FOLD * (features.visual.nbytes + features.posteriors.nbytes)
    size += _SCORES_OF_A_FOLD * len(features.items) * n_labels * features.visual.itemsize
    return max(1, min(available_cores(), n_folds, _BYTES_OF_FOLDS // max(1, size)))


def _scores_of_fold(tagger: SemanticTagger, features: Features, labels: PartialLabels) -> Array:
    learner = clone(tagger.learner_).set_params(on_unlearnable="ignore")
    fold = tagger.with_learner(learner)
    return np.asarray(fold.fit(features, labels).scores(), dtype=np.float32)


class FoldPlan(NamedTuple):
    """What is held out in some fits, and how a table of held-out scores is made of their scores."""

    folds: list[PartialLabels]
    """The training labels of each fit."""
    table: Callable[[Iterable[Array]], Array]
    """From the scores of all entries by the learner of each fold to the table."""


def plan_entries(
    labels: PartialLabels, final: Array, *, n_splits: int = 3, random_state: int = 0
) -> FoldPlan:
    """Score each listed entry in the fold that holds it out, and the others in one of the folds.

    `final` are the scores of the learner that was shown all labels. A learner with fewer labels
    scores differently: where unlisted tags are absent and a third of the presences is held out,
    scores are lower by a third. With H the scores of the folds and F the final ones, H is
    multiplied by <F, H> / <H, H>, taken over the unlisted entries.
    """
    folds = [fold.training for fold in split_known(labels, n_splits, random_state)]

    def table(found: Iterable[Array]) -> Array:
        listed = labels.is_listed()
        H = np.empty_like(final)
        for number, (training, scores) in enumerate(zip(folds, found, strict=True)):
            others = np.arange(number, len(H), n_splits)
            H[others] = np.where(listed[others], H[others], scores[others])
            held = listed & ~training.is_listed()
            H[held] = scores[held]
        return np.asarray(H * _slope(final, H, ~listed))

    return FoldPlan(folds, table)


def plan_pictures(
    labels: PartialLabels, final: Array, *, n_splits: int, random_state: int
) -> FoldPlan:
    """Score each annotated picture in the fold that holds out all of its labels.

    This is how unseen pictures are scored: of a picture that was looked at, the learner takes every
    unlisted tag for absent, a held-out presence as well, and scores it lower. The scores of the
    folds are scaled as in `plan_entries`, by those of the unannotated pictures, for which the
    mean over the folds is returned. So are new pictures scored, of which nothing is known either.
    """
    held_out = list(held_out_items(labels, n_splits, random_state))

    def table(found: Iterable[Array]) -> Array:
        annotated = labels.known_items()
        H = np.zeros_like(final)
        for held, scores in zip(held_out, found, strict=True):
            H[held] = scores[held]
            H[~annotated] += scores[~annotated] / n_splits
        where = np.broadcast_to(~annotated[:, None], H.shape)
        return np.asarray(H * _slope(final, H, where))

    return FoldPlan([labels.with_hidden_items(held) for held in held_out], table)


def plan_names(
    labels: PartialLabels, final: Array, named: npt.NDArray[np.bool_], random_state: int
) -> FoldPlan:
    """Score each of the named labels in the fold that holds out all of its entries.

    So are labels scored that have no example. Scores of the folds are scaled as in `plan_entries`,
    by those of the other labels.
    """
    order = np.random.default_rng(random_state).permutation(np.flatnonzero(named))
    held_columns = np.zeros((_NAME_FOLDS, 1, labels.n_labels), dtype=bool)
    for number in range(_NAME_FOLDS):
        held_columns[number, 0, order[number::_NAME_FOLDS]] = True
    held_out = [np.broadcast_to(columns, labels.shape) for columns in held_columns]

    def table(found: Iterable[Array]) -> Array:
        H = np.full_like(final, np.nan)
        for held, scores in zip(held_out, found, strict=True):
            H[held] = _slope(final, scores, ~held) * scores[held]
        return H

    return FoldPlan([labels.with_hidden(*np.nonzero(held)) for held in held_out], table)


def _slope(F: Array, H: Array, where: npt.NDArray[np.bool_]) -> float:
    below = float(np.square(H, where=where, out=np.zeros_like(H)).sum(dtype=np.float64))
    above = float(np.multiply(F, H, where=where, out=np.zeros_like(H)).sum(dtype=np.float64))
    return above / below if below > 0 and above > 0 else 1.0


def calibrate_collection(
    held_out: HeldOut,
    training: TrainingLabels,
    options: Options,
    *,
    answers: PartialLabels | None = None,
    forgetting: Forgetting | None = None,
) -> CollectionCalibration:
    """Fit calibrations for annotated and for unseen pictures to the held-out scores.

    Feedback on suggestions is no part of the lists. Of it `answers`, entries that somebody was
    asked about, correct the probabilities. How tags are forgotten cannot be estimated again once
    the top of the ranking has been reviewed: `forgetting` hands on the earlier estimate, of the
    labels with enough examples. The others are calibrated by what their names have proved to mean.
    """
    labels, columns = training.with_examples, training.judged.others
    without_feedback = training.without_feedback.select(labels)
    fit = partial(
        calibrate,
        without_feedback,
        current=training.labels.select(labels),
        positive_unlabelled=training.positive_unlabelled,
        label_frequency=options.label_frequency,
        random_state=options.random_state,
    )
    seen = fit(held_out.entries[:, columns], forgetting=forgetting)
    unseen = (
        seen
        if held_out.pictures is None
        else fit(held_out.pictures[:, columns], forgetting=seen.forgetting, label_frequency=None)
    )
    if forgetting is None and seen.forgetting.estimated:
        seen = replace(seen, forgetting=_of_annotations(seen.forgetting, training))
    if training.by_name.any():
        seen, unseen = (
            with_names(
                one,
                training.judged,
                without_feedback,
                None if held_out.names is None else held_out.names[:, columns],
                held_out.final,
                random_state=options.random_state,
            )
            for one in (seen, unseen)
        )
    calibrations = CollectionCalibration(
        seen,
        unseen,
        training.unseen,
        training.looked_at,
        training.positive_unlabelled,
        looked_at_probability(seen, held_out, training),
    )
    if answers is None:
        return calibrations
    return calibrations.with_answers(_fit_to_answers(calibrations, held_out, training, answers))


def looked_at_probability(
    seen: Calibration, held_out: HeldOut, training: TrainingLabels
) -> npt.NDArray[np.float64]:
    """Return for each picture the probability that somebody has looked at it, 0 if unseen.

    A picture may have a tag that is not learned. All of these count as one more label, which is
    listed with the same probability everywhere: as often as beside tags that are learned.
    """
    looked_at = training.looked_at.astype(np.float64)
    uncertain = ~training.looked_at & ~training.unseen
    if not uncertain.any():
        return looked_at
    G = seen.listed(held_out.entries[uncertain])
    has_learned, has_rare = (
        np.asarray(one.is_listed().any(axis=1))
        for one in (training.without_feedback, training.rare)
    )
    share = has_rare[has_learned].mean() if has_learned.any() else 0.0
    G = np.column_stack([G, np.full(len(G), share, dtype=G.dtype)])
    looked_at[uncertain] = probability_looked_at(G, int(training.looked_at.sum()))
    return looked_at


def _of_annotations(forgetting: Forgetting, training: TrainingLabels) -> Forgetting:
    """Count as listed what was annotated, without what it implies."""
    columns = training.judged.others
    listed = training.known.counts().present[columns]
    implied = training.implied_without_feedback[:, columns].sum(axis=0)
    with_implied = np.maximum(listed + implied, 1)
    c = forgetting.label_frequencies * listed / with_implied
    return replace(forgetting, label_frequencies=c)


def _fit_to_answers(
    calibrations: CollectionCalibration,
    held_out: HeldOut,
    training: TrainingLabels,
    answers: PartialLabels,
) -> AnswerCorrection:
    """Compare answers with the probabilities of learners that were not shown them."""
    labels = training.known.labels
    place = {label: column for column, label in enumerate(labels)}
    names = [label for label in answers.labels if label in place]
    entries = answers.select(names).entries()
    columns = np.array([place[label] for label in names], dtype=np.int64)[entries.columns]
    p, listed = np.empty(len(columns)), training.without_feedback.is_listed()
    for column in np.unique(columns).tolist():
        at = columns == column
        of_label = calibrations.before_answers(held_out.entries, held_out.pictures, listed, column)
        p[at] = of_label[entries.rows[at]]
    implied = training.implied_without_feedback[entries.rows, columns]
    p[implied] = np.maximum(p[implied], IMPLIED)
    return fit_answers(p, columns, entries.present, len(labels), by_name=training.by_name)


def affinities_of(tagger: SemanticTagger) -> Any:
    """Return the graph of the learner; one without a graph has no edges."""
    S, n = getattr(tagger.learner_, "graph_", None), len(tagger.items_)
    return sparse.csr_array((n, n), dtype=np.float32) if S is None else sparse.csr_array(S)
