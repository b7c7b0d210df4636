"""Why a label was suggested: the score of one label for one picture, taken apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels import State
from tagloom.neighbors import nearest_neighbors
from tagloom.tagger.inputs import Descriptors, TrainingSet
from tagloom.validation import some_of

Array = npt.NDArray[Any]

# Features are reduced in the precision they came in, and taken apart in double precision.
_ROUNDING = 1e-2
_CONCEPT = "concept:"


class Neighbor(NamedTuple):
    """A training picture that is similar to the one explained."""

    item: str
    affinity: float
    """In the learner's last graph; for a linear learner s_i's_j, the edge of the semantic graph."""
    state: State
    """Whether the label is known there."""
    score: float
    """Of the label there."""


class Concept(NamedTuple):
    """A concept in the picture that is correlated with the label."""

    name: str
    posterior: float
    """The encoder's probability of it."""
    correlation: float
    """Between its posterior and the score of the label, over the training pictures."""


class Reason(NamedTuple):
    """How much a label of visual neighbours adds to the score."""

    name: str
    amount: float


@dataclass(frozen=True)
class Explanation:
    """The score of one label for one picture, taken apart.

    The score is `base` + `visual` + `concepts_total` + `pooled_total` + `graph_part`: what the
    visual features, the concepts and the labels pooled over visual neighbours add in the linear
    part, and what the graph adds to that.
    """

    item: str
    label: Any
    score: float
    neighbors: tuple[Neighbor, ...]
    """Neighbours of the picture in the learner's last graph, closest first; for a linear learner
    the nearest pictures in semantic space."""
    concepts: tuple[Concept, ...]
    """Concepts in the picture that are correlated with the label, by posterior times
    correlation."""
    pooled: tuple[Reason, ...]
    """Labels of visual neighbours with the largest contributions."""
    concepts_total: float
    pooled_total: float
    visual: float
    base: float
    """The intercept of the linear part."""
    graph_part: float
    """The score less its linear part: what the graph adds; 0 for a linear learner."""

    @property
    def carriers(self) -> tuple[Neighbor, ...]:
        """Neighbours in which the label is known to be present, closest first."""
        return tuple(one for one in self.neighbors if one.state == State.PRESENT)

    @property
    def n_neighbors(self) -> int:
        """How many neighbours there are, with and without the label."""
        return len(self.neighbors)

    @property
    def n_known_absent(self) -> int:
        """How many of them are known not to have the label; the others are unknown."""
        return sum(one.state == State.ABSENT for one in self.neighbors)

    def __str__(self) -> str:
        carriers = ", ".join(carrier.item for carrier in self.carriers) or "none"
        concepts = ", ".join(f"{c.name} {c.posterior:.2f}" for c in self.concepts) or "none"
        pooled = ", ".join(f"{r.name} {r.amount:+.3f}" for r in self.pooled) or "none"
        return (
            f"{self.label!r} for {self.item}: score {self.score:.3f}\n"
            f"  similar pictures: {self.graph_part:+.2f}; of {self.n_neighbors}, these have it: "
            f"{carriers} ({self.n_known_absent} known not to)\n"
            f"  correlated concepts: {concepts}\n"
            f"  labels of visual neighbours: {pooled}\n"
            f"  base {self.base:.3f}, visual features {self.visual:+.3f}, concepts "
            f"{self.concepts_total:+.3f}, labels of neighbours {self.pooled_total:+.3f}, "
            f"similar pictures {self.graph_part:+.3f}"
        )


def explain_score(
    learner: Any,
    training: TrainingSet,
    descriptors: Descriptors,
    item: str,
    label: Any,
    *,
    n_neighbors: int,
    n_reasons: int,
) -> Explanation:
    """Explain the score of `label` for `item`, one of the pictures of `descriptors`."""
    if not hasattr(learner, "coef_"):
        raise InvalidInputError(
            f"Only learners with a linear part can be explained; {type(learner).__name__} has no "
            "coef_."
        )
    row, column = _position(item, descriptors.items), _position(label, training.known.labels)
    training_scores = training.scores(learner, training.descriptors)[:, column]
    own, is_new = descriptors.row(row), descriptors is not training.descriptors
    score = training.scores(learner, own)[0, column] if is_new else training_scores[row]
    training_row = None if is_new else row
    names = training.pipeline.descriptor.get_feature_names_out()
    amounts, base = _linear_part(learner, training, own, training_row, column)
    linear = float(amounts.sum() + base)
    if not _has_graph(learner):
        _check_linear(float(score), linear)
        score = linear
    rows, affinities = _neighbors(learner, training, own, training_row, n_neighbors)
    of_s = amounts[len(amounts) - len(names) :]
    is_concept = _are_concepts(names)
    return Explanation(
        item=item,
        label=label,
        score=float(score),
        neighbors=_ranked(training, rows, affinities, column, training_scores),
        concepts=_correlated_concepts(training, own.S[0], training_scores, n_reasons),
        pooled=_strongest(names[~is_concept], of_s[~is_concept], n_reasons),
        concepts_total=float(of_s[is_concept].sum()),
        pooled_total=float(of_s[~is_concept].sum()),
        visual=float(amounts.sum() - of_s.sum()),
        base=base,
        graph_part=float(score) - linear,
    )


def _position(name: Any, names: Sequence[Any]) -> int:
    try:
        return list(names).index(name)
    except ValueError:
        raise InvalidInputError(f"{name!r} is not among {some_of(names, 3)}.") from None


def _has_graph(learner: Any) -> bool:
    """Return whether a part of the scores comes from a graph of the learner's own."""
    return hasattr(learner, "affinities") and learner.graph_ is not None


def _linear_part(
    learner: Any, training: TrainingSet, own: Descriptors, training_row: int | None, column: int
) -> tuple[Array, float]:
    """Return what each of the columns [visual; s] adds to the score, and the intercept."""
    if hasattr(learner, "linear_at"):
        weights, base = learner.linear_at(own.X, training_row)
    else:
        weights, base = learner.coef_, learner.intercept_
    amounts = training.pipeline.contributions(own.columns[0], weights[:, column])
    return amounts, float(base[column])


def _check_linear(score: float, linear: float) -> None:
    if abs(score - linear) > _ROUNDING * (1 + abs(score)):
        raise InvalidInputError(
            f"Only scores that are a linear part, or that and what a graph adds, can be explained; "
            f"this learner makes a score of {score:.3f} out of {linear:.3f}."
        )


def _are_concepts(names: Array) -> npt.NDArray[np.bool_]:
    """Return which columns of s are concepts; the others are labels."""
    return np.array([str(name).startswith(_CONCEPT) for name in names], dtype=bool)


def _strongest(names: Array, amounts: Array, count: int) -> tuple[Reason, ...]:
    """Return the contributions of largest absolute amount, largest first."""
    order = np.argsort(-np.abs(amounts), kind="stable")[:count]
    return tuple(Reason(str(names[i]), float(amounts[i])) for i in order)


def _correlated_concepts(
    training: TrainingSet, s: Array, scores: Array, count: int
) -> tuple[Concept, ...]:
    """Return the concepts with the largest posterior times correlation, if that is positive.

    `s` is the semantic descriptor of the picture, `scores` are those of the training pictures.
    """
    descriptor = training.pipeline.descriptor
    names = descriptor.get_feature_names_out()
    chosen = _are_concepts(names)
    if not chosen.any():
        return ()
    scale = descriptor.scales_[0]  # the global part comes first
    correlation = _correlations(
        scale * training.descriptors.S[:, chosen].astype(np.float64), scores.astype(np.float64)
    )
    posteriors = scale * s[chosen]
    strength = posteriors * correlation
    order = np.argsort(-strength, kind="stable")[:count]
    bare = [str(name).removeprefix(_CONCEPT) for name in names[chosen]]
    return tuple(
        Concept(bare[i], float(posteriors[i]), float(correlation[i]))
        for i in order
        if strength[i] > 0
    )


def _correlations(columns: Array, values: Array) -> Array:
    """Return the correlation of each column with the values; 0 where either is constant."""
    centred = columns - columns.mean(axis=0)
    spread = np.sqrt(
        np.einsum("ij,ij->j", centred, centred) * np.sum((values - values.mean()) ** 2)
    )
    together = centred.T @ (values - values.mean())
    return np.asarray(np.divide(together, spread, out=np.zeros_like(together), where=spread > 0))


def _neighbors(
    learner: Any, training: TrainingSet, own: Descriptors, row: int | None, n_neighbors: int
) -> tuple[npt.NDArray[np.int64], Array]:
    """Return training rows and their affinities: in the learner's graph, or in semantic space.

    `row` is the training row of the picture itself, None for a new picture.
    """
    if not _has_graph(learner):
        return _nearest(training.descriptors.S, own.S, row, n_neighbors)
    joined = learner.affinities(own.X) if row is None else learner.graph_[[row]]
    found = sparse.csr_array(joined)
    return found.indices.astype(np.int64), found.data


def _nearest(
    S: Array, s: Array, row: int | None, n_neighbors: int
) -> tuple[npt.NDArray[np.int64], Array]:
    """Return the nearest in semantic space, without the picture itself, and s_i's_j."""
    k = min(n_neighbors + (row is not None), len(S))
    rows = np.asarray(nearest_neighbors(S, k, s).indices[0])
    rows = rows[rows != row][:n_neighbors]
    return rows, S[rows] @ s[0]


def _ranked(
    training: TrainingSet,
    rows: npt.NDArray[np.int64],
    affinities: Array,
    column: int,
    scores: Array,
) -> tuple[Neighbor, ...]:
    """Return the neighbours with state and score of one label, closest first."""
    states = training.known.take(rows).states()[:, column]
    items = training.features.items
    return tuple(
        Neighbor(
            items[rows[i]], float(affinities[i]), State(int(states[i])), float(scores[rows[i]])
        )
        for i in np.argsort(-affinities, kind="stable")
    )
