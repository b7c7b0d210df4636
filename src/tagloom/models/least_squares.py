"""Ridge regression label by label on the known entries, exactly and in closed form.

Labels with the same weights share their normal equations, and the equations are set up once for
all strengths of the ridge.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.linalg import limited_blas
from tagloom.models.base import (
    Array,
    LinearLearner,
    ParamGrids,
    differ_only_in,
    loss_curvature,
    parameter,
)
from tagloom.validation import check_flag, check_n_jobs, check_number

Positions = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# The default grid, in shares of the mean curvature of the squared loss of one label.
_RIDGE_SHARES = (0.1, 0.3, 1.0, 3.0, 10.0)
# Labels are processed together until they have about this many entries, to bound the memory.
_ENTRIES_AT_ONCE = 1 << 24


class LeastSquares(LinearLearner):
    """Ridge regression for each label on its known entries.

    Minimises for every label j, exactly and in closed form,

        1/2 sum_{i : (i,j) known} w_ij (x_i'm_j + b_j - y_ij)^2 + rho/2 ||m_j||^2,

    with y_ij 1 where the label is present and 0 where it is absent. Labels are learned
    independently. Unknown entries take no part.

    Parameters
    ----------
    ridge : float, default=1.0
        rho. 0 is allowed: then m_j is the smallest of the minimisers.
    fit_intercept : bool, default=True
        Whether to learn b, which is not penalised.
    n_jobs : int, optional
        Number of threads that solve for labels side by side; results do not depend on it.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent.

    Attributes
    ----------
    coef_ : array of shape (n_features, n_labels)
    intercept_ : array of shape (n_labels,)

    Examples
    --------
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, None], [None, 0], [1, 0]]
    >>> LeastSquares(ridge=0.1).fit(X, Y).predict(X).tolist()
    [[0, 1], [0, 1], [1, 0], [1, 0]]
    """

    def __init__(
        self,
        ridge: float = 1.0,
        *,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        on_unlearnable: str = "raise",
    ) -> None:
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.on_unlearnable = on_unlearnable

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Return ridge in shares of the mean curvature of the loss."""
        return [{"ridge": ridge_grid(X, as_partial_labels(Y), self.fit_intercept)}]

    def _fit(self, rows: Array, known: PartialLabels) -> None:
        ((self.coef_, self.intercept_),) = self._solutions(rows, known, [self.ridge])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(*parameter(self, "ridge"), low=0)
        check_flag(*parameter(self, "fit_intercept"))
        check_n_jobs(*parameter(self, "n_jobs"))

    def _solved_jointly(self, grid: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        return ("ridge",)

    def _fit_path(
        self, path: Sequence[Mapping[str, Any]], X: Any, Y: Any, graphs: Mapping[str, Any]
    ) -> Iterator[Self]:
        # A subclass that fits in its own way may solve another problem.
        kind = type(self)
        own = kind.fit is LeastSquares.fit and kind._fit is LeastSquares._fit
        if graphs or not (own and differ_only_in("ridge", path)):
            yield from super()._fit_path(path, X, Y, graphs)
            return
        ridges = []
        for params in path:
            self.set_params(**params)._check_parameters()
            ridges.append(self.ridge)
        solutions = self._solutions(*self._read_training_data(X, Y), ridges)
        for params, (M, b) in zip(path, solutions, strict=True):
            self.set_params(**params)
            self.coef_, self.intercept_ = M, b
            yield self

    def _solutions(
        self, X: Array, known: PartialLabels, ridges: Sequence[float]
    ) -> Iterator[tuple[Array, Array]]:
        """Yield M and b for each ridge; all are solved for before the first is yielded."""
        M = np.empty((len(ridges), X.shape[1], known.n_labels))
        b = np.empty((len(ridges), known.n_labels))
        self._solve(X, _by_pattern(columns_of(known)), ridges, M, b)
        for M_one, b_one in zip(M, b, strict=True):
            yield M_one.astype(X.dtype), b_one.astype(X.dtype)

    def _solve(
        self, X: Array, groups: list["_Group"], ridges: Sequence[float], M: Floats, b: Floats
    ) -> None:
        data = Rows(X, fit_intercept=self.fit_intercept)
        if any(pattern.background for pattern, _, _ in groups):
            _ = data.gram, data.total  # computed before threads would each compute them

        def solve(pattern: Pattern, labels: list[int], columns: list[Column]) -> None:
            found = pattern.solutions(data, Presences(columns), ridges)
            for k, (M_part, b_part) in enumerate(found):
                M[k][:, labels], b[k][labels] = M_part, b_part

        # One BLAS thread each: with more, results would depend on the number of cores.
        limits = nullcontext() if len(groups) == 1 else limited_blas(1)
        with limits:
            Parallel(n_jobs=self.n_jobs, backend="threading")(
                delayed(solve)(*group) for group in groups
            )


def ridge_grid(X: Any, known: PartialLabels, fit_intercept: bool) -> list[float]:
    """Return shares of the mean curvature of the squared loss of one label."""
    curvature = loss_curvature(X, known, fit_intercept) / np.shape(X)[1]
    return [share * curvature for share in _RIDGE_SHARES]


@dataclass(frozen=True, eq=False)
class Column:
    """The known entries of one label: some listed, the others absent with one common weight.

    Attributes
    ----------
    rows : array of int, ascending
        The listed entries.
    present : array of bool
    weights : array of float
        0 where a listed entry is unknown although the others count as absent.
    background : float
        The weight of an absence at every other row; 0 where those are unknown.
    n_items : int
    """

    rows: Positions
    present: npt.NDArray[np.bool_]
    weights: Floats
    background: float
    n_items: int

    def known(self) -> tuple[Positions, npt.NDArray[np.bool_], Floats]:
        """Return rows, presence and weights of every known entry, the background included."""
        if not self.background:
            return self.rows, self.present, self.weights
        present = np.zeros(self.n_items, dtype=bool)
        weights = np.full(self.n_items, self.background)
        present[self.rows], weights[self.rows] = self.present, self.weights
        rows = np.flatnonzero(weights)
        return rows, present[rows], weights[rows]

    def presences(self) -> "Column":
        """Return the present entries alone, without a background."""
        where = self.present
        rows, weights = self.rows[where], self.weights[where]
        return Column(rows, where[where], weights, 0.0, self.n_items)


def columns_of(known: PartialLabels) -> Iterator[Column]:
    """Yield the labels one by one."""
    step = max(1, _ENTRIES_AT_ONCE // max(1, known.n_items))
    for start in range(0, known.n_labels, step):
        some = known.labels[start : start + step]
        yield from _columns_of_few(known if len(some) == known.n_labels else known.select(some))


def _columns_of_few(known: PartialLabels) -> Iterator[Column]:
    entries = known.entries()
    hidden_rows, hidden_columns = known.hidden_entries()
    rows = np.concatenate([entries.rows, hidden_rows])
    columns = np.concatenate([entries.columns, hidden_columns])
    present = np.concatenate([entries.present, np.zeros(len(hidden_rows), dtype=bool)])
    weights = np.concatenate([entries.weights, np.zeros(len(hidden_rows))])
    order = np.lexsort((rows, columns))
    rows, present, weights = rows[order], present[order], weights[order]
    ends = np.cumsum(np.bincount(columns, minlength=known.n_labels))
    for start, end in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
        part = slice(start, end)
        yield Column(rows[part], present[part], weights[part], known.unlisted_weight, known.n_items)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """(S + rho I) Z = B, where S has no negative eigenvalue."""

    S: Floats
    B: Floats

    def solution(self, ridge: float) -> Floats:
        """Return (S + rho I)^-1 B."""
        shifted = self.S.copy()
        shifted.flat[:: len(shifted) + 1] += ridge
        try:
            factor = cho_factor(shifted, lower=True, check_finite=False)
        except LinAlgError:  # rho is lost in the rounding of S
            return np.asarray(np.linalg.lstsq(shifted, self.B, rcond=None)[0])
        return np.asarray(cho_solve(factor, self.B, check_finite=False))


@dataclass(frozen=True, eq=False)
class RowSystem:
    """The problem min_M 1/2 ||AM - Y||_F^2 + rho/2 ||M||_F^2, with the rows A themselves."""

    A: Floats
    Y: Floats

    def solution(self, ridge: float) -> Floats:
        """Return the minimiser, the smallest where rho = 0, and 0 where there is no row.

        (A'A + rho I)^-1 A'Y = A'(AA' + rho I)^-1 Y: the smaller of the two systems is solved.
        """
        if not len(self.A):
            return np.zeros((self.A.shape[1], self.Y.shape[1]))
        if ridge == 0:
            return np.asarray(np.linalg.lstsq(self.A, self.Y, rcond=None)[0])
        Z = self._normal.solution(ridge)
        return np.asarray(self.A.T @ Z) if self._is_wide else Z

    @property
    def _is_wide(self) -> bool:
        n, d = self.A.shape
        return bool(n <= d)

    @cached_property
    def _normal(self) -> NormalEquations:
        if self._is_wide:
            return NormalEquations(self.A @ self.A.T, self.Y)
        return NormalEquations(self.A.T @ self.A, self.A.T @ self.Y)


@dataclass(frozen=True, eq=False)
class CentredSystem:
    """Equations for M with centred features and labels, from which b follows."""

    equations: NormalEquations | RowSystem
    mean: Floats
    y_mean: Floats

    def solution(self, ridge: float) -> tuple[Floats, Floats]:
        """Return M and b = y^ - x^'M."""
        M = self.equations.solution(ridge)
        return M, self.y_mean - self.mean @ M


class Rows:
    """The features of all items, centred where there is an intercept.

    With an intercept centring changes no prediction; it avoids cancellation in columns far from 0.
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
    """Rows and weights at which labels are present, and sums over them."""

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
        """Return the weights of a label."""
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
        made: dict[bool, CentredSystem] = {}
        for ridge in ridges:
            corrected = correctable and ridge > 0
            if corrected not in made:
                make = self._by_correction if corrected else self._by_rows
                made[corrected] = make(data, present)
            yield made[corrected].solution(ridge)

    def _by_rows(self, data: Rows, present: Presences) -> CentredSystem:
        n, d = data.X.shape
        rows, weights = self._all_weights(n)
        A, mean, total = data.X[rows], np.zeros(d), float(weights.sum())
        Y, y_mean = present.table(rows), np.zeros(len(present.rows))
        if data.fit_intercept and total > 0:
            mean, y_mean = weights @ A / total, weights @ Y / total
        root = np.sqrt(weights)[:, None]
        equations = RowSystem(root * (A - mean), root * (Y - y_mean))
        return CentredSystem(equations, mean + data.origin, y_mean)

    def _by_correction(self, data: Rows, present: Presences) -> CentredSystem:
        """Correct X'X over all rows where weights differ from the background."""
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
        return CentredSystem(NormalEquations(gram, right), mean + data.origin, y_mean)

    def _all_weights(self, n: int) -> tuple[Positions, Floats]:
        if not self.background:
            return self.rows, self.offset
        weights = np.full(n, self.background)
        weights[self.rows] += self.offset
        rows = np.flatnonzero(weights)
        return rows, weights[rows]


_Group = tuple[Pattern, list[int], list[Column]]


def _by_pattern(columns: Iterable[Column]) -> list[_Group]:
    """Group labels that are known at the same rows with the same weights."""
    groups: dict[tuple[bytes, bytes], _Group] = {}
    for j, column in enumerate(columns):
        pattern = Pattern.of(column)
        _, labels, members = groups.setdefault(pattern.key, (pattern, [], []))
        labels.append(j)
        members.append(column.presences())
    return list(groups.values())
