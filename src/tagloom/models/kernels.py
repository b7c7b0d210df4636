"""Kernels between items, their bandwidth in units of the data, and what kernel learners share."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
from sklearn.metrics.pairwise import euclidean_distances

from tagloom.labels import PartialLabels
from tagloom.models.base import (
    PartialLabelLearner,
    differ_only_in,
    parameter,
    sample_rows,
)
from tagloom.validation import check_choice, check_number

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

KERNELS = ("rbf", "laplacian", "rational_quadratic", "linear")

MOST_ITEMS = 6_000
"""A kernel between this many items, 0.3 GB, is the largest that is held in memory."""

# Products with a kernel are taken for so many of its entries at a time, to bound the memory.
_ENTRIES_AT_ONCE = 1 << 24
# Directions in which the kernel of the landmarks is smaller, relative to its largest, are rounding.
_NO_EIGENVALUE = 1e-12
# Steps of the quadrature of a gradient, which is smooth on the scale of the bandwidth.
_N_STEPS = 16


@dataclass(frozen=True, eq=False)
class Kernel:
    r"""A kernel k(x, x') between rows.

        rbf                   exp(-gamma ||x - x'||^2)
        laplacian             exp(-gamma ||x - x'||)
        rational_quadratic    1 / (1 + gamma ||x - x'||^2)
        linear                gamma (x - origin)'(x' - origin)

    The Laplacian kernel is that of the Euclidean norm, which no rotation of the features changes
    (Belkin, Ma and Mandal 2018). The rational quadratic kernel, here with exponent 1, is a mixture
    of RBF kernels of all bandwidths (Rasmussen and Williams 2006, section 4.2.1): it depends far
    less on the choice of one. Rows are computed with around the origin, in double precision:
    squared distances between rows far from it would cancel.
    """

    name: str
    gamma: float
    origin: Floats

    @classmethod
    def of(
        cls,
        rows: Array,
        name: str,
        *,
        gamma: float | None = None,
        bandwidth: float = 1.0,
        centred: bool = True,
    ) -> "Kernel":
        """Return a kernel for these rows, around their mean if `centred`.

        Without gamma it is 1/(h s), and for the Laplacian kernel 1/sqrt(h s), where h is the
        bandwidth and s the median squared distance between rows (the median heuristic, Gretton et
        al. 2012): then no kernel depends on the units of the features.
        """
        origin = rows.mean(axis=0, dtype=np.float64) if centred else np.zeros(rows.shape[1])
        if gamma is None:
            squared = bandwidth * median_squared_distance(rows, origin)
            gamma = 1 / float(np.sqrt(squared) if name == "laplacian" else squared)
        return cls(name, float(gamma), origin)

    def __call__(self, A: Array, B: Array) -> Floats:
        """Return k(a, b) for all rows of A and of B."""
        same = A is B
        A = A - self.origin
        B = A if same else B - self.origin
        if self.name == "linear":
            return np.asarray(self.gamma * (A @ B.T))
        table: Floats = euclidean_distances(A, B, squared=self.name != "laplacian")
        if self.name == "rational_quadratic":
            table *= self.gamma
            table += 1
            return np.reciprocal(table, out=table)
        table *= -self.gamma
        return np.exp(table, out=table)

    def slope(self, values: Floats) -> Floats:
        """Return s with grad_x k(x, c) = 2 gamma s (c - x), from the values k(x, c).

        For the RBF kernel s = k, for the rational quadratic one s = k^2.
        """
        return values**2 if self.name == "rational_quadratic" else values

    def product(self, A: Array, B: Array, M: Floats, dtype: npt.DTypeLike = np.float64) -> Array:
        """Return K(A, B) M in some precision, without ever holding much of K."""
        step = max(1, _ENTRIES_AT_ONCE // max(1, len(B)))
        out = np.empty((len(A), M.shape[1]), dtype=dtype)
        for start in range(0, len(A), step):
            part = slice(start, start + step)
            out[part] = self(A[part], B) @ M
        return out


def median_squared_distance(rows: Array, origin: Floats | float = 0.0) -> float:
    """Return the median over pairs of rows; their mean where it is 0, and 1 where that is, too.

    Distances are computed around the origin.
    """
    sample = sample_rows(rows) - origin
    distances = euclidean_distances(sample, squared=True)
    pairs = distances[np.triu_indices(len(sample), 1)]
    if not len(pairs):
        return 1.0
    return float(np.median(pairs)) or float(np.mean(pairs)) or 1.0


def draw_landmarks(rows: Array, n_landmarks: int, random_state: int | None) -> Array:
    """Return a copy of so many rows, in their order; of all rows where there are no more."""
    if n_landmarks >= len(rows):
        return rows.copy()
    rng = np.random.default_rng(random_state)
    return np.asarray(rows[np.sort(rng.choice(len(rows), n_landmarks, replace=False))])


def inverse_root(K: Floats) -> Floats:
    """Return K^(-1/2) of a positive semidefinite matrix, 0 in directions in which K is 0.

    With the kernel K of some landmarks, phi(x) = k(x, landmarks) K^(-1/2) are the features of the
    Nystroem approximation (Williams and Seeger 2001): phi(x)'phi(x') is about k(x, x').
    """
    values, vectors = np.linalg.eigh(K)
    kept = values > _NO_EIGENVALUE * max(values[-1], 0.0)
    scaled = vectors[:, kept] / np.sqrt(values[kept])
    return np.asarray(scaled @ vectors[:, kept].T)


@dataclass(frozen=True, eq=False)
class KernelMap:
    r"""The features z(x) of a kernel: z(x)'z(y) is about k(x, y).

    They are those of the Nystroem approximation (Williams and Seeger 2001).
    With landmarks c_1, ..., c_m, some of the training rows, their kernel matrix K and
    k(x) = (k(x, c_1), ..., k(x, c_m)),

        z(x) = K^{-1/2} k(x).

    Among the landmarks it is exact; so it is for all rows if each of them is a landmark. A linear
    learner of z, with all it has (penalties, weights, unknown entries, prior scores), is one in the
    space of the kernel, and ||m|| is the norm of z(x)'m there.

    Attributes
    ----------
    kernel : Kernel
    landmarks : array of shape (n_landmarks, n_features)
    projection : array of shape (n_landmarks, n_landmarks)
        K^{-1/2}, 0 in directions in which landmarks do not vary.
    """

    kernel: Kernel
    landmarks: Array
    projection: Floats

    @classmethod
    def of(
        cls, kernel: Kernel, rows: Array, n_landmarks: int, random_state: int | None
    ) -> "KernelMap":
        """Draw landmarks among the rows."""
        landmarks = draw_landmarks(rows, n_landmarks, random_state)
        return cls(kernel, landmarks, inverse_root(kernel(landmarks, landmarks)))

    def __call__(self, rows: Array) -> Array:
        """Return z(x) for every row x, in the precision of the rows."""
        return self.kernel.product(rows, self.landmarks, self.projection, rows.dtype)

    def attribution(self, x: Array, origin: Array, M: Array, b: Array) -> tuple[Array, Array]:
        r"""Return M_x and b_x, for all labels, with x'M_x + b_x = f(x) = z(x)'M + b.

        For the RBF and the rational quadratic kernel. M_x is the mean gradient of f on the way from
        the origin to x (integrated gradients, Sundararajan, Taly and Yan 2017), so that
        (x - origin)'M_x = f(x) - f(origin):

            M_x = int_0^1 grad f(origin + t (x - origin)) dt,
            grad f(u) = 2 gamma sum_l s(u, c_l) (c_l - u) a_l',   A = K^{-1/2} M,

        with s the slope of the kernel (`Kernel.slope`).
        """
        A = self.projection @ M
        steps, weights = np.polynomial.legendre.leggauss(_N_STEPS)
        M_x = np.zeros((len(x), M.shape[1]))
        for t, weight in zip((steps + 1) / 2, weights / 2, strict=True):
            u = origin + t * (x - origin)
            near = self.kernel.slope(self.kernel(u[None], self.landmarks))[0, :, None] * A
            M_x += weight * (self.landmarks.T @ near - np.outer(u, near.sum(axis=0)))
        M_x = (2 * self.kernel.gamma * M_x).astype(M.dtype)
        return M_x, np.asarray(self(x[None])[0] @ M + b - x @ M_x)


class KernelProblem(Protocol):
    """The landmarks of a learner and the kernel among them, None where it is too large."""

    @property
    def kernel(self) -> Kernel: ...  # noqa: D102
    @property
    def landmarks(self) -> Array: ...  # noqa: D102
    @property
    def among_landmarks(self) -> Floats | None: ...  # noqa: D102


class KernelLearner(PartialLabelLearner):
    """A learner that scores by sum_i a_i k(x, x_i) + b over some training items, its landmarks.

    It implements `_problem` and `_fit_candidates`.
    """

    # Candidates that differ in these alone share their kernel.
    _share_kernel: ClassVar[tuple[str, ...]]

    kernel: str
    bandwidth: float
    gamma: float | None
    landmarks_: Array
    dual_coef_: Floats
    intercept_: Floats
    _kernel: Kernel
    # The rows of a path of candidates, and their kernel with the landmarks.
    _of_path: tuple[Array, Floats] | None = None

    @property
    def gamma_(self) -> float:
        """The factor in the kernel."""
        return self._kernel.gamma

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        check_choice(*parameter(self, "kernel"), KERNELS)
        check_number(*parameter(self, "bandwidth"), low=0, inclusive=False)
        if self.gamma is not None:
            check_number(*parameter(self, "gamma"), low=0, inclusive=False)

    @abstractmethod
    def _problem(self, rows: Array, known: PartialLabels) -> Any:
        """Return the problem that candidates share, a `KernelProblem`."""

    @abstractmethod
    def _fit_candidates(self, problem: Any, path: Sequence[Mapping[str, Any]]) -> Iterator[None]:
        """Set the parameters of each candidate in turn, `dual_coef_` and `intercept_`."""

    def fit_known(self, rows: Array, known: PartialLabels) -> None:
        """Learn from validated rows and labels."""
        problem = self._problem(rows, known)
        self._keep_landmarks(problem)
        for _ in self._fit_candidates(problem, [{}]):
            pass

    def fit_path(
        self, path: Sequence[Mapping[str, Any]], X: Any, Y: Any, inputs: Mapping[str, Any]
    ) -> Iterator[Self]:
        """Yield this learner fitted with the parameters of each candidate in turn."""
        # A subclass that fits in its own way may solve another problem.
        kind = type(self)
        own = kind.fit is PartialLabelLearner.fit and kind.fit_known is KernelLearner.fit_known
        if inputs or not own or not differ_only_in(self._share_kernel, path):
            yield from super().fit_path(path, X, Y, inputs)
            return
        for params in path:
            self.set_params(**params).check_parameters()
        rows, known = self.read_training_data(X, Y)
        problem = self._problem(rows, known)
        self._keep_landmarks(problem)
        with self._scoring_path(rows, problem.among_landmarks):
            for _ in self._fit_candidates(problem, path):
                yield self

    def _keep_landmarks(self, problem: KernelProblem) -> None:
        self.landmarks_, self._kernel = problem.landmarks, problem.kernel

    @contextmanager
    def _scoring_path(self, rows: Array, among_landmarks: Floats | None) -> Iterator[None]:
        """Keep the kernel of the training rows meanwhile, if it is not too large.

        It is that among the landmarks where they are all of the rows.
        """
        if among_landmarks is not None and len(among_landmarks) == len(rows):
            self._of_path = rows, among_landmarks
        elif len(rows) * len(self.landmarks_) <= MOST_ITEMS**2:
            self._of_path = rows, self._kernel(rows, self.landmarks_)
        try:
            yield
        finally:
            self._of_path = None

    def score_rows(self, X: Array) -> Array:
        """Return the scores of validated rows."""
        of_path = self._of_path
        if of_path is not None and (X is of_path[0] or np.array_equal(X, of_path[0])):
            products = of_path[1] @ self.dual_coef_
        else:
            products = self._kernel.product(X, self.landmarks_, self.dual_coef_)
        return np.asarray(products + self.intercept_, dtype=X.dtype)
