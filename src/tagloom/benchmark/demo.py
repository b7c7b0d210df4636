"""The demo: draw pictures, forget most of their tags, complete them and compare with the truth."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.completion.folder import DEMO, mark_as
from tagloom.completion.inputs import Options
from tagloom.completion.pipeline import complete
from tagloom.completion.result import Bin, CompletionResult, reliability
from tagloom.datasets.scenes import generated_scenes
from tagloom.errors import InvalidInputError, import_extra
from tagloom.formats import Annotation, Annotations, write_long_csv
from tagloom.io import atomic_write
from tagloom.labels import PartialLabels, State, keep_salient
from tagloom.metrics import average_precision, mean_average_precision
from tagloom.models import KNeighborsTagger, LeastSquares, tune
from tagloom.validation import check_choice
from tagloom.vision import load_encoder

Array = npt.NDArray[Any]
OnStep = Callable[[str, dict[str, Any]], None]

OURS = "tagloom"
FORGETTING = ("salience", "uniform")
_TOP_K = 5
# The whole demo takes about two minutes.
_SEARCH_MINUTES = 1.0


class RankingMetrics(NamedTuple):
    """How well scores rank the hidden tags.

    `mean_average_precision` ranks the pictures of each label, `pooled` ranks all entries together,
    and `recall` is the mean share of a picture's hidden tags among its five best unknown ones.
    """

    mean_average_precision: float
    recall: float
    pooled: float


class SuggestionMetrics(NamedTuple):
    """The number of suggestions, their precision, and their recall of the hidden tags."""

    n: int
    precision: float
    recall: float


@dataclass(frozen=True, eq=False)
class LearnerResult:
    """The metrics of one learner; all learners make as many suggestions as ours."""

    ranking: RankingMetrics
    suggestions: SuggestionMetrics


class TagMetrics(NamedTuple):
    """What was listed of a tag, and what was suggested; `present` and `listed` count pictures.

    A tag that is listed too seldom to be learned has no suggestions.
    """

    tag: str
    present: int
    listed: int
    suggestions: int
    right: int

    @property
    def label_frequency(self) -> float:
        """The share of the pictures with the tag that list it."""
        return self.listed / self.present if self.present else float("nan")


@dataclass(frozen=True, eq=False)
class DemoResult:
    """The completed tags and how they compare with the truth."""

    result: CompletionResult
    folder: Path
    """The folder of the result."""
    hidden: PartialLabels
    """The truth of the entries that were unknown, of the labels that were learned."""
    n_kept: int
    """Number of true tags that were kept, including labels too rare to be learned."""
    n_hidden: int
    """The same for those that were hidden."""
    learners: dict[str, LearnerResult]
    """By name."""
    tags: list[TagMetrics]
    """By tag, the most completely listed first."""
    bins: list[Bin]
    """Confidence and observed frequency."""


def run_demo(
    out: Path,
    *,
    n_pictures: int = 600,
    keep: float = 0.25,
    forgetting: str = "salience",
    random_state: int = 0,
    on_step: OnStep | None = None,
    verbose: bool = False,
) -> DemoResult:
    """Draw scenes, keep a share of their tags, complete these and compare with the truth.

    `forgetting` is "salience", as people forget (`tagloom.labels.keep_salient`, where salience is
    the logarithm of the area), or "uniform": any tag of any picture alike.

    Everything is written to `out`. Pictures and features of an earlier run are used again.
    """
    check_choice("forgetting", forgetting, FORGETTING)
    # Fail before hundreds of pictures are drawn if a library is missing.
    import_extra("PIL.Image", purpose="Drawing scenes")
    encoder = load_encoder(["lite0"])
    mark_as(out, DEMO)
    pictures = out / f"pictures-{n_pictures}-of-series-{random_state}"
    scenes = generated_scenes(n_pictures, random_state, pictures, verbose=verbose)
    truth, salience = scenes.truth, scenes.salience if forgetting == "salience" else None
    kept = keep_tags(truth, keep, random_state, salience=salience)
    _write_tags(kept, out / "tags.csv")
    finished = complete(
        pictures,
        [out / "tags.csv"],
        out / "result",
        Options(max_minutes=_SEARCH_MINUTES, random_state=random_state),
        encoder=encoder,
        cache=out / "features",
        again=True,
        on_step=on_step,
        verbose=verbose,
    )
    assert finished.result is not None
    assert finished.model is not None
    result, tagger = finished.result, finished.model.tagger
    hidden = hidden_truth(result.known, truth)
    X = tagger.training_set_.descriptors.X
    n_true = int((truth.states() == int(State.PRESENT)).sum())
    return DemoResult(
        result,
        finished.out,
        hidden,
        kept.n_known,
        n_true - kept.n_known,
        _compare(result, hidden, baseline_scores(X, tagger.known_, random_state)),
        by_tag(truth, kept, hidden, result),
        reliability(hidden, result.P),
    )


def keep_tags(
    truth: PartialLabels, keep: float, random_state: int = 0, *, salience: Array | None = None
) -> PartialLabels:
    """Keep a share of the presences; every other entry becomes unknown.

    The share is drawn uniformly, or as people list tags if their salience is given.

    >>> truth = PartialLabels.from_array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> keep_tags(truth, 0.6)
    PartialLabels(4 items x 2 labels: 3 present, 0 absent, 5 unknown)
    """
    if not 0 < keep < 1:
        raise InvalidInputError(f"keep must be a share in (0, 1) of the tags; got {keep}.")
    rows, columns = np.nonzero(truth.states() == int(State.PRESENT))
    if salience is not None:
        present = tag_lists(truth, rows, columns)
        return keep_salient(present, keep, salience, unlisted="unknown", random_state=random_state)
    kept = np.random.default_rng(random_state).permutation(len(rows))[: round(keep * len(rows))]
    return tag_lists(truth, rows[kept], columns[kept])


def tag_lists(truth: PartialLabels, rows: Array, columns: Array) -> PartialLabels:
    """Return labels with the names of the truth, of which only these entries are present."""
    return truth.with_entries(rows, columns, True)


def hidden_truth(known: PartialLabels, truth: PartialLabels) -> PartialLabels:
    """Return the truth of the entries that are unknown in `known`, for the labels of `known`."""
    true = truth.select(known.labels).to_array()
    unknown = known.states() == int(State.UNKNOWN)
    return PartialLabels.from_array(
        np.where(unknown, true, np.nan), labels=known.labels, items=known.items
    )


def baseline_scores(X: Array, known: PartialLabels, random_state: int = 0) -> dict[str, Array]:
    """Tune and fit ridge regression and nearest neighbours on the same features and known tags.

    A picture is not its own neighbour.
    """
    learners = {
        "ridge": LeastSquares(on_unlearnable="ignore"),
        "nearest neighbours": KNeighborsTagger(on_unlearnable="ignore"),
    }
    fitted = {
        name: tune(learner, X, known, random_state=random_state).model
        for name, learner in learners.items()
    }
    return {name: np.asarray(model.training_scores(X)) for name, model in fitted.items()}


def _compare(
    result: CompletionResult, hidden: PartialLabels, baselines: dict[str, Array]
) -> dict[str, LearnerResult]:
    """Evaluate all learners; a baseline suggests its highest scores, as many as we suggest."""
    ours = evaluate_suggestions(hidden, result.P, result.thresholds)
    learners = {OURS: LearnerResult(evaluate_ranking(hidden, result.P), ours)}
    for name, scores in baselines.items():
        among = np.append(np.sort(scores[result.is_open]), np.inf)
        threshold = among[len(among) - 1 - ours.n]
        learners[name] = LearnerResult(
            evaluate_ranking(hidden, scores), evaluate_suggestions(hidden, scores, threshold)
        )
    return learners


def evaluate_ranking(hidden: PartialLabels, scores: Array) -> RankingMetrics:
    """Evaluate how well scores rank the hidden tags."""
    states = hidden.states()
    known, present = states != int(State.UNKNOWN), states == int(State.PRESENT)
    best = np.argsort(-np.where(known, scores, -np.inf), axis=1, kind="stable")[:, :_TOP_K]
    found = np.take_along_axis(present, best, axis=1).sum(axis=1)
    some = present.any(axis=1)
    recall = np.mean(found[some] / present[some].sum(axis=1)) if some.any() else np.nan
    pooled = average_precision(present[known][:, None], scores[known][:, None])[0]
    return RankingMetrics(mean_average_precision(hidden, scores), float(recall), float(pooled))


def evaluate_suggestions(
    hidden: PartialLabels, P: Array, thresholds: npt.ArrayLike
) -> SuggestionMetrics:
    """Evaluate the suggestions whose probability reaches a threshold, per label or for all."""
    states = hidden.states()
    present = states == int(State.PRESENT)
    made = (states != int(State.UNKNOWN)) & (np.asarray(thresholds) <= P)
    right = int((made & present).sum())
    n = int(made.sum())
    precision = right / n if n else float("nan")
    return SuggestionMetrics(n, precision, right / max(1, int(present.sum())))


def by_tag(
    truth: PartialLabels, kept: PartialLabels, hidden: PartialLabels, result: CompletionResult
) -> list[TagMetrics]:
    """Count presences, listings and suggestions of every tag of the truth."""
    right = hidden.states() == int(State.PRESENT)
    made = (hidden.states() != int(State.UNKNOWN)) & (result.thresholds <= result.P)
    n_made = dict(zip(hidden.labels, made.sum(axis=0).tolist(), strict=True))
    n_right = dict(zip(hidden.labels, (made & right).sum(axis=0).tolist(), strict=True))
    counts = zip(truth.labels, truth.counts().present, kept.counts().present, strict=True)
    tags = [
        TagMetrics(str(tag), int(present), int(listed), n_made.get(tag, 0), n_right.get(tag, 0))
        for tag, present, listed in counts
        if present
    ]
    return sorted(tags, key=lambda one: -one.label_frequency)


def _write_tags(kept: PartialLabels, path: Path) -> None:
    """Write tag lists as the owner of an archive would have them."""
    entries, items = kept.entries(), kept.items or ()
    listed = [
        Annotation(str(items[row]), str(kept.labels[column]))
        for row, column in zip(entries.rows, entries.columns, strict=True)
    ]
    with atomic_write(path) as part:
        write_long_csv(Annotations.of(listed), part)
