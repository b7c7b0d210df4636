"""Least squares for labels that are known at the same rows with the same weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.models.columns import Column, Floats, Positions
from tagloom.models.ridge_systems import Centred, NormalEquations, WrittenOut


class Rows:
    """The features of all items, moved to their mean where there is an intercept.

    With an intercept the move changes no prediction; it spares the digits that columns far from 0
    would cost.
    """

    def __init__(self, X: npt.NDArray[Any], *, fit_intercept: bool) -> None:
        self.fit_intercept = fit_intercept
        X64 = X.astype(np.float64, copy=False)
        self.origin = X64.mean(axis=0) if fit_intercept else np.zeros(X.shape[1])
        self.X = X64 - self.origin if fit_intercept else X64

    @cached_property
    def gram(self) -> Floats:
        """X'X over all rows."""
        return np.asarray(self.X.T @ self.X)

    @cached_property
    def total(self) -> Floats:
        """The sum of all rows."""
        return np.asarray(self.X.sum(axis=0))


class Presences:
    """Rows and weights at which some labels are present, and sums over them."""

    def __init__(self, columns: list[Column]) -> None:
        self.rows = [column.rows[column.present] for column in columns]
        self.weights = [column.weights[column.present] for column in columns]
        self.totals = np.array([weights.sum() for weights in self.weights])

    def products(self, X: Floats) -> Floats:
        """Return sum_i w_ij y_ij x_i, one column for each label."""
        pairs = zip(self.rows, self.weights, strict=True)
        return np.column_stack([weights @ X[rows] for rows, weights in pairs])

    def table(self, rows: Positions) -> Floats:
        """Return y_ij at the given rows, which include every presence."""
        Y = np.zeros((len(rows), len(self.rows)))
        for j, present in enumerate(self.rows):
            Y[np.searchsorted(rows, present), j] = 1.0
        return Y


@dataclass(frozen=True, eq=False)
class Pattern:
    """Observation weights w_i = background + offset_i, where the offset is 0 but at `rows`."""

    rows: Positions
    offset: Floats
    background: float

    @classmethod
    def of(cls, column: Column) -> "Pattern":
        """Return the weights of a label, without whether it is present."""
        offset = column.weights - column.background
        differs = offset != 0
        return cls(column.rows[differs], offset[differs], column.background)

    @property
    def key(self) -> tuple[bytes, bytes]:
        """Equal exactly for equal weights over the same background."""
        return self.rows.tobytes(), self.offset.tobytes()

    def solutions(
        self, data: Rows, present: Presences, ridges: Sequence[float]
    ) -> Iterator[tuple[Floats, Floats]]:
        """Yield M and b for the labels that share these weights, for one ridge after the other.

        With w the weights, x^ and y^ the weighted means (0 without intercept), the minimiser is

            m = (sum_i w_i (x_i - x^)(x_i - x^)' + rho I)^-1 sum_i w_i y_i (x_i - x^),
            b = y^ - x^'m.

        The sums are taken once for all rho.
        """
        n, d = data.X.shape
        correctable = self.background > 0 and n > d and 2 * len(self.rows) < n
        made: dict[bool, Centred] = {}
        for ridge in ridges:
            corrected = correctable and ridge > 0
            if corrected not in made:
                make = self._by_correction if corrected else self._by_rows
                made[corrected] = make(data, present)
            yield made[corrected].solution(ridge)

    def _by_rows(self, data: Rows, present: Presences) -> Centred:
        n, d = data.X.shape
        rows, weights = self._written_out(n)
        A, mean, total = data.X[rows], np.zeros(d), float(weights.sum())
        Y, y_mean = present.table(rows), np.zeros(len(present.rows))
        if data.fit_intercept and total > 0:
            mean, y_mean = weights @ A / total, weights @ Y / total
        root = np.sqrt(weights)[:, None]
        equations = WrittenOut(root * (A - mean), root * (Y - y_mean))
        return Centred(equations, mean + data.origin, y_mean)

    def _by_correction(self, data: Rows, present: Presences) -> Centred:
        """Take the sums from X'X over all rows, correcting it where weights differ."""
        n, d = data.X.shape
        some = data.X[self.rows]
        weighted = self.offset[:, None] * some
        total = self.background * n + float(self.offset.sum())
        gram = self.background * data.gram + some.T @ weighted
        right, mean = present.products(data.X), np.zeros(d)
        y_mean = np.zeros(len(present.rows))
        if data.fit_intercept:
            mean = (self.background * data.total + weighted.sum(axis=0)) / total
            gram -= total * np.outer(mean, mean)
            right -= np.outer(mean, present.totals)
            y_mean = present.totals / total
        return Centred(NormalEquations(gram, right), mean + data.origin, y_mean)

    def _written_out(self, n: int) -> tuple[Positions, Floats]:
        if not self.background:
            return self.rows, self.offset
        weights = np.full(n, self.background)
        weights[self.rows] += self.offset
        rows = np.flatnonzero(weights)
        return rows, weights[rows]
