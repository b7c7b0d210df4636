"""The trials of `completion.py`: each completes forgotten tags and says how that compares."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from tagloom.benchmark.demo import (
    baseline_scores,
    calibration_bins,
    evaluate_ranking,
    evaluate_suggestions,
    hidden_truth,
    tag_lists,
)
from tagloom.completion.calibration import choose_thresholds
from tagloom.completion.checkpoint import Work
from tagloom.completion.fit import Learned, fit_tagger, measured
from tagloom.completion.options import Options
from tagloom.completion.pipeline import assemble
from tagloom.completion.result import Completed, calibration_error
from tagloom.completion.training_labels import Taught, teach
from tagloom.errors import TagloomWarning
from tagloom.labels import PartialLabels, State, add_known
from tagloom.metrics import mean_average_precision
from tagloom.tagger import SemanticTagger
from tagloom.vision import Features

PRECISIONS = (0.8, 0.9, 0.95)
SLIPS = 0.03
N_ANSWERS = 200

Figures = dict[str, float]


@dataclass
class Trial:
    """Pictures, the truth, and the tags that were not forgotten; completed when first asked for."""

    features: Features
    truth: PartialLabels
    said: PartialLabels
    folder: Path
    seed: int
    minutes: float

    @property
    def options(self) -> Options:
        """What is asked of the completion."""
        return Options(minutes=self.minutes, seed=self.seed, questions=N_ANSWERS)

    @cached_property
    def taught(self) -> Taught:
        """What the learner is taught."""
        return teach(self.said, self.options)

    @cached_property
    def learned(self) -> Learned:
        """The learner, with parameters searched, and its scores."""
        work = Work(self.folder / "work", "first")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TagloomWarning)
            tagger = fit_tagger(self.features, self.taught, self.options, work, show_progress=False)
        print(f"# {tagger.learner_}", flush=True)
        return measured(tagger, self.features, self.taught, self.options, work, show_progress=False)

    @cached_property
    def result(self) -> Completed:
        """All that the completion says."""
        return completed(self.taught, self.learned, self.options)

    @cached_property
    def hidden(self) -> PartialLabels:
        """The truth of what was forgotten, of the labels that are learned."""
        return hidden_truth(self.taught.said, self.truth)


def completed(taught: Taught, learned: Learned, options: Options) -> Completed:
    return assemble(Path(), taught, learned, options, skipped=[], warnings=[], account={})


def taught_again(trial: Trial, taught: Taught) -> SemanticTagger:
    """Learn from other tags with the parameters that were found before."""
    learner = clone(trial.learned.tagger.learner_).set_params(on_unlearnable="ignore")
    return SemanticTagger(learner, random_state=trial.seed).fit(trial.features, taught.known)


def rankings(trial: Trial) -> Figures:
    tables = {"tagloom": trial.result.P, "tagloom, raw scores": trial.learned.scores}
    X = trial.learned.tagger.training_set_.descriptors.X
    tables |= baseline_scores(X, trial.taught.known, trial.seed)
    figures: Figures = {}
    for name, table in tables.items():
        of = evaluate_ranking(trial.hidden, table)
        figures[f"mAP, {name}"] = of.mean_average_precision
        figures[f"recall@5, {name}"] = of.recall
        figures[f"pooled AP, {name}"] = of.pooled
    return figures


def promises_kept(trial: Trial) -> Figures:
    result, hidden = trial.result, trial.hidden
    bins = calibration_bins(hidden, result.P, trial.learned.calibration)
    for one in bins:
        print(f"#   {one.low:.1f} {one.n:9,} {one.promised:.3f} {one.came_true:.3f}")
    figures = {
        "labels learned": float(trial.taught.known.n_labels),
        "pictures nobody looked at": float(trial.taught.unseen.sum()),
        "completeness, true": _true_completeness(trial),
        "completeness, estimated": result.completeness,
        "calibration error, all": calibration_error(bins),
        "calibration error, from 0.3 on": calibration_error(bins, least=0.3),
        "the same, as measured by hiding": calibration_error(result.bins, least=0.3),
    }
    for precision in (None, *PRECISIONS):
        thresholds = choose_thresholds(result.P, result.open_to, precision)
        made = evaluate_suggestions(hidden, result.P, thresholds)
        asked = "F1" if precision is None else f"precision {precision}"
        figures[f"{asked}: suggestions"] = float(made.n)
        figures[f"{asked}: precision"] = made.precision
        figures[f"{asked}: recall"] = made.recall
    return figures


def _true_completeness(trial: Trial) -> float:
    """Return the share of listed presences, on pictures that were looked at."""
    seen = ~trial.taught.unseen
    listed = (trial.taught.said.states()[seen] == int(State.PRESENT)).sum()
    forgotten = (trial.hidden.states()[seen] == int(State.PRESENT)).sum()
    return float(listed / (listed + forgotten))


def doubts_found(trial: Trial) -> Figures:
    """Move some of the tags to pictures that do not have them, and see who is doubted."""
    rng = np.random.default_rng([trial.seed, 1])
    said, planted = with_slips(trial, rng)
    taught = teach(said, trial.options)
    work = Work(trial.folder / "slips", "slips")
    tagger = taught_again(trial, taught)
    learned = measured(tagger, trial.features, taught, trial.options, work, show_progress=False)
    doubts = completed(taught, learned, trial.options).doubts
    names = list(taught.said.labels)
    right = [(doubt.row, names[doubt.column]) in planted for doubt in doubts]
    n_planted = sum(label in set(names) for _, label in planted)
    first = right[:n_planted]
    return {
        "slips planted": float(n_planted),
        "doubts": float(len(doubts)),
        "doubts: precision": float(np.mean(right)) if right else np.nan,
        "doubts: recall": sum(right) / max(1, n_planted),
        "doubts: precision of the first, as many as slips": float(np.mean(first)) if first else 0.0,
    }


def with_slips(
    trial: Trial, rng: np.random.Generator
) -> tuple[PartialLabels, set[tuple[int, Any]]]:
    """Move a share of the given tags to any picture, as long as it does not have them."""
    entries = trial.said.entries()
    rows, columns = entries.rows.copy(), entries.columns
    absent = trial.truth.states() == int(State.ABSENT)
    for k in rng.permutation(len(rows))[: round(SLIPS * len(rows))]:
        tagged = np.unique(entries.rows)
        rows[k] = rng.choice(tagged[absent[tagged, columns[k]]])
    moved = rows != entries.rows
    planted = {
        (int(row), trial.truth.labels[column])
        for row, column in zip(rows[moved], columns[moved], strict=True)
    }
    return tag_lists(trial.truth, rows, columns), planted


def answers_teach(trial: Trial) -> Figures:
    """Reveal the truth of several choices of entries and see how well the rest is then ranked."""
    P, states = trial.result.P, trial.hidden.states()
    rows, columns = np.nonzero(states != int(State.UNKNOWN))
    rng = np.random.default_rng([trial.seed, 2])
    questions = trial.result.questions
    n = len(questions)
    uncertain = np.argsort(np.abs(P[rows, columns] - 0.5), kind="stable")[:n]
    likely = np.argsort(-P[rows, columns], kind="stable")[:n]
    choices = {
        "proposed": (np.array([q.row for q in questions]), np.array([q.column for q in questions])),
        "random": _at(rows, columns, rng.permutation(len(rows))[:n]),
        "nearest 0.5": _at(rows, columns, uncertain),
        "likeliest": _at(rows, columns, likely),
    }
    # All are judged by the same entries: those that no choice has revealed.
    rest = trial.hidden
    for choice in choices.values():
        rest = rest.with_hidden(*choice)
    figures = {
        "answers": float(n),
        "mAP of the rest, no answers": mean_average_precision(rest, trial.learned.scores),
    }
    for name, choice in choices.items():
        present = states[choice] == int(State.PRESENT)
        scores = _scores_knowing(trial, choice, present)
        figures[f"mAP of the rest, {name}"] = mean_average_precision(rest, scores)
        figures[f"share of yes, {name}"] = float(present.mean())
    return figures


def _at(rows: Any, columns: Any, chosen: Any) -> tuple[Any, Any]:
    return rows[chosen], columns[chosen]


def _scores_knowing(trial: Trial, choice: tuple[Any, Any], present: Any) -> Any:
    said = trial.taught.said
    news = PartialLabels.from_entries(
        *choice, present, shape=said.shape, labels=said.labels, items=said.items
    )
    taught = teach(add_known(said, news), trial.options, news)
    return np.asarray(taught_again(trial, taught).scores())
