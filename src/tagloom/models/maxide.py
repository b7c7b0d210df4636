"""Maxide: low-rank multi-label learning with missing labels (Xu, Jin and Zhou 2013)."""

import math
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tagloom.errors import InvalidInputError
from tagloom.labels import PartialLabels, is_frame
from tagloom.linalg import blas_for
from tagloom.models.base import Array, ParamGrids, SolvedLearner, check_learnable, parameter
from tagloom.optim import (
    SOLVERS,
    Curvature,
    Iteration,
    Loss,
    MaskedSquaredLoss,
    Objective,
    Solution,
)
from tagloom.validation import check_choice, check_flag, check_integer, check_number, some_of

# The default grid, in shares of the exact lam at which M is 0.
_LAM_SHARES = (0.08, 0.04, 0.02, 0.01, 0.005)
# Default (tol, max_iter).
_STOPS = {"admm": (1e-3, 1000), "apg": (1e-3, 1000), "published": (1e-5, 100)}


class Maxide(SolvedLearner):
    r"""Array completion with side information (Xu, Jin and Zhou 2013).

    Minimises over M (features x side features of the labels) and an intercept b

        lambda ||M||_* + 1/2 sum_{(i,j) known} w_ij ((X M B')_ij + b_j - y_ij)^2,

    where B (labels x side features) holds side information about the labels: the identity unless
    given, as in the original's experiments with several labels. Unknown entries take no
    part. The original has weights 1 and no intercept.

    Parameters
    ----------
    lam : float, default=1.0
        Weight of the nuclear norm.
    label_side : array or DataFrame of shape (n_labels, n_side_features), optional
        B. The index of a DataFrame names the labels. By default the identity.
    fit_intercept : bool, default=True
        Whether to learn b, which is not penalised: it is minimised out, for either solver. False is
        the original, which wants centred features.
    solver : {"admm", "apg", "published"}, default="admm"
        "admm" and "apg" stop with a certified distance to the optimum. "published" is the original
        algorithm: the Lipschitz estimate starts at 1, is doubled until the quadratic bound holds
        and never falls; M starts at 0; alpha <- (sqrt(alpha^4 + 4 alpha^2) - alpha^2) / 2; it stops
        without a certificate.
    tol : float, optional
        For "admm" and "apg" the relative suboptimality to certify, 1e-3 by default; without ridge
        and graph the bound is loose, and the true suboptimality some hundred times smaller. For
        "published" it stops when abs(F - F_before) < tol * F, with 1e-5 by default.
    max_iter : int, optional
        By default 1000, and for "published" 100, where the original ends. Otherwise reaching it
        gives a ConvergenceWarning.
    warm_start : bool, default=False
        Whether `fit` starts from the M of the fit before.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent.

    Attributes
    ----------
    coef_ : array of shape (n_features, n_labels)
        MB'.
    core_ : array of shape (n_features, n_side_features)
        M.
    intercept_ : array of shape (n_labels,)
    rank_, n_iter_, objective_ : int, int, float
        Rank of M, iterations made, value of the objective.
    gap_ : float
        The certificate that `tol` asks for; NaN for solver="published".
    history_ : list of Iteration

    Examples
    --------
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, None], [None, 0], [1, 0]]
    >>> Maxide(lam=0.1).fit(X, Y).predict(X).tolist()
    [[0, 1], [0, 1], [1, 0], [1, 0]]
    """

    takes_sparse = True
    core_: Array

    def __init__(
        self,
        lam: float = 1.0,
        *,
        label_side: Any = None,
        fit_intercept: bool = True,
        solver: str = "admm",
        tol: float | None = None,
        max_iter: int | None = None,
        warm_start: bool = False,
        on_unlearnable: str = "raise",
    ) -> None:
        self.lam = lam
        self.label_side = label_side
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.on_unlearnable = on_unlearnable

    def lam_max(self, X: Any, Y: Any) -> float:
        """Return the smallest lam at which M is 0."""
        self.check_parameters()
        rows, known = type(self)().read_data(X, Y)
        check_learnable(known, "ignore")
        return self._objective(rows, known).lam_max()

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Return lam in shares of the exact value at which M is 0."""
        lam_max = self.lam_max(X, Y)
        return [{"lam": [share * lam_max for share in _LAM_SHARES]}]

    def fit_known(self, rows: Array, known: PartialLabels) -> None:
        """Learn from validated rows and labels."""
        objective = self._objective(rows, known)
        with blas_for(known.n_items, *objective.shape):
            solution = self._solve(objective, self._start("core_", objective))
        self._keep(solution, objective.loss)

    @property
    def tuning_params(self) -> dict[str, Any]:
        """The published algorithm keeps its stopping rule, which decides what it learns."""
        if self.solver != "published":
            return {}
        return {name: getattr(self, name) for name in ("tol", "max_iter", "warm_start")}

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        check_number(*parameter(self, "lam"), low=0)
        check_flag(*parameter(self, "fit_intercept"))
        check_flag(*parameter(self, "warm_start"))
        check_choice(*parameter(self, "solver"), tuple(_STOPS))
        if self.tol is not None:
            check_number(*parameter(self, "tol"), low=0)
        if self.max_iter is not None:
            check_integer(*parameter(self, "max_iter"), at_least=1)

    @property
    def _stop(self) -> tuple[float, int]:
        tol, max_iter = _STOPS[self.solver]
        return (
            tol if self.tol is None else self.tol,
            max_iter if self.max_iter is None else self.max_iter,
        )

    def _objective(self, X: Array, known: PartialLabels) -> Objective:
        loss = MaskedSquaredLoss.of(X, known, fit_intercept=self.fit_intercept)
        if self.label_side is None:
            return Objective(loss, self.lam)
        return Objective(SideLoss(loss, checked_side(self.label_side, known)), self.lam)

    def _solve(self, objective: Objective, start: Array | None) -> Solution:
        tol, max_iter = self._stop
        if self.solver != "published":
            return SOLVERS[self.solver].solve(objective, start=start, tol=tol, max_iter=max_iter)
        return solve_as_published(objective, start=start, tol=tol, max_iter=max_iter)

    def _keep(self, solution: Solution, loss: Loss) -> None:
        M = solution.M
        self.core_ = M
        self.coef_ = (M @ loss.B.T).astype(M.dtype) if isinstance(loss, SideLoss) else M
        self.intercept_ = loss.intercept(M).astype(M.dtype)
        self._keep_solution(solution)
        ends_by_design = self.solver == "published" and self.max_iter is None
        if not (solution.converged or ends_by_design):
            self._warn_not_converged(solution, self._stop[0])


def solve_as_published(
    objective: Objective, *, start: Array | None, tol: float, max_iter: int
) -> Solution:
    """Minimise F as the original does: the steps of the paper's Algorithm 2, another stopping rule.

    Both algorithms take the same steps: V = M + theta (1/theta_before - 1) (M - M_before), then the
    proximal step from V with L doubled until the quadratic bound holds. Maxide stops at the first
    iteration at which abs(F - F_before) < tol * F. The stopping rule of Algorithm 2 is off.
    """
    values: list[float] = []

    def has_stopped(iteration: Iteration, _: Array) -> bool:
        values.append(iteration.objective)
        return len(values) > 1 and abs(values[-1] - values[-2]) < tol * values[-1]

    found = SOLVERS["paper"].solve(
        objective, start=start, tol=-math.inf, max_iter=max_iter, callback=has_stopped
    )
    F = found.objective
    stopped = len(values) < max_iter or (len(values) > 1 and abs(F - values[-2]) < tol * F)
    return Solution(found.M, F, math.nan, found.rank, stopped, found.history)


class SideLoss:
    """f(M) = loss(MB'), with B (labels x side features) given.

    By the chain rule the gradient is that of the loss at MB', times B, and the product of the
    Hessian with D is that of the loss with DB', times B. To a solver it is a loss with as many
    labels as B has columns.
    """

    couples_labels = True  # a column of M serves every label

    def __init__(self, loss: MaskedSquaredLoss, B: Array) -> None:
        self.loss = loss
        self.B = B.astype(loss.dtype)
        self.dtype, self.stored = loss.dtype, loss.stored
        self.value_at_zero = loss.value_at_zero

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of M."""
        return self.loss.shape[0], self.B.shape[1]

    @property
    def curvature(self) -> Curvature:
        """The scale of the Hessian: side feature k weighs sum_j b_jk^2 w_j."""
        curvature = self.loss.curvature
        weight = curvature.weight @ self.B.astype(np.float64) ** 2
        return curvature._replace(weight=weight, lower_bound=0.0)

    @cached_property
    def gradient_at_zero(self) -> Array:
        """The gradient of f at 0."""
        return np.asarray(self.loss.gradient_at_zero @ self.B)

    def in_single_precision(self) -> "SideLoss":
        """Return the same loss, computed in float32."""
        return SideLoss(self.loss.in_single_precision(), self.B)

    def hessian_product(self, D: Array) -> Array:
        """Return HD, where H is the Hessian of f."""
        return np.asarray(self.loss.hessian_product(D @ self.B.T) @ self.B)

    def intercept(self, M: Array) -> Array:
        """Return the b that attains the minimum in f(M)."""
        return self.loss.intercept(M @ self.B.T)


def checked_side(given: Any, known: PartialLabels) -> npt.NDArray[np.float64]:
    """Return B, one row for each label in their order; a frame is matched by its index."""
    if is_frame(given):
        given = _matched(given, known)
    try:
        B = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"label_side must be a table of numbers; got {type(given).__name__}."
        ) from None
    if B.ndim != 2 or B.shape[0] != known.n_labels or B.shape[1] == 0:
        raise InvalidInputError(
            f"label_side must have one row for each of the {known.n_labels} labels and at least "
            f"one column; its shape is {B.shape}."
        )
    if not np.isfinite(B).all():
        row, column = np.argwhere(~np.isfinite(B))[0]
        raise InvalidInputError(
            f"label_side must be finite; label_side[{row}, {column}] = {B[row, column]}."
        )
    return B


def _matched(frame: Any, known: PartialLabels) -> Any:
    missing = [label for label in known.labels if label not in frame.index]
    twice = frame.index[frame.index.duplicated()].tolist()
    if missing or twice:
        found = f"Missing: {some_of(missing)}" if missing else f"More than once: {some_of(twice)}"
        raise InvalidInputError(
            f"The index of label_side must name every label of Y once. {found}."
        )
    return frame.loc[list(known.labels)]
