"""The trials of `completion.py`: each completes hidden tags and compares with the truth."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tagloom.benchmark.demo import (
    baseline_scores,
    evaluate_ranking,
    evaluate_suggestions,
    hidden_truth,
    tag_lists,
)
from tagloom.calibration import choose_threshold
from tagloom.completion.fit import (
    HeldOut,
    affinities_of,
    calibrate_collection,
    fit_tagger,
    score_held_out,
)
from tagloom.completion.inputs import Options, Pictures
from tagloom.completion.outputs import Checkpoint
from tagloom.completion.pipeline import EVEN, assemble_result, labels_to_train
from tagloom.completion.result import CompletionResult, calibration_error, reliability
from tagloom.completion.suggestions import TagState
from tagloom.completion.training_labels import TrainingLabels, training_labels
from tagloom.errors import TagloomWarning
from tagloom.labels import PartialLabels, State, add_known
from tagloom.metrics import mean_average_precision
from tagloom.tagger import SemanticTagger
from tagloom.vision import Features

PRECISIONS = (0.8, 0.9, 0.95)
ERROR_RATE = 0.03
N_ANNOTATIONS = 200
N_ANSWERS = 50

Figures = dict[str, float]


@dataclass
class Trial:
    """Pictures, the truth, and the tags that were kept; everything else is computed on demand."""

    features: Features
    truth: PartialLabels
    known: PartialLabels
    folder: Path
    seed: int
    minutes: float
    words: bool = True
    folds: int = Options().cv

    @property
    def options(self) -> Options:
        """The options of the completion."""
        return Options(
            max_minutes=self.minutes,
            random_state=self.seed,
            annotate_next=N_ANNOTATIONS,
            words=self.words,
            cv=self.folds,
        )

    @cached_property
    def training(self) -> TrainingLabels:
        """The training labels."""
        return labels_to_train(self.known, self.features, self.options)

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """Where intermediate results go."""
        return Checkpoint(self.folder / "checkpoint", "first")

    @cached_property
    def tagger(self) -> SemanticTagger:
        """The tagger with the best parameters."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TagloomWarning)
            tagger = fit_tagger(
                self.features, self.training, self.options, self.checkpoint, verbose=False
            )
        print(f"# {tagger.learner_}", flush=True)
        return tagger

    @cached_property
    def held_out(self) -> HeldOut:
        """The scores of the tagger."""
        return score_held_out(
            self.tagger,
            self.features,
            self.training,
            self.options,
            self.checkpoint,
            verbose=False,
        )

    @cached_property
    def result(self) -> CompletionResult:
        """The result of the completion."""
        return completed(self, self.tagger, self.training, self.held_out)

    @cached_property
    def truth_states(self) -> Any:
        """The states in the truth of the labels that are learned."""
        return self.truth.select(self.training.known.labels).states()

    @cached_property
    def hidden(self) -> PartialLabels:
        """The truth of the hidden tags, for the labels that are learned."""
        return hidden_truth(self.training.known, self.truth)


def completed(
    trial: Trial, tagger: SemanticTagger, training: TrainingLabels, held_out: HeldOut
) -> CompletionResult:
    return assemble_result(
        Pictures(Path(), trial.features, []),
        training,
        held_out,
        calibrate_collection(held_out, training, trial.options),
        trial.options,
        affinities=affinities_of(tagger),
        warnings=[],
        summary={},
    )


def refitted(trial: Trial, training: TrainingLabels) -> SemanticTagger:
    """Fit other labels with the parameters that were found before."""
    learner = clone(trial.tagger.learner_).set_params(on_unlearnable="ignore")
    return SemanticTagger(learner, random_state=trial.seed).fit(trial.features, training.labels)


def rankings(trial: Trial) -> Figures:
    tables = {"tagloom": trial.result.P, "tagloom, raw scores": trial.held_out.final}
    X = trial.tagger.training_set_.descriptors.X
    tables |= baseline_scores(X, trial.training.labels, trial.seed)
    figures: Figures = {}
    for name, table in tables.items():
        of = evaluate_ranking(trial.hidden, table)
        figures[f"mAP, {name}"] = of.mean_average_precision
        figures[f"recall@5, {name}"] = of.recall
        figures[f"pooled AP, {name}"] = of.pooled
    return figures


def calibration(trial: Trial) -> Figures:
    result, hidden = trial.result, trial.hidden
    bins = reliability(hidden, result.P)
    for one in bins:
        print(f"#   {one.low:.1f} {one.n:9,} {one.confidence:.3f} {one.observed:.3f}")
    figures = {
        "labels learned": float(trial.training.labels.n_labels),
        "unseen pictures": float(trial.training.unseen.sum()),
        "label frequency, true": _true_label_frequency(trial),
        "label frequency, estimated": result.label_frequency,
        "calibration error, all": calibration_error(bins),
        "calibration error, from 0.3 on": calibration_error(bins, least=0.3),
        "the same, by held-out entries": calibration_error(result.bins, least=0.3),
    }
    for precision in (None, *PRECISIONS):
        threshold = (
            EVEN if precision is None else choose_threshold(result.P, result.is_open, precision)
        )
        made = evaluate_suggestions(hidden, result.P, threshold)
        wanted = "default" if precision is None else f"precision {precision}"
        figures[f"{wanted}: suggestions"] = float(made.n)
        figures[f"{wanted}: precision"] = made.precision
        figures[f"{wanted}: recall"] = made.recall
    return figures


def _true_label_frequency(trial: Trial) -> float:
    """Return the share of the presences that is listed, on pictures that were looked at."""
    seen = ~trial.training.unseen
    listed = trial.training.known.states()[seen] == int(State.PRESENT)
    present = trial.truth_states[seen] == int(State.PRESENT)
    return float((listed & present).sum() / present.sum())


class TagRow(NamedTuple):
    """One tag, or all of them: what is listed, what is there, and what is suggested.

    `promised` is the mean probability of the suggestions, `found` counts forgotten tags.
    """

    tag: str
    listed: int
    present: int
    true_frequency: float
    estimated_frequency: float
    suggestions: int
    right: float
    promised: float
    found: float

    def __str__(self) -> str:
        counts = f"{self.listed:10,}{self.present:10,}"
        frequencies = f"{self.true_frequency:10.2f}{self.estimated_frequency:10.2f}"
        shares = f"{self.right:10.2f}{self.promised:10.2f}{self.found:10.2f}"
        return f"{self.tag:16}{counts}{frequencies}{self.suggestions:10,}{shares}"


def by_tag(trial: Trial) -> Figures:
    """Compare listing and suggestions of each tag whose truth is known."""
    columns = np.flatnonzero((trial.truth_states != int(State.UNKNOWN)).any(axis=0))
    rows = [tag_row(trial, str(trial.result.labels[column]), [column]) for column in columns]
    total = tag_row(trial, "all", columns)
    head = ("listed", "present", "true c", "estimated", "suggested", "right", "promised", "found")
    print(f"# {'tag':16}" + "".join(f"{name:>10}" for name in head))
    for row in (*sorted(rows, key=lambda row: row.true_frequency), total):
        print(f"# {row}")
    errors = [abs(row.estimated_frequency - row.true_frequency) for row in rows]
    return {
        "by tag: tags": float(len(rows)),
        "by tag: median error of the label frequency": float(np.nanmedian(errors)),
        "by tag: suggestions": float(total.suggestions),
        "by tag: right": total.right,
        "by tag: promised": total.promised,
        "by tag: found": total.found,
        "by tag: suggestions of other tags": float(
            suggested(trial.result).sum() - total.suggestions
        ),
    }


def tag_row(trial: Trial, name: str, columns: Any) -> TagRow:
    """Count the entries of some labels whose truth is known."""
    result, truth = trial.result, trial.truth_states[:, columns]
    judged, present = truth != int(State.UNKNOWN), truth == int(State.PRESENT)
    listed = result.known.states()[:, columns] == int(State.PRESENT)
    made = suggested(result)[:, columns] & judged
    n_made, n_right = int(made.sum()), int((made & present).sum())
    n_present, n_named = int(present.sum()), int((listed & present).sum())
    return TagRow(
        name,
        int((listed & judged).sum()),
        n_present,
        n_named / n_present if n_present else np.nan,
        float(result.label_frequencies[columns].mean()),
        n_made,
        n_right / n_made if n_made else np.nan,
        float(result.P[:, columns][made].mean()) if n_made else np.nan,
        n_right / (n_present - n_named) if n_present > n_named else np.nan,
    )


def suggested(result: CompletionResult) -> Any:
    """Return which entries are suggested."""
    made = result.table.state == int(TagState.SUGGESTED)
    mask = np.zeros(result.P.shape, dtype=bool)
    mask[result.table.rows[made], result.table.columns[made]] = True
    return mask


def error_detection(trial: Trial) -> Figures:
    """Move some of the tags to pictures that do not have them, and see which are suspected."""
    rng = np.random.default_rng([trial.seed, 1])
    known, planted = with_errors(trial, rng)
    training = training_labels(known, trial.options)
    tagger = refitted(trial, training)
    held_out = score_held_out(
        tagger,
        trial.features,
        training,
        trial.options,
        Checkpoint(trial.folder / "errors", "errors"),
        verbose=False,
    )
    errors = completed(trial, tagger, training, held_out).suspected_errors
    names = list(training.known.labels)
    right = [(one.row, names[one.column]) in planted for one in errors]
    n_planted = sum(label in set(names) for _, label in planted)
    first = right[:n_planted]
    return {
        "errors planted": float(n_planted),
        "errors suspected": float(len(errors)),
        "errors: precision": float(np.mean(right)) if right else np.nan,
        "errors: recall": sum(right) / max(1, n_planted),
        "errors: precision of as many as planted": float(np.mean(first)) if first else 0.0,
    }


def with_errors(
    trial: Trial, rng: np.random.Generator
) -> tuple[PartialLabels, set[tuple[int, Any]]]:
    """Move a share of the known tags to any tagged picture that does not have them."""
    entries = trial.known.entries()
    rows, columns = entries.rows.copy(), entries.columns
    absent = trial.truth.states() == int(State.ABSENT)
    for k in rng.permutation(len(rows))[: round(ERROR_RATE * len(rows))]:
        tagged = np.unique(entries.rows)
        rows[k] = rng.choice(tagged[absent[tagged, columns[k]]])
    moved = rows != entries.rows
    planted = {
        (int(row), trial.truth.labels[column])
        for row, column in zip(rows[moved], columns[moved], strict=True)
    }
    return tag_lists(trial.truth, rows, columns), planted


def annotation_gain(trial: Trial) -> Figures:
    """Reveal the truth of several choices of entries and see how well the rest is then ranked."""
    P, states = trial.result.P, trial.hidden.states()
    rows, columns = np.nonzero(states != int(State.UNKNOWN))
    rng = np.random.default_rng([trial.seed, 2])
    queries = trial.result.to_annotate
    n = len(queries)
    uncertain = np.argsort(np.abs(P[rows, columns] - 0.5), kind="stable")[:n]
    likely = np.argsort(-P[rows, columns], kind="stable")[:n]
    choices = {
        "proposed": (np.array([q.row for q in queries]), np.array([q.column for q in queries])),
        "random": _at(rows, columns, rng.permutation(len(rows))[:n]),
        "nearest 0.5": _at(rows, columns, uncertain),
        "most probable": _at(rows, columns, likely),
    }
    # All are judged by the same entries: those that no choice has revealed.
    rest = trial.hidden
    for choice in choices.values():
        rest = rest.with_hidden(*choice)
    figures = {
        "annotations": float(n),
        "mAP of the rest, no annotations": mean_average_precision(rest, trial.held_out.final),
    }
    for name, choice in choices.items():
        present = states[choice] == int(State.PRESENT)
        scores = _scores_knowing(trial, choice, present)
        figures[f"mAP of the rest, {name}"] = mean_average_precision(rest, scores)
        figures[f"share present, {name}"] = float(present.mean())
    return figures


def _at(rows: Any, columns: Any, chosen: Any) -> tuple[Any, Any]:
    return rows[chosen], columns[chosen]


def _scores_knowing(trial: Trial, choice: tuple[Any, Any], present: Any) -> Any:
    known = trial.training.known
    feedback = PartialLabels.from_entries(
        *choice, present, shape=known.shape, labels=known.labels, items=known.items
    )
    training = training_labels(add_known(known, feedback), trial.options, feedback)
    return np.asarray(refitted(trial, training).scores())


def answers(trial: Trial) -> Figures:
    """Answer 50 suggestions, drawn at random, by the truth, and compare the promise again."""
    rng = np.random.default_rng([trial.seed, 4])
    made = suggested(trial.result) & (trial.hidden.states() != int(State.UNKNOWN))
    rows, columns = np.nonzero(made)
    chosen = rng.permutation(len(rows))[:N_ANSWERS]
    at = rows[chosen], columns[chosen]
    present = trial.hidden.states()[at] == int(State.PRESENT)
    known = trial.training.known
    given = known.with_entries(*at, present)
    feedback = add_known(known, given)
    training = labels_to_train(feedback, trial.features, trial.options, given)
    tagger = refitted(trial, training)
    checkpoint = Checkpoint(trial.folder / "answers", "answers")
    held_out = score_held_out(
        tagger, trial.features, training, trial.options, checkpoint, verbose=False
    )
    first = calibrate_collection(trial.held_out, trial.training, trial.options)
    forgetting = first.seen.forgetting.for_labels(known.labels, training.with_examples)
    calibrations = calibrate_collection(
        held_out, training, trial.options, answers=given, forgetting=forgetting
    )
    listed = training.labels.is_listed()
    P = calibrations.open_probabilities(held_out.final, listed=listed, implied=training.implied)
    rest = hidden_truth(training.known, trial.truth).states()
    judged = (rest != int(State.UNKNOWN)) & (P >= EVEN)
    return {
        "answers": float(len(chosen)),
        "after answers: suggestions": float(judged.sum()),
        "after answers: right": float((rest[judged] == int(State.PRESENT)).mean()),
        "after answers: promised": float(P[judged].mean()),
    }
