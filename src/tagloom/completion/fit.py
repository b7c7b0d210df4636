"""Learn from what is taught, and measure the result by what is hidden meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from tagloom.completion.calibration import Calibration, Meaning, calibrate
from tagloom.completion.checkpoint import Work
from tagloom.completion.options import Options, digest_of
from tagloom.completion.training_labels import Taught, without
from tagloom.labels import PartialLabels, State, split_items, split_known
from tagloom.progress import progress_bar
from tagloom.tagger import SemanticTagger
from tagloom.vision import Encoder, Features

# §§ heldout
# Scores as the learner gives them to entries that it was not shown.


Array = npt.NDArray[Any]
Score = Callable[[int, PartialLabels], Array]


def held_out_scores(
    known: PartialLabels, final: Array, score: Score, *, n_splits: int = 4, random_state: int = 0
) -> Array:
    """Hide each listed entry once and note its score; of the others, the score in one of the folds.

    `score(fold, training)` gives the scores of all entries by a learner that knows `training`;
    `final` are those of the learner that knows all.

    Who knows less gives other scores: where unlisted tags are presumed absent and a quarter of the
    presences is hidden, scores are lower by a quarter. With H the scores of the folds and F the
    final ones, H is multiplied by <F, H> / <H, H>, taken over the entries of which nobody has said
    anything.
    """
    entries = known.entries()
    listed = np.zeros(known.shape, dtype=bool)
    listed[entries.rows, entries.columns] = True
    H = np.empty_like(final)
    for number, fold in enumerate(split_known(known, n_splits, random_state)):
        scores = score(number, fold.training)
        others = np.arange(number, len(H), n_splits)
        H[others] = np.where(listed[others], H[others], scores[others])
        shown = fold.training.entries()
        held = listed.copy()
        held[shown.rows, shown.columns] = False
        H[held] = scores[held]
    return np.asarray(H * _slope(final, H, ~listed))


def held_out_pictures(
    known: PartialLabels, final: Array, score: Score, *, n_splits: int = 4, random_state: int = 0
) -> Array:
    """Hide each picture of which something is known once, with all that is known of it.

    So are scored pictures at which nobody has looked: of a picture that was looked at, the learner
    is taught that what is not listed is absent, a hidden presence as well, and scores it lower. The
    scores of the folds are multiplied as in `held_out_scores`, by those of the pictures at which
    nobody has looked, of which the mean over the folds is returned.
    """
    informed = _informed(known)
    H = np.zeros_like(final)
    for number, fold in enumerate(split_items(known, n_splits, random_state)):
        scores = score(number, fold.training)
        held = informed & ~_informed(fold.training)
        H[held] = scores[held]
        H[~informed] += scores[~informed] / n_splits
    where = np.broadcast_to(~informed[:, None], H.shape)
    return np.asarray(H * _slope(final, H, where))


def _informed(known: PartialLabels) -> npt.NDArray[np.bool_]:
    return np.asarray((known.states() != int(State.UNKNOWN)).any(axis=1))


def _slope(F: Array, H: Array, where: npt.NDArray[np.bool_]) -> float:
    below = float(np.square(H, where=where, out=np.zeros_like(H)).sum(dtype=np.float64))
    above = float(np.multiply(F, H, where=where, out=np.zeros_like(H)).sum(dtype=np.float64))
    return above / below if below > 0 and above > 0 else 1.0


# §§ main learning


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
    encoder: Encoder | None = None,
    show_progress: bool,
) -> SemanticTagger:
    """Search for parameters and learn from all that is known.

    The tagger remembers the `encoder` that saw the pictures: new ones must be seen by the same.
    """
    tagger = SemanticTagger(encoder=encoder, random_state=options.seed, verbose=show_progress)
    return tagger.fit(
        features,
        taught.known,
        max_seconds=60 * options.minutes,
        checkpoint=work.results("trials"),
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
