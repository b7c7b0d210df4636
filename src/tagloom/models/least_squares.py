"""Ridge regression label by label on the known entries, in closed form.

Labels with the same weights share their normal equations, and the equations are set up once for
all strengths of the ridge. Many labels that are known at different rows are solved for side by side
by preconditioned conjugate gradients instead. A column of prior scores is eliminated from the
equations, block-wise.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.linalg import column_dots, conjugate_gradients, limited_blas
from tagloom.models.base import (
    Array,
    LinearLearner,
    ParamGrids,
    PriorMixin,
    differ_only_in,
    parameter,
    ridge_unit,
)
from tagloom.models.prior import Prior, read_prior, shrunk_trust
from tagloom.optim import MaskedSquaredLoss, SparseRows
from tagloom.optim.solvers.cg import RidgeSolver
from tagloom.validation import check_flag, check_n_jobs, check_number

Positions = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# The default grid, in units of `ridge_unit`; the first value of each list is the safest. Where
# absences are assumed, presences among them are noise, and the safest ridge is stronger.
_RIDGES = (0.3, 0.03, 0.1, 1.0, 3.0)
_RIDGES_OF_LISTS = (1.0, 0.1, 0.3, 3.0, 10.0)
_PRIOR_WEIGHT_OF_LISTS = 0.7
# Conjugate gradients stop at this residual, relative to that of M = 0. For float32 rows, too: with
# a small ridge a small residual may be a large error, and products are in double precision.
_CG_RESIDUAL = 1e-10
# With a preconditioner; after so many iterations the normal equations are formed after all.
_CG_MAX_ITER = 200
# So many iterations are usual, and an eigendecomposition takes so many times d^3 multiplications.
_CG_ITERATIONS, _EIGENDECOMPOSITION = 30, 9
# What is faster is asked for so many ridges, however many there are: a path gives the bits of fits.
_CG_RIDGES = 3
# Labels are processed together until they have about this many entries, to bound the memory.
_ENTRIES_AT_ONCE = 1 << 24


class LeastSquares(PriorMixin, LinearLearner):
    """Ridge regression for each label on its known entries.

    Minimises for every label j, in closed form,

        1/2 sum_{i : (i,j) known} w_ij (x_i'm_j + b_j - y_ij)^2 + rho/2 ||m_j||^2,

    with y_ij 1 where the label is present and 0 where it is absent. Labels are learned
    independently. Unknown entries take no part. Many labels that are known at different rows are
    solved for side by side, to a relative residual of 1e-10.

    Labels with prior scores t_ij (see `fit`) have one more column of their own: theta_j t_ij joins
    the score, and mu/2 (theta_j - theta_0)^2 the penalty. theta_0 is common to all of them and
    minimises the sum of the penalties. The other labels get the same as without prior scores.

    Parameters
    ----------
    ridge : float, default=1.0
        rho. 0 is allowed: then m_j is the smallest of the minimisers.
    prior_shrinkage : float, default=10.0
        mu, how strongly the trust in the prior scores of a label is shrunk to the common trust. It
        is a pseudo-count, of items whose prior score is 1.
    prior_weight : float in [0, 1], default=1.0
        v: theta_j becomes v theta_j, and m_j and b_j the fit to y_ij - v theta_j t_ij. So scores
        are the mean of those of the minimiser, with weight v, and of those without prior scores.
        Labels whose known entries do not differ, of which the latter say nothing, keep theta_0.
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
    trust_ : array of shape (n_labels,), or None
        theta, NaN for labels without prior scores; None where no label has any.

    Examples
    --------
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, None], [None, 0], [1, 0]]
    >>> LeastSquares(ridge=0.1).fit(X, Y).predict(X).tolist()
    [[0, 1], [0, 1], [1, 0], [1, 0]]
    """

    safest_first = True
    takes_sparse = True
    trust_: Array | None

    def __init__(
        self,
        ridge: float = 1.0,
        *,
        prior_shrinkage: float = 10.0,
        prior_weight: float = 1.0,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        on_unlearnable: str = "raise",
    ) -> None:
        self.ridge = ridge
        self.prior_shrinkage = prior_shrinkage
        self.prior_weight = prior_weight
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.on_unlearnable = on_unlearnable

    def default_param_grid(
        self, X: Any, Y: Any, graph: Any = None, prior: Any = None
    ) -> ParamGrids:
        """Return ridge in units of the data, and how to use prior scores."""
        known = as_partial_labels(Y)
        shares = _RIDGES_OF_LISTS if known.unlisted_weight else _RIDGES
        ridges = [share * ridge_unit(X, known) for share in shares]
        return [{"ridge": ridges, **prior_grid(known, prior)}]

    def fit_known(self, rows: Array, known: PartialLabels, prior: Prior | None = None) -> None:
        """Learn from validated rows and labels."""
        (solution,) = self._solutions(rows, known, [(self.ridge, self.prior_shrinkage)], prior)
        self.coef_, self.intercept_, self.trust_ = solution

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        check_number(*parameter(self, "ridge"), low=0)
        check_number(*parameter(self, "prior_shrinkage"), low=0, inclusive=False)
        check_number(*parameter(self, "prior_weight"), low=0, high=1)
        check_flag(*parameter(self, "fit_intercept"))
        check_n_jobs(*parameter(self, "n_jobs"))

    def score_rows_with_prior(self, X: Array, prior: Prior) -> Array:
        """Return the scores of validated rows and their prior scores."""
        assert self.trust_ is not None
        return np.asarray(self.score_rows(X) + prior.contribution(self.trust_))

    def solved_jointly(self, grid: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        """Return the parameters that `fit_path` solves for all at once."""
        return ("ridge", "prior_shrinkage")

    def fit_path(
        self, path: Sequence[Mapping[str, Any]], X: Any, Y: Any, inputs: Mapping[str, Any]
    ) -> Iterator[Self]:
        """Yield this learner fitted with the parameters of each candidate in turn."""
        # A subclass that fits in its own way may solve another problem.
        kind = type(self)
        own = kind.fit is LeastSquares.fit and kind.fit_known is LeastSquares.fit_known
        joint = own and differ_only_in(("ridge", "prior_shrinkage"), path)
        if inputs.keys() - {"prior"} or not joint:
            yield from super().fit_path(path, X, Y, inputs)
            return
        candidates = []
        for params in path:
            self.set_params(**params).check_parameters()
            candidates.append((self.ridge, self.prior_shrinkage))
        rows, known = self.read_training_data(X, Y)
        prior = read_prior(inputs.get("prior"), rows.shape[0], self.label_names_, rows.dtype)
        solutions = self._solutions(rows, known, candidates, prior)
        for params, (M, b, trust) in zip(path, solutions, strict=True):
            self.set_params(**params)
            self.coef_, self.intercept_, self.trust_ = M, b, trust
            yield self

    def _solutions(
        self,
        X: Array,
        known: PartialLabels,
        candidates: Sequence[tuple[float, float]],
        prior: Prior | None,
    ) -> Iterator["Solution"]:
        """Yield M, b and theta for each pair of a ridge and a shrinkage of trust.

        The systems of all ridges are solved before the first is yielded.
        """
        if sparse.issparse(X):
            yield from self._by_products(X, known, candidates, prior)
            return
        systems = {
            ridge: _Systems.empty(X.shape[1], known.n_labels, prior) for ridge, _ in candidates
        }
        left = dict(systems)
        groups = group_by_pattern(columns_of(known))
        if any(ridge > 0 for ridge in left) and _conjugate_gradients_pay(X, groups):
            for ridge in self._solve_side_by_side(X, known, prior, systems):
                del left[ridge]
        if left:
            self._solve(X, groups, prior, left)
        for ridge, shrinkage in candidates:
            yield systems[ridge].solution(shrinkage, self.prior_weight, prior, X.dtype)

    def _by_products(
        self,
        X: Any,
        known: PartialLabels,
        candidates: Sequence[tuple[float, float]],
        prior: Prior | None,
    ) -> Iterator["Solution"]:
        """Yield the solutions for sparse rows, of which only products are taken.

        (H + rho I) M = -G_0 is solved for all labels side by side by conjugate gradients, which
        from M = 0 find the smallest of the minimisers where rho = 0.
        """
        if prior is not None:
            raise InvalidInputError(
                "Prior scores are taken with dense features only; X is a sparse matrix. Pass "
                "X.toarray(), or leave out prior."
            )
        rows = SparseRows(X, known, moments=False)
        loss = MaskedSquaredLoss(rows, fit_intercept=self.fit_intercept)
        for ridge, _ in candidates:
            M = _minimiser(loss, ridge)
            yield Solution(M.astype(X.dtype), loss.intercept(M).astype(X.dtype), None)

    def _solve_side_by_side(
        self,
        X: Array,
        known: PartialLabels,
        prior: Prior | None,
        systems: Mapping[float, "_Systems"],
    ) -> Iterator[float]:
        """Solve for all labels at once; yield the ridges for which conjugate gradients converged.

        (H + rho I) M = -G_0, and with the same H for the prior columns, see `RidgeSolver`.
        """
        loss = MaskedSquaredLoss.of(X, known, fit_intercept=self.fit_intercept)
        solver = RidgeSolver(loss)
        how: dict[str, Any] = {"tol": _CG_RESIDUAL, "max_iter": _CG_MAX_ITER}
        columns = None if prior is None else _PriorColumns.of(X, known, prior, self.fit_intercept)
        for ridge, system in systems.items():
            if ridge == 0:
                continue
            found = solver.solve(-loss.gradient_at_zero, ridge, **how)
            if not found.converged:
                continue
            system.M[...], system.b[...] = found.M, loss.intercept(found.M)
            if columns is not None and system.prior is not None:
                of_prior = solver.solve(columns.right, ridge, **how)
                if not of_prior.converged:
                    continue
                tables = columns.eliminated(loss, found.M, of_prior.M)
                for table, values in zip(system.prior, tables, strict=True):
                    table[...] = values
            yield ridge

    def _solve(
        self,
        X: Array,
        groups: list["_Group"],
        prior: Prior | None,
        systems: Mapping[float, "_Systems"],
    ) -> None:
        data = Rows(X, fit_intercept=self.fit_intercept)
        if any(pattern.background for pattern, _, _ in groups):
            _ = data.gram, data.total  # computed before threads would each compute them
        place = {} if prior is None else {label: k for k, label in enumerate(prior.labels)}

        def solve(pattern: Pattern, labels: list[int], columns: list[Column]) -> None:
            members = [n for n, label in enumerate(labels) if label in place]
            chosen = [place[labels[n]] for n in members]
            T = None if prior is None or not members else prior.T[:, chosen].astype(np.float64)
            found = pattern.solutions(data, Presences(columns), list(systems), T, members)
            for system, part in zip(systems.values(), found, strict=True):
                system.put(part, labels, chosen)

        # One BLAS thread each: with more, results would depend on the number of cores.
        limits = nullcontext() if len(groups) == 1 else limited_blas(1)
        with limits:
            Parallel(n_jobs=self.n_jobs, backend="threading")(
                delayed(solve)(*group) for group in groups
            )


def _conjugate_gradients_pay(X: Array, groups: Sequence["_Group"]) -> bool:
    """Return whether labels side by side take fewer multiplications than one after the other.

    Labels with the same weights, a group, share their normal equations. Side by side they need a
    dozen tables of features x labels: where these are large, labels are solved for in turn.
    """
    n, d = X.shape
    n_labels = sum(len(labels) for _, labels, _ in groups)
    if d * n_labels > _ENTRIES_AT_ONCE:
        return False
    direct = 0.0
    for pattern, _, _ in groups:
        n_rows = len(pattern.rows)
        if pattern.background and not pattern.is_correctable(n, d):
            n_rows = n
        size = d if pattern.background else min(n_rows, d)
        direct += n_rows * d * size + _CG_RIDGES * size**3 / 3
    iterations = _CG_RIDGES * _CG_ITERATIONS * 2 * n * d * n_labels
    return bool(iterations + _EIGENDECOMPOSITION * d**3 + n * d**2 < direct)


def prior_grid(known: PartialLabels, prior: Any) -> dict[str, list[Any]]:
    """Return the default grid of how to use prior scores: their weight, where tags are lists.

    What people list stands out more than what they forget, and prior scores recognise it better:
    the trust that is learned from lists is too high for the rest. The shrinkage of trust is not
    searched: 1, 10 and 100 hardly differ, and the more candidates, the more win by chance.
    """
    if prior is None or not known.unlisted_weight:
        return {}
    return {"prior_weight": [_PRIOR_WEIGHT_OF_LISTS]}


def _minimiser(loss: MaskedSquaredLoss, ridge: float) -> Floats:
    """Return M with (H + rho I) M = -G_0, each column to a relative residual of 1e-10."""
    M = np.zeros(loss.shape)
    residual = -loss.gradient_at_zero
    enough = _CG_RESIDUAL * np.sqrt(column_dots(residual, residual))
    steps = conjugate_gradients(loss.hessian_product, residual, shift=np.float64(ridge))
    # In exact arithmetic as many steps as features are enough; rounding may need some more.
    for step in islice(steps, 2 * loss.shape[0] + 10):
        M += step.length * step.direction
        if (np.sqrt(column_dots(residual, residual)) <= enough).all():
            break
    return M


class Solution(NamedTuple):
    """M, b and theta of all labels."""

    M: Array
    b: Array
    trust: Array | None


@dataclass(frozen=True, eq=False)
class _Systems:
    """What was solved for with one ridge: M and b without prior scores, and the prior columns."""

    M: Floats
    b: Floats
    prior: "Elimination | None"

    @classmethod
    def empty(cls, n_features: int, n_labels: int, prior: Prior | None) -> "_Systems":
        own = None if prior is None else Elimination.empty(n_features, len(prior.labels))
        return cls(np.empty((n_features, n_labels)), np.empty(n_labels), own)

    def put(self, part: "PartSolution", labels: list[int], chosen: list[int]) -> None:
        """Take the solution of some labels, of which `chosen` are the prior columns."""
        self.M[:, labels], self.b[labels] = part.M, part.b
        if self.prior is not None and part.prior is not None:
            for table, values in zip(self.prior, part.prior, strict=True):
                table[..., chosen] = values

    def solution(
        self, shrinkage: float, weight: float, prior: Prior | None, dtype: Any
    ) -> Solution:
        """Return m_j - theta_j c_j and b_j - theta_j e_j: the fit to y_j - theta_j t_j."""
        if self.prior is None or prior is None:
            return Solution(self.M.astype(dtype), self.b.astype(dtype), None)
        C, e, with_label, with_itself = self.prior
        theta = shrunk_trust(with_label, with_itself, shrinkage, weight).each
        M, b, trust = self.M.copy(), self.b.copy(), np.full(len(self.b), np.nan)
        M[:, prior.labels] -= theta * C
        b[prior.labels] -= theta * e
        trust[prior.labels] = theta
        return Solution(M.astype(dtype), b.astype(dtype), trust.astype(dtype))


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
    n_stored = known.n_items * known.n_labels
    if known.is_sparse:
        counts = known.counts()
        unlike_most = counts.unknown if known.unlisted_weight else counts.absent
        n_stored = int(counts.present.sum() + unlike_most.sum())
    step = max(1, _ENTRIES_AT_ONCE * known.n_labels // max(1, n_stored))
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


class Elimination(NamedTuple):
    """Prior columns t regressed on the features, and what is left of them.

    With P the map from a column to its residual r = Pt of the ridge regression on the features,
    with the weights W of the known entries, t'WPy and t'WPt decide how far t is trusted. Both are 0
    for a label whose known entries all agree: nothing can be learned of it.
    """

    C: Floats
    """Coefficients."""
    e: Floats
    """Intercepts."""
    with_label: Floats
    """t'WPy."""
    with_itself: Floats
    """t'WPt."""

    @classmethod
    def empty(cls, n_features: int, n_columns: int) -> "Elimination":
        """Return tables for so many columns."""
        return cls(np.empty((n_features, n_columns)), *np.empty((3, n_columns)))


class PartSolution(NamedTuple):
    """The solution for some labels with one ridge."""

    M: Floats
    b: Floats
    prior: Elimination | None


class _PriorColumns(NamedTuple):
    """Sums over the prior columns t, centred at the known entries of their labels."""

    labels: Positions
    right: Floats
    """X'Wt, of shape (d, c): 0 for labels without a prior column."""
    mean: Floats
    with_label: Floats
    """t'Wy."""
    with_itself: Floats
    """t'Wt."""
    learnable: npt.NDArray[np.bool_]
    """Whether the known entries of the label differ."""

    @classmethod
    def of(
        cls, X: Array, known: PartialLabels, prior: Prior, fit_intercept: bool
    ) -> "_PriorColumns":
        """Take the sums."""
        weighted = np.zeros(prior.T.shape)
        mean, with_label, with_itself = np.zeros((3, len(prior.labels)))
        learnable = np.zeros(len(prior.labels), dtype=bool)
        labels = [known.labels[label] for label in prior.labels]
        for k, column in enumerate(columns_of(known.select(labels))):
            rows, present, weights = column.known()
            t = prior.T[rows, k].astype(np.float64)
            if fit_intercept and len(rows):
                mean[k] = weights @ t / weights.sum()
            t -= mean[k]
            weighted[rows, k] = weights * t
            with_label[k], with_itself[k] = weights @ (t * present), weights @ t**2
            learnable[k] = 0 < np.count_nonzero(present) < len(rows)
        right = np.zeros((X.shape[1], known.n_labels))
        right[:, prior.labels] = Rows(X, fit_intercept=False).products(weighted)
        return cls(prior.labels, right, mean, with_label, with_itself, learnable)

    def eliminated(self, loss: MaskedSquaredLoss, M: Floats, C: Floats) -> Elimination:
        """Return the prior columns regressed on the features, see `CentredSystem`."""
        right, own = self.right[:, self.labels], C[:, self.labels]
        # The intercept of the loss is that of y; at M = 0 it is the mean of y.
        e = (loss.intercept(C) - loss.intercept(np.zeros_like(C)))[self.labels] + self.mean
        with_label = self.with_label - column_dots(right, M[:, self.labels])
        with_itself = np.maximum(0, self.with_itself - column_dots(right, own))
        tables = own, e, with_label, with_itself
        return Elimination(*(np.where(self.learnable, table, 0.0) for table in tables))


Solve = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """(S + rho I) Z = B, where S has no negative eigenvalue."""

    S: Floats
    B: Floats

    def solver(self, ridge: float) -> Solve:
        """Return the map from B to (S + rho I)^-1 B; to the smallest minimiser where rho = 0."""
        shifted = self.S.copy()
        shifted.flat[:: len(shifted) + 1] += ridge
        try:
            # A singular S may seem to have a factor, by rounding.
            factor = cho_factor(shifted, lower=True, check_finite=False) if ridge else None
        except LinAlgError:  # rho is lost in the rounding of S
            factor = None
        if factor is None:
            return lambda B: np.asarray(np.linalg.lstsq(shifted, B, rcond=None)[0])
        return lambda B: np.asarray(cho_solve(factor, B, check_finite=False))


@dataclass(frozen=True, eq=False)
class RowSystem:
    """The problem min_M 1/2 ||AM - B||_F^2 + rho/2 ||M||_F^2, with the rows A themselves."""

    A: Floats
    B: Floats

    def solver(self, ridge: float) -> Solve:
        """Return the map from B to the minimiser, the smallest where rho = 0; 0 without rows.

        (A'A + rho I)^-1 A'B = A'(AA' + rho I)^-1 B: the smaller of the two systems is solved.
        """
        A = self.A
        if not len(A):
            return lambda B: np.zeros((A.shape[1], B.shape[1]))
        if ridge == 0:
            return lambda B: np.asarray(np.linalg.lstsq(A, B, rcond=None)[0])
        if self._is_wide:
            solve = self._normal.solver(ridge)
            return lambda B: np.asarray(A.T @ solve(B))
        solve = self._normal.solver(ridge)
        return lambda B: solve(A.T @ B)

    @property
    def _is_wide(self) -> bool:
        n, d = self.A.shape
        return bool(n <= d)

    @cached_property
    def _normal(self) -> NormalEquations:
        S = self.A @ self.A.T if self._is_wide else self.A.T @ self.A
        return NormalEquations(S, self.B)


@dataclass(frozen=True, eq=False)
class CentredPrior:
    """Prior columns in a centred system; `members` are the positions of their labels in it."""

    B: Floats
    """As the system expects it: the centred columns, or their products with the features."""
    mean: Floats
    right: Floats
    """X'Wt with centred columns."""
    with_label: Floats
    """t'Wy with centred columns."""
    with_itself: Floats
    """t'Wt with centred columns."""
    learnable: npt.NDArray[np.bool_]
    """Whether the known entries of the label differ."""
    members: list[int]


@dataclass(frozen=True, eq=False)
class CentredSystem:
    """Equations for M with centred features and labels, from which b follows."""

    equations: NormalEquations | RowSystem
    mean: Floats
    y_mean: Floats
    prior: CentredPrior | None

    def solution(self, ridge: float) -> PartSolution:
        """Return M and b = y^ - x^'M, and the same for prior columns instead of labels."""
        solve = self.equations.solver(ridge)
        M = solve(self.equations.B)
        own = None if self.prior is None else self._eliminated(self.prior, solve, M)
        return PartSolution(M, self.y_mean - self.mean @ M, own)

    def _eliminated(self, prior: CentredPrior, solve: Solve, M: Floats) -> Elimination:
        """With c = solve(t) and m = solve(y): t'WPy = t'Wy - (X'Wt)'m, t'WPt = t'Wt - (X'Wt)'c."""
        C = solve(prior.B)
        with_label = prior.with_label - np.sum(prior.right * M[:, prior.members], axis=0)
        # Not negative but for rounding: it is the minimum of the regression, with its penalty.
        with_itself = np.maximum(0, prior.with_itself - np.sum(prior.right * C, axis=0))
        tables = C, prior.mean - self.mean @ C, with_label, with_itself
        return Elimination(*(np.where(prior.learnable, table, 0.0) for table in tables))


class Rows:
    """The features of all items, centred where there is an intercept, in double precision.

    With an intercept centring changes no prediction; it avoids cancellation in columns far from 0.
    A large table is converted and centred where it is used, some rows at a time.
    """

    def __init__(self, X: npt.NDArray[Any], *, fit_intercept: bool) -> None:
        self.fit_intercept, self.shape = fit_intercept, X.shape
        self.origin = np.zeros(X.shape[1])
        if fit_intercept:
            self.origin = X.mean(axis=0, dtype=np.float64)
        self._stored = X
        # Most entries are used by several labels: a table that is small is converted once.
        self._converted = self._centred(X) if X.size <= _ENTRIES_AT_ONCE else None

    def take(self, rows: Positions) -> Floats:
        """Return some rows."""
        if self._converted is not None:
            return np.asarray(self._converted[rows])
        return self._centred(self._stored[rows])

    @cached_property
    def gram(self) -> Floats:
        """X'X over all rows."""
        return sum((X.T @ X for _, X in self._blocks()), start=np.zeros((self.shape[1],) * 2))

    @cached_property
    def total(self) -> Floats:
        """The sum of all rows."""
        return sum((X.sum(axis=0) for _, X in self._blocks()), start=np.zeros(self.shape[1]))

    def products(self, B: Floats) -> Floats:
        """Return X'B."""
        none = np.zeros((self.shape[1], B.shape[1]))
        return sum((X.T @ B[part] for part, X in self._blocks()), start=none)

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        if self._converted is not None:
            yield slice(None), self._converted
            return
        step = max(1, _ENTRIES_AT_ONCE // self.shape[1])
        for start in range(0, self.shape[0], step):
            part = slice(start, start + step)
            yield part, self._centred(self._stored[part])

    def _centred(self, some: npt.NDArray[Any]) -> Floats:
        some = some.astype(np.float64, copy=False)
        return some - self.origin if self.fit_intercept else some


class Presences:
    """Rows and weights at which labels are present, and sums over them."""

    def __init__(self, columns: list[Column]) -> None:
        self.rows = [column.rows[column.present] for column in columns]
        self.weights = [column.weights[column.present] for column in columns]
        self.totals = np.array([weights.sum() for weights in self.weights])

    def products(self, data: Rows) -> Floats:
        """Return sum_i w_ij y_ij x_i, one column for each label."""
        pairs = zip(self.rows, self.weights, strict=True)
        return np.column_stack([weights @ data.take(rows) for rows, weights in pairs])

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
        self,
        data: Rows,
        present: Presences,
        ridges: Sequence[float],
        T: Floats | None = None,
        members: Sequence[int] = (),
    ) -> Iterator[PartSolution]:
        """Yield M and b for the labels that share these weights, for one ridge after the other.

        With w the weights, x^ and y^ the weighted means (0 without intercept), the minimiser is

            m = (sum_i w_i (x_i - x^)(x_i - x^)' + rho I)^-1 sum_i w_i y_i (x_i - x^),
            b = y^ - x^'m.

        The sums are taken once for all rho. T holds the prior columns of the labels at `members`.
        """
        correctable = self.is_correctable(*data.shape)
        made: dict[bool, CentredSystem] = {}
        for ridge in ridges:
            corrected = correctable and ridge > 0
            if corrected not in made:
                make = self._by_correction if corrected else self._by_rows
                made[corrected] = make(data, present, T, list(members))
            yield made[corrected].solution(ridge)

    def is_correctable(self, n: int, d: int) -> bool:
        """Return whether the sums over n rows of d features follow from those without offset."""
        return self.background > 0 and n > d and 2 * len(self.rows) < n

    def _by_rows(
        self, data: Rows, present: Presences, T: Floats | None, members: list[int]
    ) -> CentredSystem:
        n, d = data.shape
        rows, weights = self.all_weights(n)
        A, mean, total = data.take(rows), np.zeros(d), float(weights.sum())
        Y, y_mean = present.table(rows), np.zeros(len(present.rows))
        if data.fit_intercept and total > 0:
            mean, y_mean = weights @ A / total, weights @ Y / total
        root = np.sqrt(weights)[:, None]
        equations = RowSystem(root * (A - mean), root * (Y - y_mean))
        prior = None
        if T is not None:
            own = self._centred_prior(data, present, T, members)
            prior = replace(own, B=root * (T[rows] - own.mean))
        return CentredSystem(equations, mean + data.origin, y_mean, prior)

    def _by_correction(
        self, data: Rows, present: Presences, T: Floats | None, members: list[int]
    ) -> CentredSystem:
        """Correct X'X over all rows where weights differ from the background."""
        n, d = data.shape
        some = data.take(self.rows)
        weighted = self.offset[:, None] * some
        total = self.background * n + float(self.offset.sum())
        gram = self.background * data.gram + some.T @ weighted
        right, mean = present.products(data), np.zeros(d)
        y_mean = np.zeros(len(present.rows))
        if data.fit_intercept:
            mean = (self.background * data.total + weighted.sum(axis=0)) / total
            gram -= total * np.outer(mean, mean)
            right -= np.outer(mean, present.totals)
            y_mean = present.totals / total
        equations = NormalEquations(gram, right)
        prior = None if T is None else self._centred_prior(data, present, T, members)
        return CentredSystem(equations, mean + data.origin, y_mean, prior)

    def _centred_prior(
        self, data: Rows, present: Presences, T: Floats, members: list[int]
    ) -> CentredPrior:
        """Take the sums over prior columns; B is their product with the features."""
        n_known = len(self.all_weights(len(T))[0])
        ones = np.ones((len(T), 1))
        total = float(self._sum(ones, ones)[0, 0])
        mean = np.zeros(T.shape[1])
        if data.fit_intercept and total > 0:
            mean = self._sum(ones, T)[0] / total
        D = T - mean
        right = data.take(self.rows).T @ (self.offset[:, None] * D[self.rows])
        if self.background:
            right += self.background * data.products(D)
        counts = np.array([len(present.rows[n]) for n in members])
        return CentredPrior(
            B=right,
            mean=mean,
            right=right,
            with_label=np.array(
                [present.weights[n] @ D[present.rows[n], k] for k, n in enumerate(members)]
            ),
            with_itself=self._sum(ones, D**2)[0],
            learnable=(counts > 0) & (counts < n_known),
            members=members,
        )

    def _sum(self, A: Floats, B: Floats) -> Floats:
        """Return sum_i w_i a_i b_i'."""
        part = A[self.rows].T @ (self.offset[:, None] * B[self.rows])
        return part + self.background * (A.T @ B) if self.background else part

    def all_weights(self, n: int) -> tuple[Positions, Floats]:
        """Return the rows of positive weight, of n, and their weights."""
        if not self.background:
            return self.rows, self.offset
        weights = np.full(n, self.background)
        weights[self.rows] += self.offset
        rows = np.flatnonzero(weights)
        return rows, weights[rows]


_Group = tuple[Pattern, list[int], list[Column]]


def group_by_pattern(columns: Iterable[Column]) -> list[_Group]:
    """Group labels that are known at the same rows with the same weights."""
    groups: dict[tuple[bytes, bytes], _Group] = {}
    for j, column in enumerate(columns):
        pattern = Pattern.of(column)
        _, labels, members = groups.setdefault(pattern.key, (pattern, [], []))
        labels.append(j)
        members.append(column.presences())
    return list(groups.values())
