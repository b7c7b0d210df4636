"""Why a label was suggested: the score of one label for one picture, taken apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.labels import State
from tagloom.neighbors import nearest_neighbors
from tagloom.tagger.inputs import Descriptors, TrainingSet
from tagloom.tagger.words import FITS, SeenConcept, fits_name, looks_like
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


class NamedConcepts(NamedTuple):
    """The most probable concepts of a picture among those that the name of a label means."""

    meaning: str
    """The noun that the label means."""
    concepts: tuple[SeenConcept, ...]
    """The most probable first."""

    def __str__(self) -> str:
        """Say it in words: "looks like a tabby; a tabby is a cat"."""
        return looks_like(self.meaning, self.concepts[0].name)


class FittingName(NamedTuple):
    """The name of a label, compared with the picture as a text."""

    name: str
    probability: float
    """That the picture fits it, see `tagloom.tagger.texts.TextPrior`."""

    def __str__(self) -> str:
        """Say it in words."""
        return fits_name(self.name)


@dataclass(frozen=True)
class Explanation:
    """The score of one label for one picture, taken apart.

    The score is `base` + `visual` + `concepts_total` + `pooled_total` + `name_part` + `graph_part`:
    what the visual features, the concepts, the labels pooled over visual neighbours and the name of
    the label add in the linear part, and what the graph adds to that.
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
    name_part: float
    """What the name of the label adds, by the concepts that it means or as a text; 0 where it means
    none and is compared with no picture."""
    named: "NamedConcepts | FittingName | None"
    """Those of these concepts that the picture looks like, or that it fits the name, whichever is
    more probable; None where there is neither."""
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
            f"  by its name: {self.named or 'nothing'}\n"
            f"  correlated concepts: {concepts}\n"
            f"  labels of visual neighbours: {pooled}\n"
            f"  base {self.base:.3f}, visual features {self.visual:+.3f}, concepts "
            f"{self.concepts_total:+.3f}, labels of neighbours {self.pooled_total:+.3f}, "
            f"name {self.name_part:+.3f}, similar pictures {self.graph_part:+.3f}"
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
    target = _Target.of(learner, training, descriptors, item, label)
    amounts, base, name_part = target.linear_part()
    score, linear = target.score, float(amounts.sum() + base + name_part)
    if not target.has_graph:
        _check_linear(score, linear)
        score = linear
    names = training.pipeline.descriptor.get_feature_names_out()
    of_s, is_concept = amounts[len(amounts) - len(names) :], _are_concepts(names)
    return Explanation(
        item=item,
        label=label,
        score=score,
        neighbors=target.neighbors(n_neighbors),
        concepts=target.concepts(n_reasons),
        pooled=_strongest(names[~is_concept], of_s[~is_concept], n_reasons),
        concepts_total=float(of_s[is_concept].sum()),
        pooled_total=float(of_s[~is_concept].sum()),
        visual=float(amounts.sum() - of_s.sum()),
        base=base,
        name_part=name_part,
        named=target.named(n_reasons),
        graph_part=score - linear,
    )


@dataclass(frozen=True)
class _Target:
    """The picture and the label to explain.

    `own` is the picture alone, `row` its training row, None for a new picture, and `column` that of
    the label, of which `training_scores` are the scores of all training pictures.
    """

    learner: Any
    training: TrainingSet
    own: Descriptors
    row: int | None
    column: int
    training_scores: Array
    score: float

    @classmethod
    def of(
        cls, learner: Any, training: TrainingSet, descriptors: Descriptors, item: str, label: Any
    ) -> Self:
        if not hasattr(learner, "coef_"):
            raise InvalidInputError(
                f"Only learners with a linear part can be explained; {type(learner).__name__} has "
                "no coef_."
            )
        row, column = _position(item, descriptors.items), _position(label, training.known.labels)
        training_scores = training.scores(learner, training.descriptors)[:, column]
        own = descriptors.row(row)
        if descriptors is training.descriptors:
            score = float(training_scores[row])
            return cls(learner, training, own, row, column, training_scores, score)
        score = float(training.scores(learner, own)[0, column])
        return cls(learner, training, own, None, column, training_scores, score)

    @property
    def has_graph(self) -> bool:
        """Whether a part of the scores comes from a graph of the learner's own."""
        return hasattr(self.learner, "affinities") and self.learner.graph_ is not None

    def linear_part(self) -> tuple[Array, float, float]:
        """Return what each of the columns [visual; s], the intercept and the name add."""
        if hasattr(self.learner, "linear_at"):
            weights, base, trust = self.learner.linear_at(self.own.X, self.row, self.own.prior)
        else:
            weights, base = self.learner.coef_, self.learner.intercept_
            trust = getattr(self.learner, "trust_", None)
        pipeline = self.training.pipeline
        amounts = pipeline.contributions(self.own.columns[0], weights[:, self.column])
        prior = self.prior
        name_part = 0.0 if prior is None else float(trust[self.column]) * prior
        return amounts, float(base[self.column]), name_part

    @property
    def prior(self) -> float | None:
        """The prior score of the label by its name, if it has one."""
        if self.own.prior is None or np.isnan(self.own.prior[0, self.column]):
            return None
        return float(self.own.prior[0, self.column])

    def named(self, count: int) -> NamedConcepts | FittingName | None:
        """Return the concepts that the name of the label means, or that the picture fits it."""
        words = self.training.pipeline.words
        if words is None or self.prior is None:
            return None
        meaning = words.meanings[self.column] or str(self.training.known.labels[self.column])
        concepts = self.training.features.concepts
        seen = words.seen(self.own.posteriors[0], self.column, concepts, count)
        if words.texts is not None:
            visual = self.own.columns[:, : self.training.pipeline.n_visual]
            fits = float(words.texts.probabilities(visual)[0, self.column])
            if fits >= FITS and fits > sum(one.posterior for one in seen):
                return FittingName(str(self.training.known.labels[self.column]), fits)
        return NamedConcepts(meaning, seen) if seen else None

    def neighbors(self, n_neighbors: int) -> tuple[Neighbor, ...]:
        """Return the neighbours in the learner's graph, or in semantic space, closest first."""
        rows, affinities = self._joined() if self.has_graph else self._nearest(n_neighbors)
        states = self.training.known.take(rows).states()[:, self.column]
        items, scores = self.training.features.items, self.training_scores[rows]
        return tuple(
            Neighbor(items[rows[i]], float(affinities[i]), State(int(states[i])), float(scores[i]))
            for i in np.argsort(-affinities, kind="stable")
        )

    def _joined(self) -> tuple[npt.NDArray[np.int64], Array]:
        """Return the training rows joined to the picture in the learner's last graph."""
        graph = self.learner.graph_
        if self.row is None:
            found = sparse.csr_array(self.learner.affinities(self.own.X, self.own.prior))
        else:
            found = sparse.csr_array(graph[[self.row]])
        return found.indices.astype(np.int64), found.data

    def _nearest(self, n_neighbors: int) -> tuple[npt.NDArray[np.int64], Array]:
        """Return the nearest in semantic space, without the picture itself, and s_i's_j."""
        S, s = self.training.descriptors.S, self.own.S
        k = min(n_neighbors + (self.row is not None), len(S))
        rows = np.asarray(nearest_neighbors(S, k, s).indices[0])
        rows = rows[rows != self.row][:n_neighbors]
        return rows, S[rows] @ s[0]

    def concepts(self, count: int) -> tuple[Concept, ...]:
        """Return the concepts with the largest posterior times correlation, if it is positive."""
        descriptor = self.training.pipeline.descriptor
        names = descriptor.get_feature_names_out()
        chosen = _are_concepts(names)
        if not chosen.any():
            return ()
        scale = descriptor.scales_[0]  # the global part comes first
        training_posteriors = scale * self.training.descriptors.S[:, chosen].astype(np.float64)
        correlation = _correlations(training_posteriors, self.training_scores.astype(np.float64))
        posteriors = scale * self.own.S[0][chosen]
        strength = posteriors * correlation
        bare = [str(name).removeprefix(_CONCEPT) for name in names[chosen]]
        return tuple(
            Concept(bare[i], float(posteriors[i]), float(correlation[i]))
            for i in np.argsort(-strength, kind="stable")[:count]
            if strength[i] > 0
        )


def _position(name: Any, names: Sequence[Any]) -> int:
    try:
        return list(names).index(name)
    except ValueError:
        raise InvalidInputError(f"{name!r} is not among {some_of(names, 3)}.") from None


def _check_linear(score: float, linear: float) -> None:
    if abs(score - linear) > _ROUNDING * (1 + abs(score)):
        raise InvalidInputError(
            "Only scores that are a linear part, or that and what a graph adds, can be explained; "
            f"this learner turns a linear part of {linear:.3f} into a score of {score:.3f}."
        )


def _are_concepts(names: Array) -> npt.NDArray[np.bool_]:
    """Return which columns of s are concepts; the others are labels."""
    return np.array([str(name).startswith(_CONCEPT) for name in names], dtype=bool)


def _strongest(names: Array, amounts: Array, count: int) -> tuple[Reason, ...]:
    """Return the contributions of largest absolute amount, largest first."""
    order = np.argsort(-np.abs(amounts), kind="stable")[:count]
    return tuple(Reason(str(names[i]), float(amounts[i])) for i in order)


def _correlations(columns: Array, values: Array) -> Array:
    """Return the correlation of each column with the values; 0 where either is constant."""
    centred = columns - columns.mean(axis=0)
    spread = np.sqrt(
        np.einsum("ij,ij->j", centred, centred) * np.sum((values - values.mean()) ** 2)
    )
    together = centred.T @ (values - values.mean())
    return np.asarray(np.divide(together, spread, out=np.zeros_like(together), where=spread > 0))
