"""What a linear model cannot express: the part of the scores that is smooth on a graph."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagloom.graph import AffinityGraph, diffuse
from tagloom.labels import PartialLabels

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Smoother:
    """Scores of a linear model, corrected and smoothed on one graph.

    With P = XM + b, the weights W of what somebody has said (0: nothing), the residuals
    R = W o (Y - P) and the normalised affinities S of the graph,

        told  = (1 - a) (I - a S)^{-1} R     what neighbours have been told beyond P, with reach a
        heard = (1 - a) (I - a S)^{-1} W     how much of it is to be heard
        G_ij  = told_ij / (heard_ij + m)     its mean, held back by the doubt m
        F     = (1 - s) (I - s S)^{-1} (P + G)    smoothed with s.

    Parameters
    ----------
    graph : AffinityGraph
    P, told, heard : arrays of shape (n_items, n_labels)
    reach : float
        a.
    """

    graph: AffinityGraph
    P: Array
    told: Array
    heard: Array
    reach: float
    _smoothed: dict[float, Array] = field(default_factory=dict)

    @classmethod
    def on(cls, graph: AffinityGraph, P: Array, said: "Said", reach: float) -> "Smoother":
        """Spread over the graph what was said."""
        told, heard = (diffuse(graph.S, table, reach) for table in said)
        return cls(graph, P, told, heard, reach)

    def scores(self, doubt: float, smoothing: float) -> Array:
        """Return F. The smoothed P is kept: it serves for every doubt."""
        if smoothing not in self._smoothed:
            self._smoothed[smoothing] = diffuse(self.graph.S, self.P, smoothing)
        G = _held_back(self.told, self.heard, doubt)
        return np.asarray(self._smoothed[smoothing] + diffuse(self.graph.S, G, smoothing))

    def extended(self, queries: Array, P: Array, F: Array, doubt: float, smoothing: float) -> Array:
        """Return the scores of new items: one row each of the equations above.

        With s_x the affinities of a new item x, of which nobody has said anything,

            told(x) = a s_x told,    heard(x) = a s_x heard,
            f(x) = s s_x F + (1 - s) (p(x) + g(x)).
        """
        s_x = self.graph.joined(queries)
        told, heard = (self.reach * (s_x @ table) for table in (self.told, self.heard))
        corrected = P + _held_back(told, heard, doubt)
        return np.asarray(smoothing * (s_x @ F) + (1 - smoothing) * corrected, dtype=P.dtype)


def _held_back(told: Array, heard: Array, doubt: float) -> Array:
    # Solved to a tolerance, sums of weights may fall short of 0 by a rounding.
    return np.asarray(told / (np.maximum(heard, 0) + told.dtype.type(doubt)))


@dataclass(frozen=True, eq=False)
class Joint:
    """Descriptor and scores side by side, each as long as the other on average.

    Scores are centred and divided label by label by the root of their spread: labels of strong
    scores have more to say in who is like whom, but not as much more as their scores are stronger.
    """

    mean: Array
    weights: Array

    @classmethod
    def of(cls, X: Array, F: Array) -> "Joint":
        """Learn the sizes from the items of a graph."""
        spread = F.std(axis=0, dtype=np.float64)
        varies = spread > 0
        total = X.var(axis=0, dtype=np.float64).sum()
        size = np.sqrt(total / spread.sum()) if varies.any() else 0.0
        weights = np.divide(size, np.sqrt(spread), out=np.zeros_like(spread), where=varies)
        return cls(F.mean(axis=0, dtype=np.float64), weights)

    def __call__(self, X: Array, F: Array) -> Array:
        """Return [x; scores] for items, those of the graph or new ones."""
        said = (F - self.mean) * self.weights
        return np.hstack([X, said.astype(X.dtype)])


class Said(NamedTuple):
    """What somebody has said, as tables over all items and labels."""

    beyond: Array
    """w_ij (y_ij - p_ij), by how much it differs from P; 0 where nobody has said anything."""
    weight: Array
    """w_ij."""

    @classmethod
    def of(cls, known: PartialLabels, P: Array) -> "Said":
        """Take the listed entries.

        That an unlisted tag is absent is only presumed: nobody has said it, and neighbours hear
        nothing of it.
        """
        entries = known.entries()
        at = entries.rows, entries.columns
        beyond, weight = np.zeros_like(P), np.zeros_like(P)
        weight[at] = entries.weights
        beyond[at] = entries.weights * (entries.present - P[at])
        return cls(beyond, weight)
