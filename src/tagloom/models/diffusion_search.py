"""Search the ridge of the linear part of `APGDiffusion` for all its values at once."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from math import inf
from typing import Any, Self

from tagloom.labels import PartialLabels
from tagloom.models.apg_graph import APGGraph
from tagloom.models.base import Array
from tagloom.models.diffusion_saving import SavableDiffusion
from tagloom.models.least_squares import LeastSquares
from tagloom.models.parameters import differ_in
from tagloom.models.targets import check_learnable, informed_part

# With these M has a closed form, and nothing else is asked for.
_NO_GRAPH = {"lam": 0, "doubt": inf, "smoothing": 0}


class SearchableDiffusion(SavableDiffusion):
    """How `APGDiffusion` walks a chain of candidates that differ in their ridge alone.

    A warm start takes over an M that was found for the same data and parameters. Least squares
    finds M for every ridge of the chain; each is handed to the fit that would find the same.
    """

    warm_start: bool
    _known: PartialLabels
    _learned_from: tuple[Any, ...] | None

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that cannot be meant."""

    @abstractmethod
    def _seen(self, rows: Array) -> tuple[Any, ...]:
        """Return what beside the labels decides M: rows and parameters."""

    @abstractmethod
    def _place(self, rows: Array) -> Array:
        """Learn where rows lie, for the linear part and the graphs, and return it."""

    @abstractmethod
    def _linear(self) -> APGGraph | LeastSquares:
        """Return the learner of M, with its parameters."""

    def _solved_together(self, grid: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        if set(grid) == {"even_scores"}:
            return ("even_scores",)  # each costs next to nothing once one is there
        others = [values for name, values in grid.items() if name != "ridge"]
        alone = all(len(values) == 1 for values in others)
        asked = {name: grid.get(name, [getattr(self, name)])[0] for name in _NO_GRAPH}
        # Chains of other parameters share their graphs: these are better walked side by side.
        return ("ridge",) if alone and asked == _NO_GRAPH else ()

    def _fitted_along(
        self, chain: Sequence[Mapping[str, Any]], X: Any, Y: Any, graphs: Mapping[str, Any]
    ) -> Iterator[Self]:
        linear = [self.set_params(**params)._linear() for params in chain]
        closed = all(isinstance(one, LeastSquares) for one in linear)
        if not (self.warm_start and closed and differ_in("ridge", chain)):
            yield from super()._fitted_along(chain, X, Y, graphs)
            return
        for params in chain:
            self.set_params(**params)._check_parameters()
        rows, known = self._read(X, Y)
        check_learnable(known, "ignore")
        wanted = [one.get_params() for one in linear]
        found = linear[0]._fitted_along(wanted, *informed_part(self._place(rows), known), {})
        placed = self._even_rows, self._places
        for params, one in zip(chain, found, strict=True):
            self._even_rows, self._places = placed
            self.set_params(**params)._take_over(copy(one), rows, known)
            fitted: Self = self.fit(X, Y, **graphs)
            yield fitted

    def _take_over(
        self, linear: APGGraph | LeastSquares, rows: Array, known: PartialLabels
    ) -> None:
        """Be as after a fit that has found this M and asked for no graph."""
        self._learned_from = None
        self.linear_, self._passes = linear, []
        self._known, self._learned_from = known, self._seen(rows)
