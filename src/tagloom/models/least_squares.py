"""Ridge regression, label by label, on what is known of each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from tagloom.checks import check_flag, check_number
from tagloom.labels import PartialLabels, as_partial_labels
from tagloom.models.base import Array
from tagloom.models.columns import Column, Floats, columns_of
from tagloom.models.grids import ridge_grid
from tagloom.models.linear import LinearLearner, refuse_too_large
from tagloom.models.packing import packed_linear, unpacked_linear
from tagloom.models.parameters import check_n_jobs, check_on_unlearnable, differ_in, parameter
from tagloom.models.savable import SavableLearner
from tagloom.models.targets import check_learnable
from tagloom.models.weight_patterns import Pattern, Presences, Rows
from tagloom.packing import Packed


class LeastSquares(SavableLearner, LinearLearner):
    """Ridge regression for each label on the entries that are known of it.

    Minimises for every label j, exactly and in closed form,

        1/2 sum_{i : (i,j) known} w_ij (x_i'm_j + b_j - y_ij)^2 + rho/2 ||m_j||^2,

    with y_ij 1 where the label is present and 0 where it is absent. Labels do not learn from each
    other. Unknown entries take no part.

    Parameters
    ----------
    ridge : float, default=1.0
        rho. 0 is allowed: then m_j is the smallest of the minimisers.
    fit_intercept : bool, default=True
        Whether to learn b, which is not penalised.
    n_jobs : int, optional
        How many threads share the labels; the result has the same bits whatever their number.
    on_unlearnable : {"raise", "warn", "ignore"}, default="raise"
        What to do about labels with no known entry, or known only to be absent.

    Attributes
    ----------
    coef_ : array of shape (n_features, n_labels)
    intercept_ : array of shape (n_labels,)
    classes_ : array
        The names of the labels; for a one-dimensional y its two classes.
    learnable_ : array of bool of shape (n_labels,)
        False where known entries do not tell who has the label from who has not.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0, 1], [0, np.nan], [np.nan, 0], [1, 0]])
    >>> LeastSquares(ridge=0.1).fit(X, Y).predict(X)
    array([[0, 1],
           [0, 1],
           [1, 0],
           [1, 0]])
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

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn M and b from what is known.

        Parameters
        ----------
        X : array or DataFrame of shape (n_items, n_features), float32 or float64
        Y : PartialLabels, DataFrame or array of 1, 0 and NaN (unknown) of shape (n_items, n_labels)
            A one-dimensional y with two classes is one label.
        """
        self._check_parameters()
        ((self.coef_, self.intercept_),) = self._solutions(*self._taught(X, Y), [self.ridge])
        return self

    def search_space(self, X: Any, Y: Any, graph: Any = None) -> list[dict[str, list[Any]]]:
        """Return ridge in shares of the mean curvature of the loss."""
        return [{"ridge": ridge_grid(X, as_partial_labels(Y), self.fit_intercept)}]

    def _packed(self) -> Packed:
        return packed_linear(self)

    @classmethod
    def _unpacked(cls, packed: Packed) -> Self:
        return unpacked_linear(cls, packed)

    def _check_parameters(self) -> None:
        check_number(*parameter(self, "ridge"), low=0)
        check_flag(*parameter(self, "fit_intercept"))
        check_n_jobs(self)
        check_on_unlearnable(self)

    def _taught(self, X: Any, Y: Any) -> tuple[Array, PartialLabels]:
        rows, known = self._read(X, Y)
        refuse_too_large(rows)
        self.learnable_ = check_learnable(known, self.on_unlearnable)
        return rows, known

    def _solved_together(self, grid: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        return ("ridge",)

    def _fitted_along(
        self, chain: Sequence[Mapping[str, Any]], X: Any, Y: Any, graphs: Mapping[str, Any]
    ) -> Iterator[Self]:
        # A subclass with a `fit` of its own learns something else than is solved for here.
        own = type(self).fit is LeastSquares.fit
        if graphs or not (own and differ_in("ridge", chain)):
            yield from super()._fitted_along(chain, X, Y, graphs)
            return
        ridges = []
        for params in chain:
            self.set_params(**params)._check_parameters()
            ridges.append(self.ridge)
        solutions = self._solutions(*self._taught(X, Y), ridges)
        for params, (M, b) in zip(chain, solutions, strict=True):
            self.set_params(**params)
            self.coef_, self.intercept_ = M, b
            yield self

    def _solutions(
        self, X: Array, known: PartialLabels, ridges: Sequence[float]
    ) -> Iterator[tuple[Array, Array]]:
        """Yield M and b for each ridge; all are solved for before the first."""
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
            _ = data.gram, data.total  # computed once, before threads would each compute them

        def solve(pattern: Pattern, labels: list[int], columns: list[Column]) -> None:
            found = pattern.solutions(data, Presences(columns), ridges)
            for k, (M_part, b_part) in enumerate(found):
                M[k][:, labels], b[k][labels] = M_part, b_part

        # With a number of threads of its own the linear algebra would round otherwise.
        alone = nullcontext() if len(groups) == 1 else threadpool_limits(1, user_api="blas")
        with alone:
            Parallel(n_jobs=self.n_jobs, backend="threading")(
                delayed(solve)(*group) for group in groups
            )


_Group = tuple[Pattern, list[int], list[Column]]


def _by_pattern(columns: Iterable[Column]) -> list[_Group]:
    """Put labels together that are known at the same rows with the same weights."""
    groups: dict[tuple[bytes, bytes], _Group] = {}
    for j, column in enumerate(columns):
        pattern = Pattern.of(column)
        _, labels, members = groups.setdefault(pattern.key, (pattern, [], []))
        labels.append(j)
        members.append(column.presences())
    return list(groups.values())
