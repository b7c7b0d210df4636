"""Random small problems, and the reference optimum of any of them by CVXPY."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tagloom.graph import laplacian
from tagloom.labels import PartialLabels
from tagloom.optim import (
    SOLVERS,
    InstanceLaplacian,
    LabelLaplacian,
    MaskedSquaredLoss,
    Objective,
    Solution,
)


@dataclass(frozen=True)
class Problem:
    X: np.ndarray
    known: PartialLabels
    W_s: sparse.csr_array
    W_t: sparse.csr_array
    lam: float
    gamma: float
    gamma_labels: float
    ridge: float
    fit_intercept: bool

    def objective(self, **changes) -> Objective:
        weight = {name: getattr(self, name) for name in ("lam", "gamma", "gamma_labels", "ridge")}
        weight |= changes
        terms = []
        if weight["gamma"]:
            terms.append(InstanceLaplacian(weight["gamma"], self.X, laplacian(self.W_s)))
        if weight["gamma_labels"]:
            terms.append(LabelLaplacian(weight["gamma_labels"], self.X, laplacian(self.W_t)))
        loss = MaskedSquaredLoss.of(self.X, self.known, fit_intercept=self.fit_intercept)
        return Objective(loss, weight["lam"], ridge=weight["ridge"], terms=terms)


def random_graph(rng: np.random.Generator, n: int) -> sparse.csr_array:
    W = np.triu(rng.uniform(0, 1, (n, n)) * (rng.uniform(size=(n, n)) < 0.4), 1)
    return sparse.csr_array(W + W.T)


def random_labels(
    rng: np.random.Generator, n: int, c: int, rate: float, *, weighted: bool, background: float
) -> PartialLabels:
    states = (rng.uniform(size=(n, c)) < 0.4).astype(float)
    seen = rng.uniform(size=(n, c)) < rate
    # One label is seen present and absent, or the answer would be known without looking.
    states[:2, 1], seen[:2, 1] = (0, 1), True
    rows, columns = np.nonzero(seen)
    weights = rng.uniform(0.1, 2.0, len(rows)) if weighted else None
    known = PartialLabels.from_entries(
        rows,
        columns,
        states[seen].astype(bool),
        shape=(n, c),
        weights=weights,
        unlisted_weight=background,
    )
    return known.with_hidden([0], [0]) if background else known


def random_problem(seed: int) -> Problem:
    """Every mix of terms, shapes, masks and weights turns up among the first few dozen seeds."""
    rng = np.random.default_rng(seed)
    n, d, c = [(12, 4, 3), (6, 9, 3), (10, 3, 7), (15, 5, 5), (8, 8, 2)][seed % 5]
    X = rng.normal(size=(n, d)) + (rng.normal(size=d) if seed % 2 else 0)
    if seed % 3 == 0:
        X[:, -1] = X[:, 0]  # rank-deficient
    rate = [0.05, 0.2, 0.5, 0.8, 1.0, 0.3][seed % 6]
    known = random_labels(
        rng, n, c, rate, weighted=seed % 4 == 1, background=0.3 if seed % 7 == 3 else 0.0
    )
    on = [bool(seed & bit) for bit in (1, 2, 4)]
    problem = Problem(
        X,
        known,
        random_graph(rng, n),
        random_graph(rng, c),
        lam=1.0,
        gamma=rng.uniform(0.01, 0.5) * on[0],
        gamma_labels=rng.uniform(0.01, 0.5) * on[1],
        ridge=rng.uniform(0.05, 1.0) * on[2],
        fit_intercept=seed % 8 < 5,
    )
    lam = (
        0.0 if seed % 10 == 9 and on[2] else rng.uniform(0.05, 0.6) * problem.objective().lam_max()
    )
    return Problem(**{**problem.__dict__, "lam": lam})


def known_at_many_rows(seed: int) -> Problem:
    """Return a problem with labels known at more rows than there are features, and at fewer.

    Of twenty seeds, ten have neither ridge nor graph, and five list presences over an absent
    background.
    """
    rng = np.random.default_rng([seed, 2])
    n, d, c = [(40, 6, 4), (30, 12, 5), (25, 4, 9), (16, 10, 3)][seed % 4]
    X = rng.normal(size=(n, d)) * rng.uniform(0.3, 3, d) + (2.0 if seed % 5 == 0 else 0.0)
    presences = seed % 4 == 1
    known = random_labels(
        rng,
        n,
        c,
        0.2 if presences else [0.9, 0.5, 0.7][seed % 3],
        weighted=seed % 3 == 2,
        background=0.25 if presences else 0.0,
    )
    penalised = seed % 2 == 0
    problem = Problem(
        X,
        known,
        random_graph(rng, n),
        random_graph(rng, c),
        lam=1.0,
        gamma=rng.uniform(0.01, 0.3) * (penalised and seed % 3 > 0),
        gamma_labels=0.0,
        ridge=rng.uniform(0.01, 0.5) * (penalised and seed % 3 < 2),
        fit_intercept=seed % 5 < 3,
    )
    lam = 10 ** rng.uniform(-2, -0.3) * problem.objective().lam_max()
    return Problem(**{**problem.__dict__, "lam": lam})


def hard_problem(seed: int) -> Problem:
    """Return a random problem with weights from 1e-6 to 1e3, small penalties and features far off.

    Rounded to float32: to double precision it is one problem, whatever it is solved in.
    """
    problem = random_problem(seed)
    rng = np.random.default_rng([seed, 1])
    known = problem.known
    if not known.unlisted_weight:
        rows, columns = np.nonzero(known.states() >= 0)
        present = known.states()[rows, columns] == 1
        weights = 10 ** rng.uniform(-6, 3, len(rows))
        known = PartialLabels.from_entries(
            rows, columns, present, shape=known.shape, weights=weights
        )
    X = (problem.X * 10 ** rng.uniform(-2, 2) + 10 * rng.normal()).astype(np.float32)
    hard = Problem(**{**problem.__dict__, "X": X, "known": known})
    lam = 10 ** rng.uniform(-4, -1) * hard.objective().lam_max() if problem.lam else 0.0
    small = {name: 1e-3 * getattr(problem, name) for name in ("gamma", "gamma_labels", "ridge")}
    return Problem(**{**hard.__dict__, **small, "lam": lam})


def solve(objective: Objective, solver: str = "admm", **options) -> Solution:
    return SOLVERS[solver].solve(objective, **options)


def plain_value(problem: Problem, M: np.ndarray) -> float:
    """Return F(M) as it is written, term by term, with the best intercept."""
    X, W, Y = problem.X.astype(float), problem.known.weights(), problem.known.states() == 1
    M = M.astype(float)
    residual = X @ M - Y
    if problem.fit_intercept:
        weight = W.sum(axis=0)
        residual -= (W * residual).sum(axis=0) / np.where(weight > 0, weight, 1)
    F = np.sum(W * residual**2) / 2 + problem.lam * np.linalg.svd(M, compute_uv=False).sum()
    F += problem.ridge / 2 * np.sum(M**2)
    F += problem.gamma * np.sum((_root(problem.W_s).T @ X @ M) ** 2)
    return float(F + problem.gamma_labels * np.sum((X @ M @ _root(problem.W_t)) ** 2))


def reference_optimum(problem: Problem) -> float:
    """Solve the problem as written in the paper, with a general-purpose conic solver."""
    return _solve_reference(problem)[0]


def reference_M(problem: Problem) -> np.ndarray:
    """Return the M that the conic solver finds."""
    return _solve_reference(problem)[1]


def _solve_reference(problem: Problem) -> tuple[float, np.ndarray]:
    import cvxpy as cp

    X, W, Y = problem.X.astype(float), problem.known.weights(), problem.known.states() == 1
    M = cp.Variable((X.shape[1], Y.shape[1]))
    b = cp.Variable((1, Y.shape[1])) if problem.fit_intercept else np.zeros((1, Y.shape[1]))
    scores = X @ M + np.ones((len(X), 1)) @ b
    F = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(W), scores - Y))
    F += problem.lam * cp.normNuc(M)
    F += problem.ridge / 2 * cp.sum_squares(M)
    F += problem.gamma * cp.sum_squares(_root(problem.W_s).T @ X @ M)
    F += problem.gamma_labels * cp.sum_squares(X @ M @ _root(problem.W_t))
    optimum = cp.Problem(cp.Minimize(F)).solve(
        solver=cp.CLARABEL, tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9
    )
    return optimum, M.value


def numerical_gradient(f, M, step=1e-5):
    G = np.empty_like(M)
    for place in np.ndindex(M.shape):
        up, down = M.copy(), M.copy()
        up[place] += step
        down[place] -= step
        G[place] = (f(up) - f(down)) / (2 * step)
    return G


def some_M(problem, seed=0):
    shape = (problem.X.shape[1], problem.known.n_labels)
    return np.random.default_rng(seed).normal(size=shape)


def _root(W: sparse.csr_array) -> np.ndarray:
    """Return B with L = BB': one column sqrt(w_ij) (e_i - e_j) for each edge."""
    upper = sparse.triu(W, 1).tocoo()
    i, j = upper.coords
    B = np.zeros((W.shape[0], max(1, upper.nnz)))
    edges = np.arange(upper.nnz)
    B[i, edges], B[j, edges] = np.sqrt(upper.data), -np.sqrt(upper.data)
    return B
