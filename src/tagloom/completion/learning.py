"""Learn from what is taught, and measure the result by what is hidden meanwhile."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from tagloom.completion.calibration import Calibration, calibrate
from tagloom.completion.heldout import held_out_scores
from tagloom.completion.lessons import Taught, without
from tagloom.completion.options import Options
from tagloom.completion.record import digest_of
from tagloom.completion.work import Work
from tagloom.labels import PartialLabels
from tagloom.progress import progress_bar
from tagloom.tagger import SemanticTagger
from tagloom.vision import Backbone, Features

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Learned:
    """A fitted tagger with scores of entries it knows and, held out, as if it did not."""

    tagger: SemanticTagger
    scores: Array
    held_out: Array
    calibration: Calibration


def fit_tagger(
    features: Features,
    taught: Taught,
    options: Options,
    work: Work,
    *,
    backbone: Backbone | None = None,
    show_progress: bool,
) -> SemanticTagger:
    """Search for parameters and learn from all that is known.

    The tagger remembers the `backbone` that saw the pictures: new ones must be seen by the same.
    """
    tagger = SemanticTagger(backbone=backbone, random_state=options.seed, progress=show_progress)
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
    # A search that goes on after a break may find other parameters: other folds belong to those.
    found = digest_of(clone(tagger.learner_).get_params())[:12]
    with progress_bar(options.folds, "measuring", show=show_progress) as advance:

        def score(number: int, training: PartialLabels) -> Array:
            name = f"fold{number}-{found}"
            table = work.array(name, lambda: _scores(tagger, features, training))
            advance()
            return table

        held_out = held_out_scores(
            taught.known, scores, score, n_splits=options.folds, random_state=options.seed
        )
    said = taught.said if later is None else without(taught.said, later)
    calibration = calibrate(
        taught.unasked,
        held_out,
        said=said,
        by_now=taught.known,
        only_presences=taught.only_presences,
        completeness=options.completeness if completeness is None else completeness,
        random_state=options.seed,
    )
    return Learned(tagger, scores, held_out, calibration)


def _scores(tagger: SemanticTagger, features: Features, training: PartialLabels) -> Array:
    learner = clone(tagger.learner_).set_params(on_unlearnable="ignore")
    fold = SemanticTagger(learner, random_state=tagger.random_state)
    return np.asarray(fold.fit(features, training).scores(), dtype=np.float32)
