"""Learn from what is taught, and measure the result by what is hidden meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from tagloom.completion.calibration import Calibration, calibrate
from tagloom.completion.heldout import held_out_pictures, held_out_scores
from tagloom.completion.lessons import Taught, without
from tagloom.completion.meaning import Meaning
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
    meaning: Meaning

    @property
    def calibration(self) -> Calibration:
        """What scores mean on pictures that somebody has looked at."""
        return self.meaning.calibration


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
    apart = bool(taught.only_presences and taught.unseen.any())
    split: _Split = {"n_splits": options.folds, "random_state": options.seed}
    with progress_bar(options.folds * (1 + apart), "measuring", show=show_progress) as advance:
        score = partial(_kept_scores, tagger, features, work, advance)
        held_out = held_out_scores(taught.known, scores, partial(score, "fold"), **split)
        hidden = (
            held_out_pictures(taught.known, scores, partial(score, "pictures"), **split)
            if apart
            else None
        )
    fitted = partial(
        calibrate,
        taught.unasked,
        said=taught.said if later is None else without(taught.said, later),
        by_now=taught.known,
        only_presences=taught.only_presences,
        random_state=options.seed,
    )
    given = options.completeness if completeness is None else completeness
    seen = fitted(held_out, completeness=given)
    unseen = seen if hidden is None else fitted(hidden, completeness=seen.completeness)
    meaning = Meaning(seen, unseen, taught.unseen, taught.only_presences)
    return Learned(tagger, scores, held_out, meaning)


class _Split(TypedDict):
    n_splits: int
    random_state: int


def _kept_scores(
    tagger: SemanticTagger,
    features: Features,
    work: Work,
    advance: Callable[[], None],
    kind: str,
    number: int,
    training: PartialLabels,
) -> Array:
    """Return the scores of one fold, from an earlier run that was broken off or by work."""
    # A search that goes on after a break may find other parameters: other folds belong to those.
    found = digest_of(clone(tagger.learner_).get_params())[:12]
    name = f"{kind}{number}-{found}"
    table = work.array(name, lambda: _scores(tagger, features, training))
    advance()
    return table


def _scores(tagger: SemanticTagger, features: Features, training: PartialLabels) -> Array:
    learner = clone(tagger.learner_).set_params(on_unlearnable="ignore")
    fold = SemanticTagger(learner, random_state=tagger.random_state)
    return np.asarray(fold.fit(features, training).scores(), dtype=np.float32)


def affinities_of(tagger: SemanticTagger) -> Any:
    """Return the learner's last graph; a learner that looked at none joins nothing."""
    S, n = getattr(tagger.learner_, "graph_", None), len(tagger.items_)
    return sparse.csr_array((n, n), dtype=np.float32) if S is None else sparse.csr_array(S)
