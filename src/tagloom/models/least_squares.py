"""Ridge regression, label by label, on what is known of each."""

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from tagloom.checks import check_flag, check_number
from tagloom.labels import as_partial_labels
from tagloom.models.columns import Column, Floats, columns_of
from tagloom.models.grids import ridge_grid
from tagloom.models.linear import LinearLearner, refuse_too_large
from tagloom.models.packing import packed_linear, unpacked_linear
from tagloom.models.parameters import check_n_jobs, check_on_unlearnable, parameter
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
        rows, known = self._read(X, Y)
        refuse_too_large(rows)
        self.learnable_ = check_learnable(known, self.on_unlearnable)
        M = np.empty((rows.shape[1], known.n_labels))
        b = np.empty(known.n_labels)
        groups = _by_pattern(columns_of(known))
        for (_, labels, _), (M_part, b_part) in zip(groups, self._solve(rows, groups), strict=True):
            M[:, labels], b[labels] = M_part, b_part
        self.coef_, self.intercept_ = M.astype(rows.dtype), b.astype(rows.dtype)
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

    def _solve(self, X: Any, groups: list["_Group"]) -> list[tuple[Floats, Floats]]:
        data = Rows(X, fit_intercept=self.fit_intercept)
        if any(pattern.background for pattern, _, _ in groups):
            _ = data.gram, data.total  # computed once, before threads would each compute them
        # With a number of threads of its own the linear algebra would round otherwise.
        alone = nullcontext() if len(groups) == 1 else threadpool_limits(1, user_api="blas")
        with alone:
            return list(
                Parallel(n_jobs=self.n_jobs, backend="threading")(
                    delayed(pattern.solve)(data, Presences(columns), self.ridge)
                    for pattern, _, columns in groups
                )
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
