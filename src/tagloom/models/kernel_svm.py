"""A support vector machine with an RBF kernel for each label (Cortes and Vapnik 1995)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.svm import SVC

from tagloom.labels import PartialLabels
from tagloom.models.base import (
    BOUNDARY,
    Array,
    ParamGrids,
    labelled_part,
    parameter,
)
from tagloom.models.kernels import MOST_ITEMS, Kernel, KernelLearner
from tagloom.models.least_squares import Column, columns_of
from tagloom.validation import check_n_jobs, check_number

Floats = npt.NDArray[np.float64]

# The default grid.
_BANDWIDTHS = (0.25, 1.0, 4.0)
_C = (0.1, 0.3, 1.0, 3.0, 10.0)
# With this C the bandwidth is chosen.
_C_OF_BANDWIDTHS = 1.0


class KernelSVM(KernelLearner):
    """A support vector machine with an RBF kernel for each label, trained on its known entries.

    Minimises for every label j, over functions f of the space H of the kernel, by LIBSVM (Chang and
    Lin 2011)

        1/2 ||f_j||_H^2 + C sum_{i : (i,j) known} w_ij max(0, 1 - z_ij (f_j(x_i) + b_j)),

    with z_ij 1 where the label is present and -1 where it is absent. Labels are learned
    independently. Unknown entries take no part. The score is 1/2 + d/2, d = f(x) + b.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    bandwidth : float, default=1.0
        Squared width of the kernel, in units of the median squared distance between items.
    gamma : float, optional
        The factor in the kernel, exp(-gamma ||x - x'||^2), instead of a bandwidth.
    tol : float, default=1e-3
        Where LIBSVM stops: the violation of optimality.
    n_jobs : int, optional
        Number of threads that fit labels side by side; the result is the same.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent. A label whose known
        entries all agree scores 1 or 0 everywhere; one without known entries scores 0.

    Attributes
    ----------
    landmarks_ : array of shape (n_landmarks, n_features)
        The labelled items.
    dual_coef_ : array of shape (n_landmarks, n_labels)
        Half the coefficients of the kernel in d, not 0 at the support vectors of a label.
    intercept_ : array of shape (n_labels,)
        Of the score.
    gamma_ : float
        The factor in the kernel.

    Examples
    --------
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, None], [None, 0], [1, 0]]
    >>> KernelSVM(C=10.0).fit(X, Y).predict(X).tolist()
    [[0, 1], [0, 1], [1, 0], [1, 0]]
    """

    path_parameters: ClassVar[tuple[str, ...]] = ("C",)
    _share_kernel: ClassVar[tuple[str, ...]] = ("C",)

    kernel = "rbf"

    def __init__(
        self,
        C: float = 1.0,
        *,
        bandwidth: float = 1.0,
        gamma: float | None = None,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        on_unlearnable: str = "raise",
    ) -> None:
        self.C = C
        self.bandwidth = bandwidth
        self.gamma = gamma
        self.tol = tol
        self.n_jobs = n_jobs
        self.on_unlearnable = on_unlearnable

    def default_param_grid(self, X: Any, Y: Any, graph: Any = None) -> ParamGrids:
        """Return the bandwidth, then C; only C where gamma is given."""
        widths = {"bandwidth": list(_BANDWIDTHS), "C": [_C_OF_BANDWIDTHS]}
        return [*([] if self.gamma else [widths]), {"C": list(_C)}]

    def check_parameters(self) -> None:
        """Raise where a parameter has a value that is not allowed."""
        super().check_parameters()
        check_number(*parameter(self, "C"), low=0, inclusive=False)
        check_number(*parameter(self, "tol"), low=0, inclusive=False)
        check_n_jobs(*parameter(self, "n_jobs"))

    def _problem(self, rows: Array, known: PartialLabels) -> "Problem":
        kernel = Kernel.of(rows, self.kernel, gamma=self.gamma, bandwidth=self.bandwidth)
        labelled, known, _ = labelled_part(rows, known, None)
        # Not a view of X, which may change.
        return Problem(kernel, labelled.copy(), list(columns_of(known)))

    def _train(self, problem: "Problem") -> None:
        """Fit a machine for each label whose known entries differ; the others are constant."""
        shape = len(problem.landmarks), len(problem.columns)
        self.dual_coef_, self.intercept_ = np.zeros(shape), np.zeros(shape[1])
        _ = problem.among_landmarks  # computed before threads would each compute it
        wanted = np.flatnonzero(self.learnable_).tolist()
        learned = Parallel(n_jobs=self.n_jobs, backend="threading")(
            delayed(problem.machine)(problem.columns[j], self.C, self.tol) for j in wanted
        )
        for j, column in enumerate(problem.columns):
            self.intercept_[j] = float(not self.learnable_[j] and column.present.any())
        for j, found in zip(wanted, learned, strict=True):
            self.dual_coef_[found.support, j] = found.coef / 2
            self.intercept_[j] = BOUNDARY + found.b / 2

    def _fit_candidates(
        self, problem: "Problem", path: Sequence[Mapping[str, Any]]
    ) -> Iterator[None]:
        for params in path:
            self.set_params(**params)
            self._train(problem)
            yield


class Machine(NamedTuple):
    """A decision sum_i coef_i k(x, x_i) + b over the support vectors."""

    support: npt.NDArray[np.int64]
    coef: Floats
    b: float


@dataclass(frozen=True, eq=False)
class Problem:
    """The labelled items, the known entries of each label, and the kernel."""

    kernel: Kernel
    landmarks: Array
    columns: list[Column]

    @cached_property
    def among_landmarks(self) -> Floats | None:
        """The kernel among the labelled items; None where it is too large."""
        if len(self.landmarks) > MOST_ITEMS:
            return None
        return self.kernel(self.landmarks, self.landmarks)

    def machine(self, column: Column, C: float, tol: float) -> Machine:
        """Train on the known entries of one label.

        Where the kernel of its items is too large, LIBSVM computes the rows that it needs.
        """
        rows, present, weights = column.known()
        if len(rows) > MOST_ITEMS:
            machine = SVC(C=C, kernel="rbf", gamma=self.kernel.gamma, tol=tol)
            machine.fit(self.landmarks[rows] - self.kernel.origin, present, sample_weight=weights)
        else:
            machine = SVC(C=C, kernel="precomputed", tol=tol)
            machine.fit(self._kernel_of(rows), present, sample_weight=weights)
        b = float(machine.intercept_[0])
        return Machine(rows[machine.support_], machine.dual_coef_[0], b)

    def _kernel_of(self, rows: npt.NDArray[np.int64]) -> Floats:
        """Return the kernel among some of the items."""
        K = self.among_landmarks
        if K is None:
            some = self.landmarks[rows]
            return self.kernel(some, some)
        return K if len(rows) == len(K) else np.asarray(K[np.ix_(rows, rows)])
