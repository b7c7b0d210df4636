"""Kernel ridge regression label by label on the known entries (Saunders et al. 1998).

Exactly and in closed form for some thousands of items, with Nystroem landmarks for more. The kernel
is computed once for all labels and all strengths of the ridge; labels with the same weights share
their equations.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg import solve as solve_system

from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.linalg import limited_blas
from tagloom.models.base import (
    Array,
    ParamGrids,
    labelled_part,
    parameter,
    squared_norm,
)
from tagloom.models.kernels import MOST_ITEMS, Kernel, KernelLearner, draw_landmarks, inverse_root
from tagloom.models.least_squares import (
    LeastSquares,
    NormalEquations,
    Pattern,
    Presences,
    columns_of,
    group_by_pattern,
)
from tagloom.validation import check_flag, check_integer, check_n_jobs, check_number

Floats = npt.NDArray[np.float64]

# Where there are too many labelled items for an exact solution, so many of them are landmarks.
_N_LANDMARKS = 1_000
# A ridge below this share of the kernel is left to a factorisation that finds out what is lost.
_NO_RIDGE = 1e-10

# The default grid; the first value of each list is the safest. A kernel of about 1 makes the ridge
# the ratio of noise to signal, whatever the number of items. Where absences are assumed, presences
# among them are noise, too, and the ridge is larger.
_BANDWIDTHS = (1.0, 0.25, 4.0)
_RIDGES = (1.0, 0.3, 3.0, 10.0)
_LISTS = 10.0
# With the first so many ridges the kernel and its bandwidth are chosen.
_N_RIDGES_OF_BANDWIDTHS = 2


class KernelRidge(KernelLearner):
    r"""Kernel ridge regression for each label on its known entries.

    Minimises for every label j, over functions f of the space H of the kernel,

        1/2 sum_{i : (i,j) known} w_ij (f_j(x_i) + b_j - y_ij)^2 + rho/2 ||f_j||_H^2,

    with y_ij 1 where the label is present and 0 where it is absent. Then f_j(x) = sum_i a_ij
    k(x, x_i) over the items of known label. Labels are learned independently. Unknown entries take
    no part. The kernels are in `tagloom.models.kernels`; with the linear one and gamma = 1 this is
    `LeastSquares`.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "linear"}, default="rbf"
    ridge : float, default=0.3
        rho.
    bandwidth : float, default=1.0
        Squared width of the kernel, in units of the median squared distance between items.
    gamma : float, optional
        The factor in the kernel itself, instead of a bandwidth.
    fit_intercept : bool, default=True
        Whether to learn b, which is not penalised.
    n_components : int, optional
        Number of Nystroem landmarks, drawn from the labelled items. By default the solution is
        exact for up to 6,000 labelled items, and has 1,000 landmarks for more.
    n_jobs : int, optional
        Number of threads that solve for labels side by side; results do not depend on it.
    random_state : int, default=0
        Seed of the landmarks.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent.

    Attributes
    ----------
    landmarks_ : array of shape (n_landmarks, n_features)
        The labelled items, or some of them.
    dual_coef_ : array of shape (n_landmarks, n_labels)
        a, for all landmarks.
    intercept_ : array of shape (n_labels,)
    gamma_ : float
        The factor in the kernel.

    Examples
    --------
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, None], [None, 0], [1, 0]]
    >>> KernelRidge(ridge=0.1).fit(X, Y).predict(X).tolist()
    [[0, 1], [0, 1], [1, 0], [1, 0]]
    """

    safest_first = True
    _share_kernel: ClassVar[tuple[str, ...]] = ("ridge",)

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        ridge: float = 0.3,
        bandwidth: float = 1.0,
        gamma: float | None = None,
        fit_intercept: bool = True,
        n_components: int | None = None,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        on_unlearnable: str = "raise",
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.bandwidth = bandwidth
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.n_components = n_components
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.on_unlearnable = on_unlearnable

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Return kernel and bandwidth with two ridges, then the ridge.

        Where gamma is given, only the ridge is searched, in units of the mean of k(x, x). The
        linear kernel is left to `LeastSquares`.
        """
        scale = _LISTS if as_partial_labels(Y).unlisted_weight else 1.0
        ridges = [scale * ridge for ridge in _RIDGES]
        last: dict[str, list[Any]] = {"ridge": ridges}
        if self.gamma is not None:
            unit = 1.0
            if self.kernel == "linear":
                unit = self.gamma * squared_norm(X, centred=self.fit_intercept) / len(X)
            return [{"ridge": [unit * ridge for ridge in ridges]}]
        first: dict[str, list[Any]] = {
            "kernel": ["rbf", "laplacian"],
            "bandwidth": list(_BANDWIDTHS),
            "ridge": ridges[:_N_RIDGES_OF_BANDWIDTHS],
        }
        return [first, last]

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        check_number(*parameter(self, "ridge"), low=0, inclusive=False)
        check_flag(*parameter(self, "fit_intercept"))
        check_n_jobs(*parameter(self, "n_jobs"))
        if self.n_components is not None:
            check_integer(*parameter(self, "n_components"), at_least=1)
        if self.random_state is not None:
            check_integer(*parameter(self, "random_state"), at_least=0)

    def _problem(self, rows: Array, known: PartialLabels) -> "ExactProblem | NystroemProblem":
        kernel = Kernel.of(
            rows,
            self.kernel,
            gamma=self.gamma,
            bandwidth=self.bandwidth,
            # The intercept makes up for the origin; without it, the linear kernel is that of X.
            centred=self.fit_intercept or self.kernel != "linear",
        )
        rows, known, _ = labelled_part(rows, known, None)
        # Not a view of X, which may change.
        rows = rows.copy()
        number = self.n_components
        if number is None and len(rows) > MOST_ITEMS:
            number = _N_LANDMARKS
        if number is None or number >= len(rows):
            return ExactProblem(kernel, rows, known, self.fit_intercept, self.n_jobs)
        landmarks = draw_landmarks(rows, number, self.random_state)
        return NystroemProblem(kernel, rows, known, self.fit_intercept, self.n_jobs, landmarks)

    def solved_jointly(self, grid: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        """Return the parameters that `fit_path` solves for all at once."""
        return self._share_kernel

    def _fit_candidates(
        self, problem: "ExactProblem | NystroemProblem", path: Sequence[Mapping[str, Any]]
    ) -> Iterator[None]:
        solutions = problem.solutions([params.get("ridge", self.ridge) for params in path])
        for params, (A, b) in zip(path, solutions, strict=True):
            self.set_params(**params)
            self.dual_coef_, self.intercept_ = A, b
            yield


class DualSolution(NamedTuple):
    """Coefficients of the landmarks, and intercepts."""

    A: Floats
    b: Floats


@dataclass(frozen=True, eq=False)
class NystroemProblem:
    """Kernel ridge regression in the span of some landmarks: least squares on their features."""

    kernel: Kernel
    rows: Array
    known: PartialLabels
    fit_intercept: bool
    n_jobs: int | None
    landmarks: Array

    @cached_property
    def among_landmarks(self) -> Floats:
        """The kernel among the landmarks."""
        return self.kernel(self.landmarks, self.landmarks)

    def solutions(self, ridges: Sequence[float]) -> list[DualSolution]:
        """Return the solution for each ridge.

        With K the kernel of the landmarks, phi(x)'m = k(x, landmarks)'K^(-1/2) m and ||m|| is the
        norm of this function.
        """
        root = inverse_root(self.among_landmarks)
        features = self.kernel.product(self.rows, self.landmarks, root)
        model = LeastSquares(
            fit_intercept=self.fit_intercept, n_jobs=self.n_jobs, on_unlearnable="ignore"
        )
        path = [{"ridge": ridge} for ridge in ridges]
        return [
            DualSolution(root @ fitted.coef_, fitted.intercept_)
            for fitted in model.fit_path(path, features, self.known, {})
        ]


@dataclass(frozen=True, eq=False)
class ExactProblem:
    """Kernel ridge regression with all labelled items."""

    kernel: Kernel
    landmarks: Array
    known: PartialLabels
    fit_intercept: bool
    n_jobs: int | None

    @cached_property
    def among_landmarks(self) -> Floats:
        """The kernel among the landmarks."""
        return self.kernel(self.landmarks, self.landmarks)

    def solutions(self, ridges: Sequence[float]) -> list[DualSolution]:
        """Return the solution for each ridge."""
        K = self.among_landmarks
        shape = len(K), self.known.n_labels
        found = [DualSolution(np.zeros(shape), np.zeros(shape[1])) for _ in ridges]
        corrected: list[_Part] = []
        others: list[_Part] = []
        for pattern, labels, columns in group_by_pattern(columns_of(self.known)):
            part = _Part(pattern, labels, Presences(columns), self.fit_intercept)
            is_near = pattern.background > 0 and 0 < 2 * len(pattern.rows) < len(K)
            (corrected if is_near else others).append(part)
        # One BLAS thread each: with more, results would depend on the number of cores.
        limits = nullcontext() if len(corrected) + len(others) == 1 else limited_blas(1)
        with limits, Parallel(n_jobs=self.n_jobs, backend="threading") as parallel:
            parallel(delayed(part.solve)(K, ridges, found) for part in others)
            for ridge, solution in zip(ridges, found, strict=True) if corrected else ():
                shared = _inverse(K, ridge / corrected[0].pattern.background)
                if shared is None:
                    parallel(delayed(one.solve)(K, [ridge], [solution]) for one in corrected)
                else:
                    parallel(delayed(one.correct)(shared, ridge, solution) for one in corrected)
        return found


def _inverse(K: Floats, shift: float) -> Floats | None:
    """Return (K + shift I)^-1; None where the shift may be lost in the rounding of K."""
    if shift < _NO_RIDGE * np.trace(K) / len(K):
        return None
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] += shift
    factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, np.eye(len(K)), overwrite_b=True, check_finite=False))


@dataclass(frozen=True, eq=False)
class _Part:
    """The labels that are known at the same items with the same weights."""

    pattern: Pattern
    labels: list[int]
    present: Presences
    fit_intercept: bool

    def solve(self, K: Floats, ridges: Sequence[float], solutions: Sequence[DualSolution]) -> None:
        r"""Put a and b for each ridge.

        With s = sqrt(w), q = s/||s|| and P = I - qq' (I without intercept), the minimiser is

            a = s o z,    (P (ss' o K) P + rho I) z = P (s o y),    b = (w'y - w'Ka) / sum w.

        z is orthogonal to q: what the matrix is along q, 0, may be anything.
        """
        rows, weights = self.pattern.all_weights(len(K))
        if not len(rows):
            return
        s, total = np.sqrt(weights), float(weights.sum())
        Y = self.present.table(rows)
        some = K[np.ix_(rows, rows)]
        S, B = some * np.outer(s, s), s[:, None] * Y
        if self.fit_intercept:
            q = s / np.sqrt(total)
            B -= np.outer(q, q @ B)
            Sq = S @ q
            S -= np.outer(q, Sq) + np.outer(Sq - (q @ Sq) * q, q)
            S += (np.trace(S) / len(S)) * np.outer(q, q)
        equations = NormalEquations(S, B)
        for ridge, solution in zip(ridges, solutions, strict=True):
            A = s[:, None] * equations.solver(ridge)(B)
            solution.A[rows[:, None], self.labels] = A
            if self.fit_intercept:
                solution.b[self.labels] = (weights @ Y - (weights @ some) @ A) / total

    def correct(self, G: Floats, ridge: float, solution: DualSolution) -> None:
        r"""Put a and b, where most weights are the background v, from G = (K + rho/v I)^-1.

        The minimiser is a = H(y - b), H = (K + rho W^-1)^-1, b = 1'Hy / 1'H1 (0 without intercept).
        W differs from vI at the items R alone: with E = rho (1/w - 1/v) there,

            H = G - G_R (E^-1 + G_RR)^-1 G_R'    (Woodbury).

        An unknown entry, w = 0, has E^-1 = 0.
        """
        R, v = self.pattern.rows, self.pattern.background
        w = v + self.pattern.offset
        inner = ridge * G[np.ix_(R, R)]
        inner.flat[:: len(R) + 1] += w * v / (v - w)  # ridge E^-1
        Y = self.present.table(np.arange(len(G)))
        right = np.column_stack([Y, np.ones(len(G))])
        HY = G @ right
        HY -= G[:, R] @ solve_system(inner, ridge * HY[R], assume_a="sym", check_finite=False)
        A, ones = HY[:, :-1], HY[:, -1]
        if self.fit_intercept:
            b = A.sum(axis=0) / ones.sum()
            A = A - np.outer(ones, b)
            solution.b[self.labels] = b
        solution.A[:, self.labels] = A
