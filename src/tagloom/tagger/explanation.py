"""Why a label was suggested."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.labels import State

Array = npt.NDArray[Any]


class Carrier(NamedTuple):
    """A picture of like meaning that is known to carry the label."""

    item: str
    likeness: float
    """s_i's_j, the weight of the edge between the two in the semantic graph."""


class Concept(NamedTuple):
    """A concept seen in the picture that goes with the label."""

    name: str
    posterior: float
    """How sure the backbone is of it."""
    correlation: float
    """Between its posterior and the score of the label, over the training pictures."""


class Reason(NamedTuple):
    """How much a label that visual neighbours carry adds to the score."""

    name: str
    amount: float


@dataclass(frozen=True)
class Explanation:
    """The score of one label for one picture, taken apart.

    The score is `base` + `visual` + `concepts_total` + `pooled_total`: what the features taken from
    the picture's looks, from its concepts and from the labels of its visual neighbours add.
    """

    item: str
    label: Any
    score: float
    carriers: tuple[Carrier, ...]
    """Nearest pictures in semantic space that are known to carry the label, most alike first."""
    n_neighbours: int
    """Among how many of the nearest the carriers were sought."""
    n_known_absent: int
    """How many of those are known not to have the label; the others are unknown."""
    concepts: tuple[Concept, ...]
    """What is seen in the picture and goes with the label, by posterior times correlation."""
    pooled: tuple[Reason, ...]
    """Labels of visual neighbours that add or take most."""
    concepts_total: float
    pooled_total: float
    visual: float
    base: float

    def __str__(self) -> str:
        carriers = ", ".join(carrier.item for carrier in self.carriers) or "none"
        concepts = ", ".join(f"{c.name} {c.posterior:.2f}" for c in self.concepts) or "none"
        pooled = ", ".join(f"{r.name} {r.amount:+.3f}" for r in self.pooled) or "none"
        return (
            f"{self.label!r} for {self.item}: score {self.score:.3f}\n"
            f"  of {self.n_neighbours} pictures of like meaning carry it: {carriers} "
            f"({self.n_known_absent} known not to)\n"
            f"  concepts that go with it: {concepts}\n"
            f"  labels of visual neighbours: {pooled}\n"
            f"  base {self.base:.3f}, looks {self.visual:+.3f}, concepts "
            f"{self.concepts_total:+.3f}, labels of neighbours {self.pooled_total:+.3f}"
        )


class Neighbourhood(NamedTuple):
    """What the nearest pictures in semantic space say about a label."""

    carriers: tuple[Carrier, ...]
    n_neighbours: int
    n_known_absent: int


def ask_neighbours(
    items: Sequence[str],
    likeness: Array,
    states: npt.NDArray[np.int8],
) -> Neighbourhood:
    """Sort out who carries the label, given the neighbours' names, likeness and states."""
    carriers = [
        Carrier(item, float(alike))
        for item, alike, state in zip(items, likeness, states, strict=True)
        if state == int(State.PRESENT)
    ]
    carriers.sort(key=lambda carrier: -carrier.likeness)
    n_absent = int((states == int(State.ABSENT)).sum())
    return Neighbourhood(tuple(carriers), len(items), n_absent)


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
    amounts: Array,
    names: Array,
    base: float,
    concepts: tuple[Concept, ...],
    around: Neighbourhood,
    n_reasons: int,
) -> Explanation:
    """Join what each column of [visual; s] adds with what concepts and neighbours say.

    `names` are those of the columns of s, which are the last of `amounts`.
    """
    of_s = amounts[len(amounts) - len(names) :]
    is_concept = are_concepts(names)
    return Explanation(
        item=item,
        label=label,
        score=float(amounts.sum() + base),
        carriers=around.carriers,
        n_neighbours=around.n_neighbours,
        n_known_absent=around.n_known_absent,
        concepts=concepts,
        pooled=_strongest(names[~is_concept], of_s[~is_concept], n_reasons),
        concepts_total=float(of_s[is_concept].sum()),
        pooled_total=float(of_s[~is_concept].sum()),
        visual=float(amounts.sum() - of_s.sum()),
        base=base,
    )


def are_concepts(names: Array) -> npt.NDArray[np.bool_]:
    """Say which columns of s are concepts; the others are labels."""
    return np.array([str(name).startswith("concept:") for name in names], dtype=bool)


def _strongest(names: Array, amounts: Array, count: int) -> tuple[Reason, ...]:
    """Return the reasons of largest absolute amount, largest first."""
    order = np.argsort(-np.abs(amounts), kind="stable")[:count]
    return tuple(Reason(str(names[i]), float(amounts[i])) for i in order)
