"""What `APGDiffusion` answers once it has learned, for its training items and for new ones."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import Array
from tagloom.models.evening import EvenRows, EvenScores
from tagloom.models.least_squares import LeastSquares
from tagloom.models.remembering import RememberingLearner
from tagloom.models.smooth_part import Joint, Smoother

# With these the scores are made that describe items in the next pass. They are not searched: a
# search over the last pass would have to look for neighbours anew for every candidate.
FIRST = {"doubt": 0.1, "smoothing": 0.5}


class AnsweringDiffusion(RememberingLearner):
    """A linear part and the graphs that add to it, asked for scores.

    `_places` are the training rows as the linear part and the graphs take them, `_passes` what was
    found on each graph, `_steps` the scores with which items are described in the next, `_smoothed`
    the last F of the training items, and `_last` what was asked of it.
    """

    learnable_: npt.NDArray[np.bool_]
    training_scores_: Array
    linear_: APGGraph | LeastSquares
    _even_rows: EvenRows | None
    _places: Array
    _smoothed: Array
    _even_scores: EvenScores
    _last: dict[str, float]
    _passes: list[Smoother]
    _joints: list[Joint]
    _steps: list[Array]

    @property
    def coef_(self) -> Array:
        """The paper's M."""
        return np.asarray(self.linear_.coef_)

    @property
    def intercept_(self) -> Array:
        """The intercept b."""
        return np.asarray(self.linear_.intercept_)

    @property
    def n_iter_(self) -> int:
        """Iterations made for M; 1 where it was found in closed form."""
        return int(getattr(self.linear_, "n_iter_", 1))

    @property
    def graph_(self) -> Any:
        """Normalised affinities of the training items in the last pass; None if none was asked."""
        return self._passes[-1].graph.S if self._passes else None

    def affinities(self, X: Any) -> Any:
        """Return the normalised affinities of new items to the training items in the last pass.

        A csr_array with a row s_x for each item, empty if no graph was asked. Every row of X is
        taken for a new item; the training items are joined among themselves by `graph_`.
        """
        rows = self._checked_rows(X).astype(self._rows.dtype, copy=False)
        if not self._passes:
            return sparse.csr_array((len(rows), len(self._rows)), dtype=rows.dtype)
        places = self._placed(rows)
        described = self._described(places, self._linear_scores(places))
        return self._passes[-1].graph.joined(described)

    def linear_at(self, x: Any, training_row: int | None = None) -> tuple[Array, Array]:
        """Return weights M_x and base b_x: the linear part of the score of one item is x'M_x + b_x.

        They differ from item to item where rows or scores are evened. `training_row` says which of
        the training items x is; else it is a new one.
        """
        row = self._checked_rows(x).astype(self._rows.dtype, copy=False)
        M_x, b_x = self.coef_, self.intercept_
        if self._even_rows is not None:
            M_x = M_x / self._even_rows.lengths(row)[0]
            b_x = b_x - self._even_rows.mean @ M_x
        f = self._new_scores(row) if training_row is None else self._smoothed[[training_row]]
        k, mean = self._even_scores.stretch(f, self._last["even_scores"])[0], self._even_scores.mean
        return k * M_x, mean + k * (b_x - mean)

    def _placed(self, rows: Array) -> Array:
        """Return rows as the linear part and the graphs take them."""
        return rows if self._even_rows is None else self._even_rows(rows)

    def _linear_scores(self, places: Array) -> Array:
        return np.asarray(places @ self.linear_.coef_ + self.linear_.intercept_)

    def _finish(self, F: Array, last: dict[str, float]) -> None:
        """Take these for the scores of the training items, and even them as was asked."""
        self._last, self._smoothed, self._even_scores = last, F, EvenScores.of(F)
        self.training_scores_ = self._evened(F)

    def _evened(self, F: Array) -> Array:
        return self._even_scores(F, self._last["even_scores"])

    def _training_scores(self) -> Array:
        return self.training_scores_.copy()

    def _scores(self, X: Array) -> Array:
        return self._evened(self._new_scores(X.astype(self._rows.dtype, copy=False)))

    def _new_scores(self, rows: Array) -> Array:
        """Return F of new items."""
        places = self._placed(rows)
        P = self._linear_scores(places)
        if is_linear(self._last):
            return P
        asked = self._last["doubt"], self._last["smoothing"]
        described = self._described(places, P)
        return self._passes[-1].extended(described, P, self._smoothed, *asked)

    def _described(self, places: Array, P: Array) -> Array:
        """Describe new items as those of the last graph are: by U, or joined with scores."""
        described = places
        for smoother, F, joint in zip(self._passes[:-1], self._steps, self._joints, strict=True):
            described = joint(places, smoother.extended(described, P, F, **FIRST))
        return described


def is_linear(asked: Mapping[str, float]) -> bool:
    """Say whether nothing is left of the graph."""
    return asked["doubt"] == np.inf and asked["smoothing"] == 0
