"""Learn from what is taught, and measure the result by what is hidden meanwhile."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from tagloom.completion.calibration import Calibration, calibrate
from tagloom.completion.heldout import held_out_scores
from tagloom.completion.lessons import Taught
from tagloom.completion.options import Options
from tagloom.completion.work import Work
from tagloom.labels import PartialLabels
from tagloom.progress import progress_bar
from tagloom.tagger import SemanticTagger
from tagloom.vision import Features

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Learned:
    """A fitted tagger with scores of entries it knows and, held out, as if it did not."""

    tagger: SemanticTagger
    scores: Array
    held_out: Array
    calibration: Calibration


def fit_tagger(
    features: Features, taught: Taught, options: Options, work: Work, *, show_progress: bool
) -> SemanticTagger:
    """Search for parameters and learn from all that is known."""
    tagger = SemanticTagger(random_state=options.seed, progress=show_progress)
    return tagger.fit(
        features,
        taught.known,
        seconds=60 * options.minutes,
        remembered=work.results("trials"),
    )


def measured(
    tagger: SemanticTagger,
    features: Features,
    taught: Taught,
    options: Options,
    work: Work,
    *,
    later: PartialLabels | None = None,
    completeness: float | None = None,
    show_progress: bool,
) -> Learned:
    """Score what is known as if it were not, and learn what scores mean.

    What was said about suggestions (`later`) has no say in that: it was asked for because of its
    score. Nor can the completeness be estimated again, once the top has been looked through.
    """
    scores = np.asarray(tagger.scores(), dtype=np.float32)
    with progress_bar(options.folds, "measuring", show=show_progress) as advance:

        def score(number: int, training: PartialLabels) -> Array:
            table = work.array(f"fold{number}", lambda: _scores(tagger, features, training))
            advance()
            return table

        held_out = held_out_scores(
            taught.known, scores, score, n_splits=options.folds, random_state=options.seed
        )
    listed = taught.known if later is None else _without(taught.known, later)
    calibration = calibrate(
        listed,
        held_out,
        only_presences=taught.only_presences,
        completeness=options.completeness if completeness is None else completeness,
        random_state=options.seed,
    )
    return Learned(tagger, scores, held_out, calibration)


def _scores(tagger: SemanticTagger, features: Features, training: PartialLabels) -> Array:
    learner = clone(tagger.learner_).set_params(on_unlearnable="ignore")
    fold = SemanticTagger(learner, random_state=tagger.random_state)
    return np.asarray(fold.fit(features, training).scores(), dtype=np.float32)


def _without(known: PartialLabels, later: PartialLabels) -> PartialLabels:
    """Hide what was said later; items are the same, labels may be fewer."""
    shared = [label for label in later.labels if label in set(known.labels)]
    place = {label: column for column, label in enumerate(known.labels)}
    entries = later.select(shared).entries()
    columns = np.array([place[label] for label in shared], dtype=np.int64)
    return known.with_hidden(entries.rows, columns[entries.columns])
