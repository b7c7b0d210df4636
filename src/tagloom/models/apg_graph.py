"""APG-Graph, the paper's learner: low rank, and smooth on graphs of items and of labels."""

from typing import Any, Self

import numpy as np
from scipy import sparse

from tagloom.errors import InvalidInputError
from tagloom.graph import check_weights, laplacian
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.linalg import blas_for
from tagloom.models.base import (
    Array,
    Floats,
    ParamGrids,
    SolvedLearner,
    check_learnable,
    loss_curvature,
    parameter,
)
from tagloom.optim import (
    SOLVERS,
    Callback,
    InstanceLaplacian,
    LabelLaplacian,
    Loss,
    MaskedSquaredLoss,
    Objective,
    Solution,
)
from tagloom.optim.loss import Once
from tagloom.optim.objective import congruence
from tagloom.validation import check_choice, check_flag, check_integer, check_number

# The default grid, in shares of the scale at which each parameter begins to matter.
_LAM_SHARES = (0.1, 0.03, 0.01, 0.003)
_RIDGE_SHARES = (0.1, 1.0, 10.0)
_GAMMA_SHARES = (0.0, 0.1, 1.0)


class APGGraph(SolvedLearner):
    r"""Multi-label learning with missing labels and structured correlations.

    Minimises over M (features x labels) and an intercept b that is not penalised

        lambda ||M||_* + gamma_s tr(M'X'L_s X M) + gamma_t tr(X M L_t M'X') + rho/2 ||M||_F^2
            + 1/2 sum_{(i,j) known} w_ij (x_i'm_j + b_j - y_ij)^2,

    where L_s is the Laplacian of a graph that joins items of similar meaning and L_t that of a
    graph that joins related labels. Nothing is divided by the number of items: lambda and gamma are
    those of the paper. Special cases: gamma_s = gamma_t = rho = 0 is Maxide; lambda = 0 without
    graphs is ridge regression label by label.

    Parameters
    ----------
    lam : float, default=1.0
        The paper's lambda, weight of the nuclear norm ||M||_*.
    gamma : float, default=0.0
        The paper's gamma_s, weight of the smoothness on the graph of the items.
    gamma_labels : float, default=0.0
        gamma_t, weight of the smoothness on the graph of the labels.
    ridge : float, default=0.0
        rho, weight of the squared norm of M.
    fit_intercept : bool, default=True
        Whether to learn b. The paper has no intercept and relies on centred features.
    solver : {"admm", "apg", "paper"}, default="admm"
        "admm" and "apg" stop with a certified distance to the optimum, "admm" after far fewer
        passes over the items; "apg" is accelerated proximal gradient; "paper" is Algorithm 2 as
        published, which stops without a certificate.
    tol : float, default=1e-4
        For "admm" and "apg" the relative suboptimality to reach: (F - lower bound on the optimum)
        / F. Without nuclear norm, ridge and graph no bound exists; then the norm of the gradient
        relative to that at M = 0.
        For "paper" the relative decrease of F below which it stops.
    max_iter : int, default=1000
        Iterations after which to stop with a ConvergenceWarning.
    warm_start : bool, default=False
        Whether `fit` starts from the `coef_` of the fit before.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent.

    Attributes
    ----------
    coef_ : array of shape (n_features, n_labels)
        The paper's M.
    intercept_ : array of shape (n_labels,)
        b.
    rank_, n_iter_, objective_ : int, int, float
        Rank of M, iterations made, value of the objective.
    gap_ : float
        The certificate that `tol` asks for; NaN for solver="paper".
    history_ : list of Iteration
        Objective, gap, rank, step and seconds of every iteration.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0, 1], [0, np.nan], [np.nan, 0], [1, 0]])
    >>> APGGraph(lam=0.1).fit(X, Y).complete(X, Y)
    array([[0., 1.],
           [0., 1.],
           [1., 0.],
           [1., 0.]])
    """

    takes_sparse = True

    def __init__(
        self,
        lam: float = 1.0,
        *,
        gamma: float = 0.0,
        gamma_labels: float = 0.0,
        ridge: float = 0.0,
        fit_intercept: bool = True,
        solver: str = "admm",
        tol: float = 1e-4,
        max_iter: int = 1000,
        warm_start: bool = False,
        on_unlearnable: str = "raise",
    ) -> None:
        self.lam = lam
        self.gamma = gamma
        self.gamma_labels = gamma_labels
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.on_unlearnable = on_unlearnable

    def fit(
        self,
        X: Any,
        y: Any,
        graph: Any = None,
        label_graph: Any = None,
        *,
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn M from the known labels.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_features), float32 or float64
        y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown) of shape (n_items, n_labels)
            Items without known labels are allowed: they take part through the graph. A
            one-dimensional y with two classes is one label.
        graph : square matrix over the items, dense or sparse, optional
            Symmetric weights >= 0. Required where gamma > 0.
        label_graph : square matrix over the labels, dense or sparse, optional
            The same for the labels. Required where gamma_labels > 0.
        sample_weight : array of shape (n_items,), optional
            Multiplies the weights of the known labels of each item.
        callback : callable, optional
            Called as callback(iteration, M) after every iteration; a true result stops the fit.
        """
        self.check_parameters()
        rows, known = self.read_training_data(X, y, sample_weight=sample_weight)
        in_search = self._search_cache.max_bytes > 0
        once = self._once_for(rows) if in_search and rows is X else None
        self._minimize(self._objective(rows, known, graph, label_graph, once), callback)
        return self

    def _once_for(self, rows: Array) -> Once:
        """Return what remembers sums over these rows, as large as X'X, within a search."""
        n_bytes = 8 * rows.shape[1] ** 2
        return lambda key, make: self._search_cache.get((*key, rows), make, n_bytes)

    def lam_max(self, X: Any, Y: Any) -> float:
        """Return the smallest lam at which M is 0, which no graph and no ridge can change.

        It is ||X'(W o (Y - b))||_2, the spectral norm of the gradient at M = 0.
        """
        check_flag(*parameter(self, "fit_intercept"))
        rows, known = type(self)().read_data(X, Y)
        check_learnable(known, "ignore")
        loss = MaskedSquaredLoss.of(rows, known, fit_intercept=self.fit_intercept)
        return Objective(loss, lam=0.0).lam_max()

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Return lam, ridge and (with a graph) gamma around the scale at which each matters.

        lam: shares of the exact value at which M is 0. ridge: shares of the mean curvature of the
        loss, (known share) * ||X||_F^2 / d. gamma: shares of the strength at which the graph term
        has the curvature of the loss, (known share) * ||X||_F^2 / (2 tr(X'LX)).
        """
        known = as_partial_labels(Y)
        lam_max = self.lam_max(X, known)
        is_sparse = bool(sparse.issparse(X))
        rows: Any = X.tocsr() if is_sparse else np.asarray(X, dtype=np.float64)
        curvature = loss_curvature(rows, known, self.fit_intercept)
        grid: dict[str, list[Any]] = {
            "lam": [share * lam_max for share in _LAM_SHARES],
            "ridge": [share * curvature / rows.shape[1] for share in _RIDGE_SHARES],
        }
        if graph is not None:
            L = laplacian(check_weights(graph, rows.shape[0], name="graph", nodes="items"))
            joined = L @ rows
            roughness = float((rows.multiply(joined) if is_sparse else rows * joined).sum())
            if roughness > 0:
                grid["gamma"] = [share * curvature / (2 * roughness) for share in _GAMMA_SHARES]
        return [grid]

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        for name in ("lam", "gamma", "gamma_labels", "ridge", "tol"):
            check_number(*parameter(self, name), low=0)
        check_integer(*parameter(self, "max_iter"), at_least=1)
        check_flag(*parameter(self, "fit_intercept"))
        check_flag(*parameter(self, "warm_start"))
        check_choice(*parameter(self, "solver"), tuple(SOLVERS))

    def _objective(
        self,
        X: Array,
        known: PartialLabels,
        graph: Any,
        label_graph: Any,
        once: Once | None = None,
    ) -> Objective:
        """Join the terms whose weight is not 0; a graph is checked whether or not it is used."""
        terms: list[InstanceLaplacian | LabelLaplacian] = []

        def of_items() -> Floats | None:
            L_s = _laplacian_of(graph, X.shape[0], self.gamma, "graph", "gamma", "items")
            return None if L_s is None or self.gamma == 0 else congruence(X, L_s)

        key = "congruence", id(graph), self.gamma > 0
        XLX = of_items() if once is None else once(key, of_items)
        L_t = _laplacian_of(
            label_graph, known.n_labels, self.gamma_labels, "label_graph", "gamma_labels", "labels"
        )
        if XLX is not None:
            terms.append(InstanceLaplacian.from_congruence(self.gamma, XLX))
        if L_t is not None and self.gamma_labels > 0:
            terms.append(LabelLaplacian(self.gamma_labels, X, L_t))
        loss = MaskedSquaredLoss.of(X, known, fit_intercept=self.fit_intercept, once=once)
        return Objective(loss, self.lam, ridge=self.ridge, terms=terms)

    def _minimize(self, objective: Objective, callback: Callback | None) -> None:
        """Find M and b, and keep them; to be called by `fit` itself."""
        with blas_for(objective.loss.curvature.n_items, *objective.shape):
            solution = SOLVERS[self.solver].solve(
                objective,
                start=self._start("coef_", objective),
                tol=self.tol,
                max_iter=self.max_iter,
                callback=callback,
            )
        self._keep(solution, objective.loss)

    def _keep(self, solution: Solution, loss: Loss) -> None:
        self.coef_ = solution.M
        self.intercept_ = loss.intercept(solution.M).astype(solution.M.dtype)
        self._keep_solution(solution)
        if not (solution.converged or solution.stopped):
            self._warn_not_converged(solution, self.tol)


def _laplacian_of(
    weights: Any, n_nodes: int, strength: float, name: str, strength_name: str, nodes: str
) -> Any:
    if weights is None:
        if strength > 0:
            raise InvalidInputError(
                f"{strength_name}={strength} needs a graph of the {nodes}, but {name} is None. "
                f"Pass {name}=, or set {strength_name}=0."
            )
        return None
    return laplacian(check_weights(weights, n_nodes, name=name, nodes=nodes))
