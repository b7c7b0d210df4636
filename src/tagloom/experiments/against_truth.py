"""A completion judged by the whole truth, beside simple learners that know as much."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.completion.calibration import Calibration
from tagloom.completion.quality import Bin, reliability
from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, State
from tagloom.metrics import average_precision, mean_average_precision
from tagloom.models import LeastSquares, NeighbourTagger, tune

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
        "nearest neighbours": NeighbourTagger(on_unlearnable="ignore"),
    }
    fitted = {
        name: tune(learner, X, known, random_state=random_state).model
        for name, learner in learners.items()
    }
    return {name: np.asarray(model.training_scores(X)) for name, model in fitted.items()}
