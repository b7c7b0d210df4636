"""Gather what a learner and its lesson say of one picture and label."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.checks import some_of
from tagloom.errors import InvalidInputError
from tagloom.semantics import SemanticDescriptor
from tagloom.tagger.describing import Described
from tagloom.tagger.explanation import (
    Concept,
    Explanation,
    are_concepts,
    concepts_behind,
    explain_score,
    neighbours_of,
)
from tagloom.tagger.lesson import Lesson
from tagloom.tagger.surroundings import (
    Near,
    asks_graph,
    check_explainable,
    joined,
    linear_weights,
    nearest,
)

Array = npt.NDArray[Any]


def scores_of(learner: Any, lesson: Lesson, described: Described) -> Array:
    """Return scores; those of the training pictures as such, not as new ones."""
    if described is lesson.training:
        return np.asarray(learner.training_scores(described.X))
    return np.asarray(learner.scores(described.X))


def explained(
    learner: Any,
    lesson: Lesson,
    described: Described,
    item: str,
    label: Any,
    *,
    n_neighbors: int,
    n_reasons: int,
) -> Explanation:
    """Say why `label` has its score for `item`, one of the pictures `described`."""
    check_explainable(learner)
    row, column = _position(item, described.items), _position(label, lesson.known.labels)
    training_scores = scores_of(learner, lesson, lesson.training)[:, column]
    own, new = described.row(row), described is not lesson.training
    score = scores_of(learner, lesson, own)[0, column] if new else training_scores[row]
    training_row = None if new else row
    near = _near(learner, lesson, own, training_row, n_neighbors)
    descriptor = lesson.describer.descriptor
    weights, base = linear_weights(learner, own.X, training_row)
    return explain_score(
        item,
        label,
        score=float(score),
        amounts=lesson.describer.contributions(own.columns[0], weights[:, column]),
        names=descriptor.get_feature_names_out(),
        base=float(base[column]),
        concepts=_concepts(descriptor, lesson.training.S, own.S[0], training_scores, n_reasons),
        neighbours=neighbours_of(
            [lesson.features.items[j] for j in near.rows],
            near.affinities,
            lesson.known.take(near.rows).states()[:, column],
            training_scores[near.rows],
        ),
        has_graph=asks_graph(learner),
        n_reasons=n_reasons,
    )


def _near(
    learner: Any, lesson: Lesson, own: Described, training_row: int | None, n_neighbors: int
) -> Near:
    if asks_graph(learner):
        return joined(learner, own.X, training_row)
    return nearest(lesson.training.S, own.S, n_neighbors, training_row)


def _concepts(
    descriptor: SemanticDescriptor, S: Array, s: Array, scores: Array, count: int
) -> tuple[Concept, ...]:
    names = descriptor.get_feature_names_out()
    chosen = are_concepts(names)
    if not chosen.any():
        return ()
    bare = [str(name).removeprefix("concept:") for name in names[chosen]]
    scale = descriptor.scales_[0]  # the global part comes first
    training = scale * S[:, chosen].astype(np.float64)
    own = scale * s[chosen]
    return concepts_behind(np.array(bare), own, training, scores.astype(np.float64), count)


def _position(name: Any, names: Sequence[Any]) -> int:
    try:
        return list(names).index(name)
    except ValueError:
        raise InvalidInputError(f"{name!r} is not among {some_of(names, 3)}.") from None
