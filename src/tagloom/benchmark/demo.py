"""The whole way on pictures whose truth is known: draw, forget, complete, compare."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.completion.calibration import Calibration
from tagloom.completion.options import Options
from tagloom.completion.pipeline import complete
from tagloom.completion.result import Bin, Completed, reliability
from tagloom.datasets.scenes import generated_scenes
from tagloom.errors import InvalidInputError, import_extra
from tagloom.formats import Annotation, Annotations, write_long_csv
from tagloom.io import atomic_write
from tagloom.labels import PartialLabels, State
from tagloom.metrics import average_precision, mean_average_precision
from tagloom.models import KNeighborsTagger, LeastSquares, tune
from tagloom.vision import EfficientNetLite

# §§ against_truth
# A completion judged by the whole truth, beside simple learners that know as much.


Array = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]

_TOP = 5


class Ranked(NamedTuple):
    """How well scores find what was hidden.

    `mean_average_precision` ranks the pictures of each label, `pooled` all entries in one list, and
    `recall` is the mean share of a picture's hidden tags among its five best open ones.
    """

    mean_average_precision: float
    recall: float
    pooled: float


class Suggested(NamedTuple):
    """How many tags were suggested, and how many of them and of what was hidden are right."""

    n: int
    precision: float
    recall: float


def forgotten(truth: PartialLabels, keep: float, random_state: int = 0) -> PartialLabels:
    """Keep a share of the presences, drawn from all alike; whatever else is true becomes unknown.

    >>> truth = PartialLabels.from_array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> forgotten(truth, 0.6)
    PartialLabels(4 items x 2 labels: 3 present, 0 absent, 5 unknown)
    """
    if not 0 < keep < 1:
        raise InvalidInputError(f"keep must be a share in (0, 1) of the tags; got {keep}.")
    rows, columns = np.nonzero(truth.states() == int(State.PRESENT))
    kept = np.random.default_rng(random_state).permutation(len(rows))[: round(keep * len(rows))]
    return listed_only(truth, rows[kept], columns[kept])


def listed_only(truth: PartialLabels, rows: Array, columns: Array) -> PartialLabels:
    """Return lists of tags, under the names of the truth, that hold these entries alone."""
    return PartialLabels.from_entries(
        rows, columns, True, shape=truth.shape, labels=truth.labels, items=truth.items
    )


def hidden_from(said: PartialLabels, truth: PartialLabels) -> PartialLabels:
    """Return the truth, of the labels of `said`, where nobody has said anything."""
    true = truth.select(said.labels).to_array()
    open_to = said.states() == int(State.UNKNOWN)
    return PartialLabels.from_array(
        np.where(open_to, true, np.nan), labels=said.labels, items=said.items
    )


def ranked(hidden: PartialLabels, scores: Array) -> Ranked:
    """Judge scores by what was hidden."""
    states = hidden.states()
    judged, present = states != int(State.UNKNOWN), states == int(State.PRESENT)
    best = np.argsort(-np.where(judged, scores, -np.inf), axis=1, kind="stable")[:, :_TOP]
    found = np.take_along_axis(present, best, axis=1).sum(axis=1)
    some = present.any(axis=1)
    recall = np.mean(found[some] / present[some].sum(axis=1)) if some.any() else np.nan
    pooled = average_precision(present[judged][:, None], scores[judged][:, None])[0]
    return Ranked(mean_average_precision(hidden, scores), float(recall), float(pooled))


def suggested(hidden: PartialLabels, P: Array, thresholds: npt.ArrayLike) -> Suggested:
    """Judge what is suggested from these probabilities on, of each label or of all."""
    states = hidden.states()
    present = states == int(State.PRESENT)
    made = (states != int(State.UNKNOWN)) & (np.asarray(thresholds) <= P)
    right = int((made & present).sum())
    n = int(made.sum())
    return Suggested(n, right / n if n else float("nan"), right / max(1, int(present.sum())))


def came_true(hidden: PartialLabels, P: Array, calibration: Calibration) -> list[Bin]:
    """Compare what the probabilities of open entries promise with the truth."""
    return reliability(hidden, P, replace(calibration, completeness=1.0))


def baseline_scores(X: Array, known: PartialLabels, random_state: int = 0) -> dict[str, Array]:
    """Tune and fit plain ridge and nearest neighbours on the same features and known tags.

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


# §§ main demonstration


Say = Callable[[str, dict[str, Any]], None]

OURS = "tagloom"
# A search that takes longer would not be over within the two minutes of a demonstration.
_MINUTES = 1.0


@dataclass(frozen=True, eq=False)
class Compared:
    """A learner beside others: its ranking, and as many suggestions as ours."""

    ranking: Ranked
    suggestions: Suggested


@dataclass(frozen=True, eq=False)
class Demonstration:
    """What was completed, and how it compares with the truth.

    Attributes
    ----------
    result : Completed
    folder : Path
        Of the result.
    hidden : PartialLabels
        The truth where nobody had said anything, of the labels that were learned.
    n_kept, n_hidden : int
        Tags that were kept, and those that were not, of labels too rare to be learned as well.
    learners : dict from name to Compared
    bins : list of Bin
        What was promised and what is true.
    """

    result: Completed
    folder: Path
    hidden: PartialLabels
    n_kept: int
    n_hidden: int
    learners: dict[str, Compared]
    bins: list[Bin]


def demonstrate(
    out: Path,
    *,
    n_pictures: int = 600,
    keep: float = 0.25,
    seed: int = 0,
    say: Say | None = None,
    show_progress: bool = False,
) -> Demonstration:
    """Draw scenes, keep a share of their tags, complete these and compare with the truth.

    All is written into `out`. Pictures that were drawn and looked at before are kept.
    """
    # Whoever lacks a library is told before hundreds of pictures are drawn.
    import_extra("PIL.Image", purpose="Drawing scenes")
    encoder = EfficientNetLite()
    pictures = out / f"pictures-{n_pictures}-of-series-{seed}"
    truth = generated_scenes(n_pictures, seed, pictures, show_progress=show_progress).truth
    said = forgotten(truth, keep, seed)
    write_tags(said, out / "tags.csv")
    finished = complete(
        pictures,
        [out / "tags.csv"],
        out / "result",
        Options(minutes=_MINUTES, seed=seed),
        encoder=encoder,
        cache=out / "features",
        again=True,
        say=say,
        show_progress=show_progress,
    )
    assert finished.result is not None
    assert finished.model is not None
    result, tagger = finished.result, finished.model.tagger
    hidden = hidden_from(result.said, truth)
    n_true = int((truth.states() == int(State.PRESENT)).sum())
    return Demonstration(
        result,
        finished.out,
        hidden,
        said.n_known,
        n_true - said.n_known,
        _compared(
            result, hidden, baseline_scores(tagger.training_set_.descriptors.X, tagger.known_, seed)
        ),
        came_true(hidden, result.P, finished.model.calibration),
    )


def write_tags(said: PartialLabels, path: Path) -> None:
    """Write lists of tags as the owner of an archive would have them."""
    entries, items = said.entries(), said.items or ()
    listed = [
        Annotation(str(items[row]), str(said.labels[column]))
        for row, column in zip(entries.rows, entries.columns, strict=True)
    ]
    with atomic_write(path) as part:
        write_long_csv(Annotations.of(listed), part)


def _compared(
    result: Completed, hidden: PartialLabels, baselines: dict[str, Array]
) -> dict[str, Compared]:
    """Judge all learners; a baseline suggests what it scores highest, as often as we do."""
    ours = suggested(hidden, result.P, result.thresholds)
    learners = {OURS: Compared(ranked(hidden, result.P), ours)}
    for name, scores in baselines.items():
        among = np.append(np.sort(scores[result.open_to]), np.inf)
        least = among[len(among) - 1 - ours.n]
        learners[name] = Compared(ranked(hidden, scores), suggested(hidden, scores, least))
    return learners
