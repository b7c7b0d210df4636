"""Why a label was suggested."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels import State
from tagloom.neighbors import nearest_neighbors
from tagloom.semantics import SemanticDescriptor
from tagloom.tagger.inputs import Described, Lesson
from tagloom.validation import some_of

# §§ main explanation


Array = npt.NDArray[Any]

# Features are reduced in the precision they came in, and taken apart in double precision.
_ROUNDING = 1e-2


class Neighbor(NamedTuple):
    """A training picture that is like the one explained."""

    item: str
    affinity: float
    """In the learner's last graph; for a linear learner s_i's_j, the edge of the semantic graph."""
    state: State
    """What is known of the label there."""
    score: float
    """Of the label there."""


class Concept(NamedTuple):
    """A concept seen in the picture that goes with the label."""

    name: str
    posterior: float
    """How sure the encoder is of it."""
    correlation: float
    """Between its posterior and the score of the label, over the training pictures."""


class Reason(NamedTuple):
    """How much a label that visual neighbours carry adds to the score."""

    name: str
    amount: float


@dataclass(frozen=True)
class Explanation:
    """The score of one label for one picture, taken apart.

    The score is `base` + `visual` + `concepts_total` + `pooled_total` + `like_pictures`: what the
    features taken from the picture's looks, from its concepts and from the labels of its visual
    neighbours add in the linear part, and what the graph adds to that.
    """

    item: str
    label: Any
    score: float
    neighbours: tuple[Neighbor, ...]
    """Those that the learner's last graph joins to the picture, closest first; for a linear learner
    the nearest pictures in semantic space."""
    concepts: tuple[Concept, ...]
    """What is seen in the picture and goes with the label, by posterior times correlation."""
    pooled: tuple[Reason, ...]
    """Labels of visual neighbours that add or take most."""
    concepts_total: float
    pooled_total: float
    visual: float
    base: float
    like_pictures: float
    """The score less its linear part: what the graph adds or takes; 0 for a linear learner."""

    @property
    def carriers(self) -> tuple[Neighbor, ...]:
        """Neighbours that are known to carry the label, closest first."""
        return tuple(one for one in self.neighbours if one.state == State.PRESENT)

    @property
    def n_neighbors(self) -> int:
        """Among how many pictures the carriers were sought."""
        return len(self.neighbours)

    @property
    def n_known_absent(self) -> int:
        """How many of those are known not to have the label; the others are unknown."""
        return sum(one.state == State.ABSENT for one in self.neighbours)

    def __str__(self) -> str:
        carriers = ", ".join(carrier.item for carrier in self.carriers) or "none"
        concepts = ", ".join(f"{c.name} {c.posterior:.2f}" for c in self.concepts) or "none"
        pooled = ", ".join(f"{r.name} {r.amount:+.3f}" for r in self.pooled) or "none"
        return (
            f"{self.label!r} for {self.item}: score {self.score:.3f}\n"
            f"  like pictures: {self.like_pictures:+.2f}; of {self.n_neighbors}, these carry it: "
            f"{carriers} ({self.n_known_absent} known not to)\n"
            f"  concepts that go with it: {concepts}\n"
            f"  labels of visual neighbours: {pooled}\n"
            f"  base {self.base:.3f}, looks {self.visual:+.3f}, concepts "
            f"{self.concepts_total:+.3f}, labels of neighbours {self.pooled_total:+.3f}, "
            f"like pictures {self.like_pictures:+.3f}"
        )


def neighbors_of(
    items: Sequence[str], affinities: Array, states: npt.NDArray[np.int8], scores: Array
) -> tuple[Neighbor, ...]:
    """Put neighbours in order, closest first."""
    order = np.argsort(-affinities, kind="stable")
    return tuple(
        Neighbor(items[i], float(affinities[i]), State(int(states[i])), float(scores[i]))
        for i in order
    )


def concepts_behind(
    names: Array, posteriors: Array, training: Array, scores: Array, count: int
) -> tuple[Concept, ...]:
    """Return the concepts with the largest posterior times correlation, as far as that is positive.

    `training` holds the posteriors of the training pictures, `scores` theirs of the label.
    """
    centred = training - training.mean(axis=0)
    spread = np.sqrt(
        np.einsum("ij,ij->j", centred, centred) * np.sum((scores - scores.mean()) ** 2)
    )
    together = centred.T @ (scores - scores.mean())
    correlation = np.divide(together, spread, out=np.zeros_like(together), where=spread > 0)
    strength = posteriors * correlation
    order = np.argsort(-strength, kind="stable")[:count]
    return tuple(
        Concept(str(names[i]), float(posteriors[i]), float(correlation[i]))
        for i in order
        if strength[i] > 0
    )


def explain_score(
    item: str,
    label: Any,
    *,
    score: float,
    amounts: Array,
    names: Array,
    base: float,
    concepts: tuple[Concept, ...],
    neighbours: tuple[Neighbor, ...],
    has_graph: bool,
    n_reasons: int,
) -> Explanation:
    """Join what each column of [visual; s] adds with what concepts and neighbours say.

    `names` are those of the columns of s, which are the last of `amounts`. Without a graph the
    score must be that of the linear part, and is given as the sum of its parts.
    """
    of_s = amounts[len(amounts) - len(names) :]
    is_concept = are_concepts(names)
    linear = float(amounts.sum() + base)
    if not has_graph:
        _refuse_not_linear(score, linear)
        score = linear
    return Explanation(
        item=item,
        label=label,
        score=score,
        neighbours=neighbours,
        concepts=concepts,
        pooled=_strongest(names[~is_concept], of_s[~is_concept], n_reasons),
        concepts_total=float(of_s[is_concept].sum()),
        pooled_total=float(of_s[~is_concept].sum()),
        visual=float(amounts.sum() - of_s.sum()),
        base=base,
        like_pictures=score - linear,
    )


def _refuse_not_linear(score: float, linear: float) -> None:
    if abs(score - linear) > _ROUNDING * (1 + abs(score)):
        raise InvalidInputError(
            f"Only scores that are a linear part, or that and what a graph adds, can be explained; "
            f"this learner makes a score of {score:.3f} out of {linear:.3f}."
        )


def are_concepts(names: Array) -> npt.NDArray[np.bool_]:
    """Say which columns of s are concepts; the others are labels."""
    return np.array([str(name).startswith("concept:") for name in names], dtype=bool)


def _strongest(names: Array, amounts: Array, count: int) -> tuple[Reason, ...]:
    """Return the reasons of largest absolute amount, largest first."""
    order = np.argsort(-np.abs(amounts), kind="stable")[:count]
    return tuple(Reason(str(names[i]), float(amounts[i])) for i in order)


# §§ surroundings
# Who is like a picture: in the learner's own graph, or in semantic space.


class Near(NamedTuple):
    """Training rows, and how close each is."""

    rows: npt.NDArray[np.int64]
    affinities: Array


def check_explainable(learner: Any) -> None:
    """Refuse learners whose scores are no linear part to which a graph adds."""
    if not hasattr(learner, "coef_"):
        raise InvalidInputError(
            f"Only learners with a linear part can be explained; {type(learner).__name__} has no "
            "coef_."
        )


def linear_weights(learner: Any, x: Array, training_row: int | None) -> tuple[Array, Array]:
    """Return by which weights and from which base a learner makes the linear part of one row."""
    if hasattr(learner, "linear_at"):
        weights, base = learner.linear_at(x, training_row)
        return weights, base
    return learner.coef_, learner.intercept_


def asks_graph(learner: Any) -> bool:
    """Say whether the scores have a part that comes from a graph of the learner's own."""
    return hasattr(learner, "affinities") and learner.graph_ is not None


def joined(learner: Any, x: Array, training_row: int | None) -> Near:
    """Return whom the learner's last graph joins to a training row, or to a new row x."""
    if training_row is None:
        found = sparse.csr_array(learner.affinities(x))
    else:
        found = sparse.csr_array(learner.graph_[[training_row]])
    return Near(found.indices.astype(np.int64), found.data)


def nearest(S: Array, s: Array, n_neighbors: int, training_row: int | None) -> Near:
    """Return the nearest in semantic space, never the picture itself, with s_i's_j."""
    k = min(n_neighbors + (training_row is not None), len(S))
    rows = np.asarray(nearest_neighbors(S, k, s).indices[0])
    rows = rows[rows != training_row][:n_neighbors]
    return Near(rows, S[rows] @ s[0])


# §§ explaining
# Gather what a learner and its lesson say of one picture and label.


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
        neighbours=neighbors_of(
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
